"""Model selection: which defence of whole traces made a release, by the total variation of signatures.

A signature is a list of histograms that do not depend on who is who. If a known defence makes the reference
look more like the release than the estimated channel E(y|x) does, the attacker takes it for the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import Obfuscator
from tracearena.attacks.base import Floats, Ints
from tracearena.attacks.bayesian.likelihoods import ObservationCounts
from tracearena.attacks.bayesian.simulated_release import SimulatedRelease, build_release
from tracearena.engine import SeedLike, generator, one_library_thread
from tracearena.traces import ObfuscatedTraces, Traces

DETECTABLE_DEFENCES = ("ClusterAveraging(0.7,blur_km=0.5)", "Decoy(0.7)", "Impostor(0.7)")
"""Known defences of whole traces."""
THRESHOLDS = (0.6, 0.8, 0.9)
"""Other utilities that they may keep."""
FEWEST_USERS, FEWEST_EVENTS = 100, 5_000
"""With fewer of either, signatures tell too little to detect a defence."""
ALIKE = 0.25
"""No defence is detected where the estimated channel gives a signature that differs by less."""
MOST_USERS = 400
"""Of more users a sample of this size is compared."""

_STEPS_KM = (1e-6, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
_OVERLAPS = np.linspace(0, 1, 11)
_MOST_OFTEN = 8


def detect_mechanism(
    reference: Traces, anonymized: ObfuscatedTraces, estimated: SimulatedRelease, seed: SeedLike
) -> Obfuscator | None:
    """Return the defence of whole traces that a release looks like; None if events look independent."""
    enough = min(reference.n_users, anonymized.n_users) >= FEWEST_USERS
    if not enough or min(reference.n_events, anonymized.n_events) < FEWEST_EVENTS or anonymized.is_set.any():
        return None
    rng = generator(seed)
    people, traces = _sample_rows(reference.n_users, rng), _sample_rows(anonymized.n_users, rng)
    known, seen = reference.take_users(people), compute_signature(anonymized.take_users(traces))
    drawn = build_release(reference, estimated.rehearsed[0], estimated.symbols).take_users(people)
    least = measure_difference(seen, compute_signature(drawn))
    best = _find_most_similar(DETECTABLE_DEFENCES, known, seen, least) if least > ALIKE else None
    if best is None:
        return None
    found, least = best
    others = [str(replace(found, threshold=threshold)) for threshold in THRESHOLDS]  # type: ignore[type-var]
    nearer = _find_most_similar(others, known, seen, least)
    return found if nearer is None else nearer[0]


def _find_most_similar(
    names: Iterable[str], known: Traces, seen: list[Floats], least: float
) -> tuple[Obfuscator, float] | None:
    """Return the defence that makes known traces most like those seen, if they are nearer than `least`."""
    found = None
    for name in names:
        defence: Obfuscator = catalogue.create(name, "obfuscator")
        # One seed for all: the draws make no difference to the signature.
        difference = measure_difference(seen, compute_signature(defence.transform(known, seed=0)))
        if difference < least:
            found, least = (defence, difference), difference
    return found


def _sample_rows(count: int, rng: np.random.Generator) -> Ints:
    return np.sort(rng.choice(count, min(count, MOST_USERS), replace=False))


def measure_difference(one: list[Floats], other: list[Floats]) -> float:
    """Return how much two signatures differ: the sum of their total variations."""
    return float(sum(np.abs(a - b).sum() / 2 for a, b in zip(one, other, strict=True)))


def compute_signature(release: ObfuscatedTraces) -> list[Floats]:
    """Return histograms of a release, as shares, that do not depend on who is who.

    How often each place is released; how often a trace has the same place, in powers of two; how far it is
    from one event of a day to the next; and how much each trace has in common with the most similar one.
    """
    said = release.codes
    is_single = said >= 0
    bags = ObservationCounts.of(
        release.user_index, np.where(is_single, said, -1), release.n_users, len(release.places)
    )
    day = release.clock.day_of(release.instants)
    joined = (np.diff(release.user_index) == 0) & (np.diff(day) == 0) & is_single[1:] & is_single[:-1]
    distance = release.places.distance_km(said[:-1][joined], said[1:][joined])
    often = np.minimum(np.log2(bags.counts), _MOST_OFTEN).astype(np.int64)
    return [
        _normalise_counts(np.bincount(said[is_single], minlength=len(release.places))),
        _normalise_counts(np.bincount(often, bags.counts, _MOST_OFTEN + 1)),
        _normalise_counts(np.bincount(np.searchsorted(_STEPS_KM, distance), minlength=len(_STEPS_KM) + 1)),
        _normalise_counts(np.histogram(_compute_overlaps(bags, len(release.places)), _OVERLAPS)[0]),
    ]


def _normalise_counts(counts: Ints | Floats) -> Floats:
    return np.asarray(counts / max(counts.sum(), 1))


def _compute_overlaps(bags: ObservationCounts, n_places: int) -> Floats:
    """Return Σ_y √(p(y) q(y)) of each trace and the one that has most in common with it, from 0 to 1."""
    from scipy.sparse import csr_array

    n = len(bags.offsets) - 1
    share = bags.counts / np.repeat(np.maximum(bags.totals, 1), np.diff(bags.offsets))
    table = csr_array((np.sqrt(share), bags.symbols, bags.offsets), shape=(n, n_places))
    with one_library_thread():
        common = (table @ table.T).toarray()
    np.fill_diagonal(common, 0)
    return np.asarray(np.minimum(common.max(axis=1, initial=0), 1))
