"""Figures of the embedded city: its map, and how its people move, next to published laws of mobility."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.cities import regions, simulate
from tracearena.errors import ParameterError
from tracearena.mobility import statistics
from tracearena.pages.html import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from tracearena.papers.base import Drawing, Table, paper_figure
from tracearena.papers.data import FigureSource, Size, round_to_six_digits
from tracearena.papers.style import draw_scale_bar
from tracearena.traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


@paper_figure("city-map", "the embedded city: land use, hospitals, and where people are at night and at noon")
def compute_city_map(source: FigureSource) -> Drawing:
    """Count the population of five working days at 3:00 and at 12:00."""
    if source.data is not None:
        raise ParameterError("city-map shows the embedded city only, so it does not accept --data")
    users, days = source.choose_size(MAP_SIZE)
    city = simulate(users, days, seed=source.seed)
    second = city.clock.second_of_day(city.instants)
    population = {
        hour: np.bincount(city.place_index[second == hour * 3600], minlength=len(city.places)) / days
        for hour in (3, 12)
    }
    places = regions()
    assert places.categories is not None
    header = ["reg_id", "latitude", "longitude", "land_use", *(f"people_{hour}h" for hour in population)]
    known = places.ids, places.latitude, places.longitude, places.categories
    rows = (
        [id_, f"{latitude:.7f}", f"{longitude:.7f}", use, *(f"{count:.1f}" for count in counts)]
        for id_, latitude, longitude, use, *counts in zip(*known, *population.values(), strict=True)
    )

    def draw(figure: Any, axes: Any) -> None:
        figure.set_layout_engine("constrained")
        _draw_land_use(axes[0])
        top = max(float(people.max()) for people in population.values())
        for axis, (hour, people) in zip(axes[1:], population.items(), strict=True):
            image = _draw_people(axis, people, top)
            _frame_map(axis, f"{users:,} people at {hour}:00 (+ hospital)")
        figure.colorbar(image, ax=axes[2], label="people in a region", shrink=0.75)

    return Drawing((header, rows), draw, (11.5, 4.0), {"ncols": 3}, suffix="png")


def _draw_land_use(axes: Axes) -> None:
    from matplotlib.colors import ListedColormap

    from tracearena.cities.city import GRID, LAND_USES, RAIL_LINES, build_land_use, river_km

    ground = build_land_use()
    _draw_regions(axes, ground.use, cmap=ListedColormap([_COLOURS[use] for use in LAND_USES]), norm=None)
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


def _draw_people(axes: Axes, people: NDArray[np.float64], top: float) -> Any:
    from matplotlib.colors import PowerNorm

    from tracearena.cities.city import build_land_use

    image = _draw_regions(axes, people, cmap="viridis", norm=PowerNorm(0.5, 0, top))
    ground = build_land_use()
    hospital = ground.regions_of("hospitals")
    at = ground.x_km[hospital], ground.y_km[hospital]
    axes.scatter(*at, s=9, marker="+", color=VERMILION, linewidths=0.9)
    return image


def _draw_regions(axes: Axes, values: NDArray[Any], **look: Any) -> Any:
    """Draw a value of each region, in kilometres."""
    from tracearena.cities.city import GRID
    from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

    north, east = CONTEST_KM_PER_DEGREE
    extent = (0, (GRID.east - GRID.west) * east, 0, (GRID.north - GRID.south) * north)
    return axes.imshow(values.reshape(GRID.rows, GRID.columns), origin="lower", extent=extent, **look)


def _frame_map(axes: Axes, title: str) -> None:
    """Take the axes away and draw a scale bar."""
    axes.set_title(title, fontsize=10)
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    draw_scale_bar(axes, 1)


# How its people move, next to published laws.
Columns = Mapping[str, NDArray[Any]]
STATISTICS_SIZE = Size(4_000, 40)


@paper_figure("city-laws", "how the people of the embedded city move, compared with published laws")
def compute_city_statistics(source: FigureSource, *, checkin_days: int = 730) -> list[Drawing]:
    """Measure the exponents, and draw one picture with its table a law."""
    if source.data is not None:
        raise ParameterError("city-laws measures the embedded city, so it does not accept --data")
    size = source.choose_size(STATISTICS_SIZE)
    city = simulate(*size, seed=source.seed)
    checkins = simulate(size.users, checkin_days, mode="checkins", seed=source.seed)
    hourly = city.keep(city.instants % 2 == 0)
    measured = [statistics.measure(traces).to_dict() for traces in (city, hourly, checkins)]
    exponents: Columns = {
        "law": np.array(list(measured[0])),
        **{
            name: np.array(list(values.values()))
            for name, values in zip(("half_hourly", "hourly", "checkins"), measured, strict=True)
        },
    }
    laws = (
        _draw_gyration, _draw_ranks, _draw_exploration, _draw_returns, _draw_home, _draw_entropy, _draw_trips,
    )  # fmt: skip
    drawn = [law(city) for law in laws]
    return [Drawing(_tabulate_columns(exponents)), *drawn, _draw_gaps(checkins)]


def _tabulate_columns(columns: Columns) -> Table:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return list(columns), round_to_six_digits(rows)


def _draw_law(name: str, columns: Columns, draw: Callable[[Any], object], *, plain: bool = False) -> Drawing:
    """Return the picture of a law; plain numbers at 1, 2 and 5 label logarithmic axes."""

    def draw_all(figure: Any, axes: Any) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        draw(axes)
        for axis in (axes.xaxis, axes.yaxis) if plain else ():
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, loc="lower left" if name in ("home", "gaps") else "best")

    return Drawing(_tabulate_columns(columns), draw_all, (5.2, 3.6), name=f"city-{name}")


def _draw_gyration(city: Traces) -> Drawing:
    radius = np.sort(statistics.radius_of_gyration_km(city))
    beyond = 1 - np.arange(len(radius)) / len(radius)

    def draw(axes: Axes) -> None:
        axes.loglog(radius, beyond, color=BLUE)
        middle = float(np.median(radius))
        axes.axvline(middle, color=VERMILION, linestyle="--", label=f"median {middle:.1f} km")
        axes.set(xlabel="radius of gyration (km)", ylabel="share of people beyond", ylim=(0.001, 1.3))

    return _draw_law("gyration", {"radius_km": radius, "share_beyond": beyond}, draw, plain=True)


def _draw_ranks(city: Traces) -> Drawing:
    shares = statistics.visit_frequencies(city, 50)
    rank = np.arange(1, len(shares) + 1)

    def draw(axes: Axes) -> None:
        fitted = statistics.zipf_exponent(shares)
        axes.loglog(rank, shares, "o", color=BLUE, markersize=4, label=f"city, ζ = {fitted:.2f}")
        axes.loglog(rank, shares[2] * (rank / 3) ** -1.2, "--", color=VERMILION, label="published, ζ = 1.2")
        axes.set(xlabel="rank of the place", ylabel="share of visits")

    return _draw_law("ranks", {"rank": rank, "share": shares}, draw, plain=True)


def _draw_exploration(city: Traces) -> Drawing:
    places = statistics.distinct_places(city)
    day = np.arange(1, len(places) + 1)

    def draw(axes: Axes) -> None:
        fitted = statistics.exploration_exponent(places)
        axes.loglog(day, places, "o", color=BLUE, markersize=4, label=f"city, μ = {fitted:.2f}")
        axes.loglog(day, places[0] * day**0.6, "--", color=VERMILION, label="published, μ = 0.6")
        axes.set(xlabel="days observed", ylabel="distinct regions seen")

    return _draw_law("exploration", {"day": day, "places": places}, draw, plain=True)


def _draw_returns(city: Traces) -> Drawing:
    hours = statistics.return_times_h(city)
    edges = np.arange(0, 241)
    density = np.histogram(hours, edges - 0.5)[0] / len(hours)

    def draw(axes: Axes) -> None:
        axes.semilogy(edges[1:-1], density[1:], color=BLUE)
        axes.set(xlabel="hours from an arrival to the next at the same place", ylabel="share of returns")
        axes.set_xticks(np.arange(0, 241, 24))

    return _draw_law("returns", {"hours": edges[:-1], "share": density}, draw)


def _draw_home(city: Traces) -> Drawing:
    weekend = np.arange(city.span[1] // city.clock.instants_per_day) % 7 >= 5
    hour = np.arange(city.clock.instants_per_day) * city.clock.interval_s / 3600
    weekdays = statistics.share_at_home(city, np.flatnonzero(~weekend))
    weekends = statistics.share_at_home(city, np.flatnonzero(weekend))

    def draw(axes: Axes) -> None:
        axes.plot(hour, weekdays, color=BLUE, label="Monday to Friday")
        axes.plot(hour, weekends, "--", color=VERMILION, label="weekend")
        axes.set(xlabel="hour of the day", ylabel="share of people at home", ylim=(0, 1), xlim=(0, 24))
        axes.set_xticks(range(0, 25, 3))

    return _draw_law("home", {"hour": hour, "weekdays": weekdays, "weekends": weekends}, draw)


def _draw_entropy(city: Traces) -> Drawing:
    few = city.take_users(np.arange(0, city.n_users, 8))
    bits = statistics.entropies(few.keep(few.instants % 2 == 0))
    edges = np.arange(0, 7.51, 0.15)
    styles = {"real": (BLUE, "-"), "uncorrelated": (VERMILION, "--"), "random": (GREEN, ":")}
    densities = {name: np.histogram(getattr(bits, name), edges, density=True)[0] for name in styles}

    def draw(axes: Axes) -> None:
        for name, (colour, line) in styles.items():
            label = f"{name}, median {np.median(getattr(bits, name)):.1f}"
            look: dict[str, Any] = {"color": colour, "linestyle": line, "label": label}
            axes.step(edges[:-1], densities[name], where="post", **look)
        axes.axvline(0.8, color="#555555", linewidth=0.8, label="published peak of real")
        axes.set(xlabel="entropy of a person's hourly places (bits)", ylabel="density of people")

    return _draw_law("entropy", {"bits": edges[:-1], **densities}, draw)


def _draw_trips(city: Traces) -> Drawing:
    km = statistics.trip_lengths_km(city)
    # Bins wider than a region, or the lattice of the grid would show and not the law.
    edges = np.arange(0.2, 14, 0.6)
    density = np.histogram(km, edges, density=True)[0]
    middle = (edges[1:] + edges[:-1]) / 2

    def draw(axes: Axes) -> None:
        axes.loglog(middle, density, "o", color=BLUE, markersize=4, label="city")
        law, published = statistics.trip_length_law(km), statistics.TripLengthLaw(1.75, 400.0, 1.5)
        fitted = f"fit: β = {law.exponent:.2f}, κ = {law.cutoff_km:.1f} km"
        for curve, style, colour, label in (
            (law, "-", VERMILION, fitted),
            (published, "--", GREEN, "published: β = 1.75, no border"),
        ):
            height = curve.density(middle) / (curve.density(middle) * np.diff(edges)).sum()
            axes.loglog(middle, height, style, color=colour, label=label)
        axes.set(xlabel="trip length (km)", ylabel="density (1/km)", ylim=(2e-4, 2))

    return _draw_law("trips", {"km": middle, "density": density}, draw)


def _draw_gaps(checkins: Traces) -> Drawing:
    assert checkins.timestamps is not None
    same = np.diff(checkins.user_index) == 0
    hours = np.sort(np.diff(checkins.timestamps)[same] / 3600)
    beyond = 1 - np.arange(len(hours)) / len(hours)
    shown = np.unique(np.geomspace(1, len(hours), 300).astype(int)) - 1
    shown = np.unique(np.concatenate([shown, len(hours) - 1 - shown]))

    def draw(axes: Axes) -> None:
        axes.loglog(np.maximum(hours[shown], 0.01), beyond[shown], color=BLUE, label="city")
        steady = np.geomspace(0.01, hours.max(), 200)
        words = "the same number, evenly at random"
        axes.loglog(steady, np.exp(-steady / hours.mean()), "--", color=VERMILION, label=words)
        axes.set(xlabel="hours to the next check-in", ylabel="share of gaps beyond", ylim=(1e-4, 1.3))

    return _draw_law("gaps", {"hours": hours[shown], "share_beyond": beyond[shown]}, draw)
