"""The schedule of a contest, and which phase runs at a time: what is accepted, early or late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

from tracearena.checks import require_choice, require_number
from tracearena.errors import ParameterError
from tracearena.i18n import translate

ENDS = ("anonymization_end", "attack_end")
"""Points of a schedule that may come later for one team than for the others."""


class Phase(StrEnum):
    """The phases of a contest, in their order."""

    ANONYMIZATION = "anonymization"
    ATTACK = "attack"
    RESULTS = "results"


class Gate(StrEnum):
    """What happens to an upload: too early, accepted, or stored and marked as late."""

    EARLY = "early"
    OPEN = "open"
    LATE = "late"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Begin and end of each phase: half-open intervals on one clock.

    A phase includes its beginning and excludes its end. Between two phases there may be a pause, in which the
    judge works and no files are accepted. The results stay open.

    Times must carry a time zone; they are kept in UTC.

    >>> schedule = Schedule.from_dict({
    ...     "anonymization_begin": "2026-05-08T00:00Z", "anonymization_end": "2026-05-15T09:00+09:00",
    ...     "attack_begin": "2026-05-16T00:00Z", "attack_end": "2026-05-23T00:00Z",
    ...     "results_begin": "2026-05-24T00:00Z",
    ... })
    >>> schedule.anonymization_end.isoformat()
    '2026-05-15T00:00:00+00:00'
    """

    anonymization_begin: datetime
    anonymization_end: datetime
    attack_begin: datetime
    attack_end: datetime
    results_begin: datetime

    def __post_init__(self) -> None:
        names = [point.name for point in fields(self)]
        for name in names:
            object.__setattr__(self, name, require_utc(getattr(self, name), name))
        for earlier, later in pairwise(names):
            before, after = getattr(self, earlier), getattr(self, later)
            about = {"later": later, "after": repr(after.isoformat())}
            about |= {"earlier": earlier, "before": before.isoformat()}
            if later.endswith("_begin") and before > after:
                raise ParameterError(
                    translate(
                        "{later} = {after} is not allowed; it must be at or after {earlier}, {before}",
                        **about,
                    )
                )
            if later.endswith("_end") and before >= after:
                raise ParameterError(
                    translate(
                        "{later} = {after} is not allowed; it must be after {earlier}, {before}", **about
                    )
                )

    @classmethod
    def weeks(
        cls,
        begin: datetime,
        *,
        anonymization_days: float = 7,
        attack_days: float = 7,
        pause_hours: float = 1,
    ) -> Schedule:
        """Return a schedule whose anonymization phase begins at `begin`.

        In the pause before the attacks the judge prepares the targets; the pause before the results
        leaves time for the ceremony.

        Parameters
        ----------
        begin
            When the anonymization phase begins, with its time zone.
        anonymization_days, attack_days
            How long both phases last, from a minute to ten years.
        pause_hours
            How long both pauses last; 0 for none.

        Examples
        --------
        >>> Schedule.weeks(datetime(2026, 5, 4, tzinfo=UTC)).results_begin.isoformat()
        '2026-05-18T02:00:00+00:00'
        """
        start = require_utc(begin, "begin")
        lengths = {"anonymization_days": anonymization_days, "attack_days": attack_days}
        for name, days in lengths.items():
            require_number(name, days, at_least=1 / 1440, at_most=3650)
        require_number("pause-hours", pause_hours, at_least=0, at_most=24 * 3650)
        pause = timedelta(hours=pause_hours)
        defended = start + timedelta(days=anonymization_days)
        released = defended + pause
        attacked = released + timedelta(days=attack_days)
        points = (start, defended, released, attacked, attacked + pause)
        return cls(**{point.name: at for point, at in zip(fields(cls), points, strict=True)})

    def with_time(self, point: str, at: datetime) -> Schedule:
        """Return a schedule with one begin or end at another time.

        If a phase begins exactly when the previous one ends, both times move together. If an end moves past
        the pause after it, the pause moves too and keeps its length.

        >>> begin = datetime(2026, 5, 4, tzinfo=UTC)
        >>> later = Schedule.weeks(begin).with_time("anonymization_end", begin + timedelta(days=8))
        >>> later.attack_begin.isoformat()
        '2026-05-12T01:00:00+00:00'
        """
        names = [one.name for one in fields(self)]
        require_choice("point", point, names)
        changed: dict[str, Any] = {point: at}
        if point.endswith("_end"):
            following = names[names.index(point) + 1]
            pause = getattr(self, following) - getattr(self, point)
            if not pause or require_utc(at, point) > getattr(self, following):
                changed[following] = at + pause
        return replace(self, **changed)

    def with_extra_time(self, ends: Mapping[str, Any]) -> Schedule:
        """Return the schedule of a team that has more time than the others.

        Extra time must end before the next phase begins for everybody.

        Parameters
        ----------
        ends
            Some of `ENDS`, as ISO 8601 texts with a time zone. A time before the end for everybody has no
            effect.

        Examples
        --------
        >>> begin = datetime(2026, 5, 4, tzinfo=UTC)
        >>> schedule = Schedule.weeks(begin).with_time("results_begin", begin + timedelta(days=20))
        >>> schedule.with_extra_time({"attack_end": "2026-05-19T12:00Z"}).attack_end.isoformat()
        '2026-05-19T12:00:00+00:00'
        """
        for point in ends:
            require_choice("point", point, ENDS)
        later = {point: require_utc(_parse_time(at, point), point) for point, at in ends.items()}
        return replace(self, **{point: max(getattr(self, point), at) for point, at in later.items()})

    def to_dict(self) -> dict[str, str]:
        """Return the schedule as ISO 8601 texts."""
        return {point.name: getattr(self, point.name).isoformat() for point in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schedule:
        """Make a schedule from ISO 8601 texts with a time zone."""
        names = [point.name for point in fields(cls)]
        wrong = sorted(set(names) ^ set(values))
        if wrong:
            raise ParameterError(
                f"a schedule has exactly {', '.join(names)}; missing or unknown: {', '.join(wrong)}"
            )
        return cls(**{name: _parse_time(values[name], name) for name in names})


@dataclass(frozen=True)
class PhaseAnswer:
    """The phase, and what is accepted, at one moment.

    Attributes
    ----------
    phase
        The phase that runs, or None before the start and in a pause.
    obfuscated, attacks
        What happens to obfuscated traces and to an attack that arrive now.
    next_change
        End of the current phase or, in a pause, beginning of the next one; None when the results are open.
    time_left
        From now to `next_change`.
    """

    phase: Phase | None
    obfuscated: Gate
    attacks: Gate
    next_change: datetime | None
    time_left: timedelta | None

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values for JSON."""
        return {
            "phase": self.phase,
            "obfuscated": self.obfuscated,
            "attacks": self.attacks,
            "next_change": None if self.next_change is None else self.next_change.isoformat(),
            "time_left_s": None if self.time_left is None else self.time_left.total_seconds(),
        }


def phase_at(schedule: Schedule, time: datetime) -> PhaseAnswer:
    """Return the phase at a moment, and what is accepted then.

    Parameters
    ----------
    schedule
        The contest's schedule.
    time
        The moment by the judge's clock, with its time zone.

    Examples
    --------
    >>> from datetime import timedelta
    >>> day = datetime(2026, 5, 1, tzinfo=UTC)
    >>> points = [day + timedelta(days=n) for n in (1, 2, 3, 4, 5)]
    >>> schedule = Schedule(**{point.name: at for point, at in zip(fields(Schedule), points)})
    >>> end = schedule.anonymization_end
    >>> phase_at(schedule, end - timedelta(milliseconds=1)).obfuscated.value
    'open'
    >>> phase_at(schedule, end).obfuscated.value
    'late'
    """
    now = require_utc(time, "time")
    gates = {
        Phase.ANONYMIZATION: _decide_gate(schedule.anonymization_begin, schedule.anonymization_end, now),
        Phase.ATTACK: _decide_gate(schedule.attack_begin, schedule.attack_end, now),
    }
    phase = next((phase for phase, gate in gates.items() if gate is Gate.OPEN), None)
    if now >= schedule.results_begin:
        phase = Phase.RESULTS
    points = (getattr(schedule, point.name) for point in fields(schedule))
    next_change = next((point for point in points if point > now), None)
    return PhaseAnswer(
        phase=phase,
        obfuscated=gates[Phase.ANONYMIZATION],
        attacks=gates[Phase.ATTACK],
        next_change=next_change,
        time_left=None if next_change is None else next_change - now,
    )


def name_phase(answer: Mapping[str, Any]) -> str:
    """Return in a word which phase runs, of an answer as plain values.

    >>> name_phase({"phase": None, "obfuscated": "early"}), name_phase({"phase": None, "obfuscated": "late"})
    ('before the start', 'between two phases')
    """
    return answer["phase"] or (
        "before the start" if answer["obfuscated"] == Gate.EARLY else "between two phases"
    )


def _decide_gate(begin: datetime, end: datetime, now: datetime) -> Gate:
    if now < begin:
        return Gate.EARLY
    return Gate.OPEN if now < end else Gate.LATE


def require_utc(time: Any, name: str) -> datetime:
    """Return a moment in UTC; one without a time zone is refused."""
    if not isinstance(time, datetime) or time.utcoffset() is None:
        raise ParameterError.of(name, time, "a date and time with its time zone")
    return time.astimezone(UTC)


def _parse_time(value: Any, name: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ParameterError.of(
            name, value, "a date and time with its time zone, such as 2026-05-01T09:00+09:00"
        ) from None
