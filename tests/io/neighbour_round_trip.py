"""Run by the Python of an environment that has a library of traces: to it and back, for points and events.

It prints "ok" if all is well. Points and events are a few, so that a difference is easy to read.
"""

import sys
import warnings
from datetime import date

import numpy as np

import tracearena as ta
from tracearena.traces import Clock, GpsTraces, Places, Traces


def main(library: str) -> None:
    """Check a library."""
    kind = {
        "scikit-mobility": "TrajDataFrame",
        "trackintel": "Positionfixes",
        "movingpandas": "TrajectoryCollection",
    }[library]
    warnings.simplefilter("ignore")  # those of old versions of their own libraries

    chance = np.random.default_rng(1)
    points = GpsTraces.from_points(
        ["ann"] * 6 + ["bob"] * 6,
        np.arange(12) * 60_123 + 1_580_000_000_000,
        chance.uniform(35.0, 35.1, 12),
        chance.uniform(139.0, 139.1, 12),
        trajectories=[1, 1, 1, 2, 2, 2] * 2,  # the same ids for both users
    )
    frame = points.to_frame(library)
    assert type(frame).__name__ == kind
    back, report = ta.read(frame)
    assert isinstance(back, GpsTraces)
    assert not report.dropped
    names = ["ann/1", "ann/2", "bob/1", "bob/2"] if library == "movingpandas" else [1, 2, 1, 2]
    assert back.trajectory_ids.tolist() == names, back.trajectory_ids
    assert back.with_trajectory_ids(points.trajectory_ids) == points

    places = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.2], ids=["home", "work", "gym"])
    clock = Clock(instants_per_day=24, first_day=date(2020, 1, 27), timezone="Asia/Tokyo")
    events = Traces.from_dense(chance.integers(0, 3, (2, 24)), places, clock, user_ids=["ann", "bob"])
    events = events.with_timestamps(events.instants * 3600 + 1_580_050_800)
    if library != "movingpandas":  # which has no trajectories within a place
        again = ta.read(events.to_frame(library), places=places).traces
        assert (again.user_ids.tolist(), again.place_index.tolist()) == (
            ["ann", "bob"],
            events.place_index.tolist(),
        )
        assert again.clock.label(int(again.instants[0])) == events.clock.label(int(events.instants[0]))
        if library == "trackintel":  # scikit-mobility has times without a zone, as of a clock on the wall
            assert again.timestamps.tolist() == events.timestamps.tolist()
        released = ta.create("PL(4,1)").transform(events.to_frame(library), seed=1)
        assert type(released).__name__ == kind
        assert len(released) == len(events)

    noisy = ta.create("GeoInd(100m)").transform(frame, seed=1)
    assert type(noisy).__name__ == kind
    assert ta.read(noisy).traces.n_points == points.n_points
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1])
