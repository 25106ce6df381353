"""Portions of a large table: consecutive users, about a million rows together, as traces in final order.

Tables whose rows are not sorted by user are sorted on disk first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypedDict, TypeVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.checks import accepts
from tracearena.engine import block_ranges, current_chunk_rows, run_blocks, use
from tracearena.io.discretisation import TraceBuilder, check_no_place_choices, require_coordinates
from tracearena.io.fields.columns import EVENTS, POINTS
from tracearena.io.inputs import Input
from tracearena.io.large.first_pass import (
    EventFirstPass,
    FirstPass,
    find_time_conversion,
    scan_event_table,
    scan_point_table,
)
from tracearena.io.large.sources import FORMAT, EventFiles, PointFiles
from tracearena.io.large.table_files import (
    ROWS_PER_CHUNK,
    RowChunk,
    TableFiles,
    build_text_sources,
    create_folder_in,
    open_table,
    read_scratch_rows,
    write_scratch_rows,
)
from tracearena.io.large.text import TextTableFiles, rewrite_text
from tracearena.io.options import NO_CHOICES, Choices
from tracearena.io.points import POINT_ORDER, assemble_points
from tracearena.io.report import Report
from tracearena.io.rows import sort_rows
from tracearena.traces import GpsTraces, Grid, Places, Traces
from tracearena.traces.row_table import RowTable

ROWS_PER_USER_CHUNK = 1 << 20
T = TypeVar("T", bound=RowTable, covariant=True)


class RowSource(Protocol):
    """Rows on disk that can be read a chunk at a time; those that cannot be used are left out."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the user named."""

    @property
    def options(self) -> tuple[object, ...]:
        """How they are read."""

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return the rows of a chunk that can be used."""

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return rows that are known to be good, with ids of known types."""


@dataclass(frozen=True)
class UserChunk:
    """Users `first_user` up to `stop_user` of all, whose rows are `first` up to `stop`."""

    number: int
    first_user: int
    stop_user: int
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first


@dataclass(frozen=True)
class UserChunkTable(Generic[T]):
    """A table whose portions can be read in any order and by any process.

    Attributes
    ----------
    portions
        Portions of all users in the order of their ids. They depend only on the rows.
    begins
        The first id of each portion.
    before
        Number of rows before each chunk of the files, and the number of all rows as last value.
    kinds
        Types of the columns of ids.
    made
        Function that builds traces from the sorted rows of a portion.
    order
        Sort key of the rows.
    spill
        Location of the sorted rows, if the files are not sorted.
    """

    files: RowSource
    chunks: tuple[RowChunk, ...]
    before: NDArray[np.int64]
    portions: tuple[UserChunk, ...]
    begins: pl.Series
    kinds: Mapping[str, Any]
    made: Callable[[pl.DataFrame, UserChunk], T]
    order: tuple[str | pl.Expr, ...]
    is_text: bool = False
    spill: ExternalSort | None = None

    @classmethod
    def of(
        cls,
        files: RowSource,
        chunks: Sequence[RowChunk],
        found: FirstPass,
        portions: tuple[UserChunk, ...],
        **how: Any,
    ) -> Self:
        """Build a table after the first pass over its rows."""
        before = np.concatenate([[0], np.cumsum(found.kept)]).astype(np.int64)
        begins = found.users.gather([one.first_user for one in portions])
        return cls(files, tuple(chunks), before, portions, begins, **how)

    @property
    def is_in_scratch(self) -> bool:
        """Whether portions are read from the scratch folder, not from the files themselves."""
        return self.spill is not None or self.is_text

    def traces(self, number: int) -> T:
        """Return a portion as traces, equal to these users of the whole table."""
        portion = self.portions[number]
        if self.spill is None:
            first = int(np.searchsorted(self.before, portion.first, side="right")) - 1
            parts = []
            for at in range(first, len(self.chunks)):
                begin, end = int(self.before[at]), int(self.before[at + 1])
                if begin >= portion.stop:
                    break
                skip, stop = max(portion.first - begin, 0), min(portion.stop, end) - begin
                chunk = self.chunks[at]
                if stop > skip and end - begin == chunk.stop - chunk.first:
                    # All rows are usable, so that the others need not be read.
                    some = RowChunk(chunk.file, chunk.first + skip, chunk.first + stop)
                    parts.append(self._cast_columns(self.files.read_checked_rows(some, self.kinds)))
                elif stop > skip:
                    rows = self.files.read_usable_rows(chunk).slice(skip, stop - skip)
                    parts.append(self._cast_columns(rows))
            frame = pl.concat(parts) if len(parts) > 1 else parts[0]
        else:
            frame = self.spill.read_sorted(number, self.order)
        return self.made(self._cast_columns(frame), portion)

    def _cast_columns(self, frame: pl.DataFrame) -> pl.DataFrame:
        odd: Any = {name: kind for name, kind in self.kinds.items() if frame.schema[name] != kind}
        return frame.cast(odd) if odd else frame


