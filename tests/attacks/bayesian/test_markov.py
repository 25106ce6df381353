"""Where one goes from here, beside dictionaries that count every step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.attacks.bayesian.releases import DEFENCES, in_another_order, released

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian.channel import ObservationAlphabet, simulate_mechanism
from tracearena.attacks.bayesian.likelihoods import SETTINGS, Evidence, ObservationSteps
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.traces import ObfuscatedTraces, Traces

Step = tuple[int, int, int]
SHARE, WEIGHT = SETTINGS.transition_share, SETTINGS.transition_weight


def slow_steps(traces: Traces | ObfuscatedTraces, observed: NDArray[np.int32]) -> list[list[Step]]:
    """Return (before or -1, now, time of day) of each event that says something."""
    clock = traces.clock
    steps: list[list[Step]] = [[] for _ in range(traces.n_users)]
    last: dict[int, tuple[int, int]] = {}
    for user, instant, observation in zip(traces.user_index, traces.instants, observed, strict=True):
        if observation < 0:
            continue
        before, its = last.get(user, (-9, -1))
        joined = instant - before == 1 and clock.day_of(instant) == clock.day_of(before)
        steps[user].append((its if joined else -1, int(observation), int(clock.time_of_day(instant))))
        last[user] = instant, int(observation)
    return steps


def slow_scores(
    rows: list[list[Step]],
    users: list[list[Step]],
    everybody: list[list[Step]],
    profiles: list[NDArray[np.float64]],
    population: NDArray[np.float64],
    alphabet: ObservationAlphabet,
) -> NDArray[np.float64]:
    """Return rows × users of Σ log P_u(y|x,t) / P(y|x,t)."""
    moves = Counter((x, y) for steps in everybody for x, y, _ in steps if x >= 0)
    leaving = Counter(x for steps in everybody for x, _, _ in steps if x >= 0)
    scores = np.zeros((len(rows), len(users)))
    for u, steps in enumerate(users):
        own = Counter((x, y) for x, y, _ in steps if x >= 0)
        own_leaving = Counter(x for x, _, _ in steps if x >= 0)
        for p, row in enumerate(rows):
            for x, y, t in row:
                members = alphabet.members[alphabet.offsets[y] : alphabet.offsets[y + 1]]
                here, anybody = profiles[u][members, t].sum(), population[members, t].sum()
                if x < 0:
                    scores[p, u] += math.log(here / anybody)
                    continue
                q = moves[x, y] / leaving[x] if leaving[x] else 0.0
                expected = (1 - SHARE) * here + SHARE * q
                found = (own[x, y] + WEIGHT * expected) / (own_leaving[x] + WEIGHT)
                scores[p, u] += math.log(found / ((1 - SHARE) * anybody + SHARE * q))
    return scores


@pytest.mark.parametrize("defence", DEFENCES)
def test_steps_speak_for_a_user_in_both_directions(make_walks: Callable[..., Traces], defence: str) -> None:
    reference, original = make_walks(users=5, days=4, side=4, missing=0.15).split_days(2)
    anonymized, _ = in_another_order(released(original, defence))
    anonymized = anonymized.take_users(np.arange(4))
    made = simulate_mechanism(catalogue.create(defence), reference, anonymized, 1)
    neighbourhoods = Neighbourhoods.of(reference.places, 2.0)
    profiles = TimeProfiles.of(reference, neighbourhoods)
    evidence = Evidence(reference, anonymized, made, neighbourhoods, profiles)
    known, seen = slow_steps(reference, made.runs[0]), slow_steps(anonymized, made.released)
    turned = TimeProfiles.of(anonymized, neighbourhoods)
    forth = slow_scores(
        seen, known, known, [profiles.user_profile(u) for u in range(5)], profiles.population, made.alphabet
    )
    back = slow_scores(
        known, seen, known, [turned.user_profile(p) for p in range(4)], turned.population, made.alphabet
    )
    expected = forth + back.T
    assert evidence("markov").reshape(4, 5) == pytest.approx(expected, abs=1e-9)


def test_a_gap_a_deletion_and_midnight_break_the_chain(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=3, days=2, missing=0.3)
    observed = walks.place_index.copy()
    observed[::7] = -1
    steps = ObservationSteps.of(walks.user_index, walks.instants, observed, walks.clock, walks.n_users)
    found = [
        list(zip(*(column[a:b].tolist() for column in steps[1:]), strict=True))
        for a, b in zip(steps.offsets[:-1], steps.offsets[1:], strict=True)
    ]
    assert found == slow_steps(walks, observed)
    assert any(x < 0 for x, _, _ in found[0][1:])
