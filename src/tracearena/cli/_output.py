"""What the commands write and print: results on stdout, everything else on stderr.

Also the options of most commands: seeds, JSON, forms of output, a cluster.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import delay_stop, print_outcome
from tracearena.errors import ParameterError
from tracearena.jobs import feedback
from tracearena.jobs.feedback import note

if TYPE_CHECKING:
    from tracearena.engine import Cluster, Progress
    from tracearena.traces import Places


SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Seed of all randomness, to repeat the result; fresh, and printed on stderr, if omitted.",
    ),
]
ReleaseSeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="For experiments only: whoever guesses the seed can undo the release. If omitted, all "
        "randomness is drawn from the system's cryptographic source and nobody is told.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


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
        typer.echo("none: there is nothing to compute it from", err=True)


def replace_undefined(value: Any) -> Any:
    """Return a result with None in the place of every number that is not one.

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
    """Return a value for people: four digits that count, thousands apart, lists and switches in words.

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
        # From 999.95 on, four significant digits are a whole number.
        return f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {format_for_people(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(format_for_people(one) for one in value)
    return str(value)


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """Show a bar with rate and time left while the block runs; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
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
    """Shows what jobs say on stderr, with a bar of how far they are."""

    def note(self, message: str) -> None:
        """Show something that is not a result."""
        typer.echo(message, err=True)

    show_stage = staticmethod(progress_bar)

    def tell_outcome(self, sentence: str) -> None:
        """Say what of the outputs is there after an interruption."""
        print_outcome(sentence)

    def delay_stop(self) -> AbstractContextManager[None]:
        """Let work inside come to its own end after a first signal."""
        return delay_stop()


ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on with a folder of parts (--to partitions) that was stopped."),
]

ToOption = Annotated[
    str | None,
    typer.Option(
        "--to", help="table (.csv, .parquet) or pwscup, the contest's files; as what is read if omitted."
    ),
]

ReleaseToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        help="table (.csv, .parquet) or pwscup, the contest's files; as what is read if omitted; "
        "partitions, a folder of parts.",
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


def report_sensitive_places(places: Places, weight: float) -> dict[str, int]:
    """Return their number for the result; say where there are none, and a weight does nothing."""
    count = int(places.sensitive.sum())
    if not count and weight != 1:
        note(
            f"warning: none of the {len(places):,} places is sensitive, so their weight of {weight:g} does "
            "nothing and s_T counts all events alike. The file of places marks them, in its column hospital "
            "(regions) or sensitive (a table)"
        )
    return {"sensitive_places": count}


ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Work in a Dask cluster: tcp://HOST:8786 (tls://HOST:8786) of its scheduler, or local:N for N "
        "processes here. The result is the same.",
    ),
]


def join_cluster(context: typer.Context, address: str | None) -> Cluster | None:
    """Join the cluster until the command ends; None without an address."""
    return context.with_resource(feedback.join_cluster(address))


class LazyCluster:
    """A cluster whose workers are started when the first work goes to them.

    Attributes
    ----------
    was_needed
        Whether any did.
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
