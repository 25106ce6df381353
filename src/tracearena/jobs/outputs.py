"""Outputs and seeds of a job, and options that do not apply to it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, overload

from tracearena.errors import ParameterError
from tracearena.jobs.feedback import note

if TYPE_CHECKING:
    from tracearena.engine import Cluster
    from tracearena.traces import IdTable, ObfuscatedTraces, Traces


File = str | PathLike[str]


class OutputOptions(TypedDict, total=False):
    """How a job writes its output; all may be omitted.

    Attributes
    ----------
    to
        The format; if omitted, it follows from the name of the output or equals that of the input.
        ``partitions`` is a folder of parts.
    cluster
        A Dask cluster, or the address of one.
    resume
        Resume a folder of parts that was interrupted.
    """

    to: str | None
    cluster: Cluster | str | None
    resume: bool


@overload
def as_path(file: File) -> Path: ...
@overload
def as_path(file: File | None) -> Path | None: ...
def as_path(file: File | None) -> Path | None:
    """Return the path of a file that may not be named."""
    return None if file is None else Path(file)


def check_outputs(*paths: Path | None, inputs: Sequence[File | None] = (), folders: bool = False) -> None:
    """Refuse outputs that cannot all be written, before any work is done or any of them exists.

    An output must not be an input: the original traces would be lost. With `folders` the outputs may become
    folders, and take the place of empty ones. Unfinished files of a killed run do not count.
    """
    from tracearena.files.atomic import clear_leftovers

    given = [path for path in paths if path is not None]
    read = {Path(path).resolve() for path in inputs if path is not None}
    for at, path in enumerate(given):
        clear_leftovers(path)
        if folders and path.is_dir():
            if any(path.iterdir()):
                raise ParameterError(f"{path}: exists and is not an empty folder; choose another name")
        elif path.is_dir():
            raise ParameterError(f"{path}: is a folder; name a file in it")
        if not path.parent.is_dir():
            raise ParameterError(f"{path}: the folder {path.parent} does not exist")
        if any(path.resolve() == other.resolve() for other in given[:at]):
            raise ParameterError(f"{path}: two outputs cannot be written to the same file")
        if path.resolve() in read and path.is_file():
            raise ParameterError(f"{path}: is an input; write to another file")
        below = read & {*path.resolve().parents}
        if any(folder.is_dir() for folder in below):
            raise ParameterError(f"{path}: is inside a folder that is an input; write outside of it")


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
            "warning: anyone who guesses --seed can draw the same random numbers and undo this "
            "release; leave out --seed for a release that you publish"
        )
    return seed


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
            f"{out}: the name of a table must end in {', '.join(TABLE_NAMES)}; "
            "choose another format with --to"
        )
    if form == "pwscup" and out.suffix == ".parquet":
        raise ParameterError(
            f"{out}: files of format pwscup are CSV; leave out --to pwscup, or choose a name in .csv"
        )
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
    """Write an inferred table of identities."""
    from tracearena.io import pwscup
    from tracearena.io.places import write_id_pairs

    (write_id_pairs if form == "table" else pwscup.write_inferred_table)(table, out)


def write_inferred_traces(traces: Traces, out: Path, form: str) -> None:
    """Write inferred traces."""
    from tracearena.io import pwscup
    from tracearena.io.formats import checkins

    (checkins.write_event_table if form == "table" else pwscup.write_inferred_traces)(traces, out)


def is_id_table_file(path: Path) -> bool:
    """Whether a table names pseudonyms next to users, which the contest's guesses do not."""
    from tracearena.io import Input

    source = Input(path)
    return source.columns != ["user_id"] if source.is_parquet else "," in source.lines[0]
