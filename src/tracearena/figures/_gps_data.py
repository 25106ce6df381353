"""The GPS traces behind the figures of [geo-ind]: GeoLife, or the receivers of the simulated city."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracearena.cities import simulate_gps
from tracearena.errors import DataError
from tracearena.formats import read
from tracearena.traces import GpsTraces
from tracearena.traces.area import Area, default_area
from tracearena.traces.geodesy import metres_per_degree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEIJING = Area(39.85, 116.25, 40.05, 116.5)
"""The box of [geo-ind]."""
NOISE_M = (50, 100, 250, 500, 1000)
USERS, DAYS = 40, 30


@dataclass(frozen=True)
class GpsData:
    """Traces cut to an area, and what to call them."""

    traces: GpsTraces
    area: Area
    name: str


def load(data: Path | None, seed: int) -> GpsData:
    """Read GPS traces, or simulate them; cut them to the paper's box if most points lie there."""
    if data is None:
        traces, name = simulate_gps(USERS, DAYS, seed=seed), f"simulated city, {USERS} users"
    else:
        traces = read(_archive(data)).as_points().traces
        name = f"{_archive(data).name}, {traces.n_users} users"
    inside = traces.take_box(*BEIJING)
    area = BEIJING if 2 * len(inside) > len(traces) else default_area(traces, 88.6)
    return GpsData(traces.take_box(*area), area, name)


def _archive(data: Path) -> Path:
    """Return the path itself, or the GeoLife archive in a folder of published data."""
    if data.is_dir():
        packed = sorted([*data.glob("*eolife*.tar.gz"), *data.glob("*eolife*.zip")])
        if packed:
            return packed[0]
    elif not data.exists():
        raise DataError(f"{data} does not exist")
    return data


def draw_ground(axes: Axes, area: Area) -> None:
    """Give a map the shape of the ground, its borders and a scale bar."""
    _, east = metres_per_degree((area.south + area.north) / 2)
    north, _ = metres_per_degree((area.south + area.north) / 2)
    axes.set(xlim=(area.west, area.east), ylim=(area.south, area.north))
    axes.set_aspect(float(north) / float(east))
    axes.grid(False)
    axes.ticklabel_format(useOffset=False)
    axes.locator_params(axis="x", nbins=4)
    width_m = (area.east - area.west) * float(east)
    length_m = max(step for step in _ROUND_M if step <= width_m / 3)
    x, y = area.west + 0.05 * (area.east - area.west), area.south + 0.05 * (area.north - area.south)
    axes.plot([x, x + length_m / float(east)], [y, y], color="#222222", linewidth=2.5, solid_capstyle="butt")
    label = f"{length_m / 1000:g} km" if length_m >= 1000 else f"{length_m:g} m"
    axes.annotate(label, (x, y), xytext=(0, 3), textcoords="offset points", fontsize=8)


_ROUND_M = [step * 10.0**power for power in range(6) for step in (1, 2, 5)]


def write_rows(path: Path, header: str, rows: list[tuple[Any, ...]]) -> Path:
    """Write the numbers behind a figure."""
    from tracearena.files.whole import replacing

    with replacing(path) as out:
        out.write(f"{header}\n".encode())
        for row in rows:
            out.write((",".join(_text(value) for value in row) + "\n").encode())
    return path


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
