"""GPS traces: where each user's receiver was, point by point."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import checked, frozen, identifiers, trusted

_PER_POINT = ("time_ms", "latitude", "longitude", "trajectory")


class GpsTraces:
    """Points (user, time, latitude, longitude), sorted by user and time.

    Several points of a user at one time are kept in the order given. Trajectories (recordings) are
    labels of the points; two recordings of one user may overlap in time.

    Parameters
    ----------
    user_ids
        External id of each user; a user may have no points.
    offsets
        Points of user ``u`` are ``offsets[u]:offsets[u + 1]``.
    time_ms
        Milliseconds since 1970-01-01 (UTC).
    latitude, longitude
        Degrees on WGS84, within ±90 and ±180.
    trajectory
        Trajectory of each point, 0, 1, …; by default each user's points are one trajectory. A
        trajectory belongs to one user.
    trajectory_ids
        What files call the trajectories; unique within a user only.

    Examples
    --------
    >>> traces = GpsTraces.from_points(["b", "a", "b"], [5000, 0, 1000], [40.0, 40.1, 40.2], [116.3] * 3)
    >>> traces
    <GpsTraces: 2 users, 3 points, 2 trajectories, 1970-01-01 00:00:00 to 1970-01-01 00:00:05 UTC>
    >>> traces.latitude.tolist()
    [40.1, 40.2, 40.0]
    """

    user_ids: NDArray[Any]
    offsets: NDArray[np.int64]
    time_ms: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    trajectory: NDArray[np.int32]
    trajectory_ids: NDArray[Any]

    def __init__(
        self,
        *,
        user_ids: Any,
        offsets: Any,
        time_ms: Any,
        latitude: Any,
        longitude: Any,
        trajectory: Any = None,
        trajectory_ids: Any = None,
    ) -> None:
        self.user_ids = identifiers(user_ids, "user_ids")
        self.offsets = frozen(offsets, np.int64, "offsets")
        self.time_ms = frozen(time_ms, np.int64, "time_ms")
        self.latitude = frozen(latitude, np.float64, "latitude")
        self.longitude = frozen(longitude, np.float64, "longitude")
        self._check_users()
        if trajectory is None:
            self._one_trajectory_a_user()
        else:
            self.trajectory = frozen(trajectory, np.int32, "trajectory")
            count = int(self.trajectory.max(initial=-1)) + 1
            self.trajectory_ids = identifiers(
                np.arange(count) if trajectory_ids is None else trajectory_ids, "trajectory_ids"
            )
        self._check_points()

    def _one_trajectory_a_user(self) -> None:
        occupied = np.diff(self.offsets) > 0
        number = np.cumsum(occupied) - 1
        self.trajectory = trusted(np.repeat(number.astype(np.int32), np.diff(self.offsets)))
        self.trajectory_ids = identifiers(np.arange(int(occupied.sum())), "trajectory_ids")

    def _check_users(self) -> None:
        offsets, n = self.offsets, len(self.time_ms)
        if len(offsets) != len(self.user_ids) + 1:
            raise DataError(
                f"{len(self.user_ids)} users need {len(self.user_ids) + 1} offsets, not {len(offsets)}"
            )
        if offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 0).any():
            raise DataError(f"offsets must rise from 0 to the number of points, {n}")
        if len(np.unique(self.user_ids)) != len(self.user_ids):
            raise DataError("two users have the same id")

    def _check_points(self) -> None:
        for name in _PER_POINT:
            if len(getattr(self, name)) != len(self.time_ms):
                raise DataError(f"{len(self.time_ms)} times but {len(getattr(self, name))} values in {name}")
        checked(self.latitude, lambda a: np.abs(a) <= 90, "latitude", "from -90 to 90")
        checked(self.longitude, lambda a: np.abs(a) <= 180, "longitude", "from -180 to 180")
        top = len(self.trajectory_ids) - 1
        checked(self.trajectory, lambda a: (a >= 0) & (a <= top), "trajectory", f"from 0 to {top}")
        falls = np.flatnonzero(np.diff(self.time_ms) < 0) + 1
        if falls.size and not np.isin(falls, self.offsets).all():
            raise DataError("the points of a user must be sorted by time")
        if not self._trajectories_have_one_user():
            raise DataError("a trajectory must belong to one user")

    def _trajectories_have_one_user(self) -> bool:
        owner = np.full(len(self.trajectory_ids), -1, np.int32)
        owner[self.trajectory] = self.user_index
        return bool(np.array_equal(owner[self.trajectory], self.user_index))

    @classmethod
    def from_points(
        cls,
        users: Any,
        time_ms: Any,
        latitude: Any,
        longitude: Any,
        *,
        trajectories: Any = None,
        user_ids: Any = None,
    ) -> GpsTraces:
        """Build from one value per point, in any order.

        Parameters
        ----------
        users, time_ms, latitude, longitude
            Columns of the points.
        trajectories
            The user's name for the trajectory of each point.
        user_ids
            All users, where some have no points; by default those of the points, sorted.
        """
        given = np.asarray(users)
        known, index = _numbered(given, user_ids)
        moments = np.asarray(time_ms)
        order = _order(index, moments)
        trajectory, trajectory_ids = None, None
        if trajectories is not None:
            trajectory, trajectory_ids = _numbered_trajectories(index[order], np.asarray(trajectories)[order])
        return cls(
            user_ids=known,
            offsets=np.concatenate([[0], np.cumsum(np.bincount(index, minlength=len(known)))]),
            time_ms=moments[order],
            latitude=np.asarray(latitude)[order],
            longitude=np.asarray(longitude)[order],
            trajectory=trajectory,
            trajectory_ids=trajectory_ids,
        )

    def __len__(self) -> int:
        return len(self.time_ms)

    @property
    def n_users(self) -> int:
        """Number of users, with or without points."""
        return len(self.user_ids)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.time_ms)

    @property
    def n_trajectories(self) -> int:
        """Number of trajectories."""
        return len(self.trajectory_ids)

    @cached_property
    def user_index(self) -> NDArray[np.int32]:
        """User (0..n_users-1) of each point."""
        return trusted(np.repeat(np.arange(self.n_users, dtype=np.int32), np.diff(self.offsets)))

    @cached_property
    def trajectory_order(self) -> NDArray[np.int64]:
        """Points ordered by trajectory and time.

        Trajectory ``j`` is ``trajectory_order[trajectory_offsets[j]:trajectory_offsets[j + 1]]``.
        """
        if (np.diff(self.trajectory) >= 0).all():
            return trusted(np.arange(self.n_points))
        return trusted(np.argsort(self.trajectory, kind="stable"))

    @cached_property
    def trajectory_offsets(self) -> NDArray[np.int64]:
        """Where each trajectory begins in `trajectory_order`, with the end as last value."""
        counts = np.bincount(self.trajectory, minlength=self.n_trajectories)
        return trusted(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @cached_property
    def trajectory_user(self) -> NDArray[np.int32]:
        """User of each trajectory; -1 for one without points."""
        owner = np.full(self.n_trajectories, -1, np.int32)
        owner[self.trajectory] = self.user_index
        return trusted(owner)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """South, west, north, east of all points; a DataError without points."""
        if not len(self):
            raise DataError("GPS traces without points have no bounds")
        return (
            float(self.latitude.min()),
            float(self.longitude.min()),
            float(self.latitude.max()),
            float(self.longitude.max()),
        )

    def moved(self, latitude: Any, longitude: Any) -> GpsTraces:
        """Return the same points at other positions."""
        latitude = frozen(latitude, np.float64, "latitude")
        longitude = frozen(longitude, np.float64, "longitude")
        if len(latitude) != len(self) or len(longitude) != len(self):
            raise DataError(f"{len(self)} points need as many positions, not {len(latitude)}")
        checked(latitude, lambda a: np.abs(a) <= 90, "latitude", "from -90 to 90")
        checked(longitude, lambda a: np.abs(a) <= 180, "longitude", "from -180 to 180")
        return self._with(latitude=latitude, longitude=longitude)

    def keep(self, mask: Any) -> GpsTraces:
        """Return the points for which the mask is true; all users stay, empty trajectories go."""
        chosen = np.asarray(mask, bool)
        kept = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int64)
        columns = {name: getattr(self, name)[chosen] for name in _PER_POINT}
        left = np.bincount(columns["trajectory"], minlength=self.n_trajectories) > 0
        renumbered = (np.cumsum(left) - 1).astype(np.int32)
        columns["trajectory"] = renumbered[columns["trajectory"]]
        return self._with(offsets=kept[self.offsets], trajectory_ids=self.trajectory_ids[left], **columns)

    def take_box(self, south: float, west: float, north: float, east: float) -> GpsTraces:
        """Return the points inside a box, borders included."""
        return self.keep(
            (self.latitude >= south)
            & (self.latitude <= north)
            & (self.longitude >= west)
            & (self.longitude <= east)
        )

    def take_time(self, first_ms: int, stop_ms: int) -> GpsTraces:
        """Return the points from one time up to but not including another."""
        return self.keep((self.time_ms >= first_ms) & (self.time_ms < stop_ms))

    def take_users(self, users: Any) -> GpsTraces:
        """Return the traces of some users, by index or mask, in the order given."""
        chosen = np.asarray(users)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        points = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        columns = {name: getattr(self, name)[points] for name in _PER_POINT}
        used, renumbered = np.unique(columns["trajectory"], return_inverse=True)
        columns["trajectory"] = renumbered.astype(np.int32)
        return self._with(
            user_ids=self.user_ids[chosen],
            offsets=offsets,
            trajectory_ids=self.trajectory_ids[used],
            **columns,
        )

    def with_trajectories(self, trajectory: NDArray[np.int32], trajectory_ids: Any = None) -> GpsTraces:
        """Return the same points cut into other trajectories."""
        return GpsTraces(
            user_ids=self.user_ids,
            offsets=self.offsets,
            time_ms=self.time_ms,
            latitude=self.latitude,
            longitude=self.longitude,
            trajectory=trajectory,
            trajectory_ids=trajectory_ids,
        )

    def renamed(
        self, user_ids: Any, trajectory_ids: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    ) -> GpsTraces:
        """Return the same points of users, and of trajectories, with other ids.

        Parameters
        ----------
        user_ids
            As many different ids as there are users.
        trajectory_ids
            Turns the ids of the trajectories into the new ones.
        """
        ids = identifiers(user_ids, "user_ids")
        if len(ids) != self.n_users or len(np.unique(ids)) != len(ids):
            raise DataError(f"{self.n_users} users need as many different ids")
        names = self.trajectory_ids if trajectory_ids is None else trajectory_ids(self.trajectory_ids)
        return self._with(user_ids=ids, trajectory_ids=identifiers(names, "trajectory_ids"))

    def same_points(self, other: GpsTraces) -> bool:
        """Whether another release has the same users and, point by point, the same times."""
        return (
            np.array_equal(self.user_ids, other.user_ids)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.time_ms, other.time_ms)
        )

    def _with(self, **changed: Any) -> GpsTraces:
        other = object.__new__(GpsTraces)
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _DERIVED})
        for name, value in changed.items():
            other.__dict__[name] = trusted(value)
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GpsTraces):
            return NotImplemented
        names = ("user_ids", "offsets", *_PER_POINT, "trajectory_ids")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = f"{self.n_users:,} users, {self.n_points:,} points, {self.n_trajectories:,} trajectories"
        if not len(self):
            return f"<GpsTraces: {counts}>"
        first, last = (np.datetime64(int(t), "ms") for t in (self.time_ms.min(), self.time_ms.max()))
        shown = " to ".join(str(t.astype("datetime64[s]")).replace("T", " ") for t in (first, last))
        return f"<GpsTraces: {counts}, {shown} UTC>"


_DERIVED = frozenset(name for name, value in vars(GpsTraces).items() if isinstance(value, cached_property))


def _order(user: NDArray[Any], moments: NDArray[Any]) -> Any:
    """Return what sorts points by user and time; large data is mostly sorted already."""
    step = np.diff(user)
    if (step >= 0).all() and ((np.diff(moments) >= 0) | (step > 0)).all():
        return slice(None)
    return np.lexsort((moments, user))


def _numbered(users: NDArray[Any], user_ids: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    known, index = _distinct(users)
    if user_ids is None:
        return known, index
    listed = np.asarray(user_ids)
    position = {value: at for at, value in enumerate(listed.tolist())}
    unknown = [value for value in known.tolist() if value not in position]
    if unknown:
        raise DataError(f"a point belongs to user {unknown[0]!r}, who is not listed in user_ids")
    moved = np.array([position[value] for value in known.tolist()], np.int64)
    return listed, moved[index] if len(known) else index.astype(np.int64)


def _numbered_trajectories(user: NDArray[Any], names: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Number the (user, name) pairs by user and first point."""
    known, name = _distinct(names)
    pairs, index = _distinct(user.astype(np.int64) * max(len(known), 1) + name)
    first = np.empty(len(pairs), np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]  # the last to be written is the first point
    by_start = np.argsort(first, kind="stable")
    rank = np.empty(len(pairs), np.int32)
    rank[by_start] = np.arange(len(pairs), dtype=np.int32)
    return rank[index], known[pairs[by_start] % max(len(known), 1)]


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct values and the index of each; without sorting where they are dense."""
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low <= 4 * len(values) + 1000:
            offset = values - values.dtype.type(low)
            present = np.zeros(high - low + 1, bool)
            present[offset] = True
            known = np.flatnonzero(present).astype(values.dtype) + values.dtype.type(low)
            return known, (np.cumsum(present) - 1)[offset]
    known, index = np.unique(values, return_inverse=True)
    return known, index
