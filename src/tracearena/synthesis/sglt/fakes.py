"""Fake traces of SGLT and their privacy tests.

A seed is replaced by the sequence of its places' classes, which is decoded to another way through them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import LARGEST_COUNT, require_number, require_switch, require_whole
from tracearena.dataframes import Result
from tracearena.engine import block_ranges, is_secret, run_blocks, stream
from tracearena.metrics.similarity import RankedPlaces, geographic_similarity, semantic_similarity
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis.sglt.semantics import LocationClasses

FAKES_PER_BLOCK = 256
PROBABLE_MOVES = 24
"""Most probable moves from a place, which decoding looks at first."""
LARGEST_FACTOR = 1e9
"""Beyond it chance alone decides, and probabilities would leave the range of numbers."""


@dataclass(frozen=True, eq=False)
class Fakes:
    """Fake traces of one day each.

    Attributes
    ----------
    places
        Fakes × instants of a day.
    log_likelihood
        Natural logarithm of each fake's probability under the aggregate mobility.
    """

    places: NDArray[np.int32]
    log_likelihood: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True, kw_only=True)
class FakeMaker:
    """How a fake is made from a seed ([sglt] sections 4.1 to 4.3).

    Each place of the seed is replaced by a random part of the places of its class; near a change of class,
    some places of the other class are added. The fake is the Viterbi path through these sets under the
    aggregate mobility. Every probability is multiplied by a random number, so that one seed gives many fakes.

    Parameters
    ----------
    classes, mobility
        Classes of the places, and the aggregate mobility.
    par_c
        Probability that a place of the class is dropped at an instant.
    par_m
        A place of the class that is visited k instants away is added with probability par_m^k, where k is the
        distance to the nearest change of class before and after.
    par_l
        Probability that the seed's own place is dropped at an instant.
    par_v
        Transition probabilities are multiplied by random numbers from 1 to this, at most 10⁹.
    thin_once
        Let par_c drop places once per fake; by default it does so again at every instant.

    Notes
    -----
    The seed's own place is dropped by par_l only, not by par_c. The paper does not specify this; it fits the
    published re-identification at par_l = 0 better. If no place is left (as in a class of one place), every
    place may be chosen, where par_l applies to the seed's own place again unless it is the only one.
    """

    classes: LocationClasses
    mobility: AggregateMobility
    par_c: float = 0.25
    par_m: float = 0.75
    par_l: float = 1.0
    par_v: float = 4.0
    thin_once: bool = False

    def __post_init__(self) -> None:
        for name in ("par_c", "par_m", "par_l"):
            require_number(name, getattr(self, name), at_least=0, at_most=1)
        require_number("par_v", self.par_v, at_least=1, at_most=LARGEST_FACTOR)
        require_switch("thin_once", self.thin_once)

    def make(
        self,
        seeds: NDArray[np.int32],
        rows: NDArray[np.int64],
        root: np.random.SeedSequence,
    ) -> Fakes:
        """Make one fake for every given row.

        Parameters
        ----------
        seeds
            Days × instants: complete seed traces.
        rows
            Row of the seed of each fake; rows may be repeated.
        root
            Root of all random numbers; the first fakes do not depend on the number of fakes.
        """
        length, classes = seeds.shape[1], self.classes
        fill, rules = self._select_kernel()

        def work(
            block: int, first: int, stop: int, some: NDArray[np.int64]
        ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
            places, likelihood = np.empty((len(some), length), np.int32), np.empty(len(some))
            rng = stream(root, block)
            # Under a seed each fake has a small generator of its own; its 64 bits would be the weakest
            # link of a secret root, whose stream is drawn from throughout.
            draws = rng.integers(0, 2**64, stop - first, dtype=np.uint64)
            fill(
                seeds,
                some,
                draws,
                rng,
                is_secret(root),
                classes.class_of,
                classes.offsets,
                classes.members,
                *rules,
                places,
                likelihood,
            )
            return places, likelihood

        ranges = block_ranges(len(rows), FAKES_PER_BLOCK)
        made = run_blocks(work, ranges, rows=[rows], anywhere=True, report=True)
        nothing = np.empty((0, length), np.int32), np.empty(0)
        places, likelihood = (np.concatenate(parts) for parts in zip(nothing, *made, strict=True))
        return Fakes(places, likelihood)

    def _select_kernel(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """Return the kernel that makes fakes, and its arguments after seeds, draws and classes."""
        from tracearena.synthesis.sglt._kernels import make_fakes

        mobility = self.mobility
        moves = mobility.starts(), mobility.step_numbers, *_arrange_moves(mobility.moves)
        return make_fakes, (*moves, *self._parameters(), self.thin_once)

    def _parameters(self) -> tuple[float, float, float, float]:
        return float(self.par_c), float(self.par_m), float(self.par_l), float(self.par_v)


def _arrange_moves(
    moves: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int32]]:
    """Arrange transition matrices for decoding.

    Returns
    -------
    arrivals, cuts, offsets, large
        Transposed matrices; for each place the least of its most probable moves; and for each
        place q (``offsets``) the places from which q is one of these.
    """
    kept = min(PROBABLE_MOVES, moves.shape[2])
    cuts = np.partition(moves, -kept, axis=2)[:, :, -kept]
    arrivals = np.ascontiguousarray(moves.transpose(0, 2, 1))
    is_large = arrivals >= cuts[:, None, :]
    number, to, origin = np.nonzero(is_large)
    flat = np.searchsorted(number * moves.shape[1] + to, np.arange(moves.shape[0] * moves.shape[1] + 1))
    rows = np.arange(moves.shape[0])[:, None] * moves.shape[1] + np.arange(moves.shape[1] + 1)
    return arrivals, cuts, flat[rows].astype(np.int64), origin.astype(np.int32)


def draw_by_likelihood(
    log_likelihood: NDArray[np.float64],
    owners: NDArray[np.int64],
    n_owners: int,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw fakes of each owner from a pool, one after the other, in proportion to likelihood.

    Returns
    -------
    NDArray
        Owners × count indices of the pool, without repetition; -1 if an owner has no more.

    Notes
    -----
    Adding Gumbel noise to log-likelihoods and taking the largest is the same as drawing without
    replacement, and needs no probability that could underflow.

    >>> draw_by_likelihood(np.array([0.0, -900.0, -5.0]), np.array([0, 0, 1]), 2, 2, np.random.default_rng(1))
    array([[ 0,  1],
           [ 2, -1]])
    """
    keys = log_likelihood + rng.gumbel(size=len(log_likelihood))
    order = np.lexsort([-keys, owners])
    rank = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
    taken = rank < count
    chosen = np.full((n_owners, count), -1, np.int64)
    chosen[owners[order][taken], rank[taken]] = order[taken]
    return chosen


