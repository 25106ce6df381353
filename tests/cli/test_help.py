"""The help: what it lists, what it loads, and its examples."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from tracearena import __version__
from tracearena.cli import COMMANDS, build

HEAVY = ("numpy", "numba", "scipy", "sklearn", "plotly", "matplotlib", "polars", "torch", "pyproj")


def test_help_lists_every_command(run) -> None:  # type: ignore[no-untyped-def]
    out = run("--help").out
    for command in COMMANDS:
        assert f" {command} " in out


def walk(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and all commands below it, each with the words that call it."""
    yield words, command
    for name, one in getattr(command, "commands", {}).items():
        yield from walk(one, (*words, name))


ROOT: Any = typer.main.get_command(build())
EVERY_COMMAND = dict(walk(ROOT))
GROUPS = [words for words, command in EVERY_COMMAND.items() if hasattr(command, "commands")]


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_a_group_shows_the_whole_first_sentence_of_every_command(run, monkeypatch, words) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*words, "--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    for name, command in EVERY_COMMAND[words].commands.items():
        assert f" {name} {command.help.splitlines()[0]} " in shown
    assert len(EVERY_COMMAND) > 60


@pytest.mark.parametrize("words", EVERY_COMMAND, ids=" ".join)
def test_every_help_ends_with_an_example_that_its_command_accepts(run, monkeypatch, words) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("COLUMNS", "80")
    out = run(*words, "--help").out
    assert max(map(len, out.splitlines())) <= 80
    _, found, example = out.rpartition("\nExample:\n")
    assert found
    program, *typed = shlex.split(example.replace("\\\n", " "))
    assert program == "tracearena"
    assert tuple(typed[: len(words)]) == words
    command, context = ROOT, None
    while hasattr(command, "commands"):
        command = command.commands[typed.pop(0)]
    assert "--help" not in typed
    # Parsing checks names, types and number of all arguments and options; it runs nothing.
    context = command.make_context("example", typed)
    assert context.params


def test_the_version_is_printed(run) -> None:  # type: ignore[no-untyped-def]
    assert run("--version").out.strip() == __version__


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("tracearena au", ["audit", "audit-privacy"]),
        ("tracearena audit --qu", ["--quick"]),
        ("tracearena contest boa", ["board"]),
        ("tracearena obfuscate PL", ["PL"]),
        ("tracearena attack VisitProb-", ["VisitProb-R", "VisitProb-T"]),
        ("tracearena synthesize SG", ["SGD", "SGLT"]),
        ("tracearena algorithms Priv", ["PrivateRoles", "PrivateTrips"]),
        ("tracearena algorithms PL", ["PL"]),
    ],
)
def test_a_shell_completes_commands_options_and_algorithms(
    run: Any, monkeypatch: pytest.MonkeyPatch, typed: str, suggested: list[str]
) -> None:
    monkeypatch.setenv("_TRACEARENA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    assert run().out.split() == suggested


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_completion_of_every_shell_is_shown(run: Any, monkeypatch: Any, shell: str) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "_TRACEARENA_COMPLETE" in run("--show-completion", shell).out


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
    from tracearena.io import FORMATS
    from tracearena.io.formats.recognition import GPS_FORMATS

    (told,) = (option.help for option in EVERY_COMMAND["convert",].params if option.name == "format")
    assert [name for name in (*FORMATS, *GPS_FORMATS) if f" {name}" not in told] == []
