"""Figures of the embedded city: how its people move, next to published laws of mobility, and its map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.claims import Tell
from tracearena.cities import regions, simulate
from tracearena.errors import ParameterError
from tracearena.files import write_csv
from tracearena.mobility import statistics
from tracearena.pages.html import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from tracearena.papers.data import FigureSource, Size, round_to_six_digits
from tracearena.papers.style import draw_scale_bar, open_canvas, save_figure
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Columns = Mapping[str, NDArray[Any]]
STATISTICS_SIZE = Size(4_000, 40)
CHECKIN_DAYS = 730


def draw_city_statistics(
    out: Path, source: FigureSource, tell: Tell | None, *, checkin_days: int = CHECKIN_DAYS
) -> list[Path]:
    """Write one picture and one table a law, and a table of the exponents."""
    if source.data is not None:
        raise ParameterError("city-laws measures the embedded city: it takes no --data")
    size = source.choose_size(STATISTICS_SIZE)
    city = simulate(*size, seed=source.seed)
    checkins = simulate(size.users, checkin_days, mode="checkins", seed=source.seed)
    panels: dict[str, tuple[Callable[[Axes, Traces], Columns], Traces]] = {
        "gyration": (_plot_gyration, city),
        "ranks": (_plot_ranks, city),
        "exploration": (_plot_exploration, city),
        "returns": (_plot_returns, city),
        "home": (_plot_home, city),
        "entropy": (_plot_entropy, city),
        "trips": (_plot_trips, city),
        "gaps": (_plot_gaps, checkins),
    }
    hourly = city.keep(city.instants % 2 == 0)
    measured = [statistics.measure(traces).to_dict() for traces in (city, hourly, checkins)]
    header: dict[str, Any] = {"law": np.array(list(measured[0]))}
    for name, values in zip(("half_hourly", "hourly", "checkins"), measured, strict=True):
        header[name] = np.array(list(values.values()))
    written = [_write_columns(out / "city-laws.csv", header)]
    for name, (draw, traces) in panels.items():
        with open_canvas(5.2, 3.6) as (figure, axes):
            columns = draw(axes, traces)
            written.append(save_figure(figure, out / f"city-{name}.svg"))
        written.append(_write_columns(out / f"city-{name}.csv", columns))
    return written


def _plot_gyration(axes: Axes, city: Traces) -> Columns:
    radius = np.sort(statistics.radius_of_gyration_km(city))
    beyond = 1 - np.arange(len(radius)) / len(radius)
    axes.loglog(radius, beyond, color=BLUE)
    axes.axvline(
        np.median(radius), color=VERMILION, linestyle="--", label=f"median {np.median(radius):.1f} km"
    )
    axes.set(xlabel="radius of gyration (km)", ylabel="share of people beyond", ylim=(0.001, 1.3))
    _label_plain_ticks(axes)
    axes.legend(frameon=False)
    return {"radius_km": radius, "share_beyond": beyond}


def _plot_ranks(axes: Axes, city: Traces) -> Columns:
    shares = statistics.visit_frequencies(city, 50)
    rank = np.arange(1, len(shares) + 1)
    fitted = statistics.zipf_exponent(shares)
    axes.loglog(rank, shares, "o", color=BLUE, markersize=4, label=f"city, ζ = {fitted:.2f}")
    axes.loglog(rank, shares[2] * (rank / 3) ** -1.2, "--", color=VERMILION, label="published, ζ = 1.2")
    axes.set(xlabel="rank of the place", ylabel="share of visits")
    _label_plain_ticks(axes)
    axes.legend(frameon=False)
    return {"rank": rank, "share": shares}


def _plot_exploration(axes: Axes, city: Traces) -> Columns:
    places = statistics.distinct_places(city)
    day = np.arange(1, len(places) + 1)
    fitted = statistics.exploration_exponent(places)
    axes.loglog(day, places, "o", color=BLUE, markersize=4, label=f"city, μ = {fitted:.2f}")
    axes.loglog(day, places[0] * day**0.6, "--", color=VERMILION, label="published, μ = 0.6")
    axes.set(xlabel="days observed", ylabel="distinct regions seen")
    _label_plain_ticks(axes)
    axes.legend(frameon=False)
    return {"day": day, "places": places}


def _plot_returns(axes: Axes, city: Traces) -> Columns:
    hours = statistics.return_times_h(city)
    edges = np.arange(0, 241)
    density = np.histogram(hours, edges - 0.5)[0] / len(hours)
    axes.semilogy(edges[1:-1], density[1:], color=BLUE)
    axes.set(xlabel="hours from an arrival to the next at the same place", ylabel="share of returns")
    axes.set_xticks(np.arange(0, 241, 24))
    return {"hours": edges[:-1], "share": density}


def _plot_home(axes: Axes, city: Traces) -> Columns:
    weekend = np.arange(city.span[1] // city.clock.instants_per_day) % 7 >= 5
    hour = np.arange(city.clock.instants_per_day) * city.clock.interval_s / 3600
    weekdays = statistics.share_at_home(city, np.flatnonzero(~weekend))
    weekends = statistics.share_at_home(city, np.flatnonzero(weekend))
    axes.plot(hour, weekdays, color=BLUE, label="Monday to Friday")
    axes.plot(hour, weekends, "--", color=VERMILION, label="weekend")
    axes.set(xlabel="hour of the day", ylabel="share of people at home", ylim=(0, 1), xlim=(0, 24))
    axes.set_xticks(range(0, 25, 3))
    axes.legend(frameon=False, loc="lower left")
    return {"hour": hour, "weekdays": weekdays, "weekends": weekends}


def _plot_entropy(axes: Axes, city: Traces) -> Columns:
    few = city.take_users(np.arange(0, city.n_users, 8))
    hourly = few.keep(few.instants % 2 == 0)
    bits = statistics.entropies(hourly)
    edges = np.arange(0, 7.51, 0.15)
    columns: dict[str, NDArray[Any]] = {"bits": edges[:-1]}
    styles = (("real", BLUE, "-"), ("uncorrelated", VERMILION, "--"), ("random", GREEN, ":"))
    for name, colour, line in styles:
        density = np.histogram(getattr(bits, name), edges, density=True)[0]
        label = f"{name}, median {np.median(getattr(bits, name)):.1f}"
        axes.step(edges[:-1], density, where="post", color=colour, linestyle=line, label=label)
        columns[name] = density
    axes.axvline(0.8, color="#555555", linewidth=0.8, label="published peak of real")
    axes.set(xlabel="entropy of a person's hourly places (bits)", ylabel="density of people")
    axes.legend(frameon=False)
    return columns


def _plot_trips(axes: Axes, city: Traces) -> Columns:
    km = statistics.trip_lengths_km(city)
    law = statistics.trip_length_law(km)
    # Bins wider than a region, or the lattice of the grid would show and not the law.
    edges = np.arange(0.2, 14, 0.6)
    density = np.histogram(km, edges, density=True)[0]
    middle = (edges[1:] + edges[:-1]) / 2
    axes.loglog(middle, density, "o", color=BLUE, markersize=4, label="city")
    published = statistics.TripLengthLaw(1.75, 400.0, 1.5)
    fitted = f"fit: β = {law.exponent:.2f}, κ = {law.cutoff_km:.1f} km"
    for curve, style, label in ((law, "-", fitted), (published, "--", "published: β = 1.75, no border")):
        height = curve.density(middle) / (curve.density(middle) * np.diff(edges)).sum()
        axes.loglog(middle, height, style, color=VERMILION if curve is law else GREEN, label=label)
    axes.set(xlabel="trip length (km)", ylabel="density (1/km)", ylim=(2e-4, 2))
    axes.legend(frameon=False)
    return {"km": middle, "density": density}


def _plot_gaps(axes: Axes, checkins: Traces) -> Columns:
    assert checkins.timestamps is not None
    same = np.diff(checkins.user_index) == 0
    hours = np.sort(np.diff(checkins.timestamps)[same] / 3600)
    beyond = 1 - np.arange(len(hours)) / len(hours)
    shown = np.unique(np.geomspace(1, len(hours), 300).astype(int)) - 1
    shown = np.unique(np.concatenate([shown, len(hours) - 1 - shown]))
    axes.loglog(np.maximum(hours[shown], 0.01), beyond[shown], color=BLUE, label="city")
    mean = hours.mean()
    steady = np.geomspace(0.01, hours.max(), 200)
    axes.loglog(
        steady, np.exp(-steady / mean), "--", color=VERMILION, label="the same number, evenly at random"
    )
    axes.set(xlabel="hours to the next check-in", ylabel="share of gaps beyond", ylim=(1e-4, 1.3))
    axes.legend(frameon=False, loc="lower left")
    return {"hours": hours[shown], "share_beyond": beyond[shown]}


def _label_plain_ticks(axes: Axes) -> None:
    """Label logarithmic axes with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _write_columns(path: Path, columns: Columns) -> Path:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return write_csv(path, list(columns), round_to_six_digits(rows))


