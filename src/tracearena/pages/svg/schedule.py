"""SVG pictures of time: the phases of a contest with the present moment, and uploads per hour."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tracearena.checks import require_whole
from tracearena.contest.phases import Phase, PhaseAnswer, Schedule, phase_at
from tracearena.i18n import mark_for_translation, translate, translate_count
from tracearena.pages.html import (
    BLUE,
    VERMILION,
    format_day,
    format_day_and_hour,
    format_duration,
    format_utc,
)
from tracearena.pages.svg.canvas import WIDTH, Area, Canvas, Picture, draw_axis_left, make_hint

_LEFT, _TOP, _THICK, _HEIGHT = 14.0, 44.0, 30.0, 132
_PAUSE, _RESULTS = 0.16, 0.66
"""Lengths of a pause and of the results where a phase is 1."""
_NAMES = {
    Phase.ANONYMIZATION: mark_for_translation("anonymization"),
    Phase.ATTACK: mark_for_translation("attack"),
    Phase.RESULTS: mark_for_translation("results"),
}
_RUNS = {
    Phase.ANONYMIZATION: mark_for_translation("The anonymization phase runs: {left} left, until {change}."),
    Phase.ATTACK: mark_for_translation("The attack phase runs: {left} left, until {change}."),
    Phase.RESULTS: mark_for_translation("The results phase runs: {left} left, until {change}."),
}


class _PhaseSpan(NamedTuple):
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
    """Draw the phases (anonymization, attack, results) and the current time.

    All phases have the same length in the drawing, and pauses are shorter and hatched. Times are in UTC; each
    has ``data-time``, so that a page can show it in the reader's time zone.

    Parameters
    ----------
    now
        The time of the judge's clock, with its time zone.
    """
    answer = phase_at(schedule, now)
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
        placed.append(_PhaseSpan(named, begin, end, left, length * unit))
        left += length * unit
    stretches = placed
    caption = _format_timeline_caption(answer)
    canvas = Canvas(
        WIDTH, _HEIGHT, name=name, title=translate("The phases of the contest"), description=caption
    )
    for stretch in stretches:
        _draw_phase(canvas, stretch, answer, now)
    x = _locate_time(stretches, now)
    for y in (_TOP - 10, _TOP + _THICK - 4):
        canvas.draw("line", x1=x, y1=y, x2=x, y2=y + 10, stroke=VERMILION, stroke_width=4)
    canvas.draw("polygon", points=f"{x - 7:.1f},{_TOP - 16} {x + 7:.1f},{_TOP - 16} {x:.1f},{_TOP - 4}",
                fill=VERMILION)  # fmt: skip
    canvas.words(
        min(max(x, 20), WIDTH - 20), _TOP - 22, translate("now"), text_anchor="middle", class_="strong now"
    )
    rows = tuple(
        (
            translate(_NAMES[stretch.phase]),
            _format_time(stretch.begin),
            _format_time(stretch.end),
            _describe_state(stretch, now),
        )
        for stretch in stretches
        if stretch.phase is not None
    )
    header = (translate("phase"), translate("begins"), translate("ends"), translate("state"))
    return Picture(canvas.markup(), caption, header, rows)


def _draw_phase(canvas: Canvas, stretch: _PhaseSpan, answer: PhaseAnswer, now: datetime) -> None:
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
        middle, _TOP + 20, translate(_NAMES[stretch.phase]), text_anchor="middle",
        class_="small on-dark strong" if running else "small soft" if over else "small",
    )  # fmt: skip
    for line, words in enumerate((format_day(stretch.begin), f"{stretch.begin:%H:%M}")):
        canvas.words(
            stretch.left + 2, _TOP + _THICK + 20 + 20 * line, words, class_="soft number",
            data_time=stretch.begin.isoformat(), data_part=("day", "hour")[line],
        )  # fmt: skip


def _locate_time(stretches: list[_PhaseSpan], now: datetime) -> float:
    if now < stretches[0].begin:
        return _LEFT / 2
    return [stretch for stretch in stretches if stretch.begin <= now][-1].position(now)


def _describe_state(stretch: _PhaseSpan, now: datetime) -> str:
    if now < stretch.begin:
        return translate("to come")
    return translate("over") if stretch.end is not None and now >= stretch.end else translate("now")


def _format_timeline_caption(answer: PhaseAnswer) -> str:
    if answer.next_change is None or answer.time_left is None:
        return translate("The contest is over and its results are open.")
    left, change = format_duration(answer.time_left), _format_time(answer.next_change)
    if answer.phase is None:
        return translate(
            "No files are accepted now; the next phase begins in {left}, at {change}.",
            left=left,
            change=change,
        )
    return translate(_RUNS[answer.phase], left=left, change=change)


def _format_time(time: datetime | None) -> str:
    return "–" if time is None else format_utc(time)


# How busy a contest is: uploads per hour.


_AREA_LEFT, _ACTIVITY_TOP, _TALL, _ACTIVITY_HEIGHT = 66.0, 12.0, 150.0, 222
_HOUR = timedelta(hours=1)
_TICKS = 3


def activity_picture(
    arrivals: Iterable[datetime], now: datetime, *, hours: int = 48, name: str = "activity"
) -> Picture:
    """Draw the number of uploads in each of the last hours, by the clock of the server.

    Parameters
    ----------
    arrivals
        Times of uploads with time zones, in any order; older and later ones are left out.
    now
        The time of the judge's clock; the current hour is the last bar.
    hours
        Number of hours to show, at least 1.
    """
    require_whole("hours", hours, at_least=1)
    last = _floor_hour(now)
    counts = {last - _HOUR * back: 0 for back in reversed(range(hours))}
    for time in arrivals:
        begin = _floor_hour(time)
        if begin in counts:
            counts[begin] += 1
    caption = _format_activity_caption(counts)
    canvas = Canvas(
        WIDTH, _ACTIVITY_HEIGHT, name=name, title=translate("Uploads per hour"), description=caption
    )
    most = max(*counts.values(), 1)
    area = Area(
        _AREA_LEFT, _ACTIVITY_TOP, WIDTH - _AREA_LEFT - 10, _TALL, (0.0, float(hours)), (0.0, float(most))
    )
    unit = next(
        digit * 10**power
        for power in range(12)
        for digit in (1, 2, 5)
        if most / (digit * 10**power) <= _TICKS + 1
    )
    draw_axis_left(
        canvas,
        area,
        [(float(value), f"{value:,}") for value in range(0, most + 1, unit)],
        translate("uploads"),
    )
    for bar, (begin, count) in enumerate(counts.items()):
        if count:
            left, right = area.x(bar + 0.08), area.x(bar + 0.92)
            canvas.draw("rect", make_hint(f"{format_utc(begin)}: {count}"), x=left,
                y=area.y(count), fill=BLUE,
                        width=right - left, height=area.bottom - area.y(count), data_count=count)  # fmt: skip
    starts = list(counts)
    canvas.draw("line", x1=area.left, y1=area.bottom, x2=area.right, y2=area.bottom, class_="line")
    step = -(-len(starts) // _TICKS)
    for bar in range(0, len(starts), step):
        canvas.words(area.x(bar), area.bottom + 19, format_day_and_hour(starts[bar]), class_="soft number",
                     data_time=starts[bar].isoformat(), data_part="day-hour")  # fmt: skip
    canvas.words(area.left + area.width / 2, area.bottom + 43, translate("hour"), text_anchor="middle")
    rows = tuple((format_utc(begin), count) for begin, count in counts.items())
    return Picture(canvas.markup(), caption, (translate("hour"), translate("uploads")), rows)


def _floor_hour(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _format_activity_caption(counts: dict[datetime, int]) -> str:
    total, hours = sum(counts.values()), len(counts)
    span = translate_count("in the last hour", "in the last {count} hours", hours)
    if not total:
        return translate("No upload arrived {span}.", span=span)
    busiest = max(counts, key=counts.__getitem__)
    return translate_count(
        "{count} upload arrived {span}; the busiest hour began at {began} with {most}.",
        "{count} uploads arrived {span}; the busiest hour began at {began} with {most}.",
        total,
        span=span,
        began=format_utc(busiest),
        most=f"{counts[busiest]:,}",
    )
