"""Portions of a large table: consecutive users, about a million rows together, as traces in final order.

Tables whose rows are not sorted by user are sorted on disk first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.engine import block_ranges, current_chunk_rows, run_blocks, use
from tracearena.files.atomic import name_in_errors
from tracearena.io.discretisation import check_no_place_choices, require_coordinates
from tracearena.io.fields.columns import EVENTS, convert_ids_to_array, number_ids
from tracearena.io.inputs import Input
from tracearena.io.large.first_pass import (
    NO_EVENT,
    EventFirstPass,
    FirstPass,
    find_time_conversion,
    scan_event_table,
    scan_point_table,
)
from tracearena.io.large.sources import FORMAT, EventFiles, PointFiles, open_points
from tracearena.io.large.table_files import (
    ROWS_PER_CHUNK,
    RowChunk,
    TableFiles,
    build_text_sources,
    open_table,
)
from tracearena.io.large.text import TextPoints, rewrite_points, rewrite_table
from tracearena.io.options import AS_NAMED, Choices, Layout
from tracearena.io.report import Report
from tracearena.traces import Box, Clock, GpsTraces, Grid, Places, Traces
from tracearena.traces.gps import number_trajectories
from tracearena.traces.row_table import RowTable
from tracearena.traces.time import require_zone

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
    """A table whose portions can be read one by one, in any order, by any process.

    Attributes
    ----------
    portions
        All users, in the order of their ids. Where they are cut depends on nothing but the rows.
    begins
        The first id of each portion.
    before
        How many rows the chunks before each one have, with the number of all as last value.
    kinds
        Types of the columns of ids.
    made
        Makes traces of the sorted rows of a portion.
    order
        What rows are sorted by.
    spill
        Where the rows are, if the files are not sorted.
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
        """Put together a table of which all rows have been looked at."""
        before = np.concatenate([[0], np.cumsum(found.kept)]).astype(np.int64)
        begins = found.users.gather([one.first_user for one in portions])
        return cls(files, tuple(chunks), before, portions, begins, **how)

    @property
    def is_in_scratch(self) -> bool:
        """Whether portions are read from the scratch folder, not from the files themselves."""
        return self.spill is not None or self.is_text

    def traces(self, number: int) -> T:
        """Return a portion as traces: what reading the whole and taking these users would give."""
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


