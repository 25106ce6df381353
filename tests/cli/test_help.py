"""The table of contents."""

import subprocess
import sys

import pytest

from tracearena import __version__
from tracearena.cli import COMMANDS

HEAVY = ("numpy", "numba", "scipy", "sklearn", "plotly", "matplotlib", "polars", "torch", "pyproj")


def test_help_lists_every_command(run) -> None:  # type: ignore[no-untyped-def]
    out = run("--help").out
    for command in COMMANDS:
        assert f" {command.replace('_', '-')} " in out


def test_the_version_is_told(run) -> None:  # type: ignore[no-untyped-def]
    assert run("--version").out.strip() == __version__


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command: str) -> None:  # type: ignore[no-untyped-def]
    done = run(command.replace("_", "-"), "--help")
    assert done.status == 0
    assert len(done.out.splitlines()) > 4


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['tracearena', '--help']\n"
        "from tracearena.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("LOADED []")


@pytest.mark.parametrize(
    "room", ["traces", "engine", "obfuscation", "attacks", "metrics", "contest", "io.pwscup"]
)
def test_a_room_opens_without_compilers_and_pictures(room: str) -> None:
    code = (
        f"import sys, tracearena.{room}\n"
        "heavy = ('scipy.stats', 'sklearn', 'plotly', 'matplotlib', 'torch', 'ot')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_format_is_named() -> None:
    from tracearena.cli._reading import build_reading_option
    from tracearena.io import FORMATS
    from tracearena.io.formats.recognition import GPS_FORMATS

    option = build_reading_option("format")
    assert [name for name in (*FORMATS, *GPS_FORMATS) if f" {name}" not in option.help] == []
