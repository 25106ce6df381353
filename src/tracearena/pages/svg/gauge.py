"""A team's own usefulness, with the line that it must reach."""

from __future__ import annotations

from tracearena.contest.rules import Rules
from tracearena.language import said
from tracearena.pages.style import BLUE, VERMILION
from tracearena.pages.svg.axes import SCORE_TICKS, Area, axis_below
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.pages.svg.picture import Picture

_AREA = Area(24, 40, WIDTH - 48, 44)
_HEIGHT = 138


def gauge_picture(utility: float | None, rules: Rules, *, name: str = "gauge") -> Picture:
    """Draw a utility from 0 to 1 and the threshold of the rules; None where nothing was handed in yet."""
    caption = _caption(utility, rules)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=said("Usefulness"), description=caption)
    box = {"y": _AREA.top, "height": _AREA.height}
    canvas.draw("rect", x=_AREA.left, width=_AREA.width, class_="panel", **box)
    axis_below(canvas, _AREA, SCORE_TICKS, said("usefulness"), "s_U", said("right is better"))
    if utility is not None:
        valid = rules.is_valid(utility)
        length = _AREA.x(utility) - _AREA.left
        canvas.draw("rect", x=_AREA.left, width=length, fill=BLUE if valid else VERMILION, **box)
        _value(canvas, utility, _written(utility, rules))
    _threshold(canvas, rules.utility_threshold)
    rows = ((said("utility"), utility), (said("threshold"), rules.utility_threshold))
    return Picture(canvas.markup(), caption, (said("what"), said("value")), rows)


def _value(canvas: Canvas, utility: float, told: str) -> None:
    """Write the number into the bar where it fits, else behind it."""
    fits = utility > 0.25
    x = _AREA.left + 12 if fits else _AREA.x(utility) + 10
    ink = "on-dark" if fits else "ink"
    canvas.words(x, _AREA.top + 29, told, class_=f"large strong number {ink}")


def _threshold(canvas: Canvas, threshold: float) -> None:
    x = _AREA.x(threshold)
    canvas.draw("line", x1=x, y1=_AREA.top - 10, x2=x, y2=_AREA.bottom, class_="line threshold")
    left, told = threshold > 0.75, said("valid from {threshold} on", threshold=f"{threshold:g}")
    canvas.words(
        x + (4 if left else -4), _AREA.top - 17, told,
        text_anchor="end" if left else "middle" if threshold > 0.25 else "start", class_="strong",
    )  # fmt: skip


def _caption(utility: float | None, rules: Rules) -> str:
    threshold = f"{rules.utility_threshold:g}"
    if utility is None:
        return said(
            "Nothing was handed in yet; a data set is valid from a utility of {threshold} on.",
            threshold=threshold,
        )
    written = _written(utility, rules)
    if rules.is_valid(utility):
        return said(
            "Valid: the utility is {utility}, and {threshold} is enough.",
            utility=written,
            threshold=threshold,
        )
    return said(
        "Not valid: the utility is {utility}, below {threshold}; this data set would not be published, and "
        "its privacy scores would be 0.",
        utility=written,
        threshold=threshold,
    )


def _written(utility: float, rules: Rules) -> str:
    """Write a utility with three digits, or with all where rounding would change the verdict."""
    short = f"{utility:.3f}"
    return short if rules.is_valid(float(short)) == rules.is_valid(utility) else f"{utility}"