def open_point_chunks(
    path: str | PathLike[str],
    scratch: Path,
    *,
    layout: Layout = AS_NAMED,
    timezone: str | None = None,
    box: Box | None = None,
    sort: bool = True,
    chunk: int | None = None,
    is_shared: bool = True,
) -> tuple[UserChunkTable[GpsTraces], FirstPass]:
    """Look at all rows of a table of points once, and sort them where they are not sorted.

    Parameters
    ----------
    scratch
        Folder for the points of a table that is text, or is not sorted, which takes about as much room as
        they do in memory, 40 bytes each; of unsorted text twice.
    sort
        Leave it out where the users get another order anyway (`shuffle_users`).
    is_shared
        Whether the workers of a cluster reach the scratch folder; if not, points are sorted here.
    chunk
        Rows that are read at a time; nothing but memory depends on it.
    """
    report = Report(str(path), "points", timezone=timezone)
    files: PointFiles | TextPoints
    source = path if isinstance(path, Input) else Input(path, layout)
    if source.is_text:
        texts = build_text_sources(source)
        how = TextPoints(Path(path), texts, create_folder_in(scratch), layout, timezone, box)
        files, (chunks, found) = how, rewrite_points(how, report, chunk or ROWS_PER_CHUNK)
    else:
        files = open_points(path, report, layout=layout, timezone=timezone, box=box)
        chunks = files.table.chunks(chunk)
        found = scan_point_table(files, report, chunks)
    kinds = {"user": found.users.dtype}
    if found.other_ids is not None:
        kinds["trajectory"] = found.other_ids
    table: UserChunkTable[GpsTraces] = UserChunkTable.of(
        files,
        chunks,
        found,
        cut_user_chunks(found.counts),
        kinds=kinds,
        made=partial(_build_traces, outside=found.outside),
        order=("user", "at"),
        is_text=isinstance(files, TextPoints),
    )
    if found.is_sorted or not sort:
        return table, found
    return sort_externally(table, scratch, is_shared=is_shared), found


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
    """Return a table with its users in another order, who are called by their places in it, from 0.

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
        frames = [table.files.read_usable_rows(chunk) for chunk in table.chunks[first:stop]]
        frame = pl.concat(frames, how="vertical_relaxed")
        frame = table._cast_columns(frame if called is None else frame.with_columns(called(frame["user"])))
        owner = begins.search_sorted(frame["user"].cast(user), side="right") - 1
        return ExternalSort.write(folder, block, frame, owner, len(begins))

    offsets = run_blocks(work, block_ranges(len(table.chunks), 1), anywhere=is_shared, report=True)
    return replace(table, spill=ExternalSort(folder, tuple(offsets)))


def _build_traces(frame: pl.DataFrame, portion: UserChunk, *, outside: pl.Series) -> GpsTraces:
    """Make traces of rows that are sorted by user and time."""
    users = frame.select(pl.col("user").rle()).unnest("user")
    lengths = users["len"].to_numpy().astype(np.int64)
    trajectory, ids = None, None
    if "trajectory" in frame.columns:
        trajectory, ids = _number_chunk_trajectories(frame, lengths)
    traces = GpsTraces.of_checked(
        user_ids=convert_ids_to_array(users["value"]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        time_ms=frame["at"].to_numpy(),
        latitude=frame["lat"].to_numpy(),
        longitude=frame["lon"].to_numpy(),
        trajectory=trajectory,
        trajectory_ids=ids,
    )
    if ids is None:
        # Without names a user's points are one trajectory, numbered among those of all users.
        ids = traces.trajectory_ids + portion.first_user
        if len(outside) and outside.dtype == users.schema["value"]:
            ids = ids + outside.search_sorted(users["value"]).to_numpy()
    return traces.with_trajectory_ids(ids)


def _number_chunk_trajectories(
    frame: pl.DataFrame, lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Number the trajectories by user and first point; recordings mostly follow each other."""
    name = frame["trajectory"]
    fresh = name.ne_missing(name.shift()).to_numpy().copy()
    begins = np.cumsum(lengths)[:-1]
    fresh[begins] = True
    starts = np.flatnonzero(fresh)
    names = name.gather(starts)
    owner = np.searchsorted(begins, starts, side="right")
    if pl.DataFrame({"user": owner, "name": names}).is_unique().all():
        return np.cumsum(fresh, dtype=np.int32) - np.int32(1), convert_ids_to_array(names)
    number, known = number_ids(name)
    index, ids = number_trajectories(np.repeat(np.arange(len(lengths)), lengths), number)
    return index, known[ids]


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

    @staticmethod
    def write(
        folder: Path, number: int, frame: pl.DataFrame, owner: pl.Series, portions: int
    ) -> NDArray[np.int64]:
        """Write the rows of a chunk, by the portions they belong to; return where these begin."""
        number_of = owner.to_numpy().astype(np.int64)
        order = np.argsort(number_of, kind="stable")
        file = _find_sort_file(folder, number)
        with name_in_errors(file):
            frame[order].write_ipc(file, compression="uncompressed")
        counts = np.bincount(number_of, minlength=portions)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def read_sorted(self, portion: int, order: Sequence[str | pl.Expr]) -> pl.DataFrame:
        """Return the rows of a portion, sorted; equal ones in the order of the files."""
        parts = [
            pl.scan_ipc(_find_sort_file(self.folder, number)).slice(int(begin), int(end - begin))
            for number, (begin, end) in enumerate(own[portion : portion + 2] for own in self.offsets)
            if end > begin
        ]
        return pl.concat(parts).collect().sort(*order, maintain_order=True)


def create_folder_in(scratch: Path) -> Path:
    """Return a new folder below another, which is made if need be: what two tables hold there stays apart."""
    scratch.mkdir(parents=True, exist_ok=True)
    return Path(mkdtemp(prefix="rows-", dir=scratch))


def _find_sort_file(folder: Path, number: int) -> Path:
    return folder / f"rows-{number:06}.arrow"


# Tables of events: portions of users as traces that share places and a clock.