# The embedded city on a map: what each region is for, and where its people are.


_COLOURS = {
    "homes": "#e8e4dc",
    "offices": BLUE,
    "shops": ORANGE,
    "leisure": PURPLE,
    "schools": SKY,
    "parks": GREEN,
    "hospitals": VERMILION,
}
MAP_SIZE = Size(20_000, 5)


def draw_city_map(out: Path, source: FigureSource, tell: Tell | None) -> list[Path]:
    """Draw the land use, and the population of five working days at 3:00 and at 12:00."""
    if source.data is not None:
        raise ParameterError("city-map shows the embedded city only: it takes no --data")
    size = source.choose_size(MAP_SIZE)
    city = simulate(*size, seed=source.seed)
    population = {hour: _count_population(city, hour, size.days) for hour in (3, 12)}
    with open_canvas(11.5, 4.0, nrows=1, ncols=3) as (figure, axes):
        figure.set_layout_engine("constrained")
        _draw_land_use(axes[0])
        top = max(float(people.max()) for people in population.values())
        for axis, (hour, people) in zip(axes[1:], population.items(), strict=True):
            image = _draw_people(axis, people, hour, top, size.users)
        figure.colorbar(image, ax=axes[2], label="people in a region", shrink=0.75)
        picture = save_figure(figure, out / "city-map.png")
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
    return [picture, write_csv(out / "city-map.csv", header, rows)]


