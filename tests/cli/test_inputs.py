"""Every command recognises each of its inputs once, and reads its first bytes once."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import tracearena

from tracearena.io import Input
from tracearena.io.formats import recognition

PLACES = ("--places", "places.csv")
CITY = ("--users", "12", "--days", "4", "--seed", "1")
COMMANDS = {
    "obfuscate": ("obfuscate", "PL(4,1)", "org.csv", "out.csv", *PLACES, "--seed", "1"),
    "obfuscate points": ("obfuscate", "GeoInd(100m)", "gps.csv", "out.csv", "--seed", "1"),
    "convert": ("convert", "table.csv", "out.parquet"),
    "convert points": ("convert", "gps.csv", "out.parquet"),
    "convert Parquet": ("convert", "table.parquet", "out.csv"),
    "describe": ("describe", "org.csv", *PLACES),
    "describe points": ("describe", "gps.csv"),
    "describe a release": ("describe", "pub.csv", *PLACES),
    "pseudonymise": ("pseudonymise", "table.csv", "out.csv", "--id-table", "who.csv"),
    "pseudonymise a release": ("pseudonymise", "released.csv", "out.csv", "--id-table", "who.csv"),
    "attack": (
        "attack",
        "VisitProb-R",
        "out.csv",
        *PLACES,
        "--reference",
        "org.csv",
        "--anonymized",
        "pub.csv",
    ),
    "score": ("score", "utility", "--original", "table.csv", "--obfuscated", "released.csv"),
    "applications": ("applications", "error", "--original", "gps.csv", "--released", "noisy.csv"),
    "synthesize": ("synthesize", "SGD", "org.csv", "out.csv", *PLACES, "--seed", "1"),
    "similarity": ("similarity", "table.csv", "table.parquet", "--seed", "1"),
    "audit": ("audit", "org.csv", *PLACES, "--out", "out", "--seed", "1", "--quick"),
}
INPUTS = ("org.csv", "gps.csv", "noisy.csv", "table.csv", "table.parquet", "pub.csv", "released.csv")


def run(*arguments: object) -> None:
    """Run a command that must succeed."""
    done = tracearena(*arguments)
    assert done.status == 0, done.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small file of each kind."""
    folder = tmp_path_factory.mktemp("inputs")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        run("city", "org.csv", *CITY, "--places-out", "places.csv")
        run("obfuscate", "PL(4,1)", "org.csv", "ano.csv", *PLACES, "--seed", "1")
        run(
            "pseudonymise",
            "ano.csv",
            "pub.csv",
            "--original",
            "org.csv",
            *PLACES,
            "--id-table",
            "id.csv",
            "--seed",
            "1",
        )
        for name in ("table.csv", "table.parquet"):
            run("convert", "org.csv", name, *PLACES)
        run("obfuscate", "PL(4,1)", "table.csv", "released.csv", "--seed", "1")
        rows = "".join(
            f"u{user},2020-01-0{1 + t // 24}T{t % 24:02d}:00:00Z,{35.6 + user / 100 + t / 5000:.4f},139.7\n"
            for user in range(6)
            for t in range(96)
        )
        Path("gps.csv").write_text(f"user_id,datetime,lat,lng\n{rows}")
        run("obfuscate", "GeoInd(100m)", "gps.csv", "noisy.csv", "--seed", "1")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_looks_at_each_input_once(
    folder: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    heads: Counter[str] = Counter()
    guesses: Counter[str] = Counter()
    head = Input._head.func  # type: ignore[attr-defined]

    def count_head(self: Input) -> Any:
        heads[self.path.name] += 1
        return head(self)

    def count_guess(real: Any, at: int) -> Any:
        def guess(*arguments: Any) -> Any:
            guesses[Path(arguments[at]).name] += 1
            return real(*arguments)

        return guess

    monkeypatch.setattr(Input._head, "func", count_head)
    for name, at in (("guess_text_format", 1), ("guess_parquet_format", 0)):
        monkeypatch.setattr(recognition, name, count_guess(getattr(recognition, name), at))
    run(*COMMANDS[command])
    looked_at = {name for name in COMMANDS[command] if name in INPUTS}
    assert {name: heads[name] for name in looked_at} == dict.fromkeys(looked_at, 1)
    assert max(guesses.values(), default=0) <= 1, guesses


def test_a_pipe_is_refused_before_it_is_read(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = tracearena("similarity", folder / "table.csv", tmp_path / "pipe", "--seed", "1")
    assert done.status == 2
    assert "pipe" in done.err
