"""The embedded city on a map: what each region is for, and where its people are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Tell
from tracearena.cities import regions, simulate
from tracearena.errors import ParameterError
from tracearena.figures.data import Size, Source
from tracearena.figures.style import canvas, save, scale_bar
from tracearena.files import write_csv
from tracearena.pages.html import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "homes": "#e8e4dc",
    "offices": BLUE,
    "shops": ORANGE,
    "leisure": PURPLE,
    "schools": SKY,
    "parks": GREEN,
    "hospitals": VERMILION,
}
SIZE = Size(20_000, 5)


def make(out: Path, source: Source, tell: Tell | None) -> list[Path]:
    """Draw the land use, and the population of five working days at 3:00 and at 12:00."""
    if source.data is not None:
        raise ParameterError("city-map shows the embedded city only: it takes no --data")
    size = source.sized(SIZE)
    city = simulate(*size, seed=source.seed)
    population = {hour: _population(city, hour, size.days) for hour in (3, 12)}
    with canvas(11.5, 4.0, nrows=1, ncols=3) as (figure, axes):
        figure.set_layout_engine("constrained")
        _draw_land_use(axes[0])
        top = max(float(people.max()) for people in population.values())
        for axis, (hour, people) in zip(axes[1:], population.items(), strict=True):
            image = _draw_people(axis, people, hour, top, size.users)
        figure.colorbar(image, ax=axes[2], label="people in a region", shrink=0.75)
        picture = save(figure, out / "city-map.png")
    return [picture, _write(out / "city-map.csv", population)]


def _population(city: Traces, hour: int, days: int) -> NDArray[np.float64]:
    """Return the mean number of people in each region at one hour."""
    now = city.clock.second_of_day(city.instants) == hour * 3600
    return np.bincount(city.place_index[now], minlength=len(city.places)) / days


def _draw_land_use(axes: Axes) -> None:
    from matplotlib.colors import ListedColormap

    from tracearena.cities.city import GRID, LAND_USES, RAIL_LINES, build_land_use, river_km

    shape = GRID.rows, GRID.columns
    _image(axes, build_land_use().use.reshape(shape), ListedColormap([_COLOURS[use] for use in LAND_USES]))
    ground = build_land_use()
    for number, line in enumerate(RAIL_LINES):
        stops = [row * GRID.columns + column for row, column in line]
        label = None if number else "railway"
        axes.plot(ground.x_km[stops], ground.y_km[stops], color="#222222", linewidth=1.1, label=label)
    north = np.linspace(0, ground.y_km.max() + ground.y_km.min(), 100)
    axes.plot(river_km(north), north, color="#bfe3ff", linewidth=3, label="river")
    for use, colour in _COLOURS.items():
        axes.scatter([], [], marker="s", color=colour, edgecolors="#888888", linewidths=0.4, label=use)
    axes.legend(loc="center right", bbox_to_anchor=(-0.02, 0.5), frameon=False, fontsize=8, handlelength=1.2)
    _frame(axes, "Land use")


def _draw_people(axes: Axes, people: NDArray[np.float64], hour: int, top: float, users: int) -> Any:
    from matplotlib.colors import PowerNorm

    from tracearena.cities.city import GRID, build_land_use

    image = _image(axes, people.reshape(GRID.rows, GRID.columns), "viridis", PowerNorm(0.5, 0, top))
    hospital = build_land_use().regions_of("hospitals")
    ground = build_land_use()
    axes.scatter(
        ground.x_km[hospital], ground.y_km[hospital], s=9, marker="+", color=VERMILION, linewidths=0.9
    )
    _frame(axes, f"{users:,} people at {hour}:00 (+ hospital)")
    return image


def _image(axes: Axes, values: NDArray[Any], colours: Any, norm: Any = None) -> Any:
    from tracearena.cities.city import GRID
    from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

    north, east = CONTEST_KM_PER_DEGREE
    width, height = (GRID.east - GRID.west) * east, (GRID.north - GRID.south) * north
    return axes.imshow(values, origin="lower", extent=(0, width, 0, height), cmap=colours, norm=norm)


def _frame(axes: Axes, title: str) -> None:
    """Take the axes away and draw a scale bar."""
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    scale_bar(axes, 1)


def _write(path: Path, population: dict[int, NDArray[np.float64]]) -> Path:
    places = regions()
    assert places.categories is not None
    header = ["reg_id", "latitude", "longitude", "land_use", *(f"people_{hour}h" for hour in population)]
    rows = (
        [id_, f"{latitude:.7f}", f"{longitude:.7f}", use, *(f"{count:.1f}" for count in counts)]
        for id_, latitude, longitude, use, *counts in zip(
            places.ids,
            places.latitude,
            places.longitude,
            places.categories,
            *population.values(),
            strict=True,
        )
    )
    return write_csv(path, header, rows)
