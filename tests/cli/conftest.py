"""The command line as a user meets it: arguments in; status, output and messages out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tracearena.cli import main
from tracearena.formats import pwscup
from tracearena.traces import Traces


@dataclass(frozen=True)
class Result:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run ``tracearena`` with arguments."""

    def run_command(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["tracearena", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as leave:
            status = int(leave.code or 0)
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run_command


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    """A folder with the files of a small team."""
    walks = make_walks(users=30, days=4)
    reference, original = walks.split_days(2)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(reference, tmp_path / "ref.csv")
    pwscup.write_traces(original, tmp_path / "org.csv")
    return tmp_path
