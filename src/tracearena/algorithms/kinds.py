"""What every defence is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.catalogue import Algorithm, Kind
from tracearena.checks import require_number
from tracearena.engine import SeedLike
from tracearena.errors import DataError, ParameterError
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, Traces


class Obfuscator(Algorithm, ABC):
    """A defence: replaces the place of each event by one place, several, or none.

    Write your own as a frozen keyword-only dataclass with a `name` and a `transform`.
    """

    kind: ClassVar[Kind] = "obfuscator"

    @abstractmethod
    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the obfuscated traces: the same events, in the same order."""


DIGITS = 6
"""Decimals of released degrees: 0.1 m."""

_MOST_DIGITS = 9


class GpsObfuscator(Algorithm, ABC):
    """A defence of GPS traces: moves points or leaves some out.

    Write your own as a frozen keyword-only dataclass with a `name` and a `transform`.
    """

    kind: ClassVar[Kind] = "gps-obfuscator"

    @abstractmethod
    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the traces to release; users keep their ids and their order."""


def rounded(traces: GpsTraces, digits: int = DIGITS) -> GpsTraces:
    """Return the same points with latitudes and longitudes of so many decimals, 0 to 9.

    A double has bits for a billionth of a metre. They are left over from the arithmetic that moved
    the point, and can tell apart ways to the same place; rounded, equal places are equal numbers.
    """
    check_digits(digits)
    return traces.moved(_rounded(traces.latitude, digits), _rounded(traces.longitude, digits))


def check_digits(digits: object) -> None:
    """Refuse what is not a number of decimals."""
    require_number("digits", digits, at_least=0, at_most=_MOST_DIGITS, whole=True)


def _rounded(degrees: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    # Whole numbers divided by a power of ten: the double that the decimals mean, and no negative zero.
    return np.rint(degrees * 10.0**digits) / 10.0**digits + 0.0


class ReidentificationAttack(Algorithm, ABC):
    """Says which user stands behind each pseudonym."""

    kind: ClassVar[Kind] = "reidentification"

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn from the reference traces of all users."""

    @abstractmethod
    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table; several pseudonyms may get the same user."""


class TraceInferenceAttack(Algorithm, ABC):
    """Says where each user was at each instant."""

    kind: ClassVar[Kind] = "trace-inference"

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn from the reference traces of all users."""

    @abstractmethod
    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return one place for every reference user and every instant of the anonymized span."""


class GpsAttack(Algorithm, ABC):
    """Says where each user really was, from the released points alone."""

    kind: ClassVar[Kind] = "gps-attack"

    @abstractmethod
    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return the same points at the positions that the attacker believes in."""


class Synthesizer(Algorithm, ABC):
    """Learns from training traces and makes synthetic ones, some for each training user.

    Write your own as a keyword-only dataclass with a `name`, a `fit` and a `synthesize`.
    """

    kind: ClassVar[Kind] = "synthesizer"

    @abstractmethod
    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Learn from the training traces."""

    @abstractmethod
    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return synthetic traces of all training users; day ``r`` is a user's trace number ``r``."""


def trainable(traces: Traces) -> Traces:
    """Refuse traces from which nothing can be learned."""
    if traces.n_users == 0 or traces.n_events == 0:
        raise DataError("training needs at least one user and one event")
    return traces


def traces_of_days(
    table: NDArray[np.int32], places: Places, clock: Clock, user_ids: NDArray[np.generic]
) -> Traces:
    """Turn users × days × instants of a day into traces whose days are numbers, not dates."""
    users, days, length = table.shape
    if length != clock.instants_per_day:
        raise DataError(f"{length} instants a day where the clock has {clock.instants_per_day}")
    dense = table.reshape(users, days * length)
    return Traces.from_dense(dense, places, replace(clock, first_day=None), user_ids=user_ids)


def checked_count(value: int, name: str = "traces_per_user") -> int:
    """Refuse anything but a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError.of(name, value, "a whole number of at least 1")
    return int(value)
