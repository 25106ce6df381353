"""``--cluster``: the same files and results, and messages about clusters that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena import io
from tracearena.cities import simulate
from tracearena.io.tables import list_parquet_files

QUICK = "PPMTF(2,iterations=3,zeros=all)"
SEED = ("--seed", 1)


@pytest.fixture
def address(cluster) -> str:
    """A scheduler that runs, as an existing cluster has."""
    return cluster.scheduler


@pytest.mark.slow
def test_every_command_gives_the_same_with_a_cluster(run, team: Path, address: str) -> None:
    def both(*arguments: object, out: str = "") -> None:
        here = run(*(str(part).replace("OUT", f"{team}/here{out}") for part in arguments))
        there = run(
            *(str(part).replace("OUT", f"{team}/there{out}") for part in arguments), "--cluster", address
        )
        assert (here.status, there.status) == (0, 0), there.err
        assert "2 workers with 2 threads; dashboard http://" in there.err
        assert there.out.replace("there", "here") == here.out
        if out:
            assert (team / f"there{out}").read_bytes() == (team / f"here{out}").read_bytes()

    places = ("--places", team / "places.csv")
    both("synthesize", QUICK, team / "org.csv", "OUT", *places, *SEED, "--deniable", "2,3", out=".csv")
    both("synthesize", QUICK, team / "org.csv", "OUT", *places, *SEED, "--virtual-users", 9, out="+.csv")
    both("synthesize", "SGLT(4)", team / "org.csv", "OUT", *places, *SEED, out="-fakes.csv")
    both(
        "sweep", "OUT", *places, "--reference", team / "ref.csv", "--original", team / "org.csv",
        "--defences", "PL(2,1)", "--defences", "No", "--seed", 4, "--json", out="sweep.csv",
    )  # fmt: skip
    anonymized = (
        "pseudonymise",
        team / "org.csv",
        team / "pub.csv",
        "--id-table",
        team / "ids.csv",
        *places,
        *SEED,
    )
    assert run(*anonymized).status == 0
    for attack in ("VisitProb-R", "HomeProb-T", "FuzzyCount-R", "Bayes-T"):
        both(
            "attack", attack, "OUT", *places, "--reference", team / "ref.csv",
            "--anonymized", team / "pub.csv", *SEED, out=f"{attack}.csv",
        )  # fmt: skip
    both(
        "bounds", "OUT", *places, "--reference", team / "ref.csv", "--original", team / "org.csv",
        "--defences", "PL(2,1)", "--attacks", "Replay-T", *SEED, out="bounds.csv",
    )  # fmt: skip
    for order in (0, 1):
        both(
            "similarity", team / "ref.csv", team / "org.csv", *places, "--order", order, *SEED,
            "--out", "OUT", out=f"alike{order}.csv",
        )  # fmt: skip
    both(
        "evaluate", *places, "--train", team / "org.csv", "--test", team / "ref.csv",
        "--synthetic", team / "here.csv", "--format", "pwscup", "--json",
    )  # fmt: skip
    run("synthesize", QUICK, team / "org.csv", team / "x.csv", *places, *SEED, "--model", team / "m.npz")
    both(
        "deniability", "--model", team / "m.npz", "--synthetic", team / "x.csv", "--k", 3, "--seed", 1,
        "--k-prime", "OUT", "--json", out="k.csv",
    )  # fmt: skip


@pytest.mark.slow
def test_folders_of_files_go_in_and_out(run, tmp_path: Path, address: str) -> None:
    people = simulate(16_400, 2, mode="checkins", top=30, checkins_per_user=1.0, seed=1)  # two files
    io.write(people, tmp_path / "in", to="partitions", places_out=tmp_path / "places.csv")
    made = {}
    for name, given in {"here": (), "there": ("--cluster", address)}.items():
        done = run(
            "synthesize", QUICK, tmp_path / "in", tmp_path / name, "--places", tmp_path / "places.csv",
            "--traces-per-user", 1, *SEED, *given,
        )  # fmt: skip
        assert done.status == 0, done.err
        made[name] = [file.read_bytes() for file in list_parquet_files(tmp_path / name)]
    assert len(made["here"]) == 2
    assert made["there"] == made["here"]


def test_a_folder_that_is_there_is_refused_before_the_work(run, tmp_path: Path) -> None:
    people = simulate(50, 5, mode="checkins", top=30, seed=1)
    io.write(people, tmp_path / "in", to="partitions")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").touch()
    done = run("synthesize", "PPMTF", tmp_path / "in", tmp_path / "out", "--model", tmp_path / "m.npz")
    assert done.status == 2
    assert "out: exists and is not an empty folder" in done.err
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("PPMTF", "--cluster", "local:none"), "local:N for N worker processes"),
        (("PPMTF", "--cluster", "somewhere"), "tcp://HOST:PORT of a Dask scheduler"),
        (("SGD", "--cluster", "local:2"), "--cluster does not apply to SGD"),
        (("Uniform", "--lean"), "--lean does not apply to Uniform"),
    ],
)
def test_what_cannot_be_is_said(run, team: Path, given, message) -> None:
    method, *options = given
    done = run(
        "synthesize", method, team / "org.csv", team / "out.csv", "--places", team / "places.csv", *options
    )
    assert done.status == 2
    assert message in done.err
    assert not (team / "out.csv").exists()


def test_an_attack_that_gives_workers_nothing_to_do_starts_none(run, team: Path) -> None:
    places = ("--places", team / "places.csv")
    secret = ("--id-table", team / "ids.csv", *places)
    assert run("pseudonymise", team / "org.csv", team / "pub.csv", *secret).status == 0
    given = ("--reference", team / "ref.csv", "--anonymized", team / "pub.csv", *places, "--cluster")
    done = run("attack", "Random-R", team / "guess.csv", *given, "local:2")
    assert done.status == 0, done.err
    assert "Random-R has no work for a cluster: it ran on this machine" in done.err
    assert "dashboard" not in done.err
    assert run("attack", "Random-R", team / "other.csv", *given, "local:none").status == 2
