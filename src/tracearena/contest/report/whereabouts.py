"""What a defence does to people's days and to the map of a city."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.rehearsal import Entrant, Rehearsal, defence_of
from tracearena.contest.report.looks import Look
from tracearena.metrics.utility import event_losses
from tracearena.pages import Page, ground, place_map, sensitive_marks
from tracearena.traces import ObfuscatedTraces, Places, Traces

_NOON_S = 12 * 3600
_BIN_KM = 0.5
_MAP_KM = 4.0


def shown_entrants(held: Rehearsal) -> list[Entrant]:
    """Choose whose data is shown: the best team, and the best that uses sets or hides events."""
    ranked = [held.entrant(row.team) for row in held.board.rows if row.valid]
    ranked = [one for one in ranked if one.player is not None] or list(held.entrants[-1:])
    vague = [one for one in ranked if one.obfuscated.is_set.any()]
    vague += [one for one in ranked if one.obfuscated.is_deleted.any()]
    return list(dict.fromkeys([*ranked[:1], *vague[:1]]))


def show_days(page: Page, held: Rehearsal, look: dict[str, Look]) -> None:
    """Show one day of one person, before and after, for each of the chosen teams."""
    page.heading("One person's day, before and after")
    page.text(
        "Move the slider through the day. The dark line is where the person really went; the colour is what "
        "was published. A large square is a set of places of which one is true, a cross an event that was "
        "hidden."
    )
    entrants = shown_entrants(held)
    for entrant in entrants:
        _show_day(page, entrant, look[entrant.name])
    _show_displacements(page, held, entrants, look)


def _show_day(page: Page, entrant: Entrant, look: Look) -> None:
    user, day = _liveliest(entrant.original)
    original = entrant.original.take_users([user]).take_days(day, day + 1)
    obfuscated = entrant.obfuscated.take_users([user]).take_days(day, day + 1)
    hidden, sets = int(obfuscated.is_deleted.sum()), int(obfuscated.is_set.sum())
    moved = int((obfuscated.is_single & (obfuscated.codes != original.place_index)).sum())
    page.figure(
        _day(original, obfuscated, look),
        f"{entrant.name} with {defence_of(entrant)}: of {original.n_events} half-hours of this person's day, "
        f"{moved} were moved, {sets} became a set of places and {hidden} were hidden.",
        table=_day_table(original, obfuscated),
        name=f"day-{entrant.name.lower().replace(' ', '-')}",
    )


def _liveliest(original: Traces) -> tuple[int, int]:
    """Return the user and day with the most different places, of the days that fit a readable map."""
    per_day = original.clock.instants_per_day
    days = original.dense().reshape(original.n_users, -1, per_day)
    different = 1 + (np.diff(np.sort(days, axis=2), axis=2) > 0).sum(axis=2)
    extent = np.ptp(original.places.points_km[days, :2], axis=2).max(axis=2)
    user, day = divmod(int(np.argmax(np.where(extent <= _MAP_KM, different, 0))), days.shape[1])
    return user, int(original.clock.day_of(original.span[0])) + day


def _day(original: Traces, obfuscated: ObfuscatedTraces, look: Look) -> dict[str, Any]:
    labels = [original.clock.label(int(instant)) for instant in original.instants]
    frames = [
        {"name": label, "data": _until(original, obfuscated, look, now)} for now, label in enumerate(labels)
    ]
    start = 3 * len(labels) // 4
    steps = [
        {"label": label, "method": "animate",
         "args": [[label], {"mode": "immediate", "frame": {"duration": 0, "redraw": True},
                            "transition": {"duration": 0}}]}
        for label in labels
    ]  # fmt: skip
    layout = ground(original.places, height=620, box=_box(original, obfuscated)) | {"showlegend": True}
    _draw_cells(layout, original.places)
    layout["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    layout["sliders"] = [
        {"active": start, "steps": steps, "currentvalue": {"prefix": "time "}, "pad": {"t": 30}, "len": 1.0}
    ]
    marks = [mark | {"name": "hospitals"} for mark in sensitive_marks(original.places)]
    return {"data": [*frames[start]["data"], *marks], "layout": layout, "frames": frames}


def _draw_cells(layout: dict[str, Any], places: Places) -> None:
    """Let the lines of the axes be the borders of the regions."""
    grid = places.grid
    if grid is None:
        return
    for axis, start, step in (("xaxis", grid.west, grid.cell_width), ("yaxis", grid.south, grid.cell_height)):
        layout[axis] |= {"title": {"text": ""}, "showgrid": True, "tick0": start, "dtick": step,
                         "showticklabels": False, "ticks": ""}  # fmt: skip


def _until(original: Traces, obfuscated: ObfuscatedTraces, look: Look, now: int) -> list[dict[str, Any]]:
    """Draw the day up to now: the true way, what was published, what was hidden, and the present."""
    places, cells = original.places, [obfuscated.cell(event) for event in range(now + 1)]
    way = original.place_index[: now + 1]
    singles = [cell[0] for cell in cells if len(cell) == 1]
    hidden = [way[event] for event, cell in enumerate(cells) if not cell]
    sets = [cell for cell in cells if len(cell) > 1]
    here = cells[now]
    return [
        _points(places, singles, "published", {"color": look.colour, "size": 12, "symbol": "square",
                                               "opacity": 0.6}),
        _areas(places, sets, "published as a set", look, 0.10),
        _points(places, way, "true way", {"size": 5, "color": "var(--ink)"}, mode="lines+markers",
                line={"color": "var(--ink)", "width": 1.5}),
        _points(places, hidden, "hidden", {"size": 11, "symbol": "x-thin", "color": "var(--soft)",
                                           "line": {"width": 2.5, "color": "var(--soft)"}}),
        _areas(places, [here] if here else [], "published now", look, 0.45),
        _points(places, way[-1:], "truly now", {"size": 14, "color": "var(--paper)",
                                                "line": {"width": 3, "color": "var(--ink)"}}),
    ]  # fmt: skip


def _points(places: Places, index: Any, name: str, marker: dict[str, Any], **more: Any) -> dict[str, Any]:
    chosen = np.asarray(index, np.int64)
    return {"type": "scatter", "mode": "markers", "name": name, "x": places.longitude[chosen],
            "y": places.latitude[chosen], "marker": marker, "hoverinfo": "name"} | more  # fmt: skip


def _areas(places: Places, sets: list[list[int]], name: str, look: Look, strength: float) -> dict[str, Any]:
    """Draw the box around each set of cells; None parts one polygon from the next."""
    x: list[float | None] = []
    y: list[float | None] = []
    for cells in sets:
        south, west, north, east = _around(places, cells)
        x += [west, east, east, west, west, None]
        y += [south, south, north, north, south, None]
    red, green, blue = (int(look.colour[i : i + 2], 16) for i in (1, 3, 5))
    return {"type": "scatter", "mode": "lines", "name": name, "x": x or [None], "y": y or [None],
            "fill": "toself", "fillcolor": f"rgba({red},{green},{blue},{strength})", "hoverinfo": "name",
            "line": {"color": look.colour, "width": 1.5}}  # fmt: skip


def _around(places: Places, cells: Any) -> tuple[float, float, float, float]:
    grid = places.grid
    half = (grid.cell_height / 2, grid.cell_width / 2) if grid is not None else (0.002, 0.002)
    latitude, longitude = places.latitude[cells], places.longitude[cells]
    return (
        float(latitude.min() - half[0]),
        float(longitude.min() - half[1]),
        float(latitude.max() + half[0]),
        float(longitude.max() + half[1]),
    )


def _box(original: Traces, obfuscated: ObfuscatedTraces) -> tuple[float, float, float, float]:
    cells = [place for cell in obfuscated.cells() for place in cell] + original.place_index.tolist()
    south, west, north, east = _around(original.places, cells)
    rim = 0.12 * max(north - south, east - west)
    return south - rim, west - rim, north + rim, east + rim


def _day_table(original: Traces, obfuscated: ObfuscatedTraces) -> tuple[list[str], list[list[Any]]]:
    ids = original.places.ids
    rows: list[list[Any]] = [
        [original.clock.label(int(original.instants[event])), str(ids[original.place_index[event]]),
         " ".join(str(ids[place]) for place in obfuscated.cell(event)) or "*"]
        for event in range(original.n_events)
    ]  # fmt: skip
    return ["time", "true region", "published regions (* hidden)"], rows


def _show_displacements(page: Page, held: Rehearsal, entrants: list[Entrant], look: dict[str, Look]) -> None:
    limit = held.rules.utility_limit_km
    edges = np.arange(0, limit + 1 + _BIN_KM, _BIN_KM)
    labels = ["same place", *(f"{low:g}–{low + _BIN_KM:g} km" for low in edges[:-1]),
              f"over {edges[-1]:g} km", "hidden"]  # fmt: skip
    shares = {one.name: _displacements(one, edges) for one in entrants}
    bars = [
        {"type": "bar", "name": name, "x": labels, "y": share, "marker": {"color": look[name].colour},
         "hovertemplate": f"{name}, %{{x}}: %{{y:.1%}}<extra></extra>"}
        for name, share in shares.items()
    ]  # fmt: skip
    at = labels.index(f"{limit:g}–{limit + _BIN_KM:g} km") - 0.5
    layout = {
        "height": 380,
        "xaxis": {"title": {"text": "published place from the true one"}, "type": "category",
                  "tickangle": -50},
        "yaxis": {"title": {"text": "share of all events"}, "tickformat": ".0%"},
        "shapes": [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper",
                    "line": {"color": "#D55E00", "width": 2, "dash": "dot"}}],
        "annotations": [{"x": at, "y": 1, "yref": "paper", "text": f"worthless from {limit:g} km on",
                         "showarrow": False, "xanchor": "left", "yanchor": "top", "xshift": 6}],
        "showlegend": True,
    }  # fmt: skip
    rows = [[label, *(float(share[i]) for share in shares.values())] for i, label in enumerate(labels)]
    page.figure(
        {"data": bars, "layout": layout},
        "How the usefulness was spent: "
        + "; ".join(
            f"{name} left {share[0]:.0%} of all events where they were" for name, share in shares.items()
        )
        + ". A set of places counts with its mean distance.",
        table=(["distance", *shares], rows),
        name="displacement",
    )


def _displacements(entrant: Entrant, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of events left, moved by each distance (sets: on average), and hidden."""
    far = event_losses(entrant.original, entrant.obfuscated, limit_km=1e6) * 1e6
    far = far[~entrant.obfuscated.is_deleted]
    counts = np.histogram(far[far > 1e-6], np.concatenate([edges, [np.inf]]))[0]
    hidden = int(entrant.obfuscated.is_deleted.sum())
    return np.array([int((far <= 1e-6).sum()), *counts, hidden]) / entrant.original.n_events


