"""Reading several files of one data set, and putting them on common ground."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tracearena.cli._console import note
from tracearena.cli._reading import ReadingOptions, say
from tracearena.cli._refusing import refuse
from tracearena.errors import DataError, FileError, ParameterError

if TYPE_CHECKING:
    from tracearena.intake import Reading
    from tracearena.traces import Traces
    from tracearena.traces.row_table import EventTable

_Other = TypeVar("_Other", bound="EventTable")


def read_halves(reading: ReadingOptions, reference: Path | None, original: Path) -> tuple[Traces, Traces]:
    """Read reference and original traces, from two files or from the two halves of one.

    Files of two clocks, or whose users were numbered apart, are refused.
    """
    from tracearena.intake.user_key import refuse_numbered_apart

    if reference is None:
        if not reading.is_split:
            raise ParameterError(
                "name reference traces with --reference, or cut the original's file with --split-at or "
                "--reference-days"
            )
        whole = reading.read(original)
        say(whole)
        first, second = reading.halves(whole)
        return first.as_events().traces, second.as_events().traces
    refuse("two files, which are not cut", split_at=reading.split_at, reference_days=reading.reference_days)
    truth = reading.read_events(original)
    known = reading.read_alike(reference, truth)
    later, earlier = on_common_ground((original, truth.traces), (reference, known.traces))
    refuse_numbered_apart(reference, original, users=(earlier.user_ids.tolist(), later.user_ids.tolist()))
    return earlier, later


def on_common_ground(first: tuple[Path, Traces], second: tuple[Path, _Other]) -> tuple[Traces, _Other]:
    """Return both with the same places and instants; where they cannot have them, name the files."""
    from tracearena.intake.alignment import aligned

    with naming(first[0], second[0]):
        return aligned(first[1], second[1])


def compare_users(reference: Path, users: int, anonymized: Path, pseudonyms: int, *, strictly: bool) -> None:
    """Refuse reference traces of another team; say where those of a table are of fewer or more people."""
    if users == pseudonyms:
        return
    said = f"{reference} has {users:,} users but {anonymized} {pseudonyms:,} pseudonyms"
    if strictly:
        raise DataError(f"{said}: they are not of one team")
    note(f"{said}: nobody who is missing in the one can be found in the other")


def at_common_places(files: list[tuple[Path, Reading[Traces]]]) -> list[Traces]:
    """Return the traces of several files at the same places."""
    from tracearena.intake.alignment import at_common_places

    with naming(*(path for path, _ in files)):
        return at_common_places([reading.traces for _, reading in files])


@contextmanager
def naming(*paths: Path) -> Iterator[None]:
    """Put the names of files before what contradicts itself between them."""
    try:
        yield
    except DataError as error:
        if isinstance(error, FileError):
            raise
        raise DataError(f"{', '.join(map(str, paths[:-1]))} and {paths[-1]}: {error}") from None
