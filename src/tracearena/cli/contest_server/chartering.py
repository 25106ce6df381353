"""What a new contest is to be: its file, the options, and in a terminal the answers to questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.contest import Charter, Schedule

_LENGTHS = {"registration_days": 7, "anonymization_days": 14, "attack_days": 14}
_PAUSE = timedelta(days=1)
"""Between the phases and before the results: the judge works."""
_QUESTIONS: dict[str, tuple[str, Any]] = {
    "name": ("Name of the contest", "A contest"),
    "teams": ("Teams", 21),
    "users": ("Virtual users of a team", 2_000),
    "days": ("Days of a user, half reference and half original", 40),
    "registration_days": ("Days of registration", 7),
    "anonymization_days": ("Days of the anonymization phase", 14),
    "attack_days": ("Days of the attack phase", 14),
}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the options say; None is what they leave out."""

    name: str | None
    teams: int | None
    users: int | None
    days: int | None
    data_sets: int | None
    begin: str | None
    registration_days: int | None
    anonymization_days: int | None
    attack_days: int | None

    def asked(self) -> Wanted:
        """Ask in the terminal for what was left out."""
        answers = {
            name: typer.prompt(question, default=usual, err=True)
            for name, (question, usual) in _QUESTIONS.items()
            if getattr(self, name) is None
        }
        return replace(self, **answers)

    def charter(self, file: Path | None) -> Charter:
        """Return what holds in the contest; options and file must agree."""
        from tracearena.cli._contest_desk import chartered

        made = chartered(file, teams=self.teams, users=self.users, days=self.days, data_sets=self.data_sets)
        if self.name is not None:
            made = replace(made, name=self.name)
        if made.schedule is None:
            return replace(made, schedule=self._schedule())
        if self.begin is not None or any(getattr(self, name) is not None for name in _LENGTHS):
            raise ParameterError(f"{file}: has a [schedule]; --begin and the days of phases belong there")
        return made

    def _schedule(self) -> Schedule:
        from tracearena.contest import Schedule

        registration, anonymization, attack = (
            timedelta(days=usual if getattr(self, name) is None else getattr(self, name))
            for name, usual in _LENGTHS.items()
        )
        begin = datetime.now(UTC).replace(second=0, microsecond=0) if self.begin is None else self._begin()
        obfuscated = begin + registration
        attacks = obfuscated + anonymization + _PAUSE
        return Schedule(
            registration_begin=begin,
            registration_end=obfuscated,
            anonymization_begin=obfuscated,
            anonymization_end=obfuscated + anonymization,
            attack_begin=attacks,
            attack_end=attacks + attack,
            results_begin=attacks + attack + _PAUSE,
        )

    def _begin(self) -> datetime:
        return moment(self.begin or "", "--begin")


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
