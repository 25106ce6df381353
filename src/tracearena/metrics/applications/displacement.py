"""How far released points are from the truth."""

from __future__ import annotations

from dataclasses import dataclass

from tracearena.errors import DataError
from tracearena.metrics.applications.identity import IdTable, with_true_ids
from tracearena.metrics.applications.walking import AtOnce, Walk
from tracearena.results import Result
from tracearena.traces import GpsTraces
from tracearena.traces.spread import Spread

_SHARES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class DistanceError(Result):
    """Geodesic distance in metres from each original point to what was released of it.

    Attributes
    ----------
    mean_m, median_m, p90_m, p99_m, max_m
        Over all compared points.
    points
        Original points that were compared.
    unmatched
        Original points of users who have no released point.
    """

    mean_m: float
    median_m: float
    p90_m: float
    p99_m: float
    max_m: float
    points: int
    unmatched: int


def distance_error(
    original: GpsTraces, released: GpsTraces, *, id_table: IdTable | None = None
) -> DistanceError:
    """Compare point by point; a point that was not released with the nearest in time of its user.

    Users are matched by id, or by the `id_table` (pseudonym → user) of a release with other ids.

    >>> traces = GpsTraces.from_points([1, 1], [0, 1000], [0.0, 0.0], [0.0, 1.0])
    >>> round(distance_error(traces, traces.moved([0.0, 0.0], [0.0, 0.0])).max_m)
    111319
    """
    return error_of(AtOnce(original, with_true_ids(original, released, id_table)))


def error_of(walk: Walk) -> DistanceError:
    """Return what `distance_error` does, of users who are walked through."""
    spread = walk.fold(lambda part: Spread.of(part.distances))
    _require_some(spread)
    keys = spread.keys_of(_SHARES)
    again = walk.visit(lambda part: part.distances_starting_with(keys))
    median, p90, p99 = spread.quantiles(_SHARES, again)
    return DistanceError(
        mean_m=spread.mean,
        median_m=median,
        p90_m=p90,
        p99_m=p99,
        max_m=spread.largest,
        points=spread.count,
        unmatched=int(walk.points.sum()) - spread.count,
    )


def mean_error_m(walk: Walk) -> float:
    """Return the mean distance alone, for which all points need to pass but once."""
    spread = walk.fold(lambda part: Spread.of(part.distances))
    _require_some(spread)
    return spread.mean


def _require_some(spread: Spread) -> None:
    if not spread.count:
        raise DataError("no user of the original has released points")
