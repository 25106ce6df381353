"""Alignment: the attack of whoever knows the very days that are released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.matching import Match, Matcher, MatchingIdentification, check_places, choose
from tracearena.checks import require_fitted, require_number
from tracearena.engine import SeedLike
from tracearena.errors import DataError
from tracearena.traces import ObfuscatedTraces, Traces

_FARTHEST_KM = 1e9


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
    places_: NDArray[np.int32] = field(init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"Aligned({self.limit_km:g})"

    def fit(self, reference: Traces) -> Self:
        """Remember where everybody is at every instant, the first time if she is at several places."""
        if not reference.n_users:
            raise DataError("the reference traces have no users")
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
        told = anonymized.user_index[event], instant, place, weight
        return choose(anonymized.n_users, len(self.user_ids_), partial(self._score, told))

    def _score(
        self,
        told: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]],
        first: int,
        scores: NDArray[np.float64],
    ) -> None:
        own = slice(*np.searchsorted(told[0], [first, first + len(scores)]))
        trace, instant, place = (one[own] for one in told[:3])
        weight = told[3][own]
        order = np.argsort(instant, kind="stable")
        limits = np.searchsorted(instant[order], np.arange(self.places_.shape[1] + 1))
        for now in np.flatnonzero(np.diff(limits)):
            at = order[limits[now] : limits[now + 1]]
            shown, which = np.unique(place[at], return_inverse=True)
            parts = np.zeros((len(scores), len(shown)))
            np.add.at(parts, (trace[at] - first, which), weight[at])
            scores += parts @ self._nearness(shown, self.places_[:, now])

    def _nearness(self, shown: NDArray[Any], where: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return places × users: 1 at the place itself, 0 from the limit on and for who is not there."""
        places = self.reference_.places
        near = np.zeros((len(shown), len(where)))
        there = np.flatnonzero(where >= 0)
        distance = places.distance_km(shown[:, None], where[there][None, :])
        near[:, there] = 1 - np.minimum(distance / self.limit_km, 1)
        return near


@dataclass(kw_only=True)
class AlignedIdentification(MatchingIdentification):
    """Answer the user who was nearest to the released places at the same instants.

    It is made for an attacker of maximum knowledge ([contest] sections 2 and 3.2), whose reference is the
    original traces themselves. Of other days it compares the first instant with the first, the second
    with the second, and so on.

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
        require_number("limit_km", self.limit_km, above=0, at_most=_FARTHEST_KM)

    def matcher(self) -> AlignedMatcher:
        """Return the matcher by alignment."""
        return AlignedMatcher(limit_km=self.limit_km)
