"""On a terminal long work shows a bar; stopped, it says how to go on; for people numbers are rounded."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from pathlib import Path
from unittest import mock

import pytest
from tests.cli.signals.test_signals import stopped
from tests.command_line import tracearena
from tests.made_files import commuters

from tracearena.cli import main


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def gps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return commuters(tmp_path_factory.mktemp("gps") / "gps.csv", users=3, days=2)


COMMANDS = {
    "describe": ["describe", "GPS"],
    "obfuscate": ["obfuscate", "GeoInd(100m)", "GPS", "OUT"],
    "applications": ["applications", "error", "--original", "GPS", "--released", "GPS"],
}


def words(command: str, gps: Path, folder: Path) -> list[str]:
    names = {"GPS": str(gps), "OUT": str(folder / "out.csv")}
    return [names.get(word, word) for word in COMMANDS[command]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_sees_a_bar_and_a_file_does_not(
    gps: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    given = words(command, gps, tmp_path)
    screen, out = Terminal(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["tracearena", *given]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(screen),
        contextlib.suppress(SystemExit),
    ):
        main()
    assert "reading gps.csv" in screen.getvalue()
    (tmp_path / "out.csv").unlink(missing_ok=True)
    quiet = tracearena(*given)
    assert quiet.status == 0
    assert "reading gps.csv" not in quiet.err
    assert quiet.out == out.getvalue() or command == "obfuscate"


HANGING = """
import time
from pathlib import Path
import tracearena.io as formats
def hang(*arguments, **options):
    Path(READY).touch()
    time.sleep(600)
formats.read = hang
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_says_how_to_go_on(gps: Path, tmp_path: Path, command: str) -> None:
    ready = tmp_path / "ready"
    script = HANGING.replace("READY", repr(str(ready)))
    given: list[object] = list(words(command, gps, tmp_path))
    status, err, _ = stopped(given, signal.SIGINT, ready.exists, script)
    assert status == 130
    assert "run the same command to start again" in err
    assert not (tmp_path / "out.csv").exists()


def test_people_get_rounded_numbers_and_machines_all_digits(gps: Path, tmp_path: Path) -> None:
    released = tmp_path / "released.csv"
    assert tracearena("obfuscate", "GeoInd(100m)", gps, released, "--seed", 1).status == 0
    both = ("applications", "error", "--original", gps, "--released", released)
    exact = tracearena(*both, "--json").json["mean_m"]
    people = dict(line.split(maxsplit=1) for line in tracearena(*both).out.splitlines())
    assert people["mean"] == f"{exact:.4g} m"
    assert people["points"] == "288"
