"""The attacker who is told everything but the places: the defence, and the table of who is who."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import Obfuscator
from tracearena.arena.losses import Losses
from tracearena.arena.pseudonyms import Release
from tracearena.arena.scoring import Scoring
from tracearena.attacks.bayesian.attacks import BayesInference, HabitsInference, TrackingInference
from tracearena.attacks.bayesian.candidates import Pairs
from tracearena.attacks.bayesian.matcher import ADAPTIVE, BayesMatcher
from tracearena.attacks.bayesian.tracking import Followed
from tracearena.engine import SeedLike
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import positions

CEILING = HabitsInference.name
"""The attack that every defence has to stand, whatever it releases."""

_TRACES_AT_ONCE = 256


class ToldAttacker:
    """Infers traces as Bayes-T and Tracking-T do, where the matching is known to be true.

    What it leaves estimates the Bayes risk of an attacker who is told the table: how much a defence
    hides of the places themselves. It is no bound in the strict sense, because the attacker's belief
    (habits, steps, what the defence does) is a model.

    Parameters
    ----------
    scoring
        How answers are scored, which the attacker knows.
    """

    def __init__(self, scoring: Scoring) -> None:
        known: Any = scoring.of_attackers
        self.scoring = scoring
        self.attacks = (
            BayesInference(mechanism=ADAPTIVE, **known),
            TrackingInference(mechanism=ADAPTIVE, **known),
        )

    def fit(self, reference: Traces, original: Traces) -> Self:
        """Learn the habits of every user; the original traces score the answers."""
        matcher = self.attacks[0].matcher().fit(reference)
        for attack in self.attacks:
            attack.use(matcher)
        self.original_ = original
        self.habits_ = Losses.of(original, habits_alone(reference, original, self.scoring), self.scoring)
        return self

    def losses(self, release: Release, defence: Obfuscator, *, seed: SeedLike = None) -> Losses:
        """Return what the best of all ways to use what was told leaves; not to use it is one of them.

        Where a defence hands whole traces to others, the table of pseudonyms tells a lie. So the attacker is
        also told whose whereabouts most events of a trace are, where it is somebody else's.
        """
        told = [attack.against(defence) for attack in self.attacks]
        matcher = told[0].matcher_
        assert isinstance(matcher, BayesMatcher)
        match = matcher.match(release.anonymized, seed=seed)
        named = positions(release.id_table.user_ids, matcher.user_ids_)
        found = [self.habits_]
        for users in (named, self._carried(release, named)):
            if users is not None:
                followed = only_trace(users, len(matcher.user_ids_))
                made = (attack.answer(match.evidence, followed) for attack in told)
                found += [Losses.of(self.original_, traces, self.scoring) for traces in made]
        return min(found, key=lambda one: one.score)

    def _carried(self, release: Release, named: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return whose whereabouts each trace carries; None if that is what the table says."""
        whose = carried(release.anonymized, self.original_)
        known = self.attacks[0].matcher_.user_ids_
        users = np.where(whose >= 0, positions(self.original_.user_ids, known)[whose], named)
        return None if np.array_equal(users, named) else users


def carried(anonymized: ObfuscatedTraces, original: Traces) -> NDArray[np.int64]:
    """Return the user whose whereabouts most events of each trace are, -1 where there is none.

    >>> from tracearena.traces import Clock, Places
    >>> places = Places([0, 0.01, 0.02], [0, 0, 0], km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 1, 0], [2, 2, 2]], places, Clock(instants_per_day=3))
    >>> swapped = ObfuscatedTraces.like(original, np.array([2, 2, 0, 0, 1, 0]))
    >>> carried(swapped, original).tolist()
    [1, 0]
    """
    from scipy.sparse import csr_array

    m, first = len(original.places), original.span[0]
    shape = original.n_users, original.n_instants * m
    cell = (original.instants - first).astype(np.int64) * m + original.place_index
    ones = np.ones(original.n_events, np.float32)
    there = csr_array((ones, (original.user_index, cell)), shape=shape).T.tocsr()
    event, place, weight = anonymized.pairs()
    cell = (anonymized.instants[event] - first).astype(np.int64) * m + place
    owner = anonymized.user_index[event]
    # A set that holds the place agrees in full: how finely it was told is not the question here.
    said = csr_array((np.ones(len(weight), np.float32), (owner, cell)), shape=(anonymized.n_users, shape[1]))
    events = np.bincount(anonymized.user_index, minlength=anonymized.n_users)
    whose = np.full(anonymized.n_users, -1, np.int64)
    for start in range(0, anonymized.n_users, _TRACES_AT_ONCE):
        rows = slice(start, min(start + _TRACES_AT_ONCE, anonymized.n_users))
        agreed = (said[rows] @ there).toarray()
        best = agreed.argmax(axis=1)
        most = agreed[np.arange(len(best)), best] > events[rows] / 2
        whose[rows] = np.where(most, best, -1)
    return whose


def only_trace(users: NDArray[np.int64], n_users: int) -> Followed:
    """Return for each user the trace that is hers for certain; traces of nobody (-1) are left out."""
    pairs = Pairs.of(np.flatnonzero(users >= 0), users[users >= 0], len(users), n_users)
    offsets, order = pairs.by_user()
    return Followed(offsets, pairs.traces[order], np.ones(len(order)))


def habits_alone(reference: Traces, original: Traces, scoring: Scoring) -> Traces:
    """Return the answers of an attacker who does not read what is released of the original traces."""
    attack = HabitsInference(**scoring.of_attackers).fit(reference)
    return attack.infer(ObfuscatedTraces.unchanged(original))
