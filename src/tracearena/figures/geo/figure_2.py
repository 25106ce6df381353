"""[geo-ind] Figure 2: one trajectory four ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracearena.arena.claims import Tell
from tracearena.attacks import Interpolation
from tracearena.figures.data import Source, gps_data
from tracearena.figures.style import canvas, draw_ground, head, save
from tracearena.files import write_csv
from tracearena.metrics.applications import distance_error
from tracearena.obfuscation import GeoInd
from tracearena.pages.html import BLUE
from tracearena.traces import GpsTraces
from tracearena.traces.box import Box
from tracearena.traces.geodesy import metres_per_degree

NOISE_M, WINDOW_S = 100.0, 300.0
_EXTENT_M = 8000.0
_LONGEST_S = 7200.0


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Draw a trajectory as it was, with independent noise, with time-dependent noise, and interpolated."""
    original = _interesting(gps_data(source).traces)
    held = GeoInd(expected_noise=NOISE_M, window=WINDOW_S).transform(original, seed=source.seed)
    versions = {
        "original": original,
        "independent noise, 100 m": GeoInd(expected_noise=NOISE_M).transform(original, seed=source.seed),
        "time-dependent noise, 100 m, T = 5 min": held,
        "the same after interpolation": Interpolation().recover(held),
    }
    area = _around(original)
    with canvas(9, 8.4, nrows=2, ncols=2, sharex=True, sharey=True) as (figure, axes):
        figure.set_layout_engine("constrained")
        for axis, (name, traces) in zip(axes.flat, versions.items(), strict=True):
            axis.plot(traces.longitude, traces.latitude, color=BLUE, linewidth=0.5, alpha=0.6)
            axis.scatter(traces.longitude, traces.latitude, s=5, color=BLUE, linewidths=0)
            draw_ground(axis, area)
            error = distance_error(original, traces).mean_m
            axis.set_title(name if traces is original else f"{name}: {error:.0f} m off", fontsize=10)
        for axis in axes[-1]:
            axis.set_xlabel("longitude, degrees")
        for axis in axes[:, 0]:
            axis.set_ylabel("latitude, degrees")
        head(figure, "One trajectory four ways, with the mean distance from the original", top=1.01)
        picture = save(figure, out / "geo-2.png")
    rows = [
        (name, int(t), f"{lat:.7f}", f"{lon:.7f}")
        for name, traces in versions.items()
        for t, lat, lon in zip(traces.time_ms, traces.latitude, traces.longitude, strict=True)
    ]
    return [picture, write_csv(out / "geo-2.csv", ["version", "time_ms", "latitude", "longitude"], rows)]


def _interesting(traces: GpsTraces) -> GpsTraces:
    """Return the trajectory with the most points among those of a few km and at most two hours."""
    best, most = 0, -1
    for trajectory in range(traces.n_trajectories):
        first, stop = traces.trajectory_offsets[trajectory : trajectory + 2]
        points = traces.trajectory_order[first:stop]
        north, east = metres_per_degree(traces.latitude[points[0]])
        height = np.ptp(traces.latitude[points]) * float(north)
        width = np.ptp(traces.longitude[points]) * float(east)
        lasts = np.ptp(traces.time_ms[points]) / 1000
        fits = 1500 <= max(height, width) <= _EXTENT_M and min(height, width) > 500 and lasts <= _LONGEST_S
        if fits and stop - first > most:
            best, most = trajectory, int(stop - first)
    chosen = traces.keep(traces.trajectory == best)
    return chosen.take_users(np.diff(chosen.offsets) > 0)


def _around(traces: GpsTraces) -> Box:
    """Return a square with room for the noise."""
    box = Box.of(traces)
    latitude, longitude = box.middle
    degree_north, degree_east = (float(m) for m in metres_per_degree(latitude))
    half_m = 0.62 * max(box.size_m())
    return Box(latitude, longitude, latitude, longitude).expanded(half_m / degree_north, half_m / degree_east)
