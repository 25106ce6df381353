"""Plausible deniability on the command line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tracearena.engine import Checkpoint
from tracearena.io import pwscup, write
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.deniability import VerifierScan
from tracearena.traces import Places

QUICK = "PPMTF(2,iterations=3,zeros=all)"


@pytest.fixture
def made(run, team: Path) -> Path:
    """A model and two days of every user."""
    done = run(
        "synthesize", QUICK, team / "org.csv", team / "syn.csv", "--places", team / "places.csv",
        "--traces-per-user", 2, "--model", team / "model.npz", "--seed", 1,
    )  # fmt: skip
    assert done.status == 0, done.err
    return team


def test_the_pass_rate_is_told_and_k_prime_written(run, made: Path) -> None:
    done = run(
        "deniability", "--model", made / "model.npz", "--synthetic", made / "syn.csv", "--k", 3,
        "--k-prime", made / "k.csv", "--seed", 1, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.json["traces"] == 60
    assert done.json["pass_rate"] == done.json["passed"] / 60
    lines = (made / "k.csv").read_text().splitlines()
    assert len(lines) == 61
    assert sum(line.endswith(",1") for line in lines[:-1]) == done.json["passed"]
    early = run(
        "deniability", "--model", made / "model.npz", "--synthetic", made / "syn.csv", "--k", 3,
        "--early-stop", "--verifiers", 32_000, "--seed", 1, "--json",
    )  # fmt: skip
    assert early.json["pass_rate"] == done.json["pass_rate"]


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """Have tests count in rounds of eight verifiers, and stop after so many of them as by Ctrl-C."""
    keep, count = Checkpoint.add, VerifierScan.count

    def stop_after(rounds: int | None) -> None:
        monkeypatch.setattr(VerifierScan, "count", partialmethod(count, rounds=(8, 8)))
        kept: list[int] = []

        def keep_and_stop(self: Checkpoint, *what: Any) -> None:
            keep(self, *what)
            kept.append(1)
            if len(kept) == rounds:
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpoint, "add", keep_and_stop)

    return stop_after


@pytest.mark.parametrize("early_stop", [[], ["--early-stop"]])
def test_a_stopped_test_goes_on_with_the_same_bytes(run, made: Path, stopping, early_stop) -> None:
    asked = [
        "deniability",
        "--model",
        made / "model.npz",
        "--synthetic",
        made / "syn.csv",
        *early_stop,
        "--json",
    ]
    whole = run(*asked, "--k", 3, "--k-prime", made / "whole.csv", "--seed", 1)
    assert not (made / "whole.csv.unfinished").exists()
    asked += ["--k-prime", made / "k.csv"]
    stopping(2)
    stopped = run(*asked, "--k", 3, "--seed", 1)
    assert stopped.status == 130
    assert f"16 verifiers are finished in {made / 'k.csv.unfinished'}" in stopped.err
    assert "run the same command with --resume" in stopped.err
    assert not (made / "k.csv").exists()
    again = run(*asked, "--k", 3, "--seed", 1)
    assert again.status == 2
    assert "k.csv.unfinished: belongs to an interrupted run; resume it with --resume" in again.err
    for changed in (["--k", 4, "--seed", 1], ["--k", 3, "--seed", 2], ["--k", 3, "--seed", 1, "--eta", 2]):
        other = run(*asked, *changed, "--resume")
        assert other.status == 2
        assert "k.csv.unfinished: belongs to a run with other files, options, seed" in other.err
    stopping(1)
    assert run(*asked, "--k", 3, "--seed", 1, "--resume").status == 130
    stopping(None)
    done = run(*asked, "--k", 3, "--resume")  # the seed is known
    assert done.status == 0, done.err
    assert (made / "k.csv").read_bytes() == (made / "whole.csv").read_bytes()
    assert done.json == whole.json
    assert not (made / "k.csv.unfinished").exists()


def test_there_must_be_something_to_go_on_with(run, made: Path) -> None:
    asked = ["deniability", "--model", made / "model.npz", "--synthetic", made / "syn.csv", "--resume"]
    alone = run(*asked)
    assert alone.status == 2
    assert "--resume needs --k-prime FILE" in alone.err
    nothing = run(*asked, "--k-prime", made / "k.csv")
    assert nothing.status == 2
    assert f"there is no interrupted run to resume ({made / 'k.csv.unfinished'})" in nothing.err
    (made / "k.csv.unfinished").write_text("[1, 2")
    broken = run(*asked, "--k-prime", made / "k.csv", "--seed", 1)
    assert broken.status == 2
    assert "belongs to a run with other" in broken.err


def test_only_deniable_traces_are_released(run, made: Path) -> None:
    found = run(
        "deniability", "--model", made / "model.npz", "--synthetic", made / "syn.csv", "--k", 4,
        "--eta", 2, "--json", "--seed", 1,
    )  # fmt: skip
    done = run(
        "synthesize", QUICK, made / "org.csv", made / "safe.csv", "--places", made / "places.csv",
        "--traces-per-user", 2, "--deniable", "4,2", "--seed", 1, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert done.json["pass_rate"] == found.json["pass_rate"]
    assert done.json["events"] == found.json["passed"] * 20
    places = pwscup.read_places(made / "places.csv")
    released = pwscup.read_traces(made / "safe.csv", places)
    assert set(np.bincount(released.user_index).tolist()) <= {20, 40}


def test_a_table_will_do_as_well(run, made: Path) -> None:
    model = PPMTF.load(made / "model.npz")
    table = made / "syn-table.csv"
    write(model.synthesize(1, seed=2), table, to="table")
    done = run("deniability", "--model", made / "model.npz", "--synthetic", table, "--seed", 1, "--json")
    assert done.status == 0, done.err
    assert done.json["traces"] == 30


@pytest.mark.parametrize("wrong", ["10", "ten,1", "10,", "0,1", "3,-1"])
def test_a_wrong_k_and_eta_is_refused(run, made: Path, wrong: str) -> None:
    done = run(
        "synthesize", QUICK, made / "org.csv", made / "no.csv", "--places", made / "places.csv",
        "--deniable", wrong, "--seed", 1,
    )  # fmt: skip
    assert done.status == 2
    assert not (made / "no.csv").exists()


def test_a_file_that_is_no_model_is_refused(run, made: Path) -> None:
    done = run("deniability", "--model", made / "org.csv", "--synthetic", made / "syn.csv")
    assert done.status == 2
    assert "model file" in done.err


def test_points_are_refused_without_advice_that_does_not_apply(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "points.csv").write_text("user,time,lat,lon\n1,2024-05-01T12:00:00Z,35.7,139.7\n")
    of_venues = SimpleNamespace(places_=Places([35.7], [139.7]))
    monkeypatch.setattr(PPMTF, "load", lambda path: of_venues)
    done = run("deniability", "--model", tmp_path / "m.npz", "--synthetic", tmp_path / "points.csv")
    assert done.status == 2
    assert "has GPS points" in done.err
    assert "--grid" not in done.err
