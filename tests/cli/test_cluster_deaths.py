"""A worker that dies in the middle of a command costs time, and no byte of the result."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracearena.engine import Cluster
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
}  # fmt: skip
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
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments)

    return done


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
        true = distributed._draw_round
        monkeypatch.setattr(distributed, "_draw_round", deadly(true, flag))
    else:
        keep = Cluster.keep
        monkeypatch.setattr(
            Cluster, "keep", lambda self, value: keep(self, deadly(value, flag) if callable(value) else value)
        )
    assert made("there.csv", "--cluster", own.scheduler) == here
    assert flag.exists()