def open_event_chunks(
    path: str | PathLike[str],
    scratch: Path,
    *,
    layout: Layout = AS_NAMED,
    choices: Choices | None = None,
    places: Places | None = None,
    sort: bool = True,
    chunk: int | None = None,
    is_shared: bool = True,
    users: int = 1,
) -> tuple[UserChunkTable[Traces], EventFirstPass]:
    """Look at all rows of a table of events once, and sort them where they are not sorted.

    Parameters
    ----------
    choices
        Which places and instants to make; neither the most visited places nor a grid without bounds,
        which all rows together decide.
    places
        Where events can be, if that is given; otherwise the places that the table names.
    scratch
        Folder for the rows of text, which take about as much room as in the file, and for events that are
        not sorted.
    users
        Every portion but the last has a multiple of this many users.

    See Also
    --------
    open_point_chunks : the same for GPS points, with the other parameters.
    """
    chosen = choices or Choices()
    if chosen.timezone is not None:
        require_zone(chosen.timezone)
    report = Report(str(path), "partitions" if Path(path).is_dir() else FORMAT)
    as_text = (path if isinstance(path, Input) else Input(path, layout)).is_text
    if as_text:
        table: TableFiles = rewrite_table(
            Path(path), create_folder_in(scratch), report, EVENTS, layout, chunk or ROWS_PER_CHUNK
        )
    else:
        table = open_table(path, report, EVENTS, layout, nothing=NO_EVENT)
    known = places
    if places is not None:
        check_no_place_choices(chosen)
    elif chosen.grid is not None and chosen.bounds is not None:
        known = Places.of_grid(Grid.over(chosen.bounds, *chosen.grid))
    if known is None:
        require_coordinates(list(table.roles), str(path))
    chunks = table.chunks(chunk)
    # Rows that were rewritten are looked at where they are.
    with use(cluster=None) if as_text and not is_shared else nullcontext():
        files = EventFiles(table, find_time_conversion(table, chosen, places, chunks), chosen, known)
        found = scan_event_table(files, report, chunks)
    kinds = {"user": found.users.dtype} | ({} if known is not None else {"venue": found.other_ids})
    is_numbered = files.hours.way == "numbers"
    instant = () if is_numbered else (pl.col("local") // found.clock.interval_s,)
    opened: UserChunkTable[Traces] = UserChunkTable.of(
        files,
        chunks,
        found,
        cut_user_chunks(found.counts, users=users),
        kinds=kinds,
        made=TraceBuilder.of(found, named=known is None),
        order=("user", *instant, "at"),
        is_text=as_text,
    )
    if found.is_sorted or not sort:
        return opened, found
    return sort_externally(opened, scratch, is_shared=is_shared), found


@dataclass(frozen=True)
class TraceBuilder:
    """Makes traces of sorted rows: what all portions share.

    Attributes
    ----------
    origin
        What is instant 0 (`Extent.origin`).
    names
        The ids of the places, ascending; None where rows have the places' numbers.
    """

    places: Places
    clock: Clock
    origin: int
    span: tuple[int, int]
    is_stamped: bool
    names: pl.Series | None

    @classmethod
    def of(cls, found: EventFirstPass, *, named: bool) -> TraceBuilder:
        """Take what is shared from what was found."""
        extent, clock = found.extent, found.clock
        names = pl.Series(found.places.ids.tolist(), dtype=found.other_ids) if named else None
        return cls(found.places, clock, extent.origin(clock), extent.span(clock), found.is_stamped, names)

    def __call__(self, frame: pl.DataFrame, portion: UserChunk) -> Traces:
        users = frame.select(pl.col("user").rle()).unnest("user")
        lengths = users["len"].to_numpy().astype(np.int64)
        at = frame["at"].to_numpy()
        if self.clock.first_day is None:
            instants = at - self.origin
        else:
            instants = (frame["local"].to_numpy() - self.origin) // self.clock.interval_s
        if self.names is None:
            index = frame["place"].to_numpy()
        elif self.names.dtype == pl.String:
            index = frame["venue"].cast(pl.Enum(self.names)).to_physical().to_numpy().astype(np.int32)
        else:
            index = np.searchsorted(self.names.to_numpy(), frame["venue"].to_numpy()).astype(np.int32)
        return Traces(
            self.places,
            self.clock,
            user_ids=convert_ids_to_array(users["value"]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            instants=instants,
            place_index=index,
            timestamps=at if self.is_stamped else None,
            span=self.span,
        )