class ChunkOptions(TypedDict, total=False):
    """How a table is divided into portions of users; all may be omitted.

    Attributes
    ----------
    sort
        Sort a table that is not sorted; False if the users get another order anyway (`shuffle_users`).
    chunk
        Rows that are read at a time; only memory depends on it.
    is_shared
        Whether the workers of a cluster can reach the scratch folder; if not, rows are sorted on this
        machine.
    users
        Every portion but the last has a multiple of this many users.
    """

    sort: bool
    chunk: int | None
    is_shared: bool
    users: int


@accepts(ChunkOptions)
def open_point_chunks(
    path: str | PathLike[str],
    scratch: Path,
    *,
    choices: Choices = NO_CHOICES,
    **options: Unpack[ChunkOptions],
) -> tuple[UserChunkTable[GpsTraces], FirstPass]:
    """Pass over all rows of a table of points once, and sort them if necessary.

    Parameters
    ----------
    scratch
        Folder for temporary files: about 60 bytes per point for text, and about 40 for a table that is not
        sorted.
    choices
        The bounds outside of which points are left out, and the zone of times without one.
    **options
        Keywords of `ChunkOptions`: ``sort``, ``chunk``, ``is_shared``, ``users``.
    """
    chunk, is_shared = options.get("chunk"), options.get("is_shared", True)
    report = Report(str(path), "points", timezone=choices.timezone)
    with _open_rows(path, report, POINTS, scratch, chunk, is_shared) as table:
        files, chunks = PointFiles(table, choices.timezone, choices.bounds), table.chunks(chunk)
        found = scan_point_table(files, report, chunks)
    kinds = {"user": found.users.dtype}
    if found.other_ids is not None:
        kinds["trajectory"] = found.other_ids
    made = partial(_assemble_points, outside=found.outside)
    opened: UserChunkTable[GpsTraces] = _cut_table(
        files, chunks, found, scratch, options, kinds=kinds, made=made, order=POINT_ORDER
    )
    return opened, found


@contextmanager
def _open_rows(
    path: str | PathLike[str],
    report: Report,
    wanted: tuple[str, ...],
    scratch: Path,
    chunk: int | None,
    is_shared: bool,
) -> Iterator[TableFiles]:
    """Open a table, text after it was rewritten; rows that were are looked at where they are."""
    source = path if isinstance(path, Input) else Input(path)
    layout = source.layout
    if not source.is_text:
        yield open_table(path, report, wanted, layout)
        return
    texts = build_text_sources(source)
    table = rewrite_text(texts, create_folder_in(scratch), report, wanted, layout, chunk or ROWS_PER_CHUNK)
    with nullcontext() if is_shared else use(cluster=None):
        yield table


def _cut_table(
    files: PointFiles | EventFiles,
    chunks: Sequence[RowChunk],
    found: FirstPass,
    scratch: Path,
    options: ChunkOptions,
    **how: Any,
) -> UserChunkTable[Any]:
    """Return a table of which all rows have been looked at, and sort it where it is not and has to be."""
    portions = cut_user_chunks(found.counts, users=options.get("users", 1))
    is_text = isinstance(files.table, TextTableFiles)
    opened: UserChunkTable[Any] = UserChunkTable.of(files, chunks, found, portions, is_text=is_text, **how)
    if options.get("sort", True) and not found.is_sorted:
        opened = sort_externally(opened, scratch, is_shared=options.get("is_shared", True))
    return opened


