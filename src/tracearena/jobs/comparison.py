"""An original and a release of it, read together a few users at a time.

`TablePair` has two tables of points, `TableWithRelease` a table of events and what is released of it;
`open_release_chunks` reads a release by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.engine import block_ranges, fold_blocks, run_blocks, use
from tracearena.engine.blocks import S
from tracearena.errors import FileError
from tracearena.io.discretisation import build_venue_places
from tracearena.io.fields.columns import convert_ids, convert_ids_to_array
from tracearena.io.formats import released_table
from tracearena.io.large.first_pass import (
    EventFirstPass,
    FirstPass,
    PointChunkSummary,
    UserCountCollector,
    VenueCollector,
    build_first_pass,
    collect_venues,
    count_user_runs,
)
from tracearena.io.large.sources import digest_places
from tracearena.io.large.table_files import RowChunk, TableFiles, count_rows, find_parquet_files
from tracearena.io.large.user_chunks import (
    UserChunk,
    UserChunkTable,
    cut_user_chunks,
    reorder_users,
    sort_externally,
)
from tracearena.io.options import AS_NAMED
from tracearena.io.released import BY_EVENT, match_original_events
from tracearena.io.report import Report
from tracearena.io.tables import ROW
from tracearena.metrics.applications.paired import (
    ComparisonChunk,
    IdTable,
    check_swapped_ids,
    require_known,
    true_ids,
    true_order,
)
from tracearena.traces import Clock, GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces._arrays import find_positions

T = TypeVar("T")
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TablePair:
    """Chunks of two tables with the same users each, who are called by their numbers.

    Users of the original are numbered in their order, and those whom only the release has after them.

    Attributes
    ----------
    points, is_released
        How many points each user of the original has, and whether there are released ones too.
    numbers
        Numbers of the released users, in the order of their table.
    row_by_row
        Whether all users have their original points one by one in the release.
    is_shared
        Whether the workers of a cluster reach the scratch folders of the tables.
    """

    original: UserChunkTable[GpsTraces]
    released: UserChunkTable[GpsTraces]
    points: Ints
    is_released: NDArray[np.bool_]
    released_points: int
    numbers: Ints
    row_by_row: bool = False
    is_shared: bool = True

    @property
    def can_travel(self) -> bool:
        """Whether the workers of a cluster reach all points."""
        return self.is_shared or not (self.original.is_in_scratch or self.released.is_in_scratch)

    def visit(self, work: Callable[[ComparisonChunk], T]) -> list[T]:
        """Return what the work makes of every chunk, in their order."""
        blocks = block_ranges(len(self.original.portions), 1)
        return run_blocks(self._wrap_work(work), blocks, anywhere=self.can_travel, report=True)

    def fold(self, work: Callable[[ComparisonChunk], S]) -> S:
        """Return the sum of what the work makes of every chunk."""
        blocks = block_ranges(len(self.original.portions), 1)
        return fold_blocks(self._wrap_work(work), blocks, anywhere=self.can_travel, report=True)

    def _wrap_work(self, work: Callable[[ComparisonChunk], T]) -> Callable[[int, int, int], T]:
        def work_on_block(block: int, first: int, stop: int) -> T:
            mine, theirs = self.original.portions[block], self.released.portions[block]
            numbers = self.numbers[theirs.first_user : theirs.stop_user]
            with use(threads=1):
                chunk = ComparisonChunk(
                    _read_numbered_traces(self.original, mine, np.arange(mine.first_user, mine.stop_user)),
                    _read_numbered_traces(self.released, theirs, numbers),
                    self.row_by_row,
                    mine.first_user,
                    theirs.first_user,
                )
                return work(chunk)

        return work_on_block


def pair_tables(
    original: tuple[UserChunkTable[GpsTraces], FirstPass],
    released: tuple[UserChunkTable[GpsTraces], FirstPass],
    scratch: Path,
    *,
    id_table: IdTable | None = None,
    by_id: bool = True,
    is_shared: bool = True,
) -> TablePair:
    """Match the users of two tables, and cut both into chunks of the same users.

    Parameters
    ----------
    original, released
        Tables that need not be sorted.
    scratch
        Folder for the points of a table that is not sorted, or whose users come in another order.
    id_table
        Pseudonym → user, where the release has other ids than the original.
    by_id
        Refuse ids that are not those of the original (`with_true_ids`).
    is_shared
        Whether the workers of a cluster reach the scratch folder; if not, points are sorted here.
    """
    (_, ours), (_, theirs) = original, released
    ids = true_ids(ours.user_ids, theirs.user_ids, id_table)
    if by_id:
        require_known(ours.user_ids, ids)
    order = true_order(ours.user_ids, ids)
    places = find_positions(ids[order], ours.user_ids)
    is_unknown = places < 0
    numbers = np.where(is_unknown, len(ours.users) + np.cumsum(is_unknown) - 1, places)
    counts = np.bincount(numbers, theirs.counts[order], len(ours.users)).astype(np.int64)
    is_released = counts[: len(ours.users)] > 0
    counts[: len(ours.users)] += ours.counts
    portions = cut_user_chunks(counts)
    everybody = np.arange(len(ours.users))
    before = _cut_like_pair(original, everybody, everybody, portions, scratch / "original", is_shared)
    after = _cut_like_pair(released, order, numbers, portions, scratch / "released", is_shared)
    pair = TablePair(before, after, ours.counts, is_released, theirs.n_points, numbers, is_shared=is_shared)
    if np.array_equal(ours.user_ids, ids[order]) and np.array_equal(ours.counts, theirs.counts[order]):
        alike = pair.visit(lambda part: part.original.has_rows_of(part.released))
        pair = replace(pair, row_by_row=all(alike))
    if by_id:
        check_swapped_ids(pair, has_table=id_table is not None)
    return pair


def _cut_like_pair(
    given: tuple[UserChunkTable[GpsTraces], FirstPass],
    order: Ints,
    numbers: Ints,
    portions: tuple[UserChunk, ...],
    scratch: Path,
    is_shared: bool,
) -> UserChunkTable[GpsTraces]:
    """Cut a table where both are cut: as it lies on disk, or through the disk where it lies otherwise."""
    table, found = given
    before = np.concatenate([[0], np.cumsum(found.counts[order])])
    own = []
    for one in portions:
        first, stop = np.searchsorted(numbers, [one.first_user, one.stop_user]).tolist()
        own.append(UserChunk(one.number, first, stop, int(before[first]), int(before[stop])))
    portions = tuple(own)
    if found.is_sorted and (np.diff(order) == 1).all():
        return replace(table, portions=portions)
    return reorder_users(table, found, order, portions, scratch, is_shared=is_shared)


def _read_numbered_traces(table: UserChunkTable[GpsTraces], portion: UserChunk, numbers: Ints) -> GpsTraces:
    """Return the points of a chunk under the numbers of its users; there may be none."""
    if not len(portion):
        nothing = np.empty(0)
        return GpsTraces.from_points(nothing, nothing.astype(np.int64), nothing, nothing, user_ids=numbers)
    return table.traces(portion.number).with_user_ids(numbers)


@dataclass(frozen=True)
class ReleasedFiles:
    """Parquet files that are one table of released traces, with places and a clock once they are known."""

    table: TableFiles
    places: Places | None
    clock: Clock | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the user named."""
        return self.table.files

    @property
    def options(self) -> tuple[object, ...]:
        """How they are read: with which places."""
        return (None if self.places is None else digest_places(self.places),)

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return the rows of a chunk; all can be used, or none is."""
        rows = released_table.convert_ids_to_text(self.table.read(chunk)).rename({ROW: "row"})
        return rows.with_columns(convert_ids(rows["user_id"])).rename({"user_id": "user"})

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same."""
        return self.read_usable_rows(chunk)

    def summarise_chunk(self, chunk: RowChunk, number: int) -> ReleaseChunkSummary:
        """Look at the rows of a chunk; one that breaks the format is refused with its file and number."""
        rows, path = self.read_usable_rows(chunk), str(self.files[chunk.file])
        made = released_table.build_released_traces(
            path, rows.rename({"user": "user_id"}), self.places, self.clock
        )
        users, rises = count_user_runs(rows.select(pl.col("user").rle()).unnest("user"))
        ends = ((rows["user"][0], 0, 0), (rows["user"][-1], 0, 0))
        kinds, report = (rows.schema["user"], None), Report(path, released_table.FORMAT)
        seen = ReleaseChunkSummary(users, rows.height, rises, ends, kinds, True, rows.height, report)
        seen.clock, seen.step_s = made.clock, released_table.find_time_step(rows)
        if self.places is None:
            listed = rows.rename({"places": "venue", "lng": "lon"})
            names = [name for name in ("venue", "lat", "lon", "category") if name in listed.columns]
            seen.venues = collect_venues(listed.select(names).explode(names).drop_nulls("venue"), number)
        return seen

    def traces(self, frame: pl.DataFrame, portion: UserChunk) -> ObfuscatedTraces:
        """Make traces of the rows of a chunk of users."""
        rows = frame.rename({"user": "user_id"})
        return released_table.build_released_traces(self.table.path, rows, self.places, self.clock)


