"""Days, times and stretches of time, in the order in which the reader's language writes them."""

from __future__ import annotations

from datetime import datetime, timedelta

from tracearena.language import counted, marked, said

_MONTHS = (
    marked("Jan"), marked("Feb"), marked("Mar"), marked("Apr"), marked("May"), marked("Jun"),
    marked("Jul"), marked("Aug"), marked("Sep"), marked("Oct"), marked("Nov"), marked("Dec"),
)  # fmt: skip


def day(at: datetime) -> str:
    """Write the day of a moment.

    >>> day(datetime(2026, 5, 1, 9, 30))
    '1 May'
    """
    return said("{day} {month}", day=at.day, month=said(_MONTHS[at.month - 1]))


def day_and_hour(at: datetime) -> str:
    """Write the day and the time of a moment.

    >>> day_and_hour(datetime(2026, 5, 1, 9, 30))
    '1 May 09:30'
    """
    return said("{day} {time}", day=day(at), time=f"{at:%H:%M}")


def moment(at: datetime) -> str:
    """Write a moment with its year.

    >>> moment(datetime(2026, 5, 1, 9, 30))
    '1 May 2026, 09:30'
    """
    month = said(_MONTHS[at.month - 1])
    return said("{day} {month} {year}, {time}", day=at.day, month=month, year=at.year, time=f"{at:%H:%M}")


def duration(time: timedelta) -> str:
    """Write a stretch of time in its two largest units.

    >>> duration(timedelta(days=3, hours=1)), duration(timedelta(minutes=61)), duration(timedelta(seconds=5))
    ('3 days 1 hour', '1 hour 1 minute', 'less than a minute')
    """
    minutes = int(time.total_seconds()) // 60
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    told = [
        (days, counted("{count} day", "{count} days", days)),
        (hours, counted("{count} hour", "{count} hours", hours)),
        (rest, counted("{count} minute", "{count} minutes", rest)),
    ]
    first = next((at for at, (count, _) in enumerate(told) if count), None)
    if first is None:
        return said("less than a minute")
    return " ".join(words for count, words in told[first : first + 2] if count)
