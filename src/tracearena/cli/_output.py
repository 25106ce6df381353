"""What the commands write and print: results on stdout, everything else on stderr.

Also the options of most commands: seeds, JSON, forms of output, a cluster.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import print_outcome
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.engine import Cluster, Progress
    from tracearena.traces import IdTable, ObfuscatedTraces, Places, Traces


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


def note(message: str) -> None:
    """Say something that is not a result."""
    typer.echo(message, err=True)


def choose_seed(seed: int | None) -> int:
    """Return the seed of a measurement, or draw one and say which."""
    if seed is None:
        from tracearena.engine import fresh_seed

        seed = fresh_seed()
        note(f"seed {seed}")
    return seed


def choose_release_seed(seed: int | None) -> int | None:
    """Return the seed of what may be published, or None for a secret root; say what a seed gives away."""
    if seed is not None:
        note(
            "warning: whoever guesses --seed can draw the same random numbers and undo this release; "
            "leave --seed out for what you publish"
        )
    return seed


def check_outputs(*paths: Path | None, inputs: Sequence[Path | None] = (), folders: bool = False) -> None:
    """Refuse outputs that cannot all be written, before any work is done or any of them exists.

    An input is no output: the original traces would be gone, and with them the way back. With
    `folders` the outputs may become folders, and take the place of empty ones. What a killed run left
    unfinished does not count.
    """
    from tracearena.files.atomic import clear_leftovers

    given = [path for path in paths if path is not None]
    read = {path.resolve() for path in inputs if path is not None}
    for at, path in enumerate(given):
        clear_leftovers(path)
        if folders and path.is_dir():
            if any(path.iterdir()):
                raise ParameterError(f"{path}: exists and is not an empty folder; choose another name")
        elif path.is_dir():
            raise ParameterError(f"{path}: is a folder; name a file in it")
        if not path.parent.is_dir():
            raise ParameterError(f"{path}: there is no folder {path.parent}")
        if any(path.resolve() == other.resolve() for other in given[:at]):
            raise ParameterError(f"{path}: two outputs cannot go to one file")
        if path.resolve() in read and path.is_file():
            raise ParameterError(f"{path}: is read here; write to another file")
        below = read & {*path.resolve().parents}
        if any(folder.is_dir() for folder in below):
            raise ParameterError(f"{path}: lies in a folder that is read here; write beside it")


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
        note("none: there is nothing to compute it from")


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


@contextmanager
def show_progress(what: str, cluster: Cluster | None = None) -> Iterator[None]:
    """Do what is inside in the cluster, if there is one, and show a bar of how far it is."""
    from tracearena.engine import use

    with progress_bar(what) as progress, use(cluster=cluster, progress=progress):
        yield


@contextmanager
def show_unsaved_progress(what: str, cluster: Cluster | None = None) -> Iterator[None]:
    """Show on a terminal how far the work inside is; say after Ctrl-C how to go on.

    For work that saves nothing on its way: the same command starts again.
    """
    try:
        with show_progress(what, cluster):
            yield
    except KeyboardInterrupt:
        print_outcome(f"stopped at {what}: nothing is written, and the same command begins anew")
        raise


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


def choose_output_form(out: Path, to: str | None, *, contest: bool) -> str:
    """Return ``table`` or ``pwscup``: as asked for, or as what was read is; a name .parquet is a table.

    Parameters
    ----------
    contest
        Whether what was read is of the contest.
    """
    from tracearena.io.writers import TABLE_NAMES, guess_format_by_name

    if to not in (None, "table", "pwscup"):
        raise ParameterError.of("--to", to, "table or pwscup")
    form = to or (guess_format_by_name(out, like="pwscup") if contest else "table")
    if form != "pwscup" and not str(out).endswith(TABLE_NAMES):
        raise ParameterError(
            f"{out}: a table's name ends in {', '.join(TABLE_NAMES)}; --to names another form"
        )
    if form == "pwscup" and out.suffix == ".parquet":
        raise ParameterError(f"{out}: the contest's files are CSV; leave --to pwscup out, or name a .csv")
    return form


def write_obfuscated(released: ObfuscatedTraces, out: Path, form: str) -> None:
    """Write obfuscated traces; the contest's files of them name no users."""
    from tracearena.io import pwscup
    from tracearena.io.formats import released_table

    (released_table.write_released_table if form == "table" else pwscup.write_obfuscated)(released, out)


def write_anonymized(released: ObfuscatedTraces, out: Path, form: str) -> None:
    """Write traces of pseudonyms."""
    from tracearena.io import pwscup
    from tracearena.io.formats import released_table

    (released_table.write_released_table if form == "table" else pwscup.write_anonymized)(released, out)


def write_inferred_table(table: IdTable, out: Path, form: str) -> None:
    """Write a guess at who is who."""
    from tracearena.io import pwscup
    from tracearena.io.places import write_id_pairs

    (write_id_pairs if form == "table" else pwscup.write_inferred_table)(table, out)


def write_inferred_traces(traces: Traces, out: Path, form: str) -> None:
    """Write a guess at who was where."""
    from tracearena.io import pwscup
    from tracearena.io.formats import checkins

    (checkins.write_event_table if form == "table" else pwscup.write_inferred_traces)(traces, out)


def is_id_table_file(path: Path) -> bool:
    """Whether a table names pseudonyms next to users, which the contest's guesses do not."""
    from tracearena.io import Input

    source = Input(path)
    return source.columns != ["user_id"] if source.is_parquet else "," in source.lines[0]


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
    """Join the cluster until the command ends, and say where its dashboard is; None without an address."""
    if address is None:
        return None
    from tracearena.engine import Cluster

    cluster = context.with_resource(Cluster(address))
    workers, threads = len(cluster.workers), cluster.n_threads
    shown = f"dashboard {cluster.dashboard}" if cluster.dashboard else "no dashboard"
    note(f"{workers} worker{'s' * (workers > 1)} with {threads} thread{'s' * (threads > 1)}; {shown}")
    return cluster


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


def refuse_options(what: str, **options: object) -> None:
    """Refuse options that are given and do not apply to `what`, instead of ignoring them."""
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in options.items()
        if value is not None and value is not False
    ]
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise ParameterError(f"{', '.join(given)} {verb} not apply to {what}")