def show_population(page: Page, held: Rehearsal) -> None:
    """Show what a planner would see, and where the published data fails her."""
    entrant = shown_entrants(held)[0]
    page.heading("What the published data is still good for")
    page.text(
        f"A planner asks how many people are where at noon. On the left what is true, on the right what she "
        f"sees in the data of {entrant.name}."
    )
    before, after = _at_noon(entrant)
    largest = float(max(before.max(), after.max(), 10))
    off = 0.5 * float(np.abs(before / before.sum() - after / max(after.sum(), 1)).sum())
    places = entrant.original.places
    ill = [float(people[places.sensitive].sum() / max(people.sum(), 1)) for people in (before, after)]
    ids = [str(place) for place in places.ids]
    rows = [list(row) for row in zip(ids, before.tolist(), after.round(3).tolist(), strict=True)]
    page.html_part('<div class="pair">')
    page.figure(
        place_map(places, before, what="people at 12:00, all days", height=480, largest=largest),
        f"Before: the true crowds at noon; {ill[0]:.1%} of them are in a region with a hospital.",
    )
    page.figure(
        place_map(places, after, what="people at 12:00, all days", height=480, largest=largest),
        f"After: {off:.0%} of the crowd would have to move to make both maps equal; {ill[1]:.1%} seem to "
        "be in a region with a hospital.",
        table=(["region", "true", "published"], rows),
        name="noon",
    )
    page.html_part("</div>")
    _show_losses(page, held, entrant)


