"""Changing every chunk of users of a table, from files to files, here or in the workers of a cluster.

Points and events are obfuscated, renamed or kept, counted, and written to one file or to a folder of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena import __version__
from tracearena.algorithms import GpsObfuscator, Obfuscator, validation
from tracearena.algorithms.base import Algorithm, Defence
from tracearena.arena.sweep import digest_code
from tracearena.engine import block_ranges, current_progress, run_blocks, thread_count, use
from tracearena.engine.blocks import run_in_order
from tracearena.files import digest_values
from tracearena.files.io import replacing
from tracearena.io.discretisation import count_oddities
from tracearena.io.formats import checkins, released_table
from tracearena.io.large.checkpoint import PartsCheckpoint
from tracearena.io.large.first_pass import FirstPass
from tracearena.io.large.user_chunks import UserChunkTable
from tracearena.io.points import format_points
from tracearena.io.tables import write_csv_rows
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces
from tracearena.traces.row_table import RowTable

T = TypeVar("T", bound=RowTable)
Change = Callable[[T, int], Any]
"""Returns what is released of a chunk of users, given the chunk and its number."""
Count = Callable[[T, Any], dict[str, int]]
"""Counts what is to be known of a chunk and of what was made of it."""
Text = Callable[[Any], pl.DataFrame]
"""Returns the rows of CSV for some users."""


@dataclass(frozen=True)
class ChunkFormat:
    """How the result of a chunk is counted, and how it is written as CSV.

    Attributes
    ----------
    count
        Counts what is to be known of a chunk and of its result.
    build_text
        Makes, from the table, what was found in it, and the change of a chunk, what gives the rows of CSV.
    """

    count: Count[Any]
    build_text: Callable[[UserChunkTable[Any], FirstPass, Change[Any]], Text]


def write_chunks(
    table: UserChunkTable[T],
    found: FirstPass,
    out: Path,
    change: Change[T],
    form: ChunkFormat,
    *,
    unfinished: PartsCheckpoint | None = None,
) -> dict[str, int]:
    """Change every chunk of a table and write the result; return the sums of what was counted.

    Parameters
    ----------
    unfinished
        Write a folder of parts, which the workers of a cluster write themselves; one file if omitted.
    """

    def change_chunk(number: int) -> tuple[Any, dict[str, int]]:
        with use(threads=1):
            given = table.traces(number)
            made = change(given, number)
            return made, form.count(given, made)

    if unfinished is not None:
        counts = _write_parts(table, change_chunk, unfinished)
    else:
        text = None if out.suffix == ".parquet" else form.build_text(table, found, change)
        counts = _write_one_file(table, change_chunk, out, text)
    return {name: sum(one[name] for one in counts) for name in counts[0]}


def _write_parts(
    table: UserChunkTable[Any],
    change_chunk: Callable[[int], tuple[Any, dict[str, int]]],
    unfinished: PartsCheckpoint,
) -> list[dict[str, Any]]:
    left = [one for one in table.portions if one.number not in unfinished.done]
    done = [len(one) for one in table.portions if one.number in unfinished.done]
    total, progress = sum(map(len, table.portions)), current_progress()
    names = [unfinished.part(one.number) for one in left]

    def work(block: int, first: int, stop: int) -> dict[str, int]:
        made, counts = change_chunk(left[block].number)
        write_part(made, names[block])
        return counts

    def record(block: int, counts: dict[str, int]) -> None:
        unfinished.add(left[block].number, counts)
        done.append(len(left[block]))
        progress(sum(done), total)

    run_blocks(work, block_ranges(len(left), 1), anywhere=True, finished=record)
    return [unfinished.done[one.number] for one in table.portions]


def _write_one_file(
    table: UserChunkTable[Any],
    change_chunk: Callable[[int], tuple[Any, dict[str, int]]],
    out: Path,
    text: Text | None,
) -> list[dict[str, Any]]:
    counts: list[dict[str, Any]] = []
    total, progress = sum(map(len, table.portions)), current_progress()

    def change_in_order() -> Iterator[Any]:
        pieces = [(one.number,) for one in table.portions]
        for made, counted in run_in_order(change_chunk, pieces, False, ahead=thread_count()):
            counts.append(counted)
            progress(table.portions[len(counts) - 1].stop, total)
            yield made

    write_in_order(change_in_order(), out, text)
    return counts


def keep_unchanged(part: T, number: int) -> T:
    """Return a chunk as it is."""
    return part


def build_renaming(table: UserChunkTable[GpsTraces], pseudonyms: NDArray[Any]) -> Change[GpsTraces]:
    """Return the change of a chunk of a shuffled table: users under pseudonyms, trajectories by number."""

    def work(block: int, first: int, stop: int) -> int:
        return table.traces(block).n_trajectories

    counts = run_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    before = np.concatenate([[0], np.cumsum(counts)])

    def change(part: GpsTraces, number: int) -> GpsTraces:
        named = part.with_user_ids(pseudonyms[part.user_ids])
        return named.with_trajectory_ids(np.arange(before[number], before[number + 1]))

    return change


def build_point_obfuscation(
    table: UserChunkTable[GpsTraces], defence: GpsObfuscator, root: np.random.SeedSequence, digits: int
) -> Change[GpsTraces]:
    """Return what a defence makes of a chunk: the same as if it had the whole table."""
    before = count_draws_before(table, defence)
    is_ours = not validation.is_foreign(defence)

    def change(part: GpsTraces, number: int) -> GpsTraces:
        first, total = int(before[number]), int(before[-1])
        moved = validation.run_gps_transform_part(defence, part, seed=root, first=first, total=total)
        if is_ours:
            return moved
        # Our own defences round already; a class from elsewhere need not know that it should.
        from tracearena.obfuscation.gps import round_coordinates

        return round_coordinates(moved, digits)

    return change


def count_draws_before(table: UserChunkTable[Any], defence: Defence[Any, Any]) -> NDArray[np.int64]:
    """Count the draws of the chunks before each, and of all; where a row is one draw, nothing is read."""

    def work(block: int, first: int, stop: int) -> int:
        return defence.draws(table.traces(block))

    if defence.counts_draws:
        draws = run_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    else:
        draws = [len(one) for one in table.portions]
    return np.concatenate([[0], np.cumsum(draws)]).astype(np.int64)


def describe_algorithm(algorithm: Algorithm) -> tuple[str, ...]:
    """Return which algorithm it is: its class, its parameters, and the code of a class from elsewhere."""
    kind = type(algorithm)
    return kind.__module__, kind.__qualname__, repr(algorithm), digest_code([algorithm])


def digest_inputs(table: UserChunkTable[Any], *others: object) -> str:
    """Return a digest of what every part depends on: files, how they are read, settings, versions."""
    files = table.files
    said = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files.files]
    options = (*files.options, table.portions, pl.__version__, np.__version__, __version__, others)
    return digest_values(repr((said, options)))


def count_fates(given: Traces, made: ObfuscatedTraces, *, keeps_times: bool) -> dict[str, int]:
    """Count what became of events: how many were kept, moved, left out, generalised, deleted.

    Where times are changed it is unknown which event is which, and so which were moved.
    """
    if keeps_times:
        kept = int((made.codes == given.place_index).sum())
        places = {"kept": kept, "moved": int(made.is_single.sum()) - kept}
    else:
        places = {"withheld": given.n_events - made.n_events}
    return {**places, "generalised": int(made.is_set.sum()), "deleted": int(made.is_deleted.sum())}


def build_event_obfuscation(
    table: UserChunkTable[Traces], defence: Obfuscator, root: np.random.SeedSequence
) -> Change[Traces]:
    """Return what a defence makes of a chunk: the same as if it had the whole table."""
    before = count_draws_before(table, defence)

    def change(part: Traces, number: int) -> ObfuscatedTraces:
        first, total = int(before[number]), int(before[-1])
        return validation.run_transform_part(defence, part, seed=root, first=first, total=total)

    return change


def build_pseudonym_change(table: UserChunkTable[Any], pseudonyms: NDArray[Any]) -> Change[Any]:
    """Return the change of a chunk of a shuffled table: the same events under pseudonyms."""

    def change(part: RowTable, number: int) -> RowTable:
        return part.with_user_ids(pseudonyms[part.user_ids])

    return change


COMPRESSION: Any = "lz4"
"""Of large tables: a third of the time that the default of Polars takes, and 1.6 times the space."""


def write_part(traces: Traces | GpsTraces | ObfuscatedTraces, path: str | PathLike[str]) -> None:
    """Write a part of a folder of Parquet files; it gets its name when it is complete."""
    with replacing(path) as out:
        traces.to_frame().write_parquet(out, compression=COMPRESSION)


def write_in_order(parts: Iterator[Any], path: Path, text: Text | None) -> None:
    """Write parts that come one after the other into one file: CSV, or Parquet without `text`."""
    with replacing(path) as out:
        if text is None:
            _write_frames(parts, out)
        else:
            for number, part in enumerate(parts):
                write_csv_rows(text(part), out, has_header=number == 0)


def _write_frames(parts: Iterator[Any], out: IO[bytes]) -> None:
    from polars.io.plugins import register_io_source

    first = next(parts).to_frame()
    raised: list[BaseException] = []

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        yield first
        try:
            for part in parts:
                yield part.to_frame()
        except BaseException as error:
            raised.append(error)
            raise

    try:
        register_io_source(frames, schema=first.schema).sink_parquet(out, compression=COMPRESSION)
    except pl.exceptions.PolarsError:
        # Polars tells of an error in its own words; the one that was raised says what happened.
        if raised:
            raise raised[0] from None
        raise
    if raised:
        raise raised[0]


# What is counted of the chunks of each kind of table, and how they become CSV.


def _count_points(given: GpsTraces, made: GpsTraces) -> dict[str, int]:
    same_time = np.diff(given.time_ms) == 0
    same_time[given.offsets[1:-1] - 1] = False  # of two users
    silent = int((made.offsets[1:] == made.offsets[:-1]).sum())
    return {"points": len(made), "silent": silent, SAME_TIME: int(same_time.sum())}


def _build_points_text(table: UserChunkTable[GpsTraces], found: FirstPass, change: Change[GpsTraces]) -> Text:
    # CSV has no fractions of a second if no released time has; the first chunk mostly shows one.
    whole_seconds = found.whole_seconds or all(
        not (change(table.traces(one.number), one.number).time_ms % 1000).any() for one in table.portions
    )
    return partial(format_points, whole_seconds=whole_seconds)


def _count_events(given: Traces, made: Traces) -> dict[str, int]:
    return {"events": made.n_events, **count_oddities(given)}


def build_released_format(*, keeps_times: bool) -> ChunkFormat:
    """Return the format of what is released of events, which counts what became of them.

    Parameters
    ----------
    keeps_times
        Whether the events of the release are the table's in their order.
    """

    def count(given: Traces, made: ObfuscatedTraces) -> dict[str, int]:
        fates = count_fates(given, made, keeps_times=keeps_times)
        return {"events": made.n_events, **fates, **count_oddities(given)}

    return ChunkFormat(count, lambda *_: released_table.format_released)


SAME_TIME = "same time"
"""What is counted of points, and noticed: two of a user at the same time."""
POINT_ROWS = ChunkFormat(_count_points, _build_points_text)
EVENT_ROWS = ChunkFormat(_count_events, lambda *_: checkins.format_events)
RELEASED_ROWS = ChunkFormat(
    lambda _, made: {"events": made.n_events}, lambda *_: released_table.format_released
)
