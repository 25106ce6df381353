"""The command line.

Each command is in a module of its own or of related commands, and imports what it needs only when it runs.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tracearena import __version__
from tracearena.cli._app import (
    SignalHandler,
    build_group,
    describe_commands,
    hide_foreign_warnings,
    prepare_commands,
)
from tracearena.cli._output import TerminalListener
from tracearena.errors import TracearenaError
from tracearena.jobs.feedback import listen

PANELS = {
    "Start here": {"demo": "demo", "audit": "audit", "protect": "audit"},
    "Your data": {"describe": "describe", "convert": "convert", "city": "city"},
    "Protect": {
        "algorithms": "attack",
        "obfuscate": "obfuscate",
        "pseudonymise": "pseudonymise",
        "check": "score",
    },
    "Attack and score": {
        "attack": "attack",
        "score": "score",
        "sweep": "sweep",
        "bounds": "sweep",
        "similarity": "similarity",
        "lbs": "similarity",
        "applications": "applications",
    },
    "Synthesize": {
        "synthesize": "synthesize",
        "tune": "sweep",
        "evaluate": "evaluate",
        "deniability": "deniability",
        "budget": "private",
        "audit-privacy": "private",
    },
    "Contests": {"contest": "contest"},
    "The papers": {"figure": "figure", "findings": "figure"},
}
"""Commands and the modules that have them, by panel, in the order of ``tracearena --help``."""
COMMANDS = {name: module for panel in PANELS.values() for name, module in panel.items()}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def build(words: Sequence[str] | None = None) -> typer.Typer:
    """Assemble the application.

    Parameters
    ----------
    words
        The words of the command line. If the first is a command, only that one is built. Otherwise no
        command will run, and all are built without their options, which is quick. By default all
        are built.
    """
    app = typer.Typer(
        name="tracearena",
        cls=build_group(PANELS),
        help="Measure how private location traces are, publish safer ones, and hold contests.",
        epilog="tracearena audit trips.csv --out audit",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    named = [command for command in COMMANDS if words and words[0] == command]
    for command in named or COMMANDS:
        module = importlib.import_module(f"tracearena.cli.{COMMANDS[command]}")
        if hasattr(module, f"register_{command}"):  # a group of commands
            getattr(module, f"register_{command}")(app)
        else:
            app.command(command)(getattr(module, command.replace("-", "_")))
    describe_commands(app)
    if words is not None and not named:
        _drop_options(app)
    else:
        from tracearena.cli._reading import declare_options

        declare_options()
    prepare_commands(app)
    return app


def _drop_options(app: typer.Typer) -> None:
    """Leave of every command its name and its help; Typer needs long to read the options of all."""
    for info in app.registered_commands:
        info.name = info.name or getattr(info.callback, "__name__", None)
        info.callback = lambda: None
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _drop_options(group.typer_instance)


def main(*, grace_s: float = 5.0) -> None:
    """Run the command line; a user's mistake prints one message and has exit status 2, never a traceback.

    Parameters
    ----------
    grace_s
        Seconds that a command has to end after a signal; containers wait 10 before they kill.
    """
    # Last in the path: a user's own algorithm is found in the current folder, and nothing is shadowed.
    sys.path.append("")
    with SignalHandler(grace_s) as stopping, hide_foreign_warnings(), listen(TerminalListener()):
        try:
            _run()
        except BaseException as error:
            if stopping.received is None or not _is_interrupt(error):
                raise
            _fail(stopping.message(stopping.received), 128 + stopping.received)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether a signal caused an exception, directly or not."""
    # Typer turns Ctrl-C into an exit, whose status differs between its versions. Python 3.11 raises
    # RuntimeError from a KeyboardInterrupt that arrives while a class names its fields.
    while error is not None:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _run() -> None:
    try:
        build(_find_words())(prog_name="tracearena")
    except TracearenaError as error:
        _fail(str(error), 2)
    except MemoryError as error:
        _fail(f"not enough memory: {error}", 2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if error.filename is None and not is_full:
            raise
        _fail(f"{error.filename or 'output'}: {error.strerror or error}", 1 if is_full else 2)
    except Exception as error:
        if "django.db" not in sys.modules:
            raise
        from tracearena.server.errors import is_database_failure
        from tracearena.server.store.database import explain_database_error

        if not is_database_failure(error):
            raise
        _fail(explain_database_error(error), 2)


def _find_words() -> list[str]:
    """Return the words of the command line, or of the one that a shell wants to complete."""
    unfinished = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS")
    if "_TRACEARENA_COMPLETE" in os.environ and unfinished:
        return unfinished.split()[1:]
    return sys.argv[1:]


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _fail(message: str, status: int) -> None:
    typer.echo(message, err=True)
    sys.exit(status)
