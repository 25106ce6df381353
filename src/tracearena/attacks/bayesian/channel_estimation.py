"""Expectation maximisation of an unknown channel: E(y|x) depends on the distance |x - y| alone.

The law is a density over rings of distance. E step: traces are matched under the current law, and the
posterior share of each ring is computed under P_{u,t} of their users. M step: the mean of these shares is
the next law. Sets of places are taken as truthful.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.attacks.bayesian.channel import (
    Channel,
    ObservationAlphabet,
    SimulatedRelease,
    build_distance_channel,
    build_truthful_channel,
    draw_observations,
)
from tracearena.attacks.bayesian.likelihoods import Evidence
from tracearena.attacks.bayesian.pairs import assign_users, compute_posteriors, double_centre
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.traces import ObfuscatedTraces, Places, Traces


@dataclass(frozen=True)
class EstimationSettings:
    """Constants of the expectation maximisation."""

    rounds: int = 3
    """Rounds of matching and estimating. Chosen by hand, not tuned."""
    steps: int = 8
    """EM steps in each round. Chosen by hand, not tuned."""
    traces: int = 150
    """Traces, those with the highest posteriors, from which the law is estimated. Chosen by hand, not
    tuned."""
    score_weight: float = 0.1
    """Weight of the counts when traces are matched. Chosen by hand, not tuned."""
    max_rings: int = 12
    """Rings besides the place itself and everything beyond. Chosen by hand, not tuned."""
    ring_limits_km: tuple[float, float] = (0.1, 2.0)
    """A ring is as wide as the usual distance to the nearest place, within these. Chosen by hand, not
    tuned."""
    initial_km: float = 0.4
    """The law to begin with falls as e^(-distance / initial_km). Chosen by hand, not tuned."""
    initial_far_share: float = 0.05
    """Weight of the last ring in it, as a share of all. Chosen by hand, not tuned."""
    uniform_share: float = 0.001
    """Share of any place in the law, so that no distance is ruled out. Chosen by hand, not tuned."""
    min_change: float = 0.01
    """The rounds end when the law changes by less in all. Chosen by hand, not tuned."""
    max_pairs: float = 5e6
    """Pairs of places in all rings but the last. Chosen by hand, not tuned."""


SETTINGS = EstimationSettings()


def estimate_mechanism(
    reference: Traces,
    anonymized: ObfuscatedTraces,
    neighbourhoods: Neighbourhoods,
    profiles: TimeProfiles,
    seed: np.random.SeedSequence,
) -> SimulatedRelease:
    """Estimate the mechanism behind a release, and simulate it on the reference."""
    alphabet, (observed,) = ObservationAlphabet.of([anonymized])
    if not (observed >= 0).any() or (observed >= alphabet.n_places).all():
        channel = build_truthful_channel(alphabet)
    else:
        channel = _estimate_channel(reference, anonymized, alphabet, observed, neighbourhoods, profiles)
    return SimulatedRelease(
        alphabet, observed, (draw_observations(reference, channel, observed, seed),), channel
    )


def _estimate_channel(
    reference: Traces,
    anonymized: ObfuscatedTraces,
    alphabet: ObservationAlphabet,
    observed: Ints32,
    neighbourhoods: Neighbourhoods,
    profiles: TimeProfiles,
) -> Channel:
    """Match and estimate in turn, until the law changes no more."""
    rings = DistanceRings.of(reference.places)
    law = rings.initial_shares()
    for _ in range(SETTINGS.rounds):
        channel = rings.build_channel(alphabet, reference.places, law)
        simulated = SimulatedRelease(alphabet, observed, (), channel)
        evidence = Evidence(reference, anonymized, simulated, neighbourhoods, profiles, quick=True)
        table = double_centre(evidence.pairs, np.stack([evidence("polya"), evidence("home")], axis=1))
        scores = SETTINGS.score_weight * table.sum(axis=1)
        weight = compute_posteriors(evidence.pairs, scores)
        user = assign_users(evidence.pairs, scores)
        sure = np.zeros(anonymized.n_users)
        trace = evidence.pairs.traces
        np.maximum.at(sure, trace, np.where(evidence.pairs.users == user[trace], weight, 0))
        surest = np.argsort(-sure, kind="stable")[: SETTINGS.traces]
        matched = [(int(trace), int(user[trace])) for trace in surest if user[trace] >= 0]
        new = rings.maximise_likelihood(law, evidence, matched)
        has_converged = np.abs(new - law).sum() < SETTINGS.min_change
        law = new
        if has_converged:
            break
    return rings.build_channel(alphabet, reference.places, law)


class DistanceRings:
    """Rings of distance around a place: which pairs of places lie in which."""

    def __init__(self, edges_km: Floats, numbers: Floats) -> None:
        self.edges_km = edges_km
        self.numbers = numbers
        self._near: tuple[Ints, Ints32, Ints] | None = None

    @classmethod
    def of(cls, places: Places) -> DistanceRings:
        """Cut distances into rings of about a place's width, and all beyond them into one."""
        from scipy.spatial import KDTree

        points = places.points_km
        tree = KDTree(points)
        step = float(np.median(tree.query(points, k=2)[0][:, -1])) if len(points) > 1 else 1.0
        narrowest, widest = SETTINGS.ring_limits_km
        step = min(max(step, narrowest), widest)
        edges = np.concatenate([[1e-6], step * (np.arange(SETTINGS.max_rings) + 1.25)])
        sample = points[:: max(len(points) // 500, 1)]
        inside = np.array(
            [np.mean(tree.query_ball_point(sample, edge, return_length=True)) for edge in edges]
        )
        # Where places stand close together, the outer rings would hold too many to look at.
        kept = max(int((inside * len(points) <= SETTINGS.max_pairs).sum()), 1)
        edges, inside = edges[:kept], inside[:kept]
        numbers = np.diff(np.concatenate([[0.0], inside, [len(points)]]))
        return cls(edges, np.maximum(numbers, 1e-9))

    def initial_shares(self) -> Floats:
        """Return the share of each ring to begin with: half stays, half is moved by about a kilometre."""
        middle = np.concatenate([[0.0], (self.edges_km[1:] + self.edges_km[:-1]) / 2, [self.edges_km[-1]]])
        law = self.numbers * np.exp(-middle / SETTINGS.initial_km)
        law[0] += law[1:].sum()
        law[-1] = SETTINGS.initial_far_share * law.sum()
        return np.asarray(law / law.sum())

    def build_channel(self, alphabet: ObservationAlphabet, places: Places, law: Floats) -> Channel:
        """Return the channel of a law."""
        return build_distance_channel(alphabet, places, self.edges_km, law / self.numbers)

    def list_nearby(self, places: Places) -> tuple[Ints, Ints32, Ints]:
        """Return the places in all rings of each place but the last: offsets, places and rings."""
        if self._near is None:
            from scipy.spatial import KDTree

            tree = KDTree(places.points_km)
            found = tree.sparse_distance_matrix(tree, float(self.edges_km[-1]), output_type="ndarray")
            found = found[np.argsort(found["i"], kind="stable")]
            offsets = np.searchsorted(found["i"], np.arange(len(places) + 1))
            ring = np.searchsorted(self.edges_km, found["v"] - 1e-9)
            self._near = offsets.astype(np.int64), found["j"].astype(np.int32), ring.astype(np.int64)
        return self._near

    def maximise_likelihood(self, law: Floats, evidence: Evidence, matched: list[tuple[int, int]]) -> Floats:
        """Return the law that explains some traces best, given as pairs of a trace and its user.

        E step: the posterior share of ring r for an event is law[r] · P(r) / numbers[r], normalised, where
        P(r) is the probability of the ring around the observation under P_{u,t}. M step: their mean.
        """
        from tracearena.attacks.bayesian._profile_kernels import compute_ring_shares

        anonymized, observed = evidence.anonymized, evidence.simulated.released
        places = evidence.reference.places
        single = (observed >= 0) & (observed < len(places))
        time = anonymized.clock.time_of_day(anonymized.instants)
        shares = [np.empty((0, len(law)))]
        for trace, user in matched:
            own = slice(anonymized.offsets[trace], anonymized.offsets[trace + 1])
            chosen = single[own]
            found = np.empty((int(chosen.sum()), len(law)))
            compute_ring_shares(
                observed[own][chosen],
                time[own][chosen],
                evidence.profiles.user_profile(user),
                *self.list_nearby(places),
                found,
            )
            shares.append(found)
        table = np.concatenate(shares) / self.numbers
        if not len(table):
            return law
        for _ in range(SETTINGS.steps):
            joint = table * law
            law = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        share = SETTINGS.uniform_share
        law = (1 - share) * law + share * self.numbers / self.numbers.sum()
        return np.asarray(law / law.sum())