def _count_population(city: Traces, hour: int, days: int) -> NDArray[np.float64]:
    """Return the mean number of people in each region at one hour."""
    now = city.clock.second_of_day(city.instants) == hour * 3600
    return np.bincount(city.place_index[now], minlength=len(city.places)) / days


def _draw_land_use(axes: Axes) -> None:
    from matplotlib.colors import ListedColormap

    from tracearena.cities.city import GRID, LAND_USES, RAIL_LINES, build_land_use, river_km

    shape = GRID.rows, GRID.columns
    _draw_image(
        axes, build_land_use().use.reshape(shape), ListedColormap([_COLOURS[use] for use in LAND_USES])
    )
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
    _frame_map(axes, "Land use")


def _draw_people(axes: Axes, people: NDArray[np.float64], hour: int, top: float, users: int) -> Any:
    from matplotlib.colors import PowerNorm

    from tracearena.cities.city import GRID, build_land_use

    image = _draw_image(axes, people.reshape(GRID.rows, GRID.columns), "viridis", PowerNorm(0.5, 0, top))
    hospital = build_land_use().regions_of("hospitals")
    ground = build_land_use()
    axes.scatter(
        ground.x_km[hospital], ground.y_km[hospital], s=9, marker="+", color=VERMILION, linewidths=0.9
    )
    _frame_map(axes, f"{users:,} people at {hour}:00 (+ hospital)")
    return image


def _draw_image(axes: Axes, values: NDArray[Any], colours: Any, norm: Any = None) -> Any:
    from tracearena.cities.city import GRID
    from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

    north, east = CONTEST_KM_PER_DEGREE
    width, height = (GRID.east - GRID.west) * east, (GRID.north - GRID.south) * north
    return axes.imshow(values, origin="lower", extent=(0, width, 0, height), cmap=colours, norm=norm)


def _frame_map(axes: Axes, title: str) -> None:
    """Take the axes away and draw a scale bar."""
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    draw_scale_bar(axes, 1)
