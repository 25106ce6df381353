"""Attacks tuned on sample teams that were released under the very defence they will meet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracearena.algorithms import Obfuscator, validation
from tracearena.arena.ensemble import Ensemble
from tracearena.arena.pseudonyms import Release, pseudonymise
from tracearena.arena.scoring import Scoring
from tracearena.arena.sharing import Attack
from tracearena.arena.sweep_rows import TunedScores
from tracearena.arena.tuning import SampleTeam, Tuning, tune
from tracearena.engine import SeedLike, child_seed, seed_sequence
from tracearena.errors import ParameterError
from tracearena.traces import Traces

Sample = tuple[Traces, Traces]
"""Reference and original traces of people whom everybody knows all about."""

MOST_USERS = 500
"""Of a larger sample team so many people are tuned on."""


def halves_of(reference: Traces) -> Sample:
    """Return the first and the last days of the reference: a sample team that every attacker has.

    >>> from tracearena.cities import simulate
    >>> [half.n_instants for half in halves_of(simulate(users=5, days=4, seed=1))]
    [96, 96]
    """
    days = -(-reference.n_instants // reference.clock.instants_per_day)
    if days < 2:
        raise ParameterError("one day of reference traces cannot be cut in two to tune on: give sample teams")
    first, last = reference.split_days(days // 2)
    return first, last


def tuned_against(samples: Sequence[Sample], defence: Obfuscator, *, seed: SeedLike = None) -> Tuning:
    """Release sample teams under a defence and tune the attacks on them."""
    root = seed_sequence(seed)
    teams = []
    for number, sample in enumerate(samples):
        some = np.arange(min(sample[1].n_users, MOST_USERS))
        reference, original = (half.take_users(some) for half in sample)
        own = child_seed(root, number)
        released = validation.transformed(defence, original, seed=child_seed(own, 0))
        release = pseudonymise(released, seed=child_seed(own, 1))
        teams.append(SampleTeam(reference, original, release.anonymized, release.id_table))
    return tune(teams, seed=child_seed(root, len(teams)))


def tuned_scores(
    samples: Sequence[Sample],
    defence: Obfuscator,
    reference: Traces,
    original: Traces,
    release: Release,
    limits: Scoring,
    *,
    seed: SeedLike = None,
) -> TunedScores:
    """Tune on the sample teams, attack the release, and say what is left."""
    root = seed_sequence(seed)
    found = tuned_against(samples, defence, seed=child_seed(root, 0))
    best: list[Attack] = [found.reidentification, found.trace_inference]
    scores = (
        Ensemble(best, **limits.of_attackers)
        .fit(reference)
        .score(original, release, defence=defence, seed=child_seed(root, 1))
    )
    s_R, s_T = scores.minima
    return TunedScores(str(best[0]), str(best[1]), s_R, s_T)
