"""The command line.

Each command has a module, or shares one with its relatives; it imports what it needs only when it runs.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tracearena import __version__
from tracearena.cli._app import SignalHandler, hide_foreign_warnings, prepare_commands
from tracearena.cli._output import TerminalListener
from tracearena.errors import TracearenaError
from tracearena.jobs.feedback import listen

COMMANDS = {
    "demo": "demo",
    "audit": "audit",
    "protect": "audit",
    "city": "city",
    "convert": "convert",
    "describe": "describe",
    "algorithms": "attack",
    "synthesize": "synthesize",
    "tune": "sweep",
    "deniability": "deniability",
    "obfuscate": "obfuscate",
    "pseudonymise": "pseudonymise",
    "attack": "attack",
    "score": "score",
    "check": "score",
    "sweep": "sweep",
    "bounds": "sweep",
    "contest": "contest",
    "applications": "applications",
    "figure": "figure",
    "findings": "figure",
    "evaluate": "evaluate",
    "similarity": "similarity",
    "lbs": "similarity",
}
"""Commands and the modules that have them, in the order of ``tracearena --help``."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def build(words: Sequence[str] | None = None) -> typer.Typer:
    """Assemble the application.

    Parameters
    ----------
    words
        What was typed. If it begins with a command, only that one is built; otherwise none will run,
        and the commands are there by name and first sentence alone, which is quick. By default all are
        built.
    """
    app = typer.Typer(
        name="tracearena",
        help="Where defences and attacks on location traces meet.",
        no_args_is_help=True,
        add_completion=False,
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
            app.command()(getattr(module, command))
    for info in app.registered_commands:
        # The whole first sentence, which would otherwise be cut to fit the line.
        info.short_help = inspect.getdoc(info.callback or app).partition("\n")[0]  # type: ignore[union-attr]
    if words is not None and not named:
        _drop_options(app)
    else:
        from tracearena.cli._reading import declare_options

        declare_options()
    prepare_commands(app)
    return app


def _drop_options(app: typer.Typer) -> None:
    """Leave of every command its name and its help: reading all their options takes Typer long."""
    for info in app.registered_commands:
        info.name = info.name or getattr(info.callback, "__name__", None)
        info.callback = lambda: None
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _drop_options(group.typer_instance)


def main(*, grace_s: float = 5.0) -> None:
    """Run; a user's mistake becomes one message and exit status 2, never a traceback.

    Parameters
    ----------
    grace_s
        Seconds to end by itself after a signal; 5 are half of what containers wait before they kill.
    """
    # A user's own algorithm in the current folder is found by its import path; nothing is shadowed.
    sys.path.append("")
    with SignalHandler(grace_s) as stopping, hide_foreign_warnings(), listen(TerminalListener()):
        try:
            _run()
        except (KeyboardInterrupt, SystemExit):
            # Typer makes an exit of a Ctrl-C, whose status differs between its versions.
            if stopping.received is None:
                raise
            _fail(stopping.message(stopping.received), 128 + stopping.received)


def _run() -> None:
    try:
        build(sys.argv[1:])()
    except TracearenaError as error:
        _fail(str(error), 2)
    except MemoryError as error:
        _fail(f"this needs more memory than there is: {error}", 2)
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


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _fail(message: str, status: int) -> None:
    typer.echo(message, err=True)
    sys.exit(status)
