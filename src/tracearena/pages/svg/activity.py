"""How busy a contest is: uploads an hour."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from tracearena.checks import require_whole
from tracearena.language import counted, said
from tracearena.pages.dates import day, day_and_hour
from tracearena.pages.style import BLUE
from tracearena.pages.svg.axes import Area, Ticks, axis_left
from tracearena.pages.svg.canvas import WIDTH, Canvas, hint
from tracearena.pages.svg.picture import Picture

_AREA_LEFT, _TOP, _TALL, _HEIGHT = 66.0, 12.0, 150.0, 222
_HOUR = timedelta(hours=1)
_TICKS = 3


def activity_picture(
    arrivals: Iterable[datetime], now: datetime, *, hours: int = 48, name: str = "activity"
) -> Picture:
    """Draw how many uploads came in each of the last hours, by the server's clock (UTC).

    Parameters
    ----------
    arrivals
        When uploads came, with their time zones, in any order; older and later ones are left out.
    now
        The moment by the judge's clock; the hour that runs is the last bar.
    hours
        How many hours to show, at least 1.
    """
    require_whole("hours", hours, at_least=1)
    counts = _counts(arrivals, now, hours)
    caption = _caption(counts)
    canvas = Canvas(WIDTH, _HEIGHT, name=name, title=said("Uploads an hour"), description=caption)
    most = max(*counts.values(), 1)
    area = Area(_AREA_LEFT, _TOP, WIDTH - _AREA_LEFT - 10, _TALL, (0.0, float(hours)), (0.0, float(most)))
    axis_left(canvas, area, _numbers(most), said("uploads"))
    for bar, (begin, count) in enumerate(counts.items()):
        if count:
            left, right = area.x(bar + 0.08), area.x(bar + 0.92)
            canvas.draw("rect", hint(f"{day_and_hour(begin)}: {count}"), x=left, y=area.y(count), fill=BLUE,
                        width=right - left, height=area.bottom - area.y(count), data_count=count)  # fmt: skip
    _feet(canvas, area, list(counts))
    rows = tuple((f"{begin:%Y-%m-%d %H:00}", count) for begin, count in counts.items())
    return Picture(canvas.markup(), caption, (said("hour (UTC)"), said("uploads")), rows)


def _counts(arrivals: Iterable[datetime], now: datetime, hours: int) -> dict[datetime, int]:
    last = _hour_of(now)
    counts = {last - _HOUR * back: 0 for back in reversed(range(hours))}
    for time in arrivals:
        begin = _hour_of(time)
        if begin in counts:
            counts[begin] += 1
    return counts


def _hour_of(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _feet(canvas: Canvas, area: Area, hours: list[datetime]) -> None:
    """Write a few full hours below the bars, with the day where there is room."""
    canvas.draw("line", x1=area.left, y1=area.bottom, x2=area.right, y2=area.bottom, class_="line")
    step = -(-len(hours) // _TICKS)
    for bar in range(0, len(hours), step):
        canvas.words(area.x(bar), area.bottom + 19, day_and_hour(hours[bar]), class_="soft number",
                     data_time=hours[bar].isoformat())  # fmt: skip
    canvas.words(area.left + area.width / 2, area.bottom + 43, said("hour (UTC)"), text_anchor="middle")


def _numbers(most: int) -> Ticks:
    """Return a few whole numbers up to the most."""
    step = next(
        digit * 10**power
        for power in range(12)
        for digit in (1, 2, 5)
        if most / (digit * 10**power) <= _TICKS + 1
    )
    return [(float(value), f"{value:,}") for value in range(0, most + 1, step)]


def _caption(counts: dict[datetime, int]) -> str:
    total, hours = sum(counts.values()), len(counts)
    span = counted("in the last hour", "in the last {count} hours", hours)
    if not total:
        return said("No upload came {span}.", span=span)
    busiest = max(counts, key=counts.__getitem__)
    return counted(
        "{count} upload came {span}; the busiest hour began on {began} UTC and brought {most}.",
        "{count} uploads came {span}; the busiest hour began on {began} UTC and brought {most}.",
        total,
        span=span,
        began=said("{day} at {time}", day=day(busiest), time=f"{busiest:%H:%M}"),
        most=f"{counts[busiest]:,}",
    )
