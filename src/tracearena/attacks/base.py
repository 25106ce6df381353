"""Attacks that first match pseudonyms to users, and derive their answer from the match.

A `Matcher` scores every user for every pseudonym. Re-identification takes the best user of each pseudonym;
trace inference takes each user once, and gives each user the trace of the matched pseudonym with the
obfuscation undone. Attacks with equal matchers can share one match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import ReidentificationAttack, TraceInferenceAttack
from tracearena.checks import require_fitted, require_kind
from tracearena.engine import SeedLike, block_ranges, child_seed, run_blocks, seed_sequence, uniforms
from tracearena.errors import DataError
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces, Traces

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Mask = NDArray[np.bool_]

NOBODY = -1
LISTED = 10
"""How many users a match lists for each pseudonym."""
TIE = 1e-9
"""Users whose scores differ by no more are tied."""

_ROWS_AT_ONCE = 512
_ROWS_PER_BLOCK = 64


class Match(Protocol):
    """The reference user that each pseudonym is matched to, as indices."""

    @property
    def best(self) -> Ints:
        """The most likely user for each pseudonym; several pseudonyms may have the same user."""

    @property
    def exclusive(self) -> Ints:
        """A different user for each pseudonym; `NOBODY` (-1) when no user is left."""

    @property
    def ranking(self) -> Ints:
        """Pseudonyms × `LISTED` users, the most likely first; `NOBODY` (-1) if there are no more."""


@dataclass(frozen=True)
class GreedyMatch:
    """A `Match` by scores: every pseudonym takes the user whom it fits best.

    Attributes
    ----------
    best
        The best user of each pseudonym on its own.
    exclusive
        The best user still free, pseudonyms choosing in ascending order.
    ranking
        The best users of each pseudonym, `best` first.
    """

    best: Ints
    exclusive: Ints
    ranking: Ints


class Matcher(ABC):
    """Learns from reference traces, and matches pseudonyms to users.

    Its `str` is its name in the papers with its parameters; its random draws depend on this name.
    """

    user_ids_: NDArray[Any]

    @abstractmethod
    def fit(self, reference: Traces) -> Self:
        """Learn the profile of every user."""

    @abstractmethod
    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Match:
        """Return the user of each pseudonym."""

    def with_detected_mechanism(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Matcher:
        """Return the matcher to use for a release: this one, or one with the defence that it detects.

        Equal matchers can share one match.
        """
        return self


def require_users(reference: Traces | GpsTraces) -> None:
    """Refuse reference traces of nobody."""
    if not reference.n_users:
        raise DataError("the reference traces have no users")


class MatchingAttack(ABC):
    """What both kinds of matching attacks share: a matcher, fitted once."""

    matcher_: Matcher

    @abstractmethod
    def make_matcher(self) -> Matcher:
        """Return the matcher, not yet fitted."""

    def fit(self, reference: Traces) -> Self:
        """Fit the matcher to the reference traces of all users."""
        require_kind(self, reference, Traces)
        return self.use(self.make_matcher().fit(reference))

    def use(self, matcher: Matcher) -> Self:
        """Take a matcher that is already fitted, perhaps by another attack."""
        self.matcher_ = matcher
        return self


class MatchingIdentification(MatchingAttack, ReidentificationAttack):
    """Re-identification by the best user of each pseudonym."""

    def identify(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> IdTable:
        """Return the inferred ID table."""
        require_fitted(self, "matcher_")
        require_kind(self, anonymized, ObfuscatedTraces)
        return self.identify_from(self.matcher_.match(anonymized, seed=seed), anonymized)

    def identify_from(self, match: Match, anonymized: ObfuscatedTraces) -> IdTable:
        """Return the inferred ID table for an existing match."""
        return IdTable(anonymized.user_ids, self.matcher_.user_ids_[match.best])

    def rank_from(self, match: Match) -> Ints:
        """Return the candidates for each pseudonym, the answer first (as in `Match.ranking`)."""
        return match.ranking


class MatchingInference(MatchingAttack, TraceInferenceAttack):
    """Trace inference by giving each user the trace of one pseudonym."""

    def infer(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return one place for every user and instant."""
        require_fitted(self, "matcher_")
        require_kind(self, anonymized, ObfuscatedTraces)
        root = seed_sequence(seed)
        match = self.matcher_.match(anonymized, seed=child_seed(root, 0))
        return self.infer_from(match, anonymized, seed=child_seed(root, 1))

    def infer_from(self, match: Match, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the inferred traces for an existing match."""
        user_ids = self.matcher_.user_ids_
        table = undo_obfuscation(anonymized, match.exclusive, len(user_ids), seed=seed)
        return build_answer(table, anonymized, user_ids)


def build_answer(table: NDArray[Any], anonymized: ObfuscatedTraces, user_ids: NDArray[Any]) -> Traces:
    """Return a users × instants table of places as traces over the instants of the release."""
    places, clock, first = anonymized.places, anonymized.clock, anonymized.span[0]
    return Traces.from_dense(table, places, clock, user_ids=user_ids, first_instant=first)


def choose_greedily(
    n_pseudonyms: int, n_users: int, score: Callable[[int, Floats], None], *, tie: float = TIE
) -> GreedyMatch:
    """Score every user for every pseudonym, a block of pseudonyms at a time, and choose.

    Parameters
    ----------
    score
        ``score(first, scores)`` adds to ``scores[k, u]`` how well user ``u`` fits pseudonym
        ``first + k``; more is better. Called from several threads.
    tie
        Users whose scores differ by no more are tied, and the first of them wins; so the answer
        depends neither on the order of events nor on rounding.
    """
    from tracearena.attacks._kernels import choose_best, choose_exclusively, choose_several

    taken = np.zeros(n_users, np.bool_)
    best = np.zeros(n_pseudonyms, np.int64)
    exclusive = np.full(n_pseudonyms, NOBODY, np.int64)
    ranked = np.full((n_pseudonyms, LISTED), NOBODY, np.int64)
    for start, end in block_ranges(n_pseudonyms, _ROWS_AT_ONCE):
        scores = np.zeros((end - start, n_users))
        score_rows = partial(_score_rows, score, start, scores)
        run_blocks(score_rows, block_ranges(end - start, _ROWS_PER_BLOCK))
        choose_best(scores, tie, best[start:end])
        choose_exclusively(scores, tie, taken, exclusive[start:end])
        choose_several(scores, best[start:end], ranked[start:end])
    return GreedyMatch(best, exclusive, ranked)


def _score_rows(
    score: Callable[[int, Floats], None], start: int, scores: Floats, block: int, first: int, stop: int
) -> None:
    score(start + first, scores[first:stop])


def undo_obfuscation(
    anonymized: ObfuscatedTraces, user_of: Ints, n_users: int, *, seed: SeedLike = None
) -> Ints32:
    """Guess the true place at every instant of every user from the trace given to her.

    A single place is taken as it is, a set answers one of its places at random, and a deleted or
    missing event any place at random ([contest] section 4.1, VisitProb-T).

    Returns
    -------
    Users × instants table of place indices.
    """
    shape = n_users, anonymized.n_instants
    chance = uniforms(seed_sequence(seed), n_users * anonymized.n_instants).reshape(shape)
    table = (chance * len(anonymized.places)).astype(np.int32)
    owner = user_of[anonymized.user_index]
    known = np.flatnonzero((owner != NOBODY) & ~anonymized.is_deleted)
    cell = owner[known], anonymized.instants[known] - anonymized.span[0]
    places = anonymized.codes[known].copy()
    generalised = anonymized.is_set[known]
    if generalised.any():
        chosen = anonymized.set_index[known[generalised]]
        member = (chance[cell][generalised] * anonymized.sets.sizes[chosen]).astype(np.int64)
        places[generalised] = anonymized.sets.members[anonymized.sets.offsets[chosen] + member]
    table[cell] = places
    return table


def check_places(reference: Traces, anonymized: ObfuscatedTraces) -> None:
    """Refuse to compare traces over different places."""
    if len(reference.places) != len(anonymized.places):
        raise DataError(
            f"the reference traces have {len(reference.places):,} places, but the anonymized ones "
            f"have {len(anonymized.places):,}: they must have the same"
        )
