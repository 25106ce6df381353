"""Behaviour that all commands share.

It prints help in panels, checks the limits of all numbers, handles Ctrl-C and SIGTERM, and prints warnings as
plain sentences.
"""

from __future__ import annotations

import _thread
import functools
import inspect
import os
import signal
import sys
import sysconfig
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self, TextIO, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from tracearena.checks import LARGEST_COUNT, require_number, require_whole
from tracearena.errors import TracearenaWarning


class _WithExample:
    """A command whose epilog is an example: a command line, printed as it is."""

    epilog: str | None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example as the last section."""
        if self.epilog:
            with formatter.section("Example"):
                formatter.write(textwrap.indent(self.epilog, " " * formatter.current_indent) + "\n")


class PanelCommand(_WithExample, TyperCommand):
    """A command that lists its options under the panels they are declared with, without Rich."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section for the arguments, one for the options, and one per panel."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(panel, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def build_group(panels: Mapping[str, Iterable[str]]) -> type[TyperGroup]:
    """Return a class of groups that list their commands in panels, each with its whole first sentence.

    Click cuts the first sentence to fit one line.

    Parameters
    ----------
    panels
        Names of commands by the title of their panel, in the order of the help.
    """

    class PanelGroup(_WithExample, TyperGroup):
        def format_commands(self, ctx: Any, formatter: Any) -> None:
            width = max(len(name) for name in self.commands)
            for title, names in panels.items():
                records = [
                    (f"{name:<{width}}", (self.commands[name].help or "").partition("\n")[0])
                    for name in names
                    if name in self.commands
                ]
                if records:
                    with formatter.section(title):
                        formatter.write_dl(records)

    return PanelGroup


def describe_commands(app: typer.Typer) -> None:
    """Take the help of every command from its docstring, in which the example is the last paragraph."""
    for info in app.registered_commands:
        text, found, example = (inspect.getdoc(info.callback) or "").partition("\n\nExample:\n")
        info.help = text
        info.epilog = textwrap.dedent(example) if found else None
    for group in app.registered_groups:
        if group.typer_instance is not None:
            describe_commands(group.typer_instance)


def complete_algorithms(*words: str) -> Callable[[str], list[str]]:
    """Return a function that suggests algorithms to a shell: those of words such as ``attacks``."""

    def suggest(incomplete: str) -> list[str]:
        from tracearena.algorithms import catalogue
        from tracearena.algorithms.base import kinds_by_word

        names = (name for word in words for kind in kinds_by_word(word) for name in catalogue.names(kind))
        return sorted({name for name in names if name.startswith(incomplete)})

    return suggest


class Limit(NamedTuple):
    """Limits of a number; None means unlimited."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None


_COUNT = Limit(at_least=1, at_most=LARGEST_COUNT)
_METRES = Limit(above=0, at_most=1e6)
LIMITS: Mapping[str, Limit] = {
    "--top": _COUNT,
    "--reference-days": Limit(at_least=1, at_most=100_000),
    "--teams": Limit(at_least=1, at_most=999),
    "--users": _COUNT,
    "--days": Limit(at_least=1, at_most=100_000),
    "--data-sets": Limit(at_least=1, at_most=2),
    "--anonymization-days": Limit(at_least=1 / 1440, at_most=3650),
    "--attack-days": Limit(at_least=1 / 1440, at_most=3650),
    "--virtual-users": _COUNT,
    "--min-events": Limit(at_least=0, at_most=LARGEST_COUNT),
    "--traces-per-user": Limit(at_least=1, at_most=1_000_000),
    "--folds": Limit(at_least=2, at_most=LARGEST_COUNT),
    "--most-reidentified": Limit(at_least=0, at_most=1),
    "--largest-advantage": Limit(at_least=0, at_most=1),
    "--factors": Limit(at_least=1, at_most=4_096),
    "--iterations": Limit(at_least=1, at_most=1_000_000),
    "--alpha": Limit(above=0, at_most=1e12),
    "--k": _COUNT,
    "--eta": Limit(above=0, at_most=1e6),
    "--verifiers": _COUNT,
    "--classes": _COUNT,
    "--merge-places": _COUNT,
    "--fakes": Limit(at_least=1, at_most=100_000),
    "--exposure": Limit(above=0, at_most=1),
    "--sensitive-weight": Limit(above=0, at_most=1e9),
    "--final-weight": Limit(above=0, at_most=1e6),
    "--test-share": Limit(above=0, at_most=1),
    "--margin-km": Limit(at_least=0, at_most=100),
    "--parts": Limit(at_least=1, at_most=100),
    "--targets": _COUNT,
    "--rounds": Limit(at_least=0, at_most=1_000_000),
    "--max-bytes": _COUNT,
    "--max-listed-ids": _COUNT,
    "--threshold": Limit(at_least=0, at_most=2),
    "--slot": Limit(above=0, at_most=86_400 * 366),
    "--window": Limit(above=0, at_most=86_400 * 366),
    "--range": _METRES,
    "--side": _METRES,
    "--within": _METRES,
    "--cell": Limit(at_least=10, at_most=1e6),
    "--every": Limit(at_least=1, at_most=1440),
    "--people": Limit(at_least=1, at_most=1_000_000),
    "--smallest-group": _COUNT,
    "--draws": Limit(at_least=1, at_most=1_000_000),
    "--seed": Limit(at_least=0),
}
"""Limits by option; `--slot` is in seconds if it is a number."""


def guard_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that first checks all its numbers."""

    @functools.wraps(command)
    def check_and_run(*arguments: Any, **options: Any) -> Any:
        # The hints are read here, when the command runs: `--help` need not wait for it.
        for name, hint in get_type_hints(command, include_extras=True).items():
            value = options.get(name)
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                continue
            option, limit = _find_option(name, hint)
            is_whole = isinstance(value, int)
            limit = limit or Limit(at_most=LARGEST_COUNT if is_whole else 1e15)
            check = require_whole if is_whole and limit.above is None else require_number
            check(
                option, value, **{key: bound for key, bound in limit._asdict().items() if bound is not None}
            )
        return command(*arguments, **options)

    return check_and_run


def _find_option(name: str, hint: Any) -> tuple[str, Limit | None]:
    """Return the name of an option and its limits: its own if it declares both, or those of `LIMITS`."""
    parts = get_args(hint)
    # Inside `Annotated` Typer takes the first name of an option for its default.
    names = (
        declared
        for part in parts
        for declared in (getattr(part, "default", None), *(getattr(part, "param_decls", None) or ()))
    )
    option = next(
        (declared for declared in names if isinstance(declared, str) and declared.startswith("--")),
        f"--{name.replace('_', '-')}",
    )
    for part in parts:
        least, most = getattr(part, "min", None), getattr(part, "max", None)
        if least is not None and most is not None:
            return option, Limit(at_least=least, at_most=most)
    return option, LIMITS.get(option)


def prepare_commands(app: typer.Typer) -> None:
    """Guard every command of an application and of its groups, and list its options in panels."""
    for info in app.registered_commands:
        if not issubclass(info.cls or TyperCommand, PanelCommand):
            info.cls = PanelCommand
        if info.callback is not None:
            info.callback = guard_command(info.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            prepare_commands(group.typer_instance)


_AGAIN_S = 0.05
"""Seconds until an exception that was swallowed is raised again."""

_SIGNAL_TEXTS = {signal.SIGINT: "stopped by Ctrl-C", signal.SIGTERM: "stopped by SIGTERM"}
_DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_n_delayed_stops = 0
_has_outcome_message = False


def print_outcome(sentence: str) -> None:
    """Print which outputs exist after an interruption, instead of the general message."""
    global _has_outcome_message
    _has_outcome_message = True
    typer.echo(sentence, err=True)


@contextmanager
def delay_stop() -> Iterator[None]:
    """After a first signal, let the work in the block finish on its own, because it saves its state."""
    global _n_delayed_stops
    _n_delayed_stops += 1
    try:
        yield
    finally:
        _n_delayed_stops -= 1


class SignalHandler:
    """While it is entered, signals end the program cleanly; `received` is the first signal.

    Parameters
    ----------
    grace_s
        Seconds that the main thread has to end by itself.
    """

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self.received: int | None = None
        self._before: dict[int, Any] = {}
        self._pipe: tuple[int, int] | None = None
        self._wakeup = -1
        self._ended = threading.Event()
        self._again = False
        self._our_own = 0
        self._main = threading.get_ident()
        self._unraisable = sys.unraisablehook

    def __enter__(self) -> Self:
        global _has_outcome_message
        _has_outcome_message = False
        if threading.current_thread() is not threading.main_thread():
            return self
        for number, usual in _DEFAULTS.items():
            if signal.getsignal(number) is usual:  # leave a signal that is already ignored or handled
                self._before[number] = signal.signal(number, self._raise)
        if self._before:
            self._pipe = os.pipe()
            if sys.platform != "win32":  # there the end that is written to may block
                os.set_blocking(self._pipe[1], False)
            self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
            threading.Thread(target=self._watch, args=self._pipe[:1], daemon=True).start()
            self._unraisable, sys.unraisablehook = sys.unraisablehook, self._raise_unraisable
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._pipe is not None:
            sys.unraisablehook = self._unraisable
            signal.set_wakeup_fd(self._wakeup)
            os.close(self._pipe[1])

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self.received is None or self._again:
            self.received = self.received or number
            self._again = False
            raise KeyboardInterrupt

    def _raise_unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Raise our own exception again where it can be caught; pass others on."""
        if self.received is None or not isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._unraisable(unraisable)
            return
        number = self.received

        def raise_again() -> None:
            if not self._ended.is_set():
                self._again = True
                self._our_own += 1
                if hasattr(signal, "pthread_kill"):
                    signal.pthread_kill(self._main, number)
                else:
                    _thread.interrupt_main(signal.Signals(number))

        again = threading.Timer(_AGAIN_S, raise_again)
        again.daemon = True
        again.start()

    def _watch(self, signals: int) -> None:
        """Read the numbers of signals as they arrive, until the other end is closed."""
        heard = 0
        while number := os.read(signals, 1):
            if self._our_own:
                self._our_own -= 1
            elif number[0] in self._before:
                heard += 1
                if heard > 1:
                    self._end_at_once(number[0])
                threading.Thread(target=self._wait, args=(number[0],), daemon=True).start()
        os.close(signals)

    def _wait(self, number: int) -> None:
        if self._ended.wait(self._grace_s):
            threading.main_thread().join()
            time.sleep(self._grace_s)
            os._exit(128 + number)
        if not _n_delayed_stops:
            self._end_at_once(number)

    def _end_at_once(self, number: int) -> None:
        staging = sys.modules.get("tracearena.files.atomic")
        if staging is not None:
            staging.abandon()
        with suppress(OSError, ValueError):
            sys.stderr.write(self.message(number) + "\n")
            sys.stderr.flush()
        os._exit(128 + number)

    def message(self, number: int) -> str:
        """Return what ended the program and, unless a command printed it, what happened to its outputs."""
        words = _SIGNAL_TEXTS.get(signal.Signals(number), f"stopped by signal {number}")
        return words if _has_outcome_message else f"{words}; incomplete outputs have been removed"


@contextmanager
def hide_foreign_warnings() -> Iterator[None]:
    """Print warnings of tracearena and of the user's own code as sentences, and hide those of libraries.

    A user cannot act on the warning of a library, and a deprecation in a later version of a library must not
    look like a problem of the data; our tests turn such warnings into errors. ``python -W`` and
    ``PYTHONWARNINGS`` show all warnings, as usual.
    """
    if sys.warnoptions:
        yield
        return
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    installed.add(str(Path(__file__).parents[1]))

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        is_user_code = not any(Path(filename).is_relative_to(folder) for folder in installed)
        if issubclass(category, TracearenaWarning) or (category is UserWarning and is_user_code):
            typer.echo(f"warning: {message}", err=True)

    usual = warnings.showwarning
    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual
