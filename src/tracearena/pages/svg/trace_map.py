"""One person's day on the map: where she was, and what was released."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracearena.language import said
from tracearena.pages.changes import day_box, liveliest_day
from tracearena.pages.style import BLUE
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.pages.svg.ground import Ground, draw_cells, draw_frame
from tracearena.pages.svg.picture import Picture
from tracearena.traces import ObfuscatedTraces, Traces

_KEY_STEP = 24.0


def day_picture(
    original: Traces,
    obfuscated: ObfuscatedTraces,
    user: int | None = None,
    day: int | None = None,
    *,
    colour: str = BLUE,
    name: str = "day",
) -> Picture:
    """Draw the true way of a person through a day and what was released of it.

    A place that was released instead of the true one is a square at the end of a thin line, a set of
    places is an area, a deleted event hatches the cell of its true place.

    Parameters
    ----------
    user
        By index; if left out, who has the liveliest day that fits a readable map.
    day
        As `Clock.day_of` counts; if left out with the user, that day, else the first.
    colour
        Of what was released: that of the team.
    """
    if user is None:
        user, found = liveliest_day(original)
        day = found if day is None else day
    first = int(original.clock.day_of(original.span[0])) if day is None else day
    before = original.take_users([user]).take_days(first, first + 1)
    after = obfuscated.take_users([user]).take_days(first, first + 1)
    caption = _caption(str(original.user_ids[user]), before, after)
    ground = Ground(original.places, day_box(before, after) if before.n_events else None)
    height = ground.bottom + 34 + _KEY_STEP
    canvas = Canvas(WIDTH, height, name=name, title=said("One person's day"), description=caption)
    draw_cells(canvas, ground)
    _released(canvas, ground, before, after, colour)
    _true_way(canvas, ground, before)
    draw_frame(canvas, ground)
    _key(canvas, ground, colour)
    header = (said("time"), said("true place"), said("released places (* deleted)"))
    return Picture(canvas.markup(), caption, header, _table(before, after))


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
    caption = said(
        "Person {person}, at {times} times of the day: different places {places}.",
        person=person,
        times=before.n_events,
        places=places,
    )
    ground = Ground(original.places, day_box(before, ObfuscatedTraces.unchanged(before)))
    canvas = Canvas(
        WIDTH, ground.bottom + 34, name=name, title=said("One person's true day"), description=caption
    )
    draw_cells(canvas, ground)
    _true_way(canvas, ground, before)
    draw_frame(canvas, ground)
    rows = tuple(row[:2] for row in _table(before, ObfuscatedTraces.unchanged(before)))
    return Picture(canvas.markup(), caption, (said("time"), said("true place")), rows)


def _released(canvas: Canvas, ground: Ground, before: Traces, after: ObfuscatedTraces, colour: str) -> None:
    """Draw sets, then deleted events, then single places, each combination once."""
    events = range(before.n_events)
    cells = [tuple(after.cell(event)) for event in events]
    for places in _once(cell for cell in cells if len(cell) > 1):
        canvas.draw("path", d=ground.tiles(places), fill=colour, fill_opacity=0.16, class_="set-area")
    gone = _once(int(before.place_index[event]) for event in events if not cells[event])
    if gone:
        canvas.draw("path", d=ground.tiles(gone), fill=canvas.hatching(), class_="deleted")
    pairs = _once(
        (int(before.place_index[event]), cells[event][0]) for event in events if len(cells[event]) == 1
    )
    moved = [(ground.at(true), ground.at(shown)) for true, shown in pairs if true != shown]
    if moved:
        lines = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in moved)
        canvas.draw("path", d=lines, fill="none", stroke=colour, stroke_width=1.2, stroke_dasharray="3 3")
    for place in _once(shown for _, shown in pairs):
        x, y = ground.at(place)
        canvas.draw(
            "rect", x=x - 7, y=y - 7, width=14, height=14, fill=colour, fill_opacity=0.75, class_="single"
        )


def _once(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _true_way(canvas: Canvas, ground: Ground, before: Traces) -> None:
    way = [ground.at(int(place)) for place in before.place_index]
    if not way:
        return
    canvas.draw("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in way), class_="line way")
    for x, y in _once(way):
        canvas.draw("circle", cx=x, cy=y, r=3.2, class_="ink")
    ends = {way[0]: before.clock.label(int(before.instants[0]))}
    last = before.clock.label(int(before.instants[-1]))
    ends[way[-1]] = f"{ends[way[-1]]}, {last}" if way[-1] in ends else last
    for (x, y), words in ends.items():
        inward = x > ground.left + ground.width - 130
        canvas.words(x - 9 if inward else x + 9, y - 9, words, text_anchor="end" if inward else "start",
                     class_="halo strong number")  # fmt: skip


def _key(canvas: Canvas, ground: Ground, colour: str) -> None:
    y, x = ground.bottom + 20 + _KEY_STEP, min(ground.left, 90.0)
    canvas.draw("line", x1=x, y1=y - 5, x2=x + 18, y2=y - 5, class_="line way")
    canvas.words(x + 25, y, said("true way"), class_="soft")
    canvas.draw("rect", x=x + 110, y=y - 12, width=14, height=14, fill=colour, fill_opacity=0.75)
    canvas.words(x + 131, y, said("released"), class_="soft")
    canvas.draw("rect", x=x + 218, y=y - 12, width=14, height=14, fill=colour, fill_opacity=0.25)
    canvas.words(x + 239, y, said("as a set"), class_="soft")
    canvas.draw("rect", x=x + 322, y=y - 12, width=14, height=14, fill=canvas.hatching())
    canvas.words(x + 343, y, said("deleted"), class_="soft")


def _caption(person: str, before: Traces, after: ObfuscatedTraces) -> str:
    moved = int((after.is_single & (after.codes != before.place_index)).sum())
    return said(
        "Person {person}, of {times} times of the day: moved {moved}, made a set of places {sets}, deleted "
        "{deleted}.",
        person=person,
        times=before.n_events,
        moved=moved,
        sets=int(after.is_set.sum()),
        deleted=int(after.is_deleted.sum()),
    )


def _table(before: Traces, after: ObfuscatedTraces) -> tuple[tuple[str, str, str], ...]:
    ids = before.places.ids
    return tuple(
        (
            before.clock.label(int(before.instants[event])),
            str(ids[before.place_index[event]]),
            " ".join(str(ids[place]) for place in after.cell(event)) or "*",
        )
        for event in range(before.n_events)
    )
