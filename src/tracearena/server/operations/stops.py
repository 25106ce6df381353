"""Where a demonstration of a contest can be, and the schedule by which it is there now."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from tracearena.contest import Schedule

TEAMS = 6
"""Invented teams of a demonstration."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class Stop(StrEnum):
    """Where a demonstration can be, in order."""

    ANONYMIZATION = "anonymization"
    ATTACK = "attack"
    CEREMONY = "ceremony"
    RESULTS = "results"


def schedule_around(stop: Stop, now: datetime) -> Schedule:
    """Return a schedule by which it is now the time of a stop.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    >>> schedule_around(Stop.ATTACK, noon).attack_begin.isoformat()
    '2026-05-01T12:00:00+00:00'
    """
    begin = (
        now
        - {
            Stop.ANONYMIZATION: 5 * DAY,
            Stop.ATTACK: 11 * DAY,
            Stop.CEREMONY: 15 * DAY + 12 * HOUR,
            Stop.RESULTS: 16 * DAY + 6 * HOUR,
        }[stop]
    )
    return Schedule(
        registration_begin=begin - DAY,
        registration_end=begin,
        anonymization_begin=begin,
        anonymization_end=begin + 7 * DAY,
        attack_begin=begin + 8 * DAY,
        attack_end=begin + 15 * DAY,
        results_begin=begin + 16 * DAY,
    )
