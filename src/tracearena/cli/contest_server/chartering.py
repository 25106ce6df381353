"""What a new contest is to be: its file, the options, and in a terminal the answers to questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.contest import Charter, Schedule
    from tracearena.contest.contest_file import DataSource

_QUESTIONS: dict[str, tuple[str, Any]] = {
    "name": ("Name of the contest", "A contest"),
    "teams": ("Teams", 21),
    "users": ("Virtual users of a team", 2_000),
    "days": ("Days of a user, half reference and half original", 40),
    "anonymization_days": ("Days of the anonymization phase", 7.0),
    "attack_days": ("Days of the attack phase", 7.0),
}
_OF_SCHEDULE = ("begin", "anonymization_days", "attack_days")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the options say; None is what they leave out."""

    name: str | None = None
    teams: int | None = None
    users: int | None = None
    days: int | None = None
    data_sets: int | None = None
    begin: str | None = None
    anonymization_days: float | None = None
    attack_days: float | None = None
    traces: Path | None = None
    files: Path | None = None

    def asked(self) -> Wanted:
        """Ask in the terminal for what was left out."""
        answers = {
            name: typer.prompt(question, default=usual, err=True)
            for name, (question, usual) in _QUESTIONS.items()
            if getattr(self, name) is None
        }
        return replace(self, **answers)

    def charter(self, file: Path | None) -> Charter:
        """Return what holds in the contest, its data and schedule included; options and file must agree."""
        from tracearena.cli._contest_charter import chartered

        counts = {"teams": self.teams, "users": self.users, "days": self.days, "data_sets": self.data_sets}
        said = chartered(file, to_make=True, **counts)
        data, schedule = self._data(said, file), _to_come(self._schedule(said, file))
        return replace(said, name=self.name or said.name, data=data, schedule=schedule)

    def _data(self, said: Charter, file: Path | None) -> DataSource:
        from tracearena.contest.contest_file import DataSource

        if self.traces is not None and self.files is not None:
            raise ParameterError("--data and --files exclude each other: learned people, or ready-made ones")
        named = self.traces is not None or self.files is not None
        if said.data is not None:
            if named:
                raise ParameterError(f"{file}: says in [data] where its people come from")
            return said.data
        if self.traces is not None:
            return DataSource(source="traces", file=self.traces)
        return DataSource() if self.files is None else DataSource(source="files", folder=self.files)

    def _schedule(self, said: Charter, file: Path | None) -> Schedule:
        from tracearena.contest import Schedule
        from tracearena.server import clock

        given = {name: getattr(self, name) for name in _OF_SCHEDULE if getattr(self, name) is not None}
        if said.schedule is not None:
            if given:
                raise ParameterError(f"{file}: has a [schedule]; --begin and the days of phases belong there")
            return said.schedule
        begin = given.pop("begin", None)
        now = clock.shown().replace(second=0, microsecond=0)
        return Schedule.weeks(now if begin is None else moment(begin, "--begin"), **given)


def _to_come(schedule: Schedule) -> Schedule:
    """Refuse a contest in which nobody could hand anything in: what has begun is never taken back."""
    from tracearena.server import clock

    if schedule.anonymization_end <= clock.shown():
        raise ParameterError(
            f"the anonymization phase is over already: it ends at {schedule.anonymization_end.isoformat()}; "
            "begin later"
        )
    return schedule


def moment(text: str, option: str) -> datetime:
    """Return a time with its zone, as people type it."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ParameterError(
            f"{option}: got {text!r}; it must be a time with its zone, such as 2026-05-15T09:00+09:00"
        )
    return at
