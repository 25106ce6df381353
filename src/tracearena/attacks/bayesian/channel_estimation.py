"""Expectation maximisation of an unknown channel: E(y|x) depends on the distance |x - y| alone.

The law is a density over rings of distance. E step: traces are matched under the current law, and the
posterior share of each ring is computed under P_{u,t} of their users. M step: the mean of these shares is
the next law. Sets of places are taken as truthful.
"""

from __future__ import annotations

import numpy as np

from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.attacks.bayesian.channel import (
    Channel,
    ObservationAlphabet,
    build_distance_channel,
    build_truthful_channel,
)
from tracearena.attacks.bayesian.pair_evidence import Evidence
from tracearena.attacks.bayesian.profiles import Neighbourhoods, TimeProfiles
from tracearena.attacks.bayesian.simulated_release import SimulatedRelease, draw_observations
from tracearena.attacks.bayesian.weights import assign_users, compute_posteriors, double_centre
from tracearena.traces import ObfuscatedTraces, Places, Traces

ROUNDS = 3
STEPS = 8
ESTIMATION_TRACES = 150
"""Traces, those of which the attacker is most certain, from which the law is estimated."""

_MOST_PAIRS = 5e6


def estimate_mechanism(
    reference: Traces,
    anonymized: ObfuscatedTraces,
    around: Neighbourhoods,
    habits: TimeProfiles,
    seed: np.random.SeedSequence,
) -> SimulatedRelease:
    """Estimate the mechanism behind a release, and simulate it on the reference."""
    symbols, (said,) = ObservationAlphabet.of([anonymized])
    if not (said >= 0).any() or (said >= symbols.n_places).all():
        emission = build_truthful_channel(symbols)
    else:
        emission = _estimate_channel(reference, anonymized, symbols, said, around, habits)
    return SimulatedRelease(symbols, said, (draw_observations(reference, emission, said, seed),), emission)


def _estimate_channel(
    reference: Traces,
    anonymized: ObfuscatedTraces,
    symbols: ObservationAlphabet,
    said: Ints32,
    around: Neighbourhoods,
    habits: TimeProfiles,
) -> Channel:
    """Match and estimate in turn, until the law changes no more."""
    rings = DistanceRings.of(reference.places)
    law = rings.initial_shares()
    for _ in range(ROUNDS):
        emission = rings.build_channel(symbols, reference.places, law)
        made = SimulatedRelease(symbols, said, (), emission)
        evidence = Evidence(reference, anonymized, made, around, habits, quick=True)
        table = double_centre(evidence.pairs, np.stack([evidence.polya, evidence.home], axis=1))
        scores = 0.1 * table.sum(axis=1)
        weight = compute_posteriors(evidence.pairs, scores)
        user = assign_users(evidence.pairs, scores)
        sure = np.zeros(anonymized.n_users)
        trace = evidence.pairs.traces
        np.maximum.at(sure, trace, np.where(evidence.pairs.users == user[trace], weight, 0))
        witnesses = np.argsort(-sure, kind="stable")[:ESTIMATION_TRACES]
        new = rings.maximise_likelihood(
            law, anonymized, said, witnesses, user[witnesses], habits, reference.places
        )
        has_converged = np.abs(new - law).sum() < 0.01
        law = new
        if has_converged:
            break
    return rings.build_channel(symbols, reference.places, law)


class DistanceRings:
    """Rings of distance around a place: which pairs of places lie in which."""

    def __init__(self, edges_km: Floats, numbers: Floats) -> None:
        self.edges_km = edges_km
        self.numbers = numbers
        self._near: tuple[Ints, Ints32, Ints] | None = None

    @classmethod
    def of(cls, places: Places) -> DistanceRings:
        """Cut the distances up to 4 km into rings of about a place's width, all beyond into one."""
        from scipy.spatial import KDTree

        points = places.points_km
        tree = KDTree(points)
        step = float(np.median(tree.query(points, k=2)[0][:, -1])) if len(points) > 1 else 1.0
        step = min(max(step, 0.1), 2.0)
        edges = np.concatenate([[1e-6], step * (np.arange(12) + 1.25)])
        sample = points[:: max(len(points) // 500, 1)]
        inside = np.array(
            [np.mean(tree.query_ball_point(sample, edge, return_length=True)) for edge in edges]
        )
        # Where places stand close together, the outer rings would hold too many to look at.
        kept = max(int((inside * len(points) <= _MOST_PAIRS).sum()), 1)
        edges, inside = edges[:kept], inside[:kept]
        numbers = np.diff(np.concatenate([[0.0], inside, [len(points)]]))
        return cls(edges, np.maximum(numbers, 1e-9))

    def initial_shares(self) -> Floats:
        """Return the share of each ring to begin with: half stays, half is moved by about a kilometre."""
        middle = np.concatenate([[0.0], (self.edges_km[1:] + self.edges_km[:-1]) / 2, [self.edges_km[-1]]])
        law = self.numbers * np.exp(-middle / 0.4)
        law[0] += law[1:].sum()
        law[-1] = 0.05 * law.sum()
        return np.asarray(law / law.sum())

    def build_channel(self, symbols: ObservationAlphabet, places: Places, law: Floats) -> Channel:
        """Return the channel of a law."""
        return build_distance_channel(symbols, places, self.edges_km, law / self.numbers)

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

    def maximise_likelihood(
        self,
        law: Floats,
        anonymized: ObfuscatedTraces,
        said: Ints32,
        traces: Ints,
        users: Ints,
        habits: TimeProfiles,
        places: Places,
    ) -> Floats:
        """Return the law that explains some traces, whose users are known, best."""
        from tracearena.attacks.bayesian._profile_kernels import compute_ring_shares

        single = (said >= 0) & (said < len(places))
        time = anonymized.clock.time_of_day(anonymized.instants)
        shares = [np.empty((0, len(law)))]
        for trace, user in zip(traces[users >= 0], users[users >= 0], strict=True):
            own = slice(anonymized.offsets[trace], anonymized.offsets[trace + 1])
            chosen = single[own]
            found = np.empty((int(chosen.sum()), len(law)))
            profile = habits.user_profile(int(user))
            compute_ring_shares(
                said[own][chosen], time[own][chosen], profile, *self.list_nearby(places), found
            )
            shares.append(found)
        table = np.concatenate(shares) / self.numbers
        if not len(table):
            return law
        for _ in range(STEPS):
            joint = table * law
            law = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        law = 0.999 * law + 0.001 * self.numbers / self.numbers.sum()
        return np.asarray(law / law.sum())
