"""SVG maps of traces: crowds at noon, lost usefulness, one person's day, and data for the server's viewer.

`MapProjection` keeps the shape of the ground: longitudes shrink by the cosine of the latitude, north is up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.i18n import translate
from tracearena.pages.contest_data import (
    TeamStyle,
    compute_box,
    compute_day_box,
    count_noon_crowds,
    format_badge,
    sum_losses_by_place,
)
from tracearena.pages.html import VERMILION, choose_scale_length
from tracearena.pages.place_maps import compute_map_box
from tracearena.pages.svg.canvas import WIDTH, Canvas, Picture, Ticks, format_legend, make_hint, viridis
from tracearena.traces import Box, ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE

_RIM = 4.0
_TALLEST = 600.0
_LEVELS = 24
_MOST_POINTS = 5_000
_KEY = 66.0


class MapProjection:
    """Where places stand on the canvas.

    Attributes
    ----------
    box
        What is shown.
    left, top, width, height
        Of the map on the canvas: as wide as there is room, and in the shape of the ground.
    """

    def __init__(self, places: Places, box: Box | None = None) -> None:
        self.places, self.box = places, box or compute_map_box(places)
        self.shrink = math.cos(math.radians(self.box.middle[0]))
        shape = (self.box.north - self.box.south) / ((self.box.east - self.box.west) * self.shrink)
        self.width = min(WIDTH - 2 * _RIM, _TALLEST / shape)
        self.height = self.width * shape
        self.left, self.top = (WIDTH - self.width) / 2, _RIM

    @property
    def bottom(self) -> float:
        """The lower border."""
        return self.top + self.height

    @property
    def canvas_height(self) -> float:
        """Height of a canvas with the map and a key below it."""
        return self.bottom + _KEY

    def x(self, longitude: float) -> float:
        """Return the horizontal position of a longitude."""
        return self.left + (longitude - self.box.west) / (self.box.east - self.box.west) * self.width

    def y(self, latitude: float) -> float:
        """Return the vertical position of a latitude."""
        return self.top + (self.box.north - latitude) / (self.box.north - self.box.south) * self.height

    def at(self, place: int) -> tuple[float, float]:
        """Return the position of a place."""
        return self.x(float(self.places.longitude[place])), self.y(float(self.places.latitude[place]))

    def tile(self) -> tuple[float, float]:
        """Return width and height of a cell, or of the dot of a place without a cell."""
        grid = self.places.grid
        if grid is None:
            return 6.0, 6.0
        return self.x(grid.west + grid.cell_width) - self.x(grid.west), self.y(grid.south) - self.y(
            grid.south + grid.cell_height
        )

    def tiles(self, chosen: Iterable[int]) -> str:
        """Return the path of the cells of some places."""
        wide, high = self.tile()
        corners = ((x - wide / 2, y - high / 2) for x, y in map(self.at, chosen))
        return "".join(f"M{x:.1f} {y:.1f}h{wide:.2f}v{high:.2f}h-{wide:.2f}z" for x, y in corners)

    def shows(self, place: int) -> bool:
        """Whether a place lies inside of the box."""
        return bool(self.box.contains(self.places.latitude[place], self.places.longitude[place]))


def draw_amounts(canvas: Canvas, ground: MapProjection, shares: NDArray[np.float64]) -> None:
    """Colour every place by a share from 0 (dark) to 1; where it is NaN nothing is drawn.

    Of more than five thousand places without a grid the quietest are left out.
    """
    canvas.draw("rect", x=ground.left, y=ground.top, width=ground.width, height=ground.height,
                class_="ground")  # fmt: skip
    known = np.flatnonzero(~np.isnan(shares))
    if ground.places.grid is None:
        known = known[np.argsort(shares[known], kind="stable")][-_MOST_POINTS:]
    levels = np.rint(np.clip(shares[known], 0, 1) * (_LEVELS - 1)).astype(int)
    for level in np.unique(levels):
        cells = (int(place) for place in known[levels == level])
        fill = viridis(float(level) / (_LEVELS - 1))
        canvas.draw("path", d=ground.tiles(cells), fill=fill, class_="tiles", shape_rendering="crispEdges")


def draw_cells(canvas: Canvas, ground: MapProjection) -> None:
    """Draw the borders of the cells of a grid."""
    grid, box = ground.places.grid, ground.box
    if grid is None:
        return
    across = (grid.west + column * grid.cell_width for column in range(grid.columns + 1))
    upward = (grid.south + row * grid.cell_height for row in range(grid.rows + 1))
    lines = [
        f"M{ground.x(x):.1f} {ground.top}v{ground.height:.1f}" for x in across if box.west < x < box.east
    ]
    lines += [
        f"M{ground.left} {ground.y(y):.1f}h{ground.width:.1f}" for y in upward if box.south < y < box.north
    ]
    canvas.draw("path", d="".join(lines) or "M0 0", class_="grid")


def draw_frame(canvas: Canvas, ground: MapProjection) -> None:
    """Draw the border, crosses at sensitive places and the bar for the scale."""
    canvas.draw("rect", x=ground.left, y=ground.top, width=ground.width, height=ground.height, fill="none",
                class_="grid")  # fmt: skip
    sensitive = [int(place) for place in np.flatnonzero(ground.places.sensitive) if ground.shows(int(place))]
    if sensitive:
        crosses = "".join(_draw_cross(*ground.at(place)) for place in sensitive)
        canvas.draw("path", d=crosses, class_="under")
        canvas.draw("path", d=crosses, fill="none", stroke=VERMILION, stroke_width=2, class_="sensitive")
        canvas.draw("path", d=_draw_cross(ground.left + 10, ground.bottom + 15), fill="none",
            stroke=VERMILION,
                    stroke_width=2)  # fmt: skip
        canvas.words(ground.left + 20, ground.bottom + 20, translate("sensitive"), class_="soft")
    km = (ground.box.east - ground.box.west) * KM_PER_DEGREE * ground.shrink
    length_km, words = choose_scale_length(km)
    length, right, y = length_km / km * ground.width, ground.left + ground.width, ground.bottom + 15
    canvas.draw(
        "line", x1=right - length, y1=y, x2=right, y2=y, class_="line scale", data_km=f"{length_km:g}"
    )
    canvas.words(right - length - 8, y + 5, words, text_anchor="end", class_="soft")


def _draw_cross(x: float, y: float) -> str:
    return f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"


def draw_key(canvas: Canvas, ground: MapProjection, ticks: Ticks, words: str) -> None:
    """Print which colour is how much; ticks are shares with their labels."""
    y, left, width = ground.bottom + 34, min(ground.left, 90.0) + 14, 170.0
    for step in range(_LEVELS):
        colour = viridis(step / (_LEVELS - 1))
        canvas.draw(
            "rect", x=left + width * step / _LEVELS, y=y, width=width / _LEVELS + 0.4, height=8, fill=colour
        )
    for share, label in ticks:
        canvas.words(left + width * share, y + 25, label, text_anchor="middle", class_="soft small number")
    canvas.words(left + width + 16, y + 10, words, class_="soft")


# What a defence does to the map of a city: crowds at noon before and after, and where usefulness is
# lost.


_SMALLEST_TOP = 10.0


def crowd_pictures(
    original: Traces, obfuscated: ObfuscatedTraces, *, name: str = "noon"
) -> tuple[Picture, Picture]:
    """Draw the number of people per place at noon, in the original and in the release, in the same colours.

    The colour scale is logarithmic. All days are added; each of k released places counts 1/k.
    """
    crowds, places = count_noon_crowds(original, obfuscated), original.places
    top = float(max(crowds.before.max(), crowds.after.max(), _SMALLEST_TOP))
    at = crowds.share_at(places.sensitive)
    words = translate("people at {time}", time=crowds.time)
    before = _draw_map(
        places, _scale_logarithmically(crowds.before, top), _choose_decades(top), words,
        translate("People at noon, before"),
        translate("Before: the true crowds at {time}; {share} of them are at a sensitive place.",
             time=crowds.time, share=f"{at[0]:.1%}"),
        f"{name}-before",
    )  # fmt: skip
    after = _draw_map(
        places, _scale_logarithmically(crowds.after, top), _choose_decades(top), words,
        translate("People at noon, after"),
        translate("After: {off} of the crowd would have to move to make both maps equal; {share} "
                  "seem to be at a "
             "sensitive place.", off=f"{crowds.off:.0%}", share=f"{at[1]:.1%}"),
        f"{name}-after",
    )  # fmt: skip
    header, ids = (
        (translate("place (ID)"), translate("true"), translate("released")),
        [str(one) for one in places.ids],
    )
    seen = np.flatnonzero((crowds.before > 0) | (crowds.after > 0))
    busiest = seen[np.argsort(-crowds.before[seen], kind="stable")]
    rows = tuple((ids[i], int(crowds.before[i]), round(float(crowds.after[i]), 3)) for i in busiest)
    return Picture(*before, header, rows), Picture(*after, header, rows)


def losses_picture(
    original: Traces, obfuscated: ObfuscatedTraces, limit_km: float, *, name: str = "losses"
) -> Picture:
    """Draw the share of the utility that is lost, for every place that people visit."""
    losses, places = sum_losses_by_place(original, obfuscated, limit_km), original.places
    drawn = _draw_map(
        places, losses.share, ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")), translate("usefulness lost"),
        translate("Where usefulness is lost"),
        translate("Where usefulness is lost: {total} in the whole city, {busiest} at the busiest "
                  "twentieth of the "
             "places.", total=f"{losses.total:.0%}", busiest=f"{losses.at_busiest:.0%}"),
        name,
    )  # fmt: skip
    order = np.argsort(-losses.lost, kind="stable")
    rows = tuple(
        (str(places.ids[i]), int(losses.events[i]), float(losses.share[i])) for i in order if losses.events[i]
    )
    return Picture(*drawn, (translate("place (ID)"), translate("events"), translate("share lost")), rows)


def _draw_map(
    places: Places, shares: NDArray[np.float64], ticks: Ticks, words: str, title: str, caption: str, name: str
) -> tuple[str, str]:
    """Return a map and its caption."""
    ground = MapProjection(places)
    canvas = Canvas(WIDTH, ground.canvas_height, name=name, title=title, description=caption)
    draw_amounts(canvas, ground, shares)
    draw_frame(canvas, ground)
    draw_key(canvas, ground, ticks, words)
    return canvas.markup(), caption


def _scale_logarithmically(amounts: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """Return amounts as shares of the way from 1 to the top, NaN where there is nobody."""
    with np.errstate(divide="ignore"):
        return np.where(amounts > 0, np.log10(amounts) / math.log10(top), np.nan)


def _choose_decades(top: float) -> Ticks:
    decades = range(math.floor(math.log10(top) + 1e-9) + 1)
    return [(power / math.log10(top), f"{10**power:,}") for power in decades]


def true_day_picture(original: Traces, user: int, day: int, *, name: str = "true-day") -> Picture:
    """Draw the true way of a person through a day, before anything is released of it.

    Parameters
    ----------
    user
        By index.
    day
        As `Clock.day_of` counts.
    """
    before = original.take_users([user]).take_days(day, day + 1)
    person, places = original.user_ids[user], len(set(before.place_index.tolist()))
    caption = translate(
        "Person {person}, at {times} times of the day: different places {places}.",
        person=person,
        times=before.n_events,
        places=places,
    )
    ground = MapProjection(original.places, compute_day_box(before, ObfuscatedTraces.from_traces(before)))
    canvas = Canvas(
        WIDTH, ground.bottom + 34, name=name, title=translate("One person's true day"), description=caption
    )
    draw_cells(canvas, ground)
    _draw_true_way(canvas, ground, before)
    draw_frame(canvas, ground)
    ids, clock = before.places.ids, before.clock
    rows = tuple(
        (clock.label(int(instant)), str(ids[place]))
        for instant, place in zip(before.instants, before.place_index, strict=True)
    )
    return Picture(canvas.markup(), caption, (translate("time"), translate("true place")), rows)


def _draw_true_way(canvas: Canvas, ground: MapProjection, before: Traces) -> None:
    way = [ground.at(int(place)) for place in before.place_index]
    if not way:
        return
    canvas.draw("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in way), class_="line way")
    for x, y in dict.fromkeys(way):
        canvas.draw("circle", cx=x, cy=y, r=3.2, class_="ink")
    ends = {way[0]: before.clock.label(int(before.instants[0]))}
    last = before.clock.label(int(before.instants[-1]))
    ends[way[-1]] = f"{ends[way[-1]]}, {last}" if way[-1] in ends else last
    for (x, y), words in ends.items():
        inward = x > ground.left + ground.width - 130
        canvas.words(x - 9 if inward else x + 9, y - 9, words, text_anchor="end" if inward else "start",
                     class_="halo strong number")  # fmt: skip


def day_picture(
    original: Traces,
    obfuscated: ObfuscatedTraces,
    style: TeamStyle,
    now: int,
    *,
    whose: str,
    name: str = "day",
) -> Picture:
    """Draw the day of one person up to an event: the true path, and what was released.

    Elements with ``data-since`` are shown from their instant on. Elements with ``data-at`` and ``data-time``,
    which mark the current place and its release, are shown only at their instant. A slider on the page shows
    and hides them.

    Parameters
    ----------
    original, obfuscated
        One day of one person, the same events.
    style, whose
        Style and name of the team.
    now
        The last event that is visible at first.
    """
    moved = int((obfuscated.is_single & (obfuscated.codes != original.place_index)).sum())
    caption = (
        f"{whose}: of {original.n_events} events on this person's day, {moved} were moved, "
        f"{int(obfuscated.is_set.sum())} became a set of places and "
        f"{int(obfuscated.is_deleted.sum())} were deleted."
    )
    ground = MapProjection(original.places, compute_day_box(original, obfuscated))
    canvas = Canvas(
        WIDTH, ground.bottom + 34, name=name, title="One person's day, before and after", description=caption
    )
    draw_cells(canvas, ground)
    times, released = [original.clock.label(int(one)) for one in original.instants], obfuscated.cells()
    way = [ground.at(int(place)) for place in original.place_index]
    moments = [
        {"data_at": event, "data_time": time, "visibility": "visible" if event == now else "hidden"}
        for event, time in enumerate(times)
    ]
    lasting = [
        {"data_since": event, "visibility": "visible" if event <= now else "hidden"}
        for event in range(original.n_events)
    ]
    for cell, at, since, moment in zip(released, way, lasting, moments, strict=True):
        with canvas.group(**since):
            if not cell:
                canvas.draw("path", d=_draw_cross(*at), class_="line")
            _draw_released(canvas, ground, cell, style, 0.5 if len(cell) == 1 else 0.1)
        with canvas.group(**moment):
            _draw_released(canvas, ground, cell, style, 0.45)
    for before, (x, y), since in zip([way[0], *way], way, lasting, strict=False):
        with canvas.group(**since):
            canvas.draw("line", x1=before[0], y1=before[1], x2=x, y2=y, class_="line way")
            canvas.draw("circle", cx=x, cy=y, r=3.2, class_="ink")
    for (x, y), time, moment in zip(way, times, moments, strict=True):
        with canvas.group(**moment):
            canvas.draw("circle", make_hint(time), cx=x, cy=y, r=7, class_="hollow line")
    draw_frame(canvas, ground)
    ids = original.places.ids
    rows = tuple(
        (time, str(ids[place]), " ".join(str(ids[one]) for one in cell) or "*")
        for time, place, cell in zip(times, original.place_index, released, strict=True)
    )
    badges = [
        ("published", TeamStyle(style.colour, "square")),
        ("true way", TeamStyle("var(--ink)", "circle")),
    ]
    if obfuscated.is_deleted.any():
        badges.append(("hidden", TeamStyle("var(--ink)", "x")))
    return Picture(
        canvas.markup(),
        caption,
        ("time", "true region", "published regions (* deleted)"),
        rows,
        format_legend([format_badge(words, one) for words, one in badges]),
    )


def _draw_released(
    canvas: Canvas, ground: MapProjection, cell: Sequence[int], style: TeamStyle, strength: float
) -> None:
    """Draw the box around the places that are released for an event; nothing where it is hidden."""
    if cell:
        box = compute_box(ground.places, cell)
        left, top = ground.x(box.west), ground.y(box.north)
        size = {"width": ground.x(box.east) - left, "height": ground.y(box.south) - top}
        ink = {"fill": style.colour, "fill_opacity": strength, "stroke": style.colour, "stroke_width": 1.5}
        canvas.draw("rect", x=left, y=top, **size, **ink)


def build_map_data(original: Traces) -> dict[str, Any]:
    """Return map and clock of traces, ready for JSON, for a viewer with a slider in the browser.

    - ``map``: ``width_km`` and ``height_km`` of the ground, ``scale_km`` of a good scale bar, ``grid``
      (``rows`` and ``columns``, the first row in the south; None without one), for each place ``x_km`` and
      ``y_km`` from the south-west corner and its ``ids``, and ``sensitive``, the places that are.
    - ``clock``: ``per_day`` instants per day, ``labels`` of the instants of a day.

    >>> from tracearena.traces import Clock
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 1]], places, Clock(instants_per_day=24))
    >>> build_map_data(traces)["clock"]["per_day"]
    24
    """
    clock, places = original.clock, original.places
    box, grid = compute_map_box(places), places.grid
    across = KM_PER_DEGREE * math.cos(math.radians(box.middle[0]))
    width_km = (box.east - box.west) * across
    return {
        "map": {
            "width_km": round(width_km, 3),
            "height_km": round((box.north - box.south) * KM_PER_DEGREE, 3),
            "scale_km": choose_scale_length(width_km)[0],
            "grid": None if grid is None else {"rows": grid.rows, "columns": grid.columns},
            "x_km": ((places.longitude - box.west) * across).round(3).tolist(),
            "y_km": ((places.latitude - box.south) * KM_PER_DEGREE).round(3).tolist(),
            "ids": places.ids.tolist(),
            "sensitive": np.flatnonzero(places.sensitive).tolist(),
        },
        "clock": {
            "per_day": clock.instants_per_day,
            "labels": [clock.label(instant) for instant in range(clock.instants_per_day)],
        },
    }
