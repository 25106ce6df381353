"""GPS traces: the recorded points of each user."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces._arrays import check_values, mark_readonly, to_id_array, to_readonly_array
from tracearena.traces.box import Box
from tracearena.traces.row_table import RowTable, arrange_rows, unique_inverse


class GpsTraces(RowTable):
    """Points (user, time, latitude, longitude), sorted by user and time.

    Several points of a user at one time are kept in the order given. Trajectories (recordings) are
    labels of the points; two recordings of one user may overlap in time.

    Parameters
    ----------
    user_ids, offsets
        Users, and the index of the first point of each (with the number of points as last value).
    time_ms
        Milliseconds since 1970-01-01 (UTC).
    latitude, longitude
        Degrees on WGS84, within ±90 and ±180.
    trajectory
        Trajectory of each point, 0, 1, …; by default each user's points are one trajectory. A
        trajectory belongs to one user.
    trajectory_ids
        Ids of the trajectories in files; unique only within a user.

    Examples
    --------
    >>> traces = GpsTraces.from_points(["b", "a", "b"], [5000, 0, 1000], [40.0, 40.1, 40.2], [116.3] * 3)
    >>> traces
    <GpsTraces: 2 users, 3 points, 2 trajectories, 1970-01-01 00:00:00 to 1970-01-01 00:00:05 UTC>
    >>> traces.latitude.tolist()
    [40.1, 40.2, 40.0]
    """

    time_ms: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    trajectory: NDArray[np.int32]
    trajectory_ids: NDArray[Any]

    _columns: ClassVar[tuple[str, ...]] = ("time_ms", "latitude", "longitude", "trajectory")
    _row: ClassVar[str] = "point"

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
        self._set_users(user_ids, offsets)
        self._set(
            time_ms=to_readonly_array(time_ms, np.int64, "time_ms"),
            latitude=to_readonly_array(latitude, np.float64, "latitude"),
            longitude=to_readonly_array(longitude, np.float64, "longitude"),
            trajectory=None if trajectory is None else to_readonly_array(trajectory, np.int32, "trajectory"),
        )
        self._check_rows()
        if trajectory is None:
            self._set_one_trajectory_per_user()
        else:
            count = int(self.trajectory.max(initial=-1)) + 1
            ids = np.arange(count) if trajectory_ids is None else trajectory_ids
            self._set(trajectory_ids=to_id_array(ids, "trajectory_ids"))
        _check_positions(self.latitude, self.longitude)
        top = len(self.trajectory_ids) - 1
        check_values(self.trajectory, lambda a: (a >= 0) & (a <= top), "trajectory", f"from 0 to {top}")
        if not np.array_equal(self.trajectory_user[self.trajectory], self.user_index):
            raise DataError("a trajectory must belong to one user")

    def _set_one_trajectory_per_user(self) -> None:
        occupied = np.diff(self.offsets) > 0
        number = (np.cumsum(occupied) - 1).astype(np.int32)
        self._set(
            trajectory=mark_readonly(np.repeat(number, np.diff(self.offsets))),
            trajectory_ids=to_id_array(np.arange(int(occupied.sum())), "trajectory_ids"),
        )

    @classmethod
    def of_checked(
        cls,
        *,
        user_ids: Any,
        offsets: Any,
        time_ms: NDArray[np.int64],
        latitude: NDArray[np.float64],
        longitude: NDArray[np.float64],
        trajectory: NDArray[np.int32] | None = None,
        trajectory_ids: Any = None,
    ) -> GpsTraces:
        """Build from columns that are already checked and sorted, without copying them."""
        made = object.__new__(cls)
        made._set_users(user_ids, offsets)
        made._set(
            time_ms=mark_readonly(time_ms),
            latitude=mark_readonly(latitude),
            longitude=mark_readonly(longitude),
        )
        if trajectory is None:
            made._set_one_trajectory_per_user()
        else:
            ids = to_id_array(trajectory_ids, "trajectory_ids")
            made._set(trajectory=mark_readonly(trajectory), trajectory_ids=ids)
        return made

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
            Trajectory id of each point.
        user_ids
            All users, if some have no points; by default those of the points, sorted.
        """
        moments = np.asarray(time_ms)
        rows = arrange_rows(users, [moments], user_ids)
        trajectory, trajectory_ids = None, None
        if trajectories is not None:
            names = np.asarray(trajectories)[rows.order]
            trajectory, trajectory_ids = number_trajectories(rows.users[rows.order], names)
        return cls(
            user_ids=rows.user_ids,
            offsets=rows.offsets,
            time_ms=moments[rows.order],
            latitude=np.asarray(latitude)[rows.order],
            longitude=np.asarray(longitude)[rows.order],
            trajectory=trajectory,
            trajectory_ids=trajectory_ids,
        )

    @classmethod
    def concat(cls, parts: Sequence[GpsTraces]) -> GpsTraces:
        """Return the points of several traces as one.

        Users with the same id become one user, and their trajectories with the same id one trajectory.
        """
        if not parts:
            raise DataError("there are no traces to join")
        # Ids are numbered once per user and trajectory: as text they would take more room than the points.
        user_ids, user = unique_inverse(np.concatenate([part.user_ids for part in parts]))
        names, name = unique_inverse(np.concatenate([part.trajectory_ids for part in parts]))
        last_user = np.cumsum([part.n_users for part in parts])[:-1]
        last_name = np.cumsum([part.n_trajectories for part in parts])[:-1]
        users = [
            np.repeat(own.astype(np.int32), np.diff(part.offsets))
            for part, own in zip(parts, np.split(user, last_user), strict=True)
        ]
        trajectories = [
            own.astype(np.int32)[part.trajectory]
            for part, own in zip(parts, np.split(name, last_name), strict=True)
        ]
        made = cls.from_points(
            np.concatenate(users),
            np.concatenate([part.time_ms for part in parts]),
            np.concatenate([part.latitude for part in parts]),
            np.concatenate([part.longitude for part in parts]),
            trajectories=np.concatenate(trajectories),
            user_ids=np.arange(len(user_ids)),
        )
        return made.with_user_ids(user_ids).with_trajectory_ids(names[made.trajectory_ids])

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.time_ms)

    @property
    def n_trajectories(self) -> int:
        """Number of trajectories."""
        return len(self.trajectory_ids)

    @cached_property
    def trajectory_order(self) -> NDArray[np.int64]:
        """Points ordered by trajectory and time.

        Trajectory ``j`` is ``trajectory_order[trajectory_offsets[j]:trajectory_offsets[j + 1]]``.
        """
        if (np.diff(self.trajectory) >= 0).all():
            return mark_readonly(np.arange(self.n_points))
        return mark_readonly(np.argsort(self.trajectory, kind="stable"))

    @cached_property
    def trajectory_offsets(self) -> NDArray[np.int64]:
        """Index of the first point of each trajectory in `trajectory_order`, then the number of points."""
        counts = np.bincount(self.trajectory, minlength=self.n_trajectories)
        return mark_readonly(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @cached_property
    def trajectory_user(self) -> NDArray[np.int32]:
        """User of each trajectory; -1 for one without points."""
        owner = np.full(self.n_trajectories, -1, np.int32)
        owner[self.trajectory] = self.user_index
        return mark_readonly(owner)

    def with_positions(self, latitude: Any, longitude: Any) -> GpsTraces:
        """Return the same points at other positions."""
        latitude = to_readonly_array(latitude, np.float64, "latitude")
        longitude = to_readonly_array(longitude, np.float64, "longitude")
        if len(latitude) != len(self) or len(longitude) != len(self):
            raise DataError(f"{len(self)} points need {len(self)} positions, not {len(latitude)}")
        _check_positions(latitude, longitude)
        return self._with(latitude=latitude, longitude=longitude)

    def take_box(self, box: Box) -> GpsTraces:
        """Return the points inside a box, borders included."""
        return self.keep(box.contains(self.latitude, self.longitude))

    def _take_rows(self, rows: Any, **changed: Any) -> Self:
        """Return some points; trajectories without points go, and the others close up."""
        taken = super()._take_rows(rows, **changed)
        left = np.bincount(taken.trajectory, minlength=self.n_trajectories) > 0
        number = (np.cumsum(left) - 1).astype(np.int32)
        return taken._with(trajectory=number[taken.trajectory], trajectory_ids=self.trajectory_ids[left])

    def with_trajectories(self, trajectory: NDArray[np.int32], trajectory_ids: Any = None) -> GpsTraces:
        """Return the same points with other trajectories."""
        return self.replace(trajectory=trajectory, trajectory_ids=trajectory_ids)

    def with_trajectory_ids(self, trajectory_ids: Any) -> GpsTraces:
        """Return the same points with other ids of trajectories."""
        ids = to_id_array(trajectory_ids, "trajectory_ids")
        if len(ids) != self.n_trajectories:
            raise DataError(
                f"{self.n_trajectories} trajectories need {self.n_trajectories} ids, not {len(ids)}"
            )
        return self._with(trajectory_ids=ids)

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame with one row per point.

        Columns ``user_id``, ``time`` (UTC), ``latitude``, ``longitude``, ``traj`` (its trajectory).
        `tracearena.read` takes it back.

        `library` is ``polars``, ``pandas``, ``arrow`` or ``geopandas``, the last with a column of points
        instead of the coordinates.
        """
        from tracearena.dataframes import export_frame
        from tracearena.traces.exports import build_point_frame

        return export_frame(build_point_frame(self), library, position=("latitude", "longitude"))

    def _equals(self, other: Self) -> bool:
        return super()._equals(other) and np.array_equal(self.trajectory_ids, other.trajectory_ids)

    def __repr__(self) -> str:
        counts = f"{self.n_users:,} users, {self.n_points:,} points, {self.n_trajectories:,} trajectories"
        if not len(self):
            return f"<GpsTraces: {counts}>"
        first, last = (np.datetime64(int(t), "ms") for t in (self.time_ms.min(), self.time_ms.max()))
        shown = " to ".join(str(t.astype("datetime64[s]")).replace("T", " ") for t in (first, last))
        return f"<GpsTraces: {counts}, {shown} UTC>"


def _check_positions(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> None:
    check_values(latitude, lambda a: np.abs(a) <= 90, "latitude", "from -90 to 90")
    check_values(longitude, lambda a: np.abs(a) <= 180, "longitude", "from -180 to 180")


def number_trajectories(user: NDArray[Any], names: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Number the (user, name) pairs by user and first point; return each point's number, and the names."""
    known, name = unique_inverse(names)
    pairs, index = unique_inverse(user.astype(np.int64) * max(len(known), 1) + name)
    first = np.empty(len(pairs), np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]  # the last to be written is the first point
    by_start = np.argsort(first, kind="stable")
    rank = np.empty(len(pairs), np.int32)
    rank[by_start] = np.arange(len(pairs), dtype=np.int32)
    return rank[index], known[pairs[by_start] % max(len(known), 1)]
