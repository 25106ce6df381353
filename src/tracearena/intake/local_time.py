"""Whose clocks the hours of a file are shown by, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.time import ZoneGuess, guess_zone


@dataclass(frozen=True)
class LocalTime:
    """The local time of traces.

    Attributes
    ----------
    zone
        Its zone by name, ``UTC`` where none can be told; None where the file has local times.
    sentence
        The same for people, with the reason.
    was_asked_for
        Whether the caller named it.
    """

    zone: str | None
    sentence: str
    was_asked_for: bool = False

    def __str__(self) -> str:
        return self.sentence

    @property
    def axis(self) -> str:
        """What stands beside hours: the zone, or that they are those of the file."""
        return "local, as in the file" if self.zone is None else self.zone


AS_WRITTEN = LocalTime(
    None, "times name no zone; they are taken as local, as they are written; --timezone names the zone"
)
BARE_AS_UTC = LocalTime(
    "UTC", "times name no zone; they are taken as UTC, as they are written; --timezone says otherwise"
)
BY_OFFSETS = LocalTime(None, "times are local by the file's own offsets from UTC")
IN_UTC = LocalTime("UTC", "times are UTC, as asked for", was_asked_for=True)
UNKNOWN = LocalTime("UTC", "times are UTC: no zone can be told from the coordinates; --timezone names one")


def asked_for(zone: str) -> LocalTime:
    """Return the local time of a zone that the caller named."""
    return LocalTime(zone, f"times are local to {zone}, as asked for", was_asked_for=True)


def guessed(latitude: NDArray[np.float64], longitude: NDArray[np.float64], what: str = "points") -> LocalTime:
    """Return the local time where most of the points (or other things, by `what`) lie.

    >>> print(guessed(np.array([40.7, 35.7, 35.7]), np.array([-74.0, 139.7, 139.7])))
    times are local to Asia/Tokyo, where 66.6 % of the points lie, guessed from the coordinates; --timezone
    says otherwise
    """
    return by_guess(guess_zone(latitude, longitude), what)


def by_guess(guess: ZoneGuess | None, what: str = "points") -> LocalTime:
    """Return the local time of a zone that was guessed."""
    if guess is None:
        return UNKNOWN
    # Cut, not rounded: 100 % is said of nothing but all.
    share = "" if guess.share == 1 else f", where {int(guess.share * 1000) / 10:g} % of the {what} lie"
    reason = "guessed from the coordinates; --timezone says otherwise"
    return LocalTime(guess.name, f"times are local to {guess.name}{share}, {reason}")
