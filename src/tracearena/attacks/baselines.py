"""Baseline attacks, and the attack with maximum knowledge.

`Random-R` and `Random-T` guess, `Replay-T` repeats the reference days, and `Aligned-R` compares instant by
instant for an attacker who knows the original traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

import numpy as np

from tracearena.algorithms.base import ReidentificationAttack, TraceInferenceAttack
from tracearena.attacks.base import (
    Floats,
    Ints32,
    Match,
    Matcher,
    MatchingIdentification,
    build_answer,
    check_places,
    choose_greedily,
    require_users,
)
from tracearena.attacks.bayesian.profiles import check_same_clock
from tracearena.checks import require_fitted, require_kind, require_number
from tracearena.engine import SeedLike, generator, seed_sequence, uniforms
from tracearena.traces import IdTable, ObfuscatedTraces, Traces


@dataclass(kw_only=True)
class RandomIdentification(ReidentificationAttack):
    """Guess: a random permutation of the users ([samples] I1)."""

    name: ClassVar[str] = "Random-R"

    def fit(self, reference: Traces) -> Self:
        """Store the ids of the users."""
        require_kind(self, reference, Traces)
        require_users(reference)
        self.user_ids_ = reference.user_ids
        return self

    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return every user once, or as many users as there are pseudonyms."""
        require_fitted(self, "user_ids_")
        require_kind(self, anonymized, ObfuscatedTraces)
        order = generator(seed).permutation(len(self.user_ids_))
        return IdTable(anonymized.user_ids, self.user_ids_[np.resize(order, anonymized.n_users)])


@dataclass(kw_only=True)
class RandomInference(TraceInferenceAttack):
    """Guess: a random place for every event ([samples] T1)."""

    name: ClassVar[str] = "Random-T"

    def fit(self, reference: Traces) -> Self:
        """Store the ids of the users."""
        require_kind(self, reference, Traces)
        self.user_ids_ = reference.user_ids
        return self

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return a random place for every user and instant."""
        require_fitted(self, "user_ids_")
        require_kind(self, anonymized, ObfuscatedTraces)
        shape = len(self.user_ids_), anonymized.n_instants
        chance = uniforms(seed_sequence(seed), shape[0] * shape[1]).reshape(shape)
        return build_answer((chance * len(anonymized.places)).astype(np.int32), anonymized, self.user_ids_)


@dataclass(kw_only=True)
class ReferenceReplay(TraceInferenceAttack):
    """Repeat the reference trace of each user, by time of day.

    This attack ignores the anonymized traces. It was nevertheless stronger than every sample attack in the
    short preliminary round of 2019 (s_T of about 0.80 on two days).

    Notes
    -----
    The k-th day is answered with the k-th reference day; if there are fewer, they are repeated. If the user
    has no reference event at a time, the last earlier event of that day is used, or else the next later one,
    or else a random place.
    """

    name: ClassVar[str] = "Replay-T"

    def fit(self, reference: Traces) -> Self:
        """Store the reference traces."""
        require_kind(self, reference, Traces)
        self.reference_ = reference
        return self

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the reference places instead of the anonymized ones."""
        require_fitted(self, "reference_")
        require_kind(self, anonymized, ObfuscatedTraces)
        clock, reference = anonymized.clock, self.reference_
        check_places(reference, anonymized)
        check_same_clock(reference, anonymized)
        instants = np.arange(*anonymized.span)
        day = clock.day_of(instants) - clock.day_of(anonymized.span[0])
        known = _fill_reference_days(reference)
        table = known[:, day % known.shape[1], clock.time_of_day(instants)]
        chance = uniforms(seed_sequence(seed), table.size).reshape(table.shape)
        table = np.where(table < 0, (chance * len(reference.places)).astype(np.int32), table)
        return build_answer(table, anonymized, reference.user_ids)


