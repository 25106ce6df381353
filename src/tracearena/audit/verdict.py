"""Lights: three questions, a colour each, and what they come to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracearena.audit.shares import Record, Share

QUESTIONS = ("singling_out", "linkability", "inference")
Light3 = Literal["green", "amber", "red", "grey"]
_ORDER: tuple[Light3, ...] = ("red", "amber", "grey", "green")


@dataclass(frozen=True)
class Light(Record):
    """The answer to one question.

    Attributes
    ----------
    question
        One of `QUESTIONS`.
    colour
        Green where no attack beats guessing, red where the most successful certainly does for more than
        the owner allows; grey where nothing was measured.
    share
        The number behind it.
    what
        What it is a share of, a key of `words.MEASURES`.
    """

    question: str
    colour: Light3
    share: Share | None
    what: str


def light(question: str, measured: Sequence[tuple[str, Share | None]], red: float) -> Light:
    """Judge a question by its worst measure: the worst colour, and of these the highest lower end."""
    known = [(what, share, share.colour(red)) for what, share in measured if share is not None]
    if not known:
        return Light(question, "grey", None, measured[0][0])
    what, share, colour = min(
        known, key=lambda one: (_ORDER.index(one[2]), 0.0 if one[2] == "green" else -one[1].low)
    )
    return Light(question, colour, share, what)


def worst(lights: Sequence[Light]) -> Light3:
    """Return the colour of the verdict: the worst of the lights."""
    return min((one.colour for one in lights), key=_ORDER.index, default="grey")
