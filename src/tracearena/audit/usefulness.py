"""Usefulness of a release for six tasks of planners, one number per task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.data import AuditData, AuditRelease, Floats, choose_places
from tracearena.audit.settings import Record
from tracearena.engine import child_seed, generator
from tracearena.metrics.applications.networks import share_served
from tracearena.mobility.statistics import radius_of_gyration_km, share_at_home, trip_lengths_km
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import unique_values
from tracearena.traces.geodesy import earth_centred
from tracearena.traces.row_table import split_users

HOTSPOTS = 0.1
"""Share of the visited places that count as hotspots."""
_DRAW, _HALVES = range(2)


@dataclass(frozen=True)
class Task(Record):
    """One thing that people do with such data.

    Attributes
    ----------
    name
        A key of `texts.TASKS`.
    kept
        How much of it is left, from 0 to 1 (as in the original); without a release None.
    halves
        The same between two random halves of the people, half against half: as good as chance allows.
    before, after
        A single figure of the task in the original and in the release, in the unit that `texts.TASKS` names.
    """

    name: str
    kept: float | None
    halves: float | None
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Usefulness(Record):
    """What the data is good for.

    Attributes
    ----------
    tasks
        One after the other, at the resolution of the release.
    kept
        The mean over the tasks; without a release None.
    kept_of_file
        The same against the original file, at its own places.
    """

    tasks: tuple[Task, ...]
    kept: float | None
    kept_of_file: float | None = None


class _TaskFunctions(NamedTuple):
    compare: Callable[[Traces, Traces], float]
    figure: Callable[[Traces], float]


def assess_usefulness(
    file: AuditData, material: AuditData, published: AuditRelease | None, root: np.random.SeedSequence
) -> Usefulness:
    """Do every task with the original, with the release, and with two halves of the people.

    Parameters
    ----------
    file, material
        The original at its own places, and on the ground of the release.
    """
    original = material.coarse
    halves = split_users(original.n_users, original.n_users // 2, generator(child_seed(root, _HALVES)))
    parts = [original.take_users(half) for half in halves]
    released, whole = None, None
    if published is not None:
        released = to_plain_events(published.coarse, child_seed(root, _DRAW))
        whole = measure_usefulness(file, published, child_seed(root, _DRAW))
    tasks = tuple(
        Task(
            name=name,
            kept=None if released is None else _to_number(work.compare(original, released)),
            halves=_to_number(work.compare(parts[0], parts[1])) if all(map(len, parts)) else None,
            before=_to_number(work.figure(original)),
            after=None if released is None else _to_number(work.figure(released)),
        )
        for name, work in _TASKS.items()
    )
    kept = [task.kept for task in tasks if task.kept is not None]
    return Usefulness(tasks, float(np.mean(kept)) if kept else None, whole)


def measure_tasks(original: Traces, released: Traces) -> dict[str, float]:
    """Return how much of every task a release keeps."""
    found = {name: work.compare(original, released) for name, work in _TASKS.items()}
    return {name: value for name, value in found.items() if np.isfinite(value)}


def measure_usefulness(material: AuditData, published: AuditRelease, seed: np.random.SeedSequence) -> float:
    """Return how much of the tasks is left on average against the original file, at its own places.

    What is released at other places counts at the nearest place of the file; trips are as long as released.
    """
    original, released = material.exact, to_plain_events(published.exact, seed)
    at_own = released
    if released.places != original.places:
        from scipy.spatial import KDTree

        own, theirs = (
            earth_centred(one.places.latitude, one.places.longitude) for one in (original, released)
        )
        at_own = released.onto(original.places, np.asarray(KDTree(own).query(theirs)[1], np.int32))
    as_released = ("trips", "gyration")
    found = [
        work.compare(original, released if name in as_released else at_own) for name, work in _TASKS.items()
    ]
    known = [value for value in found if np.isfinite(value)]
    return float(np.mean(known)) if known else 0.0


def to_plain_events(released: ObfuscatedTraces, seed: np.random.SeedSequence) -> Traces:
    """Return a release as somebody uses it: one place of a set at random, deleted events gone."""
    place = choose_places(released, generator(seed))
    return Traces.like(released.keep(place >= 0).without_timestamps(), place[place >= 0])


def _to_number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def compute_common_share(first: Floats, second: Floats) -> float:
    """Return what two distributions have in common: 1 minus their total variation.

    >>> compute_common_share(np.array([2, 2]), np.array([1, 3]))
    0.75
    """
    if not first.sum() or not second.sum():
        return 0.0 if first.sum() != second.sum() else float("nan")
    return float(np.minimum(first / first.sum(), second / second.sum()).sum())


def compare_distributions(first: Floats, second: Floats) -> float:
    """Return 1 minus the largest gap between two cumulative distributions (Kolmogorov, Smirnov).

    >>> compare_distributions(np.array([1.0, 2.0]), np.array([1.0, 9.0]))
    0.5
    """
    first, second = (np.sort(one[np.isfinite(one)]) for one in (first, second))
    if not len(first) or not len(second):
        return 0.0 if len(first) != len(second) else float("nan")
    every = np.concatenate([first, second])
    ranks = [np.searchsorted(one, every, "right") / len(one) for one in (first, second)]
    return float(1 - np.abs(ranks[0] - ranks[1]).max())


def _compare_keys(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    every, inverse = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(every)).astype(float)
        for part in (inverse[: len(first)], inverse[len(first) :])
    ]
    return compute_common_share(*counts)


def _place_hour_keys(traces: Traces) -> NDArray[np.int64]:
    hour = traces.clock.second_of_day(traces.instants) // 3600
    return np.asarray(traces.place_index.astype(np.int64) * 24 + hour)


def _flow_keys(traces: Traces) -> NDArray[np.int64]:
    start, end = traces.place_index[:-1].astype(np.int64), traces.place_index[1:].astype(np.int64)
    moved = (traces.user_index[1:] == traces.user_index[:-1]) & (start != end)
    return np.asarray(start[moved] * len(traces.places) + end[moved])


def _count_visits(traces: Traces) -> NDArray[np.int64]:
    return np.bincount(traces.place_index, minlength=len(traces.places))


def _compare_hotspots(first: Traces, second: Traces) -> float:
    """Return what the hotspots of the second serve of the first, over what its own would."""
    truth, told = _count_visits(first), _count_visits(second)
    if not truth.sum() or not told.sum():
        return 0.0
    k = max(1, round(HOTSPOTS * int((truth > 0).sum())))
    return share_served(truth, told, k) / share_served(truth, truth, k)


def _compute_hot_share(traces: Traces) -> float:
    counts = _count_visits(traces)
    k = max(1, round(HOTSPOTS * int((counts > 0).sum())))
    return share_served(counts, counts, k) if counts.sum() else float("nan")


def _compare_home_curves(first: Traces, second: Traces) -> float:
    """Return 1 minus the mean gap between the shares of people at home over the day."""
    if not len(first) or not len(second):
        return 0.0
    gap = np.abs(share_at_home(first) - share_at_home(second))
    return float(1 - np.nanmean(gap)) if np.isfinite(gap).any() else float("nan")


def _compute_median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


_TASKS = {
    "counts": _TaskFunctions(
        lambda a, b: _compare_keys(_place_hour_keys(a), _place_hour_keys(b)),
        lambda a: float(len(unique_values(_place_hour_keys(a)))),
    ),
    "flows": _TaskFunctions(
        lambda a, b: _compare_keys(_flow_keys(a), _flow_keys(b)), lambda a: float(len(_flow_keys(a)))
    ),
    "trips": _TaskFunctions(
        lambda a, b: compare_distributions(trip_lengths_km(a), trip_lengths_km(b)),
        lambda a: _compute_median(trip_lengths_km(a)),
    ),
    "gyration": _TaskFunctions(
        lambda a, b: compare_distributions(radius_of_gyration_km(a), radius_of_gyration_km(b)),
        lambda a: _compute_median(radius_of_gyration_km(a)),
    ),
    "home": _TaskFunctions(
        _compare_home_curves, lambda a: float(np.nanmean(share_at_home(a))) if len(a) else float("nan")
    ),
    "hotspots": _TaskFunctions(_compare_hotspots, _compute_hot_share),
}
