"""A worker that dies in the middle of a command costs time, and no byte of the result."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracearena.cities import simulate_gps
from tracearena.engine import Cluster, use
from tracearena.synthesis.ppmtf import distributed

pytestmark = pytest.mark.slow
MODEL = "PPMTF(2,iterations=3,zeros=all)"
SEED = ("--seed", 1)
COMMANDS = {
    "training": ("synthesize", MODEL, "org.csv", "OUT", *SEED),
    "synthesis": ("synthesize", MODEL, "org.csv", "OUT", *SEED, "--model", "m.npz"),
    "deniability": (
        "deniability", "--model", "m.npz", "--synthetic", "made.csv", "--k", 3, *SEED, "--k-prime", "OUT",
    ),
    "attack": ("attack", "VisitProb-T", "OUT", "--reference", "ref.csv", "--anonymized", "pub.csv", *SEED),
    "sweep": (
        "sweep", "OUT", "--reference", "ref.csv", "--original", "org.csv", "--defences", "PL(2,1)",
        "--defences", "No", *SEED,
    ),
    "similarity": ("similarity", "ref.csv", "org.csv", "--order", 1, *SEED, "--out", "OUT"),
    "bounds": (
        "bounds", "OUT", "--reference", "ref.csv", "--original", "org.csv", "--defences", "PL(2,1)",
        "--attacks", "Replay-T", *SEED,
    ),
}  # fmt: skip
PRINTED = {
    "evaluate": (
        "evaluate", "--train", "org.csv", "--test", "ref.csv", "--synthetic", "made.csv",
        "--format", "pwscup", "--json", "--places", "places.csv",
    ),
    "describe": ("describe", "gps", "--json"),
    "error": ("applications", "error", "--original", "gps", "--released", "gps", "--json"),
}  # fmt: skip
"""Commands whose result is what they print."""
WITHOUT_PLACES = ("deniability",)


@pytest.fixture(scope="module")
def own() -> Iterator[Cluster]:
    """Workers that may die."""
    pytest.importorskip("distributed")
    with Cluster("local:2") as workers:
        yield workers


def deadly(work: Callable[..., Any], flag: Path) -> Callable[..., Any]:
    """Return work that ends the first worker that does it, in a way that travels there."""

    def done(*arguments: Any) -> Any:
        try:
            # Created by one worker alone, though both may come here at once.
            flag.touch(exist_ok=False)
        except FileExistsError:
            return work(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    return done


def make_deadly(monkeypatch: pytest.MonkeyPatch, flag: Path) -> None:
    """Let the first work that goes to a worker end it."""
    keep = Cluster.keep
    monkeypatch.setattr(
        Cluster, "keep", lambda self, value: keep(self, deadly(value, flag) if callable(value) else value)
    )


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_a_worker_killed_in_the_middle_changes_no_byte(
    run, team: Path, own: Cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(team)
    places = () if name in WITHOUT_PLACES else ("--places", "places.csv")
    for asked in (
        ("pseudonymise", "org.csv", "pub.csv", "--id-table", "ids.csv"),
        ("synthesize", MODEL, "org.csv", "made.csv", "--model", "m.npz"),
    ):
        assert run(*asked, "--places", "places.csv", "--seed", 1).status == 0

    def made(out: str, *given: str) -> bytes:
        asked = [out if part == "OUT" else part for part in COMMANDS[name]]
        done = run(*asked, *places, *given)
        assert done.status == 0, done.err
        return (team / out).read_bytes()

    here = made("here.csv")
    flag = team / "killed"
    if name == "training":
        submit = Cluster.submit

        def submit_deadly(self: Cluster, task: Callable[..., Any], *arguments: Any, **given: Any) -> Any:
            is_deadly = task is distributed._sum_target_blocks
            return submit(self, deadly(task, flag) if is_deadly else task, *arguments, **given)

        monkeypatch.setattr(Cluster, "submit", submit_deadly)
    else:
        make_deadly(monkeypatch, flag)
    assert made("there.csv", "--cluster", own.scheduler) == here
    assert flag.exists()


def gps_parts(folder: Path, name: str = "gps") -> None:
    """Write some people's points as parts."""
    (folder / name).mkdir()
    frame = simulate_gps(4, 6, recorded=0.5, seed=1).to_frame()
    for number, first in enumerate(range(0, frame.height, 9_000)):
        frame.slice(first, 9_000).write_parquet(folder / name / f"part-{number}.parquet")


@pytest.mark.parametrize(
    "name", [n if n == "evaluate" else pytest.param(n, marks=pytest.mark.long) for n in PRINTED]
)
def test_a_worker_killed_in_the_middle_changes_no_result(
    run, team: Path, own: Cluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(team)
    gps_parts(team)
    made = ("synthesize", MODEL, "org.csv", "made.csv", "--places", "places.csv", *SEED)
    assert name != "evaluate" or run(*made).status == 0
    here = run(*PRINTED[name])
    assert here.status == 0, here.err
    make_deadly(monkeypatch, team / "killed")
    assert run(*PRINTED[name], "--cluster", own.scheduler).out == here.out
    assert (team / "killed").exists()


def test_a_worker_killed_in_the_middle_of_a_release_changes_no_byte(
    run, tmp_path: Path, own: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    gps_parts(tmp_path)
    command = ("obfuscate", "GeoInd(100m)", "gps")
    there = ("there", "--to", "partitions", *SEED, "--cluster", own.scheduler)
    with use(chunk_rows=9_000):
        assert run(*command, "here", "--to", "partitions", *SEED).status == 0
        make_deadly(monkeypatch, tmp_path / "killed")
        assert run(*command, *there).status == 0
    assert (tmp_path / "killed").exists()
    parts = sorted(part.name for part in Path("here").iterdir())
    assert len(parts) > 2
    assert parts == sorted(part.name for part in Path("there").iterdir())
    assert all(Path("here", part).read_bytes() == Path("there", part).read_bytes() for part in parts)
