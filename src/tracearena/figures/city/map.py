"""The embedded city on a map: what each region is for, and where its people are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.findings import Tell
from tracearena.errors import ParameterError
from tracearena.figures.style import OKABE_ITO, canvas, save
from tracearena.files.whole import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "homes": "#e8e4dc",
    "offices": OKABE_ITO[0],
    "shops": OKABE_ITO[4],
    "leisure": OKABE_ITO[3],
    "schools": OKABE_ITO[5],
    "parks": OKABE_ITO[2],
    "hospitals": OKABE_ITO[1],
}
_USERS, _DAYS = 20_000, 5


def make(out: Path, *, data: Path | None = None, seed: int = 1, tell: Tell | None = None) -> list[Path]:
    """Draw the land use, and the population of five working days at 3:00 and at 12:00."""
    from tracearena import cities

    if data is not None:
        raise ParameterError("city-map shows the embedded city only: it takes no --data")
    city = cities.simulate(users=_USERS, days=_DAYS, seed=seed)
    population = {hour: _population(city, hour) for hour in (3, 12)}
    with canvas(11.5, 4.0, nrows=1, ncols=3) as (figure, axes):
        figure.set_layout_engine("constrained")
        _draw_land_use(axes[0])
        top = max(float(people.max()) for people in population.values())
        for axis, (hour, people) in zip(axes[1:], population.items(), strict=True):
            image = _draw_people(axis, people, hour, top)
        figure.colorbar(image, ax=axes[2], label="people in a region", shrink=0.75)
        picture = save(figure, out / "city-map.png")
    return [picture, _write(out / "city-map.csv", population)]


def _population(city: Any, hour: int) -> NDArray[np.float64]:
    """Return the mean number of people in each region at one hour."""
    now = city.clock.second_of_day(city.instants) == hour * 3600
    return np.bincount(city.place_index[now], minlength=len(city.places)) / _DAYS


def _draw_land_use(axes: Axes) -> None:
    from matplotlib.colors import ListedColormap

    from tracearena.cities.land_use import GRID, LAND_USES, build_land_use, river_km
    from tracearena.cities.routes import RAIL_LINES

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


def _draw_people(axes: Axes, people: NDArray[np.float64], hour: int, top: float) -> Any:
    from matplotlib.colors import PowerNorm

    from tracearena.cities.land_use import GRID, build_land_use

    image = _image(axes, people.reshape(GRID.rows, GRID.columns), "viridis", PowerNorm(0.5, 0, top))
    hospital = build_land_use().regions_of("hospitals")
    ground = build_land_use()
    axes.scatter(
        ground.x_km[hospital], ground.y_km[hospital], s=9, marker="+", color=OKABE_ITO[1], linewidths=0.9
    )
    _frame(axes, f"{_USERS:,} people at {hour}:00 (+ hospital)")
    return image


def _image(axes: Axes, values: NDArray[Any], colours: Any, norm: Any = None) -> Any:
    from tracearena.cities.land_use import GRID
    from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

    north, east = CONTEST_KM_PER_DEGREE
    width, height = (GRID.east - GRID.west) * east, (GRID.north - GRID.south) * north
    return axes.imshow(values, origin="lower", extent=(0, width, 0, height), cmap=colours, norm=norm)


def _frame(axes: Axes, title: str) -> None:
    """Take the axes away and draw a scale bar of 2 km; north is up."""
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.plot([0.4, 2.4], [0.45, 0.45], color="white", linewidth=4.5, solid_capstyle="butt")
    axes.plot([0.4, 2.4], [0.45, 0.45], color="black", linewidth=2, solid_capstyle="butt")
    axes.text(
        1.4, 0.6, "2 km", ha="center", va="bottom", fontsize=7.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip


def _write(path: Path, population: dict[int, NDArray[np.float64]]) -> Path:
    from tracearena.cities import regions

    places = regions()
    assert places.categories is not None
    rows = ["reg_id,latitude,longitude,land_use," + ",".join(f"people_{hour}h" for hour in population)]
    for index in range(len(places)):
        people = ",".join(f"{counts[index]:.1f}" for counts in population.values())
        rows.append(
            f"{places.ids[index]},{places.latitude[index]:.7f},{places.longitude[index]:.7f},"
            f"{places.categories[index]},{people}"
        )
    with replacing(path) as file:
        file.write(("\n".join(rows) + "\n").encode())
    return path
