"""The phases of a contest on a line, and where now is."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tracearena.contest.phases import Phase, PhaseAnswer, Schedule, phase_at
from tracearena.language import marked, said
from tracearena.pages.dates import day, duration
from tracearena.pages.style import BLUE, VERMILION
from tracearena.pages.svg.canvas import WIDTH, Canvas
from tracearena.pages.svg.picture import Picture

_LEFT, _TOP, _THICK, _HEIGHT = 14.0, 44.0, 30.0, 132
_PAUSE, _RESULTS = 0.16, 0.66
"""Lengths of a pause and of the results where a phase is 1."""
_NAMES = {
    Phase.REGISTRATION: marked("registration"),
    Phase.ANONYMIZATION: marked("anonymization"),
    Phase.ATTACK: marked("attack"),
    Phase.RESULTS: marked("results"),
}
_RUNS = {
    Phase.REGISTRATION: marked("The registration phase runs: {left} left, until {change} UTC."),
    Phase.ANONYMIZATION: marked("The anonymization phase runs: {left} left, until {change} UTC."),
    Phase.ATTACK: marked("The attack phase runs: {left} left, until {change} UTC."),
    Phase.RESULTS: marked("The results phase runs: {left} left, until {change} UTC."),
}


class _Stretch(NamedTuple):
    """A phase (or a pause, which has none) with its place on the line; the results have no end."""

    phase: Phase | None
    begin: datetime
    end: datetime | None
    left: float
    width: float

    def position(self, time: datetime) -> float:
        """Return where a time within it stands."""
        if self.end is None:
            return self.left + self.width / 2
        return self.left + self.width * ((time - self.begin) / (self.end - self.begin))


def timeline_picture(schedule: Schedule, now: datetime, *, name: str = "timeline") -> Picture:
    """Draw registration, anonymization, attack and results, and the time that it is.

    Phases are drawn equally long, pauses shorter and hatched, so that a long registration leaves room
    for the others. Times are in UTC; each carries ``data-time``, from which a page may write them in the
    reader's zone.

    Parameters
    ----------
    now
        The moment by the judge's clock, with its time zone.
    """
    answer = phase_at(schedule, now)
    stretches = _stretches(schedule)
    caption = _caption(answer)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=said("The phases of the contest"), description=caption)
    for stretch in stretches:
        _draw(canvas, stretch, answer, now)
    _mark(canvas, _position(stretches, now))
    rows = tuple(
        (said(_NAMES[stretch.phase]), _written(stretch.begin), _written(stretch.end), _state(stretch, now))
        for stretch in stretches
        if stretch.phase is not None
    )
    header = (said("phase"), said("begins (UTC)"), said("ends (UTC)"), said("state"))
    return Picture(canvas.markup(), caption, header, rows)


def _stretches(schedule: Schedule) -> list[_Stretch]:
    """Lay out phases and the pauses between them from left to right."""
    spans: list[tuple[Phase | None, datetime, datetime | None, float]] = []
    for phase in Phase:
        begin = getattr(schedule, f"{phase.value}_begin")
        end = getattr(schedule, f"{phase.value}_end", None)
        if spans and spans[-1][2] is not None and spans[-1][2] < begin:
            spans.append((None, spans[-1][2], begin, _PAUSE))
        spans.append((phase, begin, end, 1.0 if end is not None else _RESULTS))
    unit = (WIDTH - 2 * _LEFT) / sum(length for *_, length in spans)
    placed, left = [], _LEFT
    for named, begin, end, length in spans:
        placed.append(_Stretch(named, begin, end, left, length * unit))
        left += length * unit
    return placed


def _draw(canvas: Canvas, stretch: _Stretch, answer: PhaseAnswer, now: datetime) -> None:
    bar = {"x": stretch.left, "y": _TOP, "width": stretch.width, "height": _THICK}
    if stretch.phase is None:
        canvas.draw("rect", fill=canvas.hatching(), **bar)
        return
    running = stretch.phase is answer.phase
    over = stretch.end is not None and now >= stretch.end
    fill = {"fill": BLUE} if running else {}
    canvas.draw("rect", class_=f"stretch{' over' if over else ''}", **bar, **fill)
    middle = stretch.left + stretch.width / 2
    canvas.words(
        middle, _TOP + 20, said(_NAMES[stretch.phase]), text_anchor="middle",
        class_="small on-dark strong" if running else "small soft" if over else "small",
    )  # fmt: skip
    for line, words in enumerate((day(stretch.begin), f"{stretch.begin:%H:%M}")):
        canvas.words(
            stretch.left + 2, _TOP + _THICK + 20 + 20 * line, words, class_="soft number",
            data_time=stretch.begin.isoformat(), data_part=("day", "hour")[line],
        )  # fmt: skip


def _position(stretches: list[_Stretch], now: datetime) -> float:
    if now < stretches[0].begin:
        return _LEFT / 2
    return [stretch for stretch in stretches if stretch.begin <= now][-1].position(now)


def _mark(canvas: Canvas, x: float) -> None:
    """Point at now from both sides, so that no word is hidden; "now" stays inside the picture."""
    for y in (_TOP - 10, _TOP + _THICK - 4):
        canvas.draw("line", x1=x, y1=y, x2=x, y2=y + 10, stroke=VERMILION, stroke_width=4)
    canvas.draw("polygon", points=f"{x - 7:.1f},{_TOP - 16} {x + 7:.1f},{_TOP - 16} {x:.1f},{_TOP - 4}",
                fill=VERMILION)  # fmt: skip
    canvas.words(
        min(max(x, 20), WIDTH - 20), _TOP - 22, said("now"), text_anchor="middle", class_="strong now"
    )


def _state(stretch: _Stretch, now: datetime) -> str:
    if now < stretch.begin:
        return said("to come")
    return said("over") if stretch.end is not None and now >= stretch.end else said("now")


def _caption(answer: PhaseAnswer) -> str:
    if answer.next_change is None or answer.time_left is None:
        return said("The contest is over and its results are open.")
    left, change = duration(answer.time_left), _written(answer.next_change)
    if answer.phase is None:
        return said(
            "Nothing is taken at the moment; the next phase begins in {left}, on {change} UTC.",
            left=left,
            change=change,
        )
    return said(_RUNS[answer.phase], left=left, change=change)


def _written(time: datetime | None) -> str:
    return "–" if time is None else f"{time:%Y-%m-%d %H:%M}"
