"""Claim: Tracking-T gives the answers of a dense forward-backward pass in NumPy, in a fraction of the time.

    bench_tracking.py [USERS] [DEFENCE]

Follows the traces of some people of the city (4 days, each user her own) with the beam off and on, and
beside it by products with the full matrix of steps. Prints CPU seconds, their ratios, and how much the
answers differ: in expected score (relative, the worst instant), and in the share of instants.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian import channel as emissions
from tracearena.attacks.bayesian import tracking
from tracearena.attacks.bayesian._tracking_kernels import NEGLIGIBLE
from tracearena.attacks.bayesian.channel import ObservationAlphabet
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles, weigh_sensitive_places
from tracearena.cities import simulate
from tracearena.traces import ObfuscatedTraces

LIMIT_KM = 2.0
Floats = NDArray[np.float64]


def main(users: int, name: str) -> None:
    """Follow the same traces in both ways."""
    reference, original = simulate(users, 8, seed=1).split_days(4)
    release = catalogue.create(name, "obfuscator").transform(original, seed=2)
    symbols, (said,) = ObservationAlphabet.of([release])
    emission = emissions.derive_channel(catalogue.create(name), symbols, reference.places)
    assert emission is not None
    around = Neighbourhoods.of(reference.places, LIMIT_KM, most=len(reference.places))
    habits, movement = TimeProfiles.of(reference, around), tracking.PopulationMovement.of(reference)
    worth = weigh_sensitive_places(reference, 10.0)
    followed = tracking.CandidateTraces(np.arange(users + 1), np.arange(users), np.ones(users))

    def ours(beam: float, ignored: float) -> NDArray[np.int32]:
        return tracking.infer_places(
            release, said, emission, habits, around, movement, followed, worth, LIMIT_KM,
            share=tracking.SHARE, beam=beam, ignored=ignored,
        )  # fmt: skip

    ours(0.0, 0.0)
    spent = {}
    answers = {}
    for label, options in (("beam off", (0.0, 0.0)), ("beam on", (tracking.BEAM, tracking.IGNORED))):
        started = time.process_time()
        answers[label] = ours(*options)
        spent[label] = time.process_time() - started
    started = time.process_time()
    gains = dense_gains(release, said, emission, habits, movement, worth)
    spent["dense"] = time.process_time() - started
    print(f"{users} users × {release.n_instants} instants, {len(reference.places)} places, {name}, CPU time")
    for label, found in answers.items():
        taken = np.take_along_axis(gains, found[:, :, None], axis=2)[:, :, 0]
        lost = float((1 - taken / gains.max(axis=2)).max())
        other = float((found != gains.argmax(axis=2)).mean())
        print(
            f"{label}: {spent[label]:.2f} s, dense {spent['dense']:.2f} s, "
            f"ratio {spent['dense'] / spent[label]:.1f}; other answers {other:.5f}, lost at most {lost:.2e}"
        )


def dense_gains(
    release: ObfuscatedTraces, said: NDArray[np.int32], emission: emissions.Channel, habits: TimeProfiles,
    movement: tracking.PopulationMovement, worth: Floats,
) -> Floats:  # fmt: skip
    """Return users × instants × places: what each answer is worth after passes over whole matrices."""

    m, length = habits.population.shape
    table = np.repeat(np.where(emission.floor > NEGLIGIBLE, emission.floor, 0.0)[:, None], m, axis=1)
    symbol = np.repeat(np.arange(len(emission.floor)), np.diff(emission.offsets))
    listed = np.where(emission.floor > NEGLIGIBLE, 0.0, emission.floor)[symbol]
    table[symbol, emission.places] += emission.values + listed
    steps = np.zeros((m, m))
    steps[np.repeat(np.arange(m), np.diff(movement.offsets)), movement.targets] = movement.values
    distance = np.array([release.places.distance_km(np.full(m, x), np.arange(m)) for x in range(m)])
    worths = worth[:, None] * np.maximum(1 - distance / LIMIT_KM, 0)
    rows = said.reshape(release.n_users, -1)
    gains = np.empty((release.n_users, rows.shape[1], m))
    for user in range(release.n_users):
        profile = habits.user_profile(user)
        for start in range(0, rows.shape[1], length):
            symbols = rows[user, start : start + length]
            likely = np.where((symbols >= 0)[:, None], table[symbols], 1.0)
            belief = smoothed(likely, profile, habits.population, steps, movement.rest, tracking.SHARE)
            q = (1 - tracking.DOUBT) * belief + tracking.DOUBT * profile.T[: len(symbols)]
            gains[user, start : start + length] = q @ worths
    return gains


def smoothed(
    likely: Floats, profile: Floats, population: Floats, steps: Floats, rest: Floats, share: float
) -> Floats:
    """Return instants × places: where one was, given everything that was said on that day."""
    ahead, back = np.empty_like(likely), np.ones_like(likely)
    for t in range(len(likely)):
        if t == 0:
            expected = profile[:, 0]
        else:
            moved = ahead[t - 1] @ steps + (ahead[t - 1] @ rest) * population[:, t]
            expected = (1 - share) * profile[:, t] + share * moved
        ahead[t] = expected * likely[t]
        ahead[t] /= ahead[t].sum()
    for t in range(len(likely) - 2, -1, -1):
        later = likely[t + 1] * back[t + 1]
        moved = steps @ later + rest * (population[:, t + 1] @ later)
        back[t] = (1 - share) * (profile[:, t + 1] @ later) + share * moved
        back[t] /= back[t].max()
    belief = ahead * back
    return np.asarray(belief / belief.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, sys.argv[2] if len(sys.argv) > 2 else "PL(4,1)")