@dataclass
class ReleaseChunkSummary(PointChunkSummary):
    """What one chunk of released traces holds, and the clock and the places that it has by itself.

    `step_s` is what all of its times are multiples of.
    """

    venues: pl.DataFrame | None = None
    clock: Clock | None = None
    step_s: int = 0


@dataclass(frozen=True)
class TableWithRelease:
    """Chunks of the same users of a table and of its release.

    Attributes
    ----------
    path
        The release, to name it.
    """

    original: UserChunkTable[Traces]
    released: UserChunkTable[ObfuscatedTraces]
    path: str

    def fold(self, work: Callable[[Traces, ObfuscatedTraces], S]) -> S:
        """Return the sum of what the work makes of every chunk, here or in the workers of a cluster."""

        def work_on_block(block: int, first: int, stop: int) -> S:
            with use(threads=1):
                original = self.original.traces(block)
                return work(original, match_original_events(self.released.traces(block), original, self.path))

        can_travel = not (self.original.is_in_scratch or self.released.is_in_scratch)
        blocks = block_ranges(len(self.original.portions), 1)
        return fold_blocks(work_on_block, blocks, anywhere=can_travel, report=True)


def open_release_beside(
    table: UserChunkTable[Traces],
    found: EventFirstPass,
    path: Path,
    scratch: Path,
    *,
    chunk: int | None = None,
) -> TableWithRelease:
    """Look at all rows of what is released of a table, and cut it where the table is cut."""
    files = ReleasedFiles(_open_release_files(path), found.places, found.clock)
    chunks = files.table.chunks(chunk)
    theirs, _, _ = _scan_release(files, chunks, path)
    _check_same_release_users(found, theirs, path)
    released = _build_release_table(files, chunks, theirs, table.portions)
    if not theirs.is_sorted:
        released = sort_externally(released, scratch, is_shared=False)
    return TableWithRelease(table, released, str(path))


