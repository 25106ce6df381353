"""How far events were moved."""

from __future__ import annotations

from tracearena.pages.contest_data import BIN_KM, Displacements, measure_displacements
from tracearena.pages.html import BLUE, SKY, VERMILION
from tracearena.pages.svg.canvas import WIDTH, Area, Canvas, Picture, draw_axis_left, element, make_hint
from tracearena.traces import ObfuscatedTraces, Traces

_LEFT, _TOP, _TALL, _HEIGHT = 66.0, 58.0, 250.0, 372
_GAP = 5.0
_APART = 0.9


def displacement_picture(
    original: Traces, obfuscated: ObfuscatedTraces, limit_km: float, *, name: str = "displacement"
) -> Picture:
    """Draw the share of events by distance between the true and the released place.

    Sets of places stand on top of single places, by their mean distance; deleted events stand apart, hatched.

    Parameters
    ----------
    limit_km
        The distance from which on a place is useless, by the rules.
    """
    found = measure_displacements(original, obfuscated, limit_km)
    caption = _caption(found, limit_km)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title="How far events were moved", description=caption)
    tallest = max(float(found.total_shares.max()), found.hidden, 0.05)
    bars = len(found.labels) + 1
    area = Area(_LEFT, _TOP, WIDTH - _LEFT - 12, _TALL, (0.0, bars + _APART), (0.0, tallest))
    draw_axis_left(canvas, area, _percents(tallest), "share of all events")
    for bar, label in enumerate(found.labels):
        single, sets = float(found.single[bar]), float(found.sets[bar])
        canvas.add(_bar(area, bar, 0.0, single, f"{label}: {single:.1%}", fill=BLUE, class_="single"))
        canvas.add(_bar(area, bar, single, sets, f"{label}, sets: {sets:.1%}", fill=SKY, class_="set"))
    gone = f"deleted: {found.hidden:.1%}"
    canvas.add(
        _bar(area, bars - 1 + _APART, 0.0, found.hidden, gone, fill=canvas.hatching(), class_="deleted")
    )
    _feet(canvas, area, found)
    _limit(canvas, area, limit_km)
    _key(canvas, found)
    rows = tuple(zip(found.labels, found.single.tolist(), found.sets.tolist(), strict=True))
    header = ("distance", "single places", "sets of places (mean distance)")
    return Picture(canvas.markup(), caption, header, (*rows, ("deleted", found.hidden, None)))


def _bar(area: Area, bar: float, base: float, share: float, words: str, **attributes: str) -> str:
    if share <= 0:
        return ""
    left, right = area.x(bar) + _GAP / 2, area.x(bar + 1) - _GAP / 2
    top, bottom = area.y(base + share), area.y(base)
    return element("rect", make_hint(words), x=left, y=top, width=right - left, height=bottom - top,
                   data_share=f"{share:.6f}", **attributes)  # fmt: skip


def _feet(canvas: Canvas, area: Area, found: Displacements) -> None:
    """Write the borders of the bars in km, and what stands at both ends."""
    y = area.bottom + 19
    canvas.draw("line", x1=area.left, y1=area.bottom, x2=area.right, y2=area.bottom, class_="line")
    canvas.words(area.x(0.5), y, "0", text_anchor="middle", class_="soft number")
    middle = len(found.labels) - 2
    for edge in range(2, middle, 2):
        canvas.words(area.x(1 + edge), y, f"{edge * BIN_KM:g}", text_anchor="middle", class_="soft number")
    more = found.labels[-1].removesuffix(" km")
    canvas.words(area.x(len(found.labels) - 0.5), y, more, text_anchor="middle", class_="soft")
    canvas.words(area.x(len(found.labels) + 0.5 + _APART), y, "deleted", text_anchor="middle", class_="soft")
    canvas.words(area.left + area.width / 2, area.bottom + 43, "km from the true place, left is more useful",
                 text_anchor="middle")  # fmt: skip


def _limit(canvas: Canvas, area: Area, limit_km: float) -> None:
    x = area.x(1 + limit_km / BIN_KM)
    canvas.draw("line", x1=x, y1=_TOP - 8, x2=x, y2=area.bottom, stroke=VERMILION, stroke_width=2,
                stroke_dasharray="4 4", class_="limit")  # fmt: skip
    canvas.words(x, _TOP - 14, f"useless from {limit_km:g} km on", text_anchor="middle", class_="halo")


def _key(canvas: Canvas, found: Displacements) -> None:
    entries = [(BLUE, "one place", 0.0)]
    entries += [(SKY, "a set of places", 130.0)] if found.sets.any() else []
    for colour, words, shift in entries:
        canvas.draw("rect", x=_LEFT + shift, y=6, width=14, height=14, fill=colour)
        canvas.words(_LEFT + shift + 20, 19, words, class_="soft")


def _percents(top: float) -> list[tuple[float, str]]:
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if top / step <= 5)
    return [(step * i, f"{step * i:.0%}") for i in range(int(top / step + 1e-9) + 1)]


def _caption(found: Displacements, limit_km: float) -> str:
    told = [
        f"{float(found.total_shares[0]):.1%} of all events stay where they were",
        f"{found.useless:.1%} go {limit_km:g} km or farther and are worth nothing",
        f"{found.hidden:.1%} are deleted",
    ]
    sets = float(found.sets.sum())
    apart = f" {sets:.1%} are sets of places, drawn at their mean distance." if sets else ""
    return f"{', '.join(told[:2])}, and {told[2]}.{apart}"