def cut_user_chunks(counts: NDArray[np.int64], *, users: int = 1) -> tuple[UserChunk, ...]:
    """Cut the users where a portion is full (`engine.use` says how many rows that is); nobody is cut in two.

    Parameters
    ----------
    users
        Every portion but the last has a multiple of this many users.
    """
    size = current_chunk_rows(ROWS_PER_USER_CHUNK)
    stops = np.cumsum(counts)
    portions: list[UserChunk] = []
    user = first = 0
    while user < len(counts):
        fitting = int(np.searchsorted(stops, first + size, side="right")) - user
        stop_user = min(user + max(fitting // users, 1) * users, len(counts))
        stop = int(stops[stop_user - 1])
        portions.append(UserChunk(len(portions), user, stop_user, first, stop))
        user, first = stop_user, stop
    return tuple(portions)


def shuffle_users(
    table: UserChunkTable[T],
    found: FirstPass,
    order: NDArray[np.int64],
    scratch: Path,
    *,
    is_shared: bool = True,
    users: int = 1,
) -> UserChunkTable[T]:
    """Return a table with its users in another order, and their positions in this order as ids.

    Parameters
    ----------
    users
        Every portion but the last has a multiple of this many users.
    """
    portions = cut_user_chunks(found.counts[order], users=users)
    return reorder_users(table, found, order, portions, scratch, is_shared=is_shared)


def reorder_users(
    table: UserChunkTable[T],
    found: FirstPass,
    order: NDArray[np.int64],
    portions: tuple[UserChunk, ...],
    scratch: Path,
    *,
    is_shared: bool,
) -> UserChunkTable[T]:
    """Return a table with its users in another order, called by their places in it, in certain portions."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    users = found.users

    def places(ids: pl.Series) -> pl.Series:
        return pl.Series("user", place[users.search_sorted(ids.cast(users.dtype), side="left").to_numpy()])

    begins = pl.Series([one.first_user for one in portions], dtype=pl.Int64)
    kinds = {**table.kinds, "user": pl.Int64()}
    reordered = replace(table, portions=portions, begins=begins, kinds=kinds)
    return sort_externally(reordered, scratch, is_shared=is_shared, called=places)


def sort_externally(
    table: UserChunkTable[T],
    scratch: Path,
    *,
    is_shared: bool,
    called: Callable[[pl.Series], pl.Series] | None = None,
) -> UserChunkTable[T]:
    """Put the rows of each portion together, in files of their own; users may be called otherwise."""
    begins, user = table.begins, table.kinds["user"]
    folder = create_folder_in(scratch)

    def work(block: int, first: int, stop: int) -> NDArray[np.int64]:
        frame = table.files.read_usable_rows(table.chunks[first])
        frame = table._cast_columns(frame if called is None else frame.with_columns(called(frame["user"])))
        owner = begins.search_sorted(frame["user"].cast(user), side="right").to_numpy().astype(np.int64) - 1
        write_scratch_rows(folder, block, frame[np.argsort(owner, kind="stable")])
        return np.append(0, np.cumsum(np.bincount(owner, minlength=len(begins))))

    offsets = run_blocks(work, block_ranges(len(table.chunks), 1), anywhere=is_shared, report=True)
    return replace(table, spill=ExternalSort(folder, tuple(offsets)))


def _assemble_points(frame: pl.DataFrame, portion: UserChunk, *, outside: pl.Series) -> GpsTraces:
    return assemble_points(frame, portion.first_user, outside)


# External sort: rows in any order are put together portion by portion on disk.


@dataclass(frozen=True)
class ExternalSort:
    """Files of rows, one for each chunk that was read, in each of which a portion's rows are together.

    Attributes
    ----------
    folder
        Where the files are.
    offsets
        Where the rows of each portion begin in each file, with the end as last value.
    """

    folder: Path
    offsets: tuple[NDArray[np.int64], ...]

    def read_sorted(self, portion: int, order: Sequence[str | pl.Expr]) -> pl.DataFrame:
        """Return the rows of a portion, sorted; equal ones in the order of the files."""
        parts = [
            read_scratch_rows(self.folder, number, int(begin), int(end))
            for number, (begin, end) in enumerate(own[portion : portion + 2] for own in self.offsets)
            if end > begin
        ]
        return sort_rows(pl.concat(parts), order)


# Tables of events: portions of users as traces that share places and a clock.


@accepts(ChunkOptions)
def open_event_chunks(
    path: str | PathLike[str],
    scratch: Path,
    *,
    choices: Choices = NO_CHOICES,
    places: Places | None = None,
    **options: Unpack[ChunkOptions],
) -> tuple[UserChunkTable[Traces], EventFirstPass]:
    """Pass over all rows of a table of events once, and sort them if necessary.

    Parameters
    ----------
    choices
        Choice of places and instants. The most visited places and grids without bounds are not possible,
        because they depend on all rows together.
    places
        The possible places; by default those of the table.
    scratch
        Folder for the rows of text, about 90 bytes each, and for events that are not sorted.
    **options
        Keywords of `ChunkOptions`: ``sort``, ``chunk``, ``is_shared``, ``users``.
    """
    chunk, is_shared = options.get("chunk"), options.get("is_shared", True)
    report = Report(str(path), "partitions" if Path(path).is_dir() else FORMAT)
    with _open_rows(path, report, EVENTS, scratch, chunk, is_shared) as table:
        known = places
        if places is not None:
            check_no_place_choices(choices)
        elif choices.grid is not None and choices.bounds is not None:
            known = Places.of_grid(Grid.over(choices.bounds, *choices.grid))
        if known is None:
            require_coordinates(list(table.roles), str(path))
        chunks = table.chunks(chunk)
        files = EventFiles(table, find_time_conversion(table, choices, places, chunks), choices, known)
        found = scan_event_table(files, report, chunks)
    kinds = {"user": found.users.dtype} | ({} if known is not None else {"venue": found.other_ids})
    names = pl.Series(found.places.ids.tolist(), dtype=found.other_ids) if known is None else None
    made = TraceBuilder(found.places, found.clock, found.extent, found.is_stamped, names)
    opened: UserChunkTable[Traces] = _cut_table(
        files, chunks, found, scratch, options, kinds=kinds, made=made, order=made.order
    )
    return opened, found
