"""A table of events and what is released of it, walked through together a few users at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.engine import block_ranges, fold_blocks, run_blocks, use
from tracearena.engine.summing import S
from tracearena.errors import FileError
from tracearena.formats import released_table
from tracearena.formats.released import of_events
from tracearena.intake.ids import identifiers
from tracearena.intake.layout import AS_NAMED
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, is_parquet
from tracearena.streams.event_survey import EventSurvey
from tracearena.streams.portions import Portion, Table, spilled
from tracearena.streams.survey import Counts, Seen, Survey, counted, summed_up
from tracearena.streams.table_files import Chunk, TableFiles, count_rows, parquet_files
from tracearena.traces import Clock, ObfuscatedTraces, Places, Traces

_COLUMNS = 5


@dataclass(frozen=True)
class ReleasedFiles:
    """Parquet files that are one table of released traces, with the places and the clock of the original."""

    table: TableFiles
    places: Places
    clock: Clock

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the user named."""
        return self.table.files

    @property
    def options(self) -> tuple[object, ...]:
        """How they are read: in one way alone."""
        return ()

    def kept_rows(self, chunk: Chunk) -> pl.DataFrame:
        """Return the rows of a chunk; all can be used, or none is."""
        rows = released_table.with_text_ids(self.table.read(chunk)).rename({ROW: "row"})
        return rows.with_columns(user=identifiers(rows["user_id"]))

    def good_rows(self, chunk: Chunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same."""
        return self.kept_rows(chunk)

    def seen(self, chunk: Chunk) -> Seen:
        """Look at the rows of a chunk; one that breaks the format is refused with its file and number."""
        rows, path = self.kept_rows(chunk), str(self.files[chunk.file])
        released_table.of_rows(path, rows, self.places, self.clock)
        users, rises = counted(rows.select(pl.col("user").rle()).unnest("user"))
        ends = ((rows["user"][0], 0, 0), (rows["user"][-1], 0, 0))
        kinds = (rows.schema["user"], None)
        return Seen(users, rows.height, rises, ends, kinds, True, rows.height, Report(path, "released"))

    def traces(self, frame: pl.DataFrame, portion: Portion) -> ObfuscatedTraces:
        """Make traces of the rows of a portion."""
        return released_table.of_rows(self.table.path, frame, self.places, self.clock)


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
    counts = Counts()

    def work(block: int, first: int, stop: int) -> list[Seen]:
        return [files.seen(one) for one in chunks[first:stop]]

    blocks = run_blocks(work, block_ranges(len(chunks), 1), anywhere=True, report=True, finished=counts.take)
    seen = [one for block in blocks for one in block]
    theirs = summed_up(seen, counts, Report(str(path), "released"), "time", None)
    _require_same_users(found, theirs, path)
    released: Table[ObfuscatedTraces] = Table.of(
        files,
        chunks,
        theirs,
        table.portions,
        kinds={"user": theirs.users.dtype},
        made=files.traces,
        order=("user",),
    )
    if not theirs.is_sorted:
        released = spilled(released, scratch, is_shared=False)
    return Released(table, released, str(path))


def is_streamable(path: Path) -> bool:
    """Whether a path holds released traces in Parquet, which can be read a chunk at a time."""
    return released_table.is_released_table(path) and (path.is_dir() or is_parquet(path))


def _opened(path: Path) -> TableFiles:
    files = parquet_files(path)
    for file in files:
        released_table.require_parquet(file)
    rows = tuple(count_rows(file, _COLUMNS) for file in files)
    if not sum(rows):
        raise FileError.whole(path, "has a header and no rows", "empty")
    schema = pl.read_parquet_schema(files[0])
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
        problem = f"has {there or 0:,} events of user {user!r}, the original {wanted:,}"
        raise FileError.whole(path, problem, "other-events")
