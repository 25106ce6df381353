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
from tracearena.attacks.bayesian import simulated_release
from tracearena.attacks.bayesian.channel import ObservationAlphabet
from tracearena.attacks.bayesian.likelihoods import SHARE, WEIGHT, ObservationSteps
from tracearena.attacks.bayesian.pair_evidence import Evidence
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.traces import ObfuscatedTraces, Traces

Step = tuple[int, int, int]


def slow_steps(traces: Traces | ObfuscatedTraces, said: NDArray[np.int32]) -> list[list[Step]]:
    """Return (before or -1, now, time of day) of each event that says something."""
    clock = traces.clock
    steps: list[list[Step]] = [[] for _ in range(traces.n_users)]
    last: dict[int, tuple[int, int]] = {}
    for user, instant, symbol in zip(traces.user_index, traces.instants, said, strict=True):
        if symbol < 0:
            continue
        before, its = last.get(user, (-9, -1))
        joined = instant - before == 1 and clock.day_of(instant) == clock.day_of(before)
        steps[user].append((its if joined else -1, int(symbol), int(clock.time_of_day(instant))))
        last[user] = instant, int(symbol)
    return steps


def slow_scores(
    rows: list[list[Step]],
    users: list[list[Step]],
    everybody: list[list[Step]],
    profiles: list[NDArray[np.float64]],
    population: NDArray[np.float64],
    symbols: ObservationAlphabet,
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
                members = symbols.members[symbols.offsets[y] : symbols.offsets[y + 1]]
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
    made = simulated_release.simulate_mechanism(catalogue.create(defence), reference, anonymized, 1)
    around = Neighbourhoods.of(reference.places, 2.0)
    habits = TimeProfiles.of(reference, around)
    evidence = Evidence(reference, anonymized, made, around, habits)
    known, seen = slow_steps(reference, made.rehearsed[0]), slow_steps(anonymized, made.said)
    turned = TimeProfiles.of(anonymized, around)
    forth = slow_scores(
        seen, known, known, [habits.user_profile(u) for u in range(5)], habits.population, made.symbols
    )
    back = slow_scores(
        known, seen, known, [turned.user_profile(p) for p in range(4)], turned.population, made.symbols
    )
    expected = forth + back.T
    assert evidence.markov.reshape(4, 5) == pytest.approx(expected, abs=1e-9)


def test_a_gap_a_deletion_and_midnight_break_the_chain(make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=3, days=2, missing=0.3)
    said = walks.place_index.copy()
    said[::7] = -1
    steps = ObservationSteps.of(walks.user_index, walks.instants, said, walks.clock, walks.n_users)
    found = [
        list(zip(*(column[a:b].tolist() for column in steps[1:]), strict=True))
        for a, b in zip(steps.offsets[:-1], steps.offsets[1:], strict=True)
    ]
    assert found == slow_steps(walks, said)
    assert any(x < 0 for x, _, _ in found[0][1:])