def open_release_chunks(
    path: Path, *, places: Places | None = None, chunk: int | None = None
) -> tuple[UserChunkTable[ObfuscatedTraces], FirstPass]:
    """Look at all rows of a table of released traces once; they are not sorted.

    Parameters
    ----------
    places
        Where events can be; by default the places that the table names.
    """
    files = ReleasedFiles(_open_release_files(path), places, None)
    chunks = files.table.chunks(chunk)
    found, venues, clock = _scan_release(files, chunks, path)
    if places is None and venues is None:
        places = Places([], [])  # all events were deleted
    elif places is None and venues is not None:
        # Places by their ids, each where its first row says.
        named = venues.with_columns(venue=convert_ids(venues["venue"])).sort("venue")
        places = build_venue_places(convert_ids_to_array(named["venue"]), named)
    known = ReleasedFiles(files.table, places, clock)
    return _build_release_table(known, chunks, found, cut_user_chunks(found.counts)), found


def _scan_release(
    files: ReleasedFiles, chunks: list[RowChunk], path: Path
) -> tuple[FirstPass, pl.DataFrame | None, Clock]:
    """Look at all rows; return what is known of them, the places that they name, and their clock."""
    counts, venues = UserCountCollector(), VenueCollector()

    def work(block: int, first: int, stop: int) -> list[ReleaseChunkSummary]:
        return [
            files.summarise_chunk(one, number) for number, one in enumerate(chunks[first:stop], start=first)
        ]

    def collect(block: int, seen: list[ReleaseChunkSummary]) -> None:
        counts.take(block, seen)
        venues.take(seen)

    blocks = run_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True, finished=collect)
    seen = [one for block in blocks for one in block]
    found = build_first_pass(seen, counts, Report(str(path), released_table.FORMAT), "time", None)
    clock = released_table.join_clocks(
        [one.clock for one in seen if one.clock is not None], [one.step_s for one in seen]
    )
    return found, venues.merge_rows() if venues.waiting else None, clock


def _build_release_table(
    files: ReleasedFiles, chunks: list[RowChunk], found: FirstPass, portions: tuple[UserChunk, ...]
) -> UserChunkTable[ObfuscatedTraces]:
    kinds = {"user": found.users.dtype}
    table: UserChunkTable[ObfuscatedTraces] = UserChunkTable.of(
        files, chunks, found, portions, kinds=kinds, made=files.traces, order=("user",)
    )
    return table


def _open_release_files(path: Path) -> TableFiles:
    files = find_parquet_files(path)
    for file in files:
        released_table.check_released_parquet(file)
    schema = pl.read_parquet_schema(files[0])
    rows = tuple(count_rows(file, len(schema)) for file in files)
    if not sum(rows):
        raise FileError.whole(path, "has a header and no rows", "empty")
    said: tuple[Mapping[str, str | None], ...] = ({},) * len(files)
    nothing = pl.Series([], dtype=pl.String)
    return TableFiles(str(path), tuple(files), rows, schema, said, AS_NAMED, tuple(schema), nothing)


def _check_same_release_users(ours: FirstPass, theirs: FirstPass, path: Path) -> None:
    """Refuse a release of other users, or with other numbers of events; times are checked chunk by chunk."""
    both = pl.DataFrame({"user": ours.users.cast(pl.String), "wanted": ours.counts}).join(
        pl.DataFrame({"user": theirs.users.cast(pl.String), "there": theirs.counts}),
        on="user",
        how="full",
        coalesce=True,
    )
    strange = both.filter(pl.col("wanted").is_null())["user"].sort()
    if len(strange):
        problem = f"has a user {strange[0]!r} who is not in the original"
        raise FileError.whole(
            path, f"{problem}; name the traces that it was made from with --original", "other-users"
        )
    differ = both.filter(pl.col("wanted") != pl.col("there").fill_null(0)).sort("user")
    if differ.height:
        user, wanted, there = differ.row(0)
        problem = f"has {there or 0:,} events of user {user!r}, but the original has {wanted:,}; {BY_EVENT}"
        raise FileError.whole(path, problem, "other-events")
