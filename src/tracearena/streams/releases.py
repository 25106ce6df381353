"""What is released of events, a few users at a time: by itself, or beside the table it was made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.engine import block_ranges, fold_blocks, run_blocks, use
from tracearena.engine.blocks import S
from tracearena.errors import FileError
from tracearena.formats import released_table
from tracearena.formats.released import BY_EVENT, of_events
from tracearena.intake.discretise import places_of
from tracearena.intake.ids import array_of, identifiers
from tracearena.intake.layout import AS_NAMED
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, is_parquet
from tracearena.streams.event_files import digest_of
from tracearena.streams.event_survey import EventSurvey, Venues, venues_of
from tracearena.streams.portions import Portion, Table, cut, spilled
from tracearena.streams.survey import Counts, Seen, Survey, counted, summed_up
from tracearena.streams.table_files import Chunk, TableFiles, count_rows, parquet_files
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces


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
        return (None if self.places is None else digest_of(self.places),)

    def kept_rows(self, chunk: Chunk) -> pl.DataFrame:
        """Return the rows of a chunk; all can be used, or none is."""
        rows = released_table.with_text_ids(self.table.read(chunk)).rename({ROW: "row"})
        return rows.with_columns(identifiers(rows["user_id"])).rename({"user_id": "user"})

    def good_rows(self, chunk: Chunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same."""
        return self.kept_rows(chunk)

    def seen(self, chunk: Chunk, number: int) -> SeenRelease:
        """Look at the rows of a chunk; one that breaks the format is refused with its file and number."""
        rows, path = self.kept_rows(chunk), str(self.files[chunk.file])
        made = self._made(path, rows)
        users, rises = counted(rows.select(pl.col("user").rle()).unnest("user"))
        ends = ((rows["user"][0], 0, 0), (rows["user"][-1], 0, 0))
        kinds, report = (rows.schema["user"], None), Report(path, released_table.FORMAT)
        seen = SeenRelease(users, rows.height, rises, ends, kinds, True, rows.height, report)
        seen.clock, seen.step_s = made.clock, released_table.time_step(rows)
        if self.places is None:
            listed = rows.rename({"places": "venue", "lng": "lon"})
            names = [name for name in ("venue", "lat", "lon", "category") if name in listed.columns]
            seen.venues = venues_of(listed.select(names).explode(names).drop_nulls("venue"), number)
        return seen

    def traces(self, frame: pl.DataFrame, portion: Portion) -> ObfuscatedTraces:
        """Make traces of the rows of a portion."""
        return self._made(self.table.path, frame)

    def _made(self, path: str, rows: pl.DataFrame) -> ObfuscatedTraces:
        return released_table.of_rows(path, rows.rename({"user": "user_id"}), self.places, self.clock)


@dataclass
class SeenRelease(Seen):
    """What one chunk of released traces holds, and the clock and the places that it has by itself.

    `step_s` is what all of its times are multiples of.
    """

    venues: pl.DataFrame | None = None
    clock: Clock | None = None
    step_s: int = 0


@dataclass(frozen=True)
class Released:
    """Portions of the same users of a table and of its release.

    Attributes
    ----------
    path
        The release, to name it.
    """

    original: Table[Traces]
    released: Table[ObfuscatedTraces]
    path: str

    def fold(self, work: Callable[[Traces, ObfuscatedTraces], S]) -> S:
        """Return the sum of what the work makes of every portion, here or in the workers of a cluster."""

        def done(block: int, first: int, stop: int) -> S:
            with use(threads=1):
                original = self.original.traces(block)
                return work(original, of_events(self.released.traces(block), original, self.path))

        can_travel = not (self.original.is_in_scratch or self.released.is_in_scratch)
        blocks = block_ranges(len(self.original.portions), 1)
        return fold_blocks(done, blocks, anywhere=can_travel, report=True)


def beside(
    table: Table[Traces], found: EventSurvey, path: Path, scratch: Path, *, chunk: int | None = None
) -> Released:
    """Look at all rows of what is released of a table, and cut it where the table is cut."""
    files = ReleasedFiles(_opened(path), found.places, found.clock)
    chunks = files.table.chunks(chunk)
    theirs, _, _ = _looked_at(files, chunks, path)
    _require_same_users(found, theirs, path)
    released = _table(files, chunks, theirs, table.portions)
    if not theirs.is_sorted:
        released = spilled(released, scratch, is_shared=False)
    return Released(table, released, str(path))


