"""Synthetic traces against attackers who know the training traces, and who know other days only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.arena.pseudonyms import pseudonymise
from tracearena.attacks.synthetic import MarkovIdentification, MembershipInference
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.metrics import reidentification_score
from tracearena.results import Result
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import comparable

ATTACKS = ("VisitProb-R", "Bayes-R")
"""Attacks on all traces of a synthetic user together, beside the paper's on each trace."""


@dataclass(frozen=True)
class SyntheticRisk(Result):
    """What attackers with certain knowledge make of synthetic traces.

    Attributes
    ----------
    reidentification_rate
        Share of the synthetic traces whose user is found by the paper's Markov attack.
    linked
        Share of the synthetic users who are found from all their traces together, by attack.
    membership_advantage
        How well members are told from others; None if nothing is known of others.
    guess
        What a guess finds: 1 / users.
    """

    reidentification_rate: float
    linked: dict[str, float]
    membership_advantage: float | None
    guess: float


def attack_synthetic(
    synthetic: Traces,
    known: Traces,
    others: Traces | None = None,
    *,
    attacks: tuple[str, ...] = ATTACKS,
    seed: SeedLike = None,
) -> SyntheticRisk:
    """Attack synthetic traces with some knowledge of the people they were made from.

    Parameters
    ----------
    synthetic
        Traces under the ids of the training users.
    known
        What the attacker knows of these users, under the same ids: the training traces themselves (maximum
        knowledge, the attacker of [ppmtf]), or traces of other days (partial knowledge, as in a contest).
    others
        The same of people who were not in the training data.
    attacks
        Names of re-identification attacks on all traces of a synthetic user.

    Examples
    --------
    >>> from tracearena.cities import simulate
    >>> from tracearena.synthesis import SGD
    >>> before, training = simulate(users=30, days=4, seed=1).split_days(2)
    >>> made = SGD().fit(training).synthesize(2, seed=1)
    >>> attack_synthetic(made, before, attacks=("VisitProb-R",), seed=1).guess == 1 / 30
    True
    """
    own = np.isin(*comparable(synthetic.user_ids, known.user_ids))
    if not own.all():
        raise DataError("the attacker knows nothing of some users of the synthetic traces: other ids")
    root = seed_sequence(seed)
    released = pseudonymise(ObfuscatedTraces.unchanged(synthetic), seed=child_seed(root, 0))
    linked = {}
    for number, name in enumerate(attacks):
        attack = catalogue.create(name, "reidentification").fit(known)
        guess = attack.identify(released.anonymized, seed=child_seed(root, 1, number))
        linked[name] = 1 - reidentification_score(released.id_table, guess).reidentification
    advantage = None
    if others is not None:
        advantage = MembershipInference().fit(known, others).evaluate(synthetic).advantage
    return SyntheticRisk(
        MarkovIdentification().fit(known).rate(synthetic), linked, advantage, 1 / max(known.n_users, 1)
    )
