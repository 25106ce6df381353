"""Attackers with maximum and partial knowledge.

`attack_synthetic` attacks synthetic traces with either; the other functions define what an attacker of a
sweep knows, and which attacks are then possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.arena.ensemble import KNOWING_ATTACKS
from tracearena.arena.pseudonyms import pseudonymise
from tracearena.attacks.synthetic import MembershipInference, SyntheticIdentification
from tracearena.checks import require_choice
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import DataError, ParameterError
from tracearena.metrics import reidentification_score
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import to_comparable_ids

ATTACKS = ("VisitProb-R", "Bayes-R")
"""Attacks on all traces of a synthetic user together, besides the paper's on each trace."""


@dataclass(frozen=True)
class SyntheticRisk(Result):
    """Results of attackers with certain knowledge on synthetic traces.

    Attributes
    ----------
    reidentification_rate
        Share of the synthetic traces whose user is found by the paper's Markov attack.
    linked
        By attack, the share of the synthetic users who are identified from all their traces together.
    membership_advantage
        Membership advantage: true-positive rate minus false-positive rate. None without `others`.
    guess
        Success rate of guessing: 1 / users.
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
    own = np.isin(*to_comparable_ids(synthetic.user_ids, known.user_ids))
    if not own.all():
        raise DataError(
            "some users of the synthetic traces are not in the traces that the "
            "attacker knows: their ids differ"
        )
    root = seed_sequence(seed)
    released = pseudonymise(ObfuscatedTraces.from_traces(synthetic), seed=child_seed(root, 0))
    linked = {}
    for number, name in enumerate(attacks):
        attack = catalogue.create(name, "reidentification").fit(known)
        guess = attack.identify(released.anonymized, seed=child_seed(root, 1, number))
        linked[name] = 1 - reidentification_score(released.id_table, guess).reidentification
    advantage = None
    if others is not None:
        advantage = MembershipInference().fit(known, others).evaluate(synthetic).advantage
    return SyntheticRisk(
        SyntheticIdentification().fit(known).rate(synthetic), linked, advantage, 1 / max(known.n_users, 1)
    )


# What an attacker knows besides the release.

Knowledge = Literal["partial", "maximum"]
"""``partial``: the reference traces; ``maximum``: the original traces themselves ([contest] section 3.2)."""


def select_known_traces(knowledge: Knowledge, reference: Traces, original: Traces) -> Traces:
    """Return the traces that an attacker learns from."""
    require_choice("knowledge", knowledge, get_args(Knowledge))
    return original if knowledge == "maximum" else reference


def select_attacks(knowledge: Knowledge, names: Sequence[str]) -> list[str]:
    """Return the attacks that are made: an attacker who knows the originals can only re-identify.

    With maximum knowledge `Aligned-R`, made for it, is always among them.

    [contest] section 3.2, remark 3: "we cannot evaluate the attribute inference risk in the
    maximum-knowledge attacker model".

    >>> select_attacks("maximum", ["VisitProb-R", "VisitProb-T"])
    ['VisitProb-R', 'Aligned-R']
    """
    if knowledge == "partial":
        return list(names)
    kept = [name for name in names if catalogue.resolve(name)[0].kind == "reidentification"]
    if not kept:
        raise ParameterError(
            f"{', '.join(names)}: an attacker who knows the original traces has nothing to infer; "
            "use a re-identification, such as VisitProb-R"
        )
    return list(dict.fromkeys([*kept, *KNOWING_ATTACKS]))
