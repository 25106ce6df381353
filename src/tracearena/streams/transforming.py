"""Work on every portion of a table, from files to files, here or in the workers of a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracearena import __version__
from tracearena.algorithms import GpsObfuscator, answers
from tracearena.engine import block_ranges, current_progress, run_blocks, thread_count, use
from tracearena.engine.blocks import in_order
from tracearena.streams.portions import Table
from tracearena.streams.survey import Survey
from tracearena.streams.unfinished import Unfinished
from tracearena.streams.writing import write_in_order, write_part
from tracearena.traces import GpsTraces

Change = Callable[[GpsTraces, int], GpsTraces]
"""Makes of a portion, and its number, what is released of it."""


@dataclass(frozen=True)
class Written:
    """What was written: users, points, points that were left out, users without points, odd times."""

    users: int
    points: int
    withheld: int
    silent: int
    same_times: int


def write_changed(
    table: Table,
    found: Survey,
    out: Path,
    change: Change,
    *,
    unfinished: Unfinished | None = None,
) -> Written:
    """Change every portion and write the result.

    Parameters
    ----------
    unfinished
        Write a folder of parts, which the workers of a cluster write themselves; one file if omitted.
    """
    counts = _one_file(table, found, out, change) if unfinished is None else _parts(table, change, unfinished)
    points, silent, same = (sum(one[name] for one in counts) for name in ("points", "silent", "same_times"))
    return Written(len(found.users), points, found.n_points - points, silent, same)


def _parts(table: Table, change: Change, unfinished: Unfinished) -> list[dict[str, Any]]:
    left = [one for one in table.portions if one.number not in unfinished.done]
    done = [len(one) for one in table.portions if one.number in unfinished.done]
    total, progress = sum(map(len, table.portions)), current_progress()
    names = [unfinished.part(one.number) for one in left]

    def work(block: int, first: int, stop: int) -> dict[str, Any]:
        number = left[block].number
        with use(threads=1):
            changed, counts = _changed(table, change, number)
            write_part(changed, names[block])
        return counts

    def finished(block: int, counts: dict[str, Any]) -> None:
        unfinished.add(left[block].number, counts)
        done.append(len(left[block]))
        progress(sum(done), total)

    run_blocks(work, block_ranges(len(left), 1), anywhere=True, finished=finished)
    return [unfinished.done[one.number] for one in table.portions]


def _one_file(table: Table, found: Survey, out: Path, change: Change) -> list[dict[str, Any]]:
    counts: list[dict[str, Any]] = []
    total, progress = sum(map(len, table.portions)), current_progress()

    def work(number: int) -> tuple[GpsTraces, dict[str, Any]]:
        with use(threads=1):
            return _changed(table, change, number)

    def released() -> Iterator[GpsTraces]:
        pieces = [(one.number,) for one in table.portions]
        for changed, counted in in_order(work, pieces, False, ahead=thread_count()):
            counts.append(counted)
            progress(table.portions[len(counts) - 1].stop, total)
            yield changed

    write_in_order(released(), out, whole_seconds=found.whole_seconds)
    return counts


def _changed(table: Table, change: Change, number: int) -> tuple[GpsTraces, dict[str, Any]]:
    given = table.traces(number)
    changed = change(given, number)
    silent = int((changed.offsets[1:] == changed.offsets[:-1]).sum())
    counts = {"points": len(changed), "silent": silent, "same_times": same_times(given)}
    return changed, counts


def same_times(traces: GpsTraces) -> int:
    """Return how many points have the time of the one before them, of the same user."""
    same = np.diff(traces.time_ms) == 0
    same[traces.offsets[1:-1] - 1] = False
    return int(same.sum())


def obfuscation(table: Table, defence: GpsObfuscator, root: np.random.SeedSequence, digits: int) -> Change:
    """Return what a defence makes of a portion: the same as if it had all of them."""
    draws = _draws(table, defence)
    before = np.concatenate([[0], np.cumsum(draws)])
    is_ours = not answers.is_foreign(defence)

    def change(part: GpsTraces, number: int) -> GpsTraces:
        first, total = int(before[number]), int(before[-1])
        moved = answers.gps_transformed_part(defence, part, seed=root, first=first, total=total)
        if is_ours:
            return moved
        # Our own defences round already; a class from elsewhere need not know that it should.
        from tracearena.obfuscation.rounding import rounded

        return rounded(moved, digits)

    return change


def _draws(table: Table, defence: GpsObfuscator) -> list[int]:
    """Count the draws of each portion; where each point is one, nothing needs to be read."""
    if not defence.counts_draws:
        return [len(one) for one in table.portions]

    def work(block: int, first: int, stop: int) -> int:
        return defence.draws(table.traces(block))

    return run_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)


def depends_on(table: Table, *others: object) -> str:
    """Return a digest of what every part depends on: files, how they are read, settings, versions."""
    files = table.files
    said = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files.files]
    options = (files.layout, files.timezone, files.box, table.portions, pl.__version__, __version__, others)
    return hashlib.sha256(repr((said, options)).encode()).hexdigest()
