"""What the commands print: results on stdout, everything else on stderr.

It also has the options that most commands share (seed, JSON, output format, cluster).
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import build_group, delay_stop, print_outcome
from tracearena.errors import ParameterError
from tracearena.i18n import format_number
from tracearena.jobs import feedback

if TYPE_CHECKING:
    from tracearena.engine import Cluster, Progress


SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Seed of all randomness, to repeat a result. By default a new seed, printed on stderr.",
    ),
]
ReleaseSeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="For experiments only: anyone who guesses the seed can undo the release. By default all "
        "randomness comes from the system's cryptographic source, and no seed is shown.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def add_group(
    app: typer.Typer,
    name: str,
    about: str,
    example: str,
    commands: Mapping[str, Callable[..., None]],
    panels: Mapping[str, Iterable[str]] | None = None,
) -> None:
    """Add a group of commands, which prints its help when no command is named."""
    group = typer.Typer(
        cls=build_group(panels or {"Commands": commands}),
        help=about,
        epilog=example,
        no_args_is_help=True,
    )
    for command, function in commands.items():
        group.command(command)(function)
    app.add_typer(group, name=name)


def print_result(result: Mapping[str, Any], as_json: bool) -> None:
    """Print a flat result, as one JSON object or as lines for people.

    JSON has every digit; people get rounded numbers (`format_for_people`). What cannot be computed is null in
    JSON and "none" for people.
    """
    result = replace_undefined(result)
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
        return
    lines = []
    for key, value in result.items():
        name, _, unit = key.rpartition("_")
        label, shown = key, format_for_people(value)
        if key in (
            "seed",
            "bounds",
        ):  # as people type them into another command
            shown = str(value)
            if isinstance(value, dict):
                shown = ", ".join(f"{part}: {one}" for part, one in value.items())
        elif unit in ("m", "km", "s", "h") and isinstance(value, (int, float)):
            label, shown = name, f"{shown} {unit}"
        lines.append((label.replace("_", " "), shown))
    width = max((len(label) for label, _ in lines), default=0)
    for label, shown in lines:
        typer.echo(f"{label:<{width}}  {shown}")
    if _has_none(result):
        typer.echo("none: there is no data to compute this value from", err=True)


def replace_undefined(value: Any) -> Any:
    """Return a result in which every NaN and infinity is None.

    >>> replace_undefined({"rate": float("nan"), "by": {"1": float("inf"), "2": 0.5}})
    {'rate': None, 'by': {'1': None, '2': 0.5}}
    """
    if isinstance(value, Mapping):
        return {key: replace_undefined(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_undefined(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _has_none(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and any(_has_none(one) for one in value.values()))


def format_for_people(value: Any) -> str:
    """Return a value as text for people: four significant digits, thousands separated by commas.

    >>> [format_for_people(number) for number in (1234567, 0.0925335, 98765.4, 2.0)]
    ['1,234,567', '0.09253', '98,765', '2']
    >>> [format_for_people(value) for value in ([0.123456, "a.csv"], {"k": 0.5, "valid": True}, None)]
    ['0.1235, a.csv', 'k: 0.5, valid: yes', 'none']
    """
    if value is None or (isinstance(value, (list, tuple, dict)) and not value):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {format_for_people(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(format_for_people(one) for one in value)
    return str(value)


_QUIET_S = 30.0
"""How long a stage is silent where stderr is not a terminal."""


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """Show a bar with rate and time left while the block runs, or print lines if stderr is not a terminal."""
    if not sys.stderr.isatty():
        said_at = time.monotonic()

        def say(done: int, total: int) -> None:
            nonlocal said_at
            if time.monotonic() - said_at >= _QUIET_S:
                said_at = time.monotonic()
                typer.echo(f"{what}: {done:,} of {total:,}", err=True)

        yield say
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{format_for_people(float(task.speed))}/s")

    left = (MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *left)
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class TerminalListener(feedback.Listener):
    """Prints messages of jobs on stderr, and shows their progress."""

    def note(self, message: str) -> None:
        """Print a message on stderr."""
        typer.echo(message, err=True)

    show_stage = staticmethod(progress_bar)

    def tell_outcome(self, sentence: str) -> None:
        """Print which outputs exist after an interruption."""
        print_outcome(sentence)

    def delay_stop(self) -> AbstractContextManager[None]:
        """After a first signal, let the work in the block finish on its own."""
        return delay_stop()


ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Resume an interrupted run with --to partitions."),
]

ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        help="Output format: table (.csv, .parquet) or pwscup (the contest's files). By default that of "
        "the input.",
    ),
]

ReleaseToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        help="Output format: table (.csv, .parquet), pwscup (the contest's files) or partitions (a folder "
        "of Parquet files). By default that of the input.",
    ),
]


def parse_proportion(name: str, text: str) -> float:
    """Return a share from 0 to 1.

    >>> parse_proportion("--limit", "5%"), parse_proportion("--limit", "0.05")
    (0.05, 0.05)
    """
    bare = text.strip()
    try:
        value = float(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ParameterError.of(name, text, "a share such as 5% or 0.05")
    return value


ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Run on a Dask cluster: the address of its scheduler (tcp://HOST:8786 or tls://HOST:8786), or "
        "local:N for N processes on this machine. The result is the same.",
    ),
]


def join_cluster(context: typer.Context, address: str | None) -> Cluster | None:
    """Join the cluster until the command ends; None without an address."""
    return context.with_resource(feedback.join_cluster(address))


class LazyCluster:
    """A cluster that is joined, or started, when the first work is sent to it.

    Attributes
    ----------
    was_needed
        Whether any work was sent to it.
    """

    def __init__(self, context: typer.Context, address: str) -> None:
        from tracearena.engine.cluster import require_address

        self._context, self._address = context, address
        self._cluster = None if require_address(address) else join_cluster(context, address)
        self.was_needed = False

    def __getattr__(self, name: str) -> Any:
        self.was_needed = True
        if self._cluster is None:
            self._cluster = join_cluster(self._context, self._address)
        return getattr(self._cluster, name)