def _at_noon(entrant: Entrant) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count people by region at noon; who may be in one of k regions counts 1/k in each."""
    noon = entrant.original.clock.second_of_day(entrant.original.instants) == _NOON_S
    before = entrant.original.keep_events(noon)
    after = entrant.obfuscated.keep_events(noon)
    m = len(before.places)
    counts = np.bincount(after.codes[after.is_single], minlength=m).astype(float)
    if after.is_set.any():
        times = np.bincount(after.set_index[after.is_set], minlength=len(after.sets))
        weights = np.repeat(times / after.sets.sizes, after.sets.sizes)
        counts += np.bincount(after.sets.members, weights=weights, minlength=m)
    return np.bincount(before.place_index, minlength=m).astype(float), counts


def _show_losses(page: Page, held: Rehearsal, entrant: Entrant) -> None:
    original = entrant.original
    losses = event_losses(original, entrant.obfuscated, limit_km=held.rules.utility_limit_km)
    m = len(original.places)
    events = np.bincount(original.place_index, minlength=m)
    lost = np.bincount(original.place_index, weights=losses, minlength=m)
    with np.errstate(invalid="ignore"):
        share = np.where(events > 0, lost / events, np.nan)
    busiest = np.argsort(-events, kind="stable")[: max(m // 20, 1)]
    at_busiest = float(lost[busiest].sum() / events[busiest].sum())
    rows = [[str(original.places.ids[i]), int(events[i]), float(share[i])] for i in np.flatnonzero(events)]
    page.figure(
        place_map(original.places, share, what="of the usefulness lost", height=520, share=True),
        f"Where usefulness was lost by {entrant.name}: {float(losses.mean()):.0%} in the whole city, "
        f"{at_busiest:.0%} at the busiest twentieth of the regions.",
        table=(["region", "events", "share lost"], rows),
        name="losses",
    )
