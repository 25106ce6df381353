"""GPS traces in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tracearena.intake.gps_reading import GpsReading
from tracearena.traces import Box


@dataclass(frozen=True)
class GpsSummary:
    """What ``tracearena describe`` says about GPS traces.

    Attributes
    ----------
    users, events, trajectories
        Counts; an event is a point.
    first, last
        Times (UTC) of the first and last point.
    bounds
        The box of all points.
    points_per_user
        Least, median and most.
    interval_s
        Median seconds between consecutive points of a trajectory.
    gaps_over_4h
        Pairs of consecutive points of a user that lie more than four hours apart.
    dropped, noticed
        What was wrong with the files.
    times
        Whose local time the hours of the day are, and how that is known.
    """

    users: int
    events: int
    trajectories: int
    first: str
    last: str
    bounds: Box
    points_per_user: dict[str, float]
    interval_s: float | None
    gaps_over_4h: int
    dropped: dict[str, int]
    noticed: dict[str, int]
    times: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; GPS points lie at no places, so `places` is null."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["bounds"] = asdict(self.bounds)
        return {"format": "gps", "places": None, "dropped_rows": sum(self.dropped.values()), **values}


def summarise_gps(reading: GpsReading) -> GpsSummary:
    """Count what is in GPS traces."""
    traces = reading.traces
    lengths = np.diff(traces.offsets)
    first, last = (
        str(np.datetime64(int(t), "ms").astype("datetime64[s]")) + "Z"
        for t in (traces.time_ms.min(), traces.time_ms.max())
    )
    order = traces.trajectory_order
    within = np.diff(traces.time_ms[order])[np.diff(traces.trajectory[order]) == 0]
    of_user = np.diff(traces.time_ms)[np.diff(traces.user_index) == 0]
    return GpsSummary(
        users=traces.n_users,
        events=traces.n_points,
        trajectories=traces.n_trajectories,
        first=first,
        last=last,
        bounds=Box.of(traces),
        points_per_user={
            "least": int(lengths.min()),
            "median": float(np.median(lengths)),
            "most": int(lengths.max()),
        },
        interval_s=float(np.median(within)) / 1000 if within.size else None,
        gaps_over_4h=int((of_user > 4 * 3_600_000).sum()),
        dropped=reading.dropped,
        noticed=reading.noticed,
        times=f"UTC (Z) here; on a page and on a grid {reading.local_time}",
    )
