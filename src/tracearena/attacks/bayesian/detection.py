"""Model selection: which defence of whole traces made a release, by the total variation of signatures.

A signature is a list of histograms that do not depend on true identities. If a known defence makes the
reference look more like the release than the estimated channel E(y|x) does, the attacker takes it for the
mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tracearena.algorithms import catalogue
from tracearena.algorithms.base import Obfuscator
from tracearena.attacks.base import Floats, Ints
from tracearena.attacks.bayesian.channel import SimulatedRelease, build_release
from tracearena.attacks.bayesian.likelihoods import ObservationCounts
from tracearena.engine import SeedLike, generator, one_library_thread
from tracearena.traces import ObfuscatedTraces, Traces


@dataclass(frozen=True)
class DetectionSettings:
    """When a defence is detected, and which ones are tried."""

    defences: tuple[str, ...] = ("ClusterAveraging(0.7,blur_km=0.5)", "Decoy(0.7)", "Impostor(0.7)")
    """The known defences of whole traces."""
    thresholds: tuple[float, ...] = (0.6, 0.8, 0.9)
    """Other utilities that they may keep. Chosen by hand, not tuned."""
    min_users: int = 100
    """With fewer users signatures tell too little. Chosen by hand, not tuned."""
    min_events: int = 5_000
    """With fewer events signatures tell too little. Chosen by hand, not tuned."""
    min_difference: float = 0.25
    """No defence is tried where the estimated channel gives a signature that differs by less. Chosen by
    hand, not tuned."""
    max_users: int = 400
    """Of more users a sample of this size is compared. Chosen by hand, not tuned."""
    step_edges_km: tuple[float, ...] = (1e-6, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
    """Bins of the distance between successive events. Chosen by hand, not tuned."""
    max_log_count: int = 8
    """Largest bin of log₂ of how often a trace has the same place. Chosen by hand, not tuned."""


SETTINGS = DetectionSettings()


_OVERLAPS = np.linspace(0, 1, 11)


def detect_mechanism(
    reference: Traces, anonymized: ObfuscatedTraces, estimated: SimulatedRelease, seed: SeedLike
) -> Obfuscator | None:
    """Return the defence of whole traces that a release looks like; None if events look independent."""
    enough = min(reference.n_users, anonymized.n_users) >= SETTINGS.min_users
    if (
        not enough
        or min(reference.n_events, anonymized.n_events) < SETTINGS.min_events
        or anonymized.is_set.any()
    ):
        return None
    rng = generator(seed)
    people, traces = _sample_rows(reference.n_users, rng), _sample_rows(anonymized.n_users, rng)
    known, seen = reference.take_users(people), compute_signature(anonymized.take_users(traces))
    drawn = build_release(reference, estimated.runs[0], estimated.alphabet).take_users(people)
    least = measure_difference(seen, compute_signature(drawn))
    best = (
        _find_most_similar(SETTINGS.defences, known, seen, least) if least > SETTINGS.min_difference else None
    )
    if best is None:
        return None
    found, least = best
    others = [str(replace(found, threshold=threshold)) for threshold in SETTINGS.thresholds]  # type: ignore[type-var]
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
    return np.sort(rng.choice(count, min(count, SETTINGS.max_users), replace=False))


def measure_difference(one: list[Floats], other: list[Floats]) -> float:
    """Return how much two signatures differ: the sum of their total variations."""
    return float(sum(np.abs(a - b).sum() / 2 for a, b in zip(one, other, strict=True)))


def compute_signature(release: ObfuscatedTraces) -> list[Floats]:
    """Return histograms of a release, as shares, that do not depend on true identities.

    How often each place is released; how often a trace has the same place, in powers of two; how far it is
    from one event of a day to the next; and how much each trace has in common with the most similar one.
    """
    observed = release.codes
    is_single = observed >= 0
    trace_counts = ObservationCounts.of(
        release.user_index, np.where(is_single, observed, -1), release.n_users, len(release.places)
    )
    day = release.clock.day_of(release.instants)
    joined = (np.diff(release.user_index) == 0) & (np.diff(day) == 0) & is_single[1:] & is_single[:-1]
    distance = release.places.distance_km(observed[:-1][joined], observed[1:][joined])
    often = np.minimum(np.log2(trace_counts.counts), SETTINGS.max_log_count).astype(np.int64)
    return [
        _normalise_counts(np.bincount(observed[is_single], minlength=len(release.places))),
        _normalise_counts(np.bincount(often, trace_counts.counts, SETTINGS.max_log_count + 1)),
        _normalise_counts(
            np.bincount(
                np.searchsorted(SETTINGS.step_edges_km, distance), minlength=len(SETTINGS.step_edges_km) + 1
            )
        ),
        _normalise_counts(np.histogram(_compute_overlaps(trace_counts, len(release.places)), _OVERLAPS)[0]),
    ]


def _normalise_counts(counts: Ints | Floats) -> Floats:
    return np.asarray(counts / max(counts.sum(), 1))


def _compute_overlaps(trace_counts: ObservationCounts, n_places: int) -> Floats:
    """Return Σ_y √(p(y) q(y)) of each trace and the one that has most in common with it, from 0 to 1."""
    from scipy.sparse import csr_array

    n = len(trace_counts.offsets) - 1
    share = trace_counts.counts / np.repeat(np.maximum(trace_counts.totals, 1), np.diff(trace_counts.offsets))
    table = csr_array((np.sqrt(share), trace_counts.observations, trace_counts.offsets), shape=(n, n_places))
    with one_library_thread():
        common = (table @ table.T).toarray()
    np.fill_diagonal(common, 0)
    return np.asarray(np.minimum(common.max(axis=1, initial=0), 1))
