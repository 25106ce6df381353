"""Lights: three questions, a colour each, and what they come to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracearena.audit.shares import Record, Share, clopper_pearson

QUESTIONS = ("singling_out", "linkability", "inference")
OVER_GUESSING = ("singling_out", "inference")
"""Questions that are judged by how much more than guessing is found."""
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
        Green where the upper end of the interval is at most the limit, red where the lower end is above it,
        amber in between; grey where nothing was measured.
    share
        What was found.
    what
        What it is a share of, a key of `words.MEASURES`.
    limit
        What the owner allows: of the share, or of its advantage over guessing (`OVER_GUESSING`).
    at_least
        Whether a stronger attack was not tried, so that it is never green.
    """

    question: str
    colour: Light3
    share: Share | None
    what: str
    limit: float
    at_least: bool = False

    @property
    def judged(self) -> Share | None:
        """The share that is compared with the limit."""
        return _judged(self.question, self.share) if self.share is not None else None


def light(
    question: str, measured: Sequence[tuple[str, Share | None]], limit: float, *, at_least: bool = False
) -> Light:
    """Judge a question by its worst measure: the worst colour, and of these the highest upper end.

    Of several measures those are left out for which people are so few that they could prove nothing, even if
    none of them were found, such as the visitors of a rare kind of place; unless too many were.
    """
    known = [(what, share, _judged(question, share)) for what, share in measured if share is not None]
    if len(known) > 1:
        proving = [one for one in known if one[2].colour(limit) != "amber" or _can_prove(one[1], limit)]
        known = proving or known
    if not known:
        return Light(question, "grey", None, measured[0][0], limit)
    what, share, judged = min(known, key=lambda one: (_ORDER.index(one[2].colour(limit)), -one[2].high))
    colour = judged.colour(limit)
    return Light(
        question, "amber" if at_least and colour == "green" else colour, share, what, limit, at_least
    )


def _can_prove(share: Share, limit: float) -> bool:
    """Whether the limit would be kept if nobody were found."""
    return clopper_pearson(0, share.people)[1] - share.chance <= limit


def _judged(question: str, share: Share) -> Share:
    return share.advantage if question in OVER_GUESSING else share


def worst(lights: Sequence[Light]) -> Light3:
    """Return the colour of the verdict: the worst of what was measured; grey unless people were looked for.

    A question without anything to measure, such as the homes of people who are never seen at night, does
    not stand in the way.
    """
    found = [one.colour for one in lights if one.colour != "grey"]
    is_linked = any(one.question == "linkability" and one.colour != "grey" for one in lights)
    return min([*found, *(() if is_linked else ("grey",))], key=_ORDER.index, default="grey")
