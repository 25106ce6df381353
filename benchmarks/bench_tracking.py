"""Claim: Tracking-T gives the answers of a dense forward-backward pass in NumPy, in a fraction of the time.

    bench_tracking.py [USERS] [DEFENCE]

Follows the traces of some people of the city (4 days, each user her own) with the beam off and on, and
beside it by products with the full matrix of steps. Prints CPU seconds, their ratios, and how much the
answers differ: in expected score (relative, the worst instant), and in the share of instants.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.attacks.bayesian import channel as channels
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
    alphabet, (observed,) = ObservationAlphabet.of([release])
    channel = channels.derive_channel(catalogue.create(name), alphabet, reference.places)
    assert channel is not None
    neighbourhoods = Neighbourhoods.of(reference.places, LIMIT_KM, most=len(reference.places))
    profiles, movement = TimeProfiles.of(reference, neighbourhoods), tracking.PopulationMovement.of(reference)
    worth = weigh_sensitive_places(reference, 10.0)
    followed = tracking.CandidateTraces(np.arange(users + 1), np.arange(users), np.ones(users))

    model = tracking.PlaceModel(channel, profiles, movement, neighbourhoods, worth, LIMIT_KM)

    def ours(beam: float, ignored: float) -> NDArray[np.int32]:
        settings = replace(tracking.SETTINGS, beam=beam, ignored_share=ignored)
        share = settings.transition_share
        return tracking.infer_places(release, observed, model, followed, share=share, settings=settings)

    ours(0.0, 0.0)
    spent = {}
    answers = {}
    for label, options in (
        ("beam off", (0.0, 0.0)),
        ("beam on", (tracking.SETTINGS.beam, tracking.SETTINGS.ignored_share)),
    ):
        started = time.process_time()
        answers[label] = ours(*options)
        spent[label] = time.process_time() - started
    started = time.process_time()
    gains = dense_gains(release, observed, channel, profiles, movement, worth)
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
    release: ObfuscatedTraces, observed: NDArray[np.int32], channel: channels.Channel, profiles: TimeProfiles,
    movement: tracking.PopulationMovement, worth: Floats,
) -> Floats:  # fmt: skip
    """Return users × instants × places: what each answer is worth after passes over whole matrices."""

    m, length = profiles.population.shape
    table = np.repeat(np.where(channel.floor > NEGLIGIBLE, channel.floor, 0.0)[:, None], m, axis=1)
    observation = np.repeat(np.arange(len(channel.floor)), np.diff(channel.offsets))
    listed = np.where(channel.floor > NEGLIGIBLE, 0.0, channel.floor)[observation]
    table[observation, channel.places] += channel.values + listed
    steps = np.zeros((m, m))
    steps[np.repeat(np.arange(m), np.diff(movement.offsets)), movement.targets] = movement.values
    distance = np.array([release.places.distance_km(np.full(m, x), np.arange(m)) for x in range(m)])
    worths = worth[:, None] * np.maximum(1 - distance / LIMIT_KM, 0)
    rows = observed.reshape(release.n_users, -1)
    gains = np.empty((release.n_users, rows.shape[1], m))
    for user in range(release.n_users):
        profile = profiles.user_profile(user)
        for start in range(0, rows.shape[1], length):
            observations = rows[user, start : start + length]
            likely = np.where((observations >= 0)[:, None], table[observations], 1.0)
            belief = smoothed(
                likely, profile, profiles.population, steps, movement.rest, tracking.SETTINGS.transition_share
            )
            q = (1 - tracking.SETTINGS.doubt) * belief + tracking.SETTINGS.doubt * profile.T[
                : len(observations)
            ]
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