def _fill_reference_days(reference: Traces) -> Ints32:
    """Return users × days × times of day, gaps filled from the same day, -1 where a day is empty."""
    clock = reference.clock
    first = int(clock.day_of(reference.span[0]))
    days = max(int(clock.day_of(max(reference.span[1] - 1, 0))) - first + 1, 1)
    table = np.full((reference.n_users, days, clock.instants_per_day), -1, np.int32)
    day, time = clock.day_of(reference.instants) - first, clock.time_of_day(reference.instants)
    table[reference.user_index, day, time] = reference.place_index
    for filled in (table, table[..., ::-1]):
        for time_of_day in range(1, clock.instants_per_day):
            now, before = filled[..., time_of_day], filled[..., time_of_day - 1]
            now[now < 0] = before[now < 0]
    return table


# Maximum knowledge: the attacker knows the days that are released.


@dataclass(kw_only=True)
class AlignedMatcher(Matcher):
    """Matches each trace to the user who was nearest to it, instant by instant.

    Parameters
    ----------
    limit_km
        Distance from which on a place says nothing.
    """

    limit_km: float = 2.0

    reference_: Traces = field(init=False, repr=False, compare=False)
    places_: Ints32 = field(init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"Aligned({self.limit_km:g})"

    def fit(self, reference: Traces) -> Self:
        """Store the place of every user at every instant; the first one if there are several."""
        require_users(reference)
        self.user_ids_ = reference.user_ids
        self.reference_ = reference
        self.places_ = np.full((reference.n_users, reference.n_instants), -1, np.int32)
        cell = reference.user_index[::-1], reference.instants[::-1] - reference.span[0]
        self.places_[cell] = reference.place_index[::-1]
        return self

    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Match:
        """Choose the user who was nearest most of the time."""
        require_fitted(self, "reference_")
        check_places(self.reference_, anonymized)
        event, place, weight = anonymized.pairs()
        instant = anonymized.instants[event] - anonymized.span[0]
        released = anonymized.user_index[event], instant, place, weight
        return choose_greedily(anonymized.n_users, len(self.user_ids_), partial(self._score, released))

    def _score(self, released: tuple[Ints32, Ints32, Ints32, Floats], first: int, scores: Floats) -> None:
        own = slice(*np.searchsorted(released[0], [first, first + len(scores)]))
        trace, instant, place = (one[own] for one in released[:3])
        weight = released[3][own]
        order = np.argsort(instant, kind="stable")
        limits = np.searchsorted(instant[order], np.arange(self.places_.shape[1] + 1))
        for now in np.flatnonzero(np.diff(limits)):
            at = order[limits[now] : limits[now + 1]]
            shown, which = np.unique(place[at], return_inverse=True)
            parts = np.zeros((len(scores), len(shown)))
            np.add.at(parts, (trace[at] - first, which), weight[at])
            # Places × users: 1 at the place itself, 0 from the limit on and for absent users.
            where = self.places_[:, now]
            near, there = np.zeros((len(shown), len(where))), np.flatnonzero(where >= 0)
            distance = self.reference_.places.distance_km(shown[:, None], where[there][None, :])
            near[:, there] = 1 - np.minimum(distance / self.limit_km, 1)
            scores += parts @ near


@dataclass(kw_only=True)
class AlignedIdentification(MatchingIdentification):
    """Identify the user who was closest to the released places at the same instants.

    This attack is for attackers with maximum knowledge ([contest] sections 2 and 3.2), who have the original
    traces as reference. If the reference has other days, the first instant is compared with the first, the
    second with the second, and so on.

    Parameters
    ----------
    limit_km
        Distance from which on a place says nothing.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> from tracearena.obfuscation import PlanarLaplace
    >>> original = simulate(users=50, days=1, seed=1)
    >>> released = PlanarLaplace(l=1, r=1).transform(original, seed=2)
    >>> guess = AlignedIdentification().fit(original).identify(released)
    >>> bool((guess.user_ids == original.user_ids).mean() > 0.9)
    True
    """

    name: ClassVar[str] = "Aligned-R"
    units: ClassVar[Mapping[str, str]] = {"limit_km": "km"}

    limit_km: float = 2.0

    def __post_init__(self) -> None:
        require_number("limit_km", self.limit_km, above=0, at_most=1e9)

    def make_matcher(self) -> AlignedMatcher:
        """Return the matcher by alignment."""
        return AlignedMatcher(limit_km=self.limit_km)
