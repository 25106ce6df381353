"""The numbers behind a picture: rows and their files, and sums of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tracearena.arena.evaluation import halves
from tracearena.files import write_csv
from tracearena.metrics import tm_emd, tm_emd_sliced, tp_tv, vf_tv
from tracearena.traces import Traces

T = TypeVar("T")

HALVES = "halves"
"""Half of the training users against the other half."""

TITLES = {
    "tp_tv": "TP-TV",
    "tp_tv_top50": "TP-TV-Top50",
    "tm_emd_x": "TM-EMD-X",
    "tm_emd_y": "TM-EMD-Y",
    "tm_emd_sliced": "TM-EMD",
    "vf_tv": "VF-TV",
    "reidentification_rate": "re-identification rate",
    "membership_advantage": "membership advantage",
}


def write_records(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> Path:
    """Write one line a row; the first row names the columns, unless they are given.

    What a row does not have is an empty cell.
    """
    names = list(rows[0]) if columns is None else columns
    return write_csv(path, names, ([row.get(name) for name in names] for row in rows))


def six_digits(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Return rows for a file, every float with six significant digits.

    >>> six_digits([["a", 1, 2 / 3]])
    [['a', 1, '0.666667']]
    """
    return [
        [f"{value:.6g}" if isinstance(value, (float, np.floating)) else value for value in row]
        for row in rows
    ]


def correlation_of(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the correlation coefficient, 0 where fewer than two pairs differ.

    >>> correlation_of([(1, 2), (2, 4), (3, 6)])
    1.0
    """
    values = np.array(pairs)
    if len(values) < 2 or (values.std(axis=0) < 1e-12).any():
        return 0.0
    return float(np.corrcoef(values.T)[0, 1].round(12))


def growth(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the exponent of a power law of seconds over size; None for fewer than two sizes.

    >>> round(growth([(1, 3.0), (2, 6.0), (4, 12.0)]) or 0, 6)
    1.0
    """
    if len({size for size, _ in points}) < 2:
        return None
    size, seconds = np.log(np.array(points, float)).T
    return float(np.polyfit(size, seconds, 1)[0])


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Do the work; return its result and the processor seconds it took.

    Of all cores together, so that other work on the machine does not count, and as those of a program
    with one thread.
    """
    begin = time.process_time()
    result = work()
    return result, max(time.process_time() - begin, 1e-6)


def utility(
    reference: Traces,
    traces: Traces | None,
    names: Sequence[str],
    *,
    by_day: bool,
    other: Traces | None = None,
) -> dict[str, Any]:
    """Return the named metrics of traces (None: uniform) against the reference.

    `other` are further real traces: places without visits in them do not count for VF-TV.
    """
    known: dict[str, Callable[[], float | None]] = {
        "tp_tv": lambda: tp_tv(reference, traces, by_day=by_day),
        "tp_tv_top50": lambda: tp_tv(reference, traces, top=50, by_day=by_day),
        "tm_emd_x": lambda: tm_emd(reference, traces, "x", by_day=by_day),
        "tm_emd_y": lambda: tm_emd(reference, traces, "y", by_day=by_day),
        "tm_emd_sliced": lambda: tm_emd_sliced(reference, traces, by_day=by_day),
        "vf_tv": lambda: vf_tv(reference, traces, training=other, by_day=by_day),
    }
    return {name: known[name]() for name in names}


def halved(
    training: Traces, testing: Traces, names: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, float | None]]:
    """Return a row of the training users against each other, half by half, and its spread.

    No row if there are fewer than two training users. What is not a metric of utility stays empty.
    """
    parted = halves(training, testing)
    if parted is None:
        return [], {}
    mean, spread = parted.mean.to_dict(), parted.spread.to_dict()
    return [{"method": HALVES, **{name: mean.get(name) for name in names}}], spread