# Privacy tests: does a fake trace give its seed away?

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Results of the tests for each fake; true means passed.

    Attributes
    ----------
    geographic, intersection, deniability
        Outcome of each test.
    """

    geographic: NDArray[np.bool_]
    intersection: NDArray[np.bool_]
    deniability: NDArray[np.bool_]

    @property
    def passed(self) -> NDArray[np.bool_]:
        """True where all tests are passed."""
        return self.geographic & self.intersection & self.deniability


@dataclass(frozen=True)
class PassRates(Result):
    """Share of the fakes that pass each test, and all tests; 0 without fakes."""

    fakes: int
    geographic: float
    intersection: float
    deniability: float
    all: float

    @classmethod
    def of(cls, verdicts: list[Verdicts]) -> PassRates:
        """Summarise the test results of many fakes."""
        total = sum(len(one.geographic) for one in verdicts)

        def share(name: str) -> float:
            return sum(int(getattr(one, name).sum()) for one in verdicts) / max(total, 1)

        return cls(total, *(share(name) for name in ("geographic", "intersection", "deniability", "passed")))


@dataclass(frozen=True, kw_only=True)
class PrivacyTests:
    """The three tests of [sglt] section 4.4; a fake is releasable if it passes all.

    Parameters
    ----------
    geographic
        Largest geographic similarity (zeroth order) of a fake to its seed, from 0 to 1.
    intersection
        Largest share of the instants at which a fake is where its seed is, from 0 to 1.
    difference
        Largest difference of semantic similarities to the fake at which a real trace could have been its
        seed.
    alternatives
        Number of real traces, not used as seeds, that could have been the seed; at least 0.
    """

    geographic: float = 0.1
    intersection: float = 0.0
    difference: float = 0.1
    alternatives: int = 1

    def __post_init__(self) -> None:
        for name in ("geographic", "intersection", "difference"):
            require_number(name, getattr(self, name), at_least=0, at_most=1)
        require_whole("alternatives", self.alternatives, at_least=0, at_most=LARGEST_COUNT)

    def judge(
        self,
        fakes: NDArray[np.int32],
        seeds: NDArray[np.int32],
        fake_profiles: MobilityProfiles,
        seed_profiles: MobilityProfiles,
        alternative_profiles: MobilityProfiles,
    ) -> Verdicts:
        """Test fakes, each against its own seed.

        Parameters
        ----------
        fakes, seeds
            Rows × instants; row i of one belongs to row i of the other.
        fake_profiles, seed_profiles
            Mobility profiles of the same rows.
        alternative_profiles
            Mobility profiles of real traces that are not used as seeds.
        """
        near = geographic_similarity(fake_profiles, seed_profiles) <= self.geographic + _ROUNDING
        apart = (fakes == seeds).mean(axis=1) <= self.intersection + _ROUNDING
        counts = np.zeros(fake_profiles.n_users, np.int64)
        if self.alternatives > 0:
            from tracearena.synthesis.sglt._kernels import count_alternatives

            mine, theirs = (RankedPlaces.of(one, seed=0) for one in (fake_profiles, alternative_profiles))
            similarity = semantic_similarity(fake_profiles, seed_profiles)
            count_alternatives(
                fake_profiles.periods.shares, mine.offsets, mine.shares, similarity, theirs.offsets,
                theirs.shares, self.difference, self.alternatives, counts,
            )  # fmt: skip
        return Verdicts(near, apart, counts >= self.alternatives)
