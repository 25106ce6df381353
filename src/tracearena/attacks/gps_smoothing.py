"""Attacks that remove noise from GPS traces by interpolation and smoothing [geo-ind].

People move along paths, and noise that is independent from point to point averages out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import GpsAttack
from tracearena.checks import LARGEST_COUNT, require_kind, require_switch, require_whole
from tracearena.engine import block_ranges, run_blocks
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import SEMI_MAJOR_M, interpolate_geodesic

_POINTS_PER_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Interpolation(GpsAttack):
    """Interpolate between the positions of time-dependent noise.

    Consecutive equal positions in a trajectory are one piece, whose points all have the released position of
    its first point. The points between the beginning of a piece and that of the next are moved to the
    geodesic between the two positions, in proportion to time. The last piece of a trajectory does not move.

    References
    ----------
    [geo-ind] section 4.
    """

    name: ClassVar[str] = "Interpolate"

    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return the points moved onto the lines between the pieces."""
        require_kind(self, released, GpsTraces)
        order = released.trajectory_order
        latitude, longitude = released.latitude[order], released.longitude[order]
        times, labels = released.time_ms[order], released.trajectory[order]
        if not len(order):
            return released
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(labels) != 0) | (np.diff(latitude) != 0) | (np.diff(longitude) != 0)
        starts = np.flatnonzero(new)
        piece = np.cumsum(new) - 1
        following = np.minimum(piece + 1, len(starts) - 1)
        a, b = starts[piece], starts[following]
        ends_here = (labels[a] != labels[b]) | (a == b)
        share = np.where(ends_here, 0.0, (times - times[a]) / np.maximum(times[b] - times[a], 1))
        at = np.flatnonzero(share > 0)
        moved = np.stack([latitude, longitude])

        def work(block: int, first: int, stop: int) -> None:
            own = at[first:stop]
            i, j = a[own], b[own]
            moved[:, own] = interpolate_geodesic(
                latitude[i], longitude[i], latitude[j], longitude[j], share[own]
            )

        run_blocks(work, block_ranges(len(at), _POINTS_PER_BLOCK))
        return released.with_positions(*_restore_order(order, *moved))


@dataclass(frozen=True, kw_only=True)
class Smoothing(GpsAttack):
    """Average each point with its neighbours in the trajectory.

    Parameters
    ----------
    k
        Number of adjacent points that are averaged, at least 1. An even window has one more point before than
        after. At the ends of a trajectory, both sides of the window are shortened.
    feedback
        Average the k - 1 preceding *results* and the new point instead, so that each result feeds the
        next, as in the paper.

    Notes
    -----
    The default differs from [geo-ind] section 4. Taken literally, the recursion there sets point k + 1 to the
    mean of the k points before it and continues with that value, so that points after the first k are never
    used. With the new point in the window (`feedback`), the result lags about k²/2 points behind a moving
    user. An attacker has the whole trajectory and can centre the window.

    Means are taken in earth-centred coordinates, so the poles and the date line are no special cases.
    """

    name: ClassVar[str] = "Smooth"

    k: int
    feedback: bool = False

    def __post_init__(self) -> None:
        require_whole("k", self.k, at_least=1, at_most=LARGEST_COUNT)
        require_switch("feedback", self.feedback)

    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return the points at their averaged positions."""
        from tracearena.attacks._kernels import smooth_symmetrically, smooth_with_feedback

        require_kind(self, released, GpsTraces)
        order = released.trajectory_order
        average = smooth_with_feedback if self.feedback else smooth_symmetrically
        lat, lon = np.radians(released.latitude[order]), np.radians(released.longitude[order])
        unit = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
        means = average(SEMI_MAJOR_M * unit, released.trajectory_offsets, self.k)
        latitude = np.degrees(np.arctan2(means[:, 2], np.hypot(means[:, 0], means[:, 1])))
        longitude = np.degrees(np.arctan2(means[:, 1], means[:, 0]))
        return released.with_positions(*_restore_order(order, latitude, longitude))


@dataclass(frozen=True, kw_only=True)
class InterpolationSmoothing(GpsAttack):
    """Interpolate, then smooth: against time-dependent noise.

    Parameters
    ----------
    k
        Number of adjacent points that are averaged, at least 1, as for `Smoothing`.
    feedback
        Average the preceding results and the new point instead, as for `Smoothing`.
    """

    name: ClassVar[str] = "Interpolate+Smooth"

    k: int
    feedback: bool = False

    def __post_init__(self) -> None:
        Smoothing(k=self.k, feedback=self.feedback)

    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return the points on the averaged lines between the pieces."""
        require_kind(self, released, GpsTraces)
        return Smoothing(k=self.k, feedback=self.feedback).recover(Interpolation().recover(released))


def _restore_order(order: NDArray[np.int64], *columns: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Put values in trajectory order back to the order of the points."""
    placed = [np.empty(len(order)) for _ in columns]
    for column, values in zip(placed, columns, strict=True):
        column[order] = values
    return placed