def release_table_of(
    path: Path, *, places: Places | None = None, chunk: int | None = None
) -> tuple[Table[ObfuscatedTraces], Survey]:
    """Look at all rows of a table of released traces once; they are not sorted.

    Parameters
    ----------
    places
        Where events can be; by default the places that the table names.
    """
    files = ReleasedFiles(_opened(path), places, None)
    chunks = files.table.chunks(chunk)
    found, venues, clock = _looked_at(files, chunks, path)
    if places is None:
        places = _places(venues)
    known = ReleasedFiles(files.table, places, clock)
    return _table(known, chunks, found, cut(found.counts)), found


def _looked_at(
    files: ReleasedFiles, chunks: list[Chunk], path: Path
) -> tuple[Survey, pl.DataFrame | None, Clock]:
    """Look at all rows; return what is known of them, the places that they name, and their clock."""
    counts, venues = Counts(), Venues()

    def work(block: int, first: int, stop: int) -> list[SeenRelease]:
        return [files.seen(one, number) for number, one in enumerate(chunks[first:stop], start=first)]

    def finished(block: int, seen: list[SeenRelease]) -> None:
        counts.take(block, seen)
        venues.take(seen)

    blocks = run_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True, finished=finished)
    seen = [one for block in blocks for one in block]
    found = summed_up(seen, counts, Report(str(path), released_table.FORMAT), "time", None)
    clock = released_table.joined_clock(
        [one.clock for one in seen if one.clock is not None], [one.step_s for one in seen]
    )
    return found, venues.merged() if venues.waiting else None, clock


def _table(
    files: ReleasedFiles, chunks: list[Chunk], found: Survey, portions: tuple[Portion, ...]
) -> Table[ObfuscatedTraces]:
    table: Table[ObfuscatedTraces] = Table.of(
        files,
        chunks,
        found,
        portions,
        kinds={"user": found.users.dtype},
        made=files.traces,
        order=("user",),
    )
    return table


def _places(venues: pl.DataFrame | None) -> Places:
    """Return places by their ids, each where its first row says; none if all events were deleted."""
    if venues is None:
        return Places([], [])
    known = venues.with_columns(venue=identifiers(venues["venue"])).sort("venue")
    return places_of(array_of(known["venue"]), known)


def is_streamable(path: Path) -> bool:
    """Whether a path holds released traces in Parquet, which can be read a chunk at a time."""
    return released_table.is_released_table(path) and (path.is_dir() or is_parquet(path))


def _opened(path: Path) -> TableFiles:
    files = parquet_files(path)
    for file in files:
        released_table.require_parquet(file)
    schema = pl.read_parquet_schema(files[0])
    rows = tuple(count_rows(file, len(schema)) for file in files)
    if not sum(rows):
        raise FileError.whole(path, "has a header and no rows", "empty")
    said: tuple[Mapping[str, str | None], ...] = ({},) * len(files)
    nothing = pl.Series([], dtype=pl.String)
    return TableFiles(str(path), tuple(files), rows, schema, said, AS_NAMED, tuple(schema), nothing)


def _require_same_users(ours: Survey, theirs: Survey, path: Path) -> None:
    """Refuse a release of other users, or with other numbers of events; of times each portion sees."""
    both = pl.DataFrame({"user": ours.users.cast(pl.String), "wanted": ours.counts}).join(
        pl.DataFrame({"user": theirs.users.cast(pl.String), "there": theirs.counts}),
        on="user",
        how="full",
        coalesce=True,
    )
    strange = both.filter(pl.col("wanted").is_null())["user"].sort()
    if len(strange):
        problem = f"has a user {strange[0]!r} whom the original has not; --original names the traces"
        raise FileError.whole(path, f"{problem} that it was made from", "other-users")
    differ = both.filter(pl.col("wanted") != pl.col("there").fill_null(0)).sort("user")
    if differ.height:
        user, wanted, there = differ.row(0)
        problem = f"has {there or 0:,} events of user {user!r}, the original {wanted:,}; {BY_EVENT}"
        raise FileError.whole(path, problem, "other-events")
