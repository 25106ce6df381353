"""What a defence does to the map of a city: crowds at noon before and after, and where usefulness is lost."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tracearena.language import said
from tracearena.pages.changes import crowds_at_noon, losses_by_place
from tracearena.pages.svg.axes import Ticks
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.pages.svg.ground import Ground, draw_amounts, draw_frame, draw_key
from tracearena.pages.svg.picture import Picture
from tracearena.traces import ObfuscatedTraces, Places, Traces

_SMALLEST_TOP = 10.0


def crowd_pictures(
    original: Traces, obfuscated: ObfuscatedTraces, *, name: str = "noon"
) -> tuple[Picture, Picture]:
    """Draw how many people are where at noon, in truth and as released, in the same colours.

    The colours are logarithmic. All days count together; one of k released places counts 1/k.
    """
    crowds, places = crowds_at_noon(original, obfuscated), original.places
    top = float(max(crowds.before.max(), crowds.after.max(), _SMALLEST_TOP))
    at = crowds.share_at(places.sensitive)
    words = said("people at {time}", time=crowds.time)
    before = _map(
        places, _logarithmic(crowds.before, top), _decades(top), words, said("People at noon, before"),
        said("Before: the true crowds at {time}; {share} of them are at a sensitive place.",
             time=crowds.time, share=f"{at[0]:.1%}"),
        f"{name}-before",
    )  # fmt: skip
    after = _map(
        places, _logarithmic(crowds.after, top), _decades(top), words, said("People at noon, after"),
        said("After: {off} of the crowd would have to move to make both maps equal; {share} seem to be at a "
             "sensitive place.", off=f"{crowds.off:.0%}", share=f"{at[1]:.1%}"),
        f"{name}-after",
    )  # fmt: skip
    header, ids = (said("place (ID)"), said("true"), said("released")), [str(one) for one in places.ids]
    seen = np.flatnonzero((crowds.before > 0) | (crowds.after > 0))
    busiest = seen[np.argsort(-crowds.before[seen], kind="stable")]
    rows = tuple((ids[i], int(crowds.before[i]), round(float(crowds.after[i]), 3)) for i in busiest)
    return Picture(*before, header, rows), Picture(*after, header, rows)


def losses_picture(
    original: Traces, obfuscated: ObfuscatedTraces, limit_km: float, *, name: str = "losses"
) -> Picture:
    """Draw which share of the usefulness is lost at every place that people truly visit."""
    losses, places = losses_by_place(original, obfuscated, limit_km), original.places
    drawn = _map(
        places, losses.share, ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")), said("usefulness lost"),
        said("Where usefulness is lost"),
        said("Where usefulness is lost: {total} in the whole city, {busiest} at the busiest twentieth of the "
             "places.", total=f"{losses.total:.0%}", busiest=f"{losses.at_busiest:.0%}"),
        name,
    )  # fmt: skip
    order = np.argsort(-losses.lost, kind="stable")
    rows = tuple(
        (str(places.ids[i]), int(losses.events[i]), float(losses.share[i])) for i in order if losses.events[i]
    )
    return Picture(*drawn, (said("place (ID)"), said("events"), said("share lost")), rows)


def _map(
    places: Places, shares: NDArray[np.float64], ticks: Ticks, words: str, title: str, caption: str, name: str
) -> tuple[str, str]:
    """Return a map and its caption."""
    ground = Ground(places)
    canvas = Canvas(WIDTH, ground.canvas_height, name=name, title=title, description=caption)
    draw_amounts(canvas, ground, shares)
    draw_frame(canvas, ground)
    draw_key(canvas, ground, ticks, words)
    return canvas.markup(), caption


def _logarithmic(amounts: NDArray[np.float64], top: float) -> NDArray[np.float64]:
    """Return amounts as shares of the way from 1 to the top, NaN where there is nobody."""
    with np.errstate(divide="ignore"):
        return np.where(amounts > 0, np.log10(amounts) / math.log10(top), np.nan)


def _decades(top: float) -> Ticks:
    decades = range(math.floor(math.log10(top) + 1e-9) + 1)
    return [(power / math.log10(top), f"{10**power:,}") for power in decades]
