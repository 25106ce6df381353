"""Privacy tests: does a fake trace give its seed away?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number, require_whole
from tracearena.dataframes import Result
from tracearena.metrics.similarity import RankedPlaces, geographic_similarity, semantic_similarity
from tracearena.mobility import MobilityProfiles

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What the tests say of each fake; true is passed.

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
    """Share of the fakes that pass each test and all of them; 0 for no fake at all."""

    fakes: int
    geographic: float
    intersection: float
    deniability: float
    all: float

    @classmethod
    def of(cls, verdicts: list[Verdicts]) -> PassRates:
        """Summarise the verdicts of many fakes."""
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
        A real trace could have been the seed if its semantic similarity to the fake differs from
        the seed's by at most this.
    alternatives
        So many real traces that are no seeds must be able to have been the seed; at least 0.
    """

    geographic: float = 0.1
    intersection: float = 0.0
    difference: float = 0.1
    alternatives: int = 1

    def __post_init__(self) -> None:
        for name in ("geographic", "intersection", "difference"):
            require_number(name, getattr(self, name), at_least=0, at_most=1)
        require_whole("alternatives", self.alternatives, at_least=0)

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
            Of the same rows.
        alternative_profiles
            Of real traces that are no seeds.
        """
        near = geographic_similarity(fake_profiles, seed_profiles) <= self.geographic + _ROUNDING
        apart = (fakes == seeds).mean(axis=1) <= self.intersection + _ROUNDING
        return Verdicts(near, apart, self._is_deniable(fake_profiles, seed_profiles, alternative_profiles))

    def _is_deniable(
        self, fakes: MobilityProfiles, seeds: MobilityProfiles, others: MobilityProfiles
    ) -> NDArray[np.bool_]:
        from tracearena.synthesis.sglt._kernels import count_alternatives

        if self.alternatives == 0:
            return np.ones(fakes.n_users, bool)
        mine, theirs = RankedPlaces.of(fakes, seed=0), RankedPlaces.of(others, seed=0)
        counts = np.zeros(fakes.n_users, np.int64)
        count_alternatives(
            fakes.periods.shares,
            mine.offsets,
            mine.shares,
            semantic_similarity(fakes, seeds),
            theirs.offsets,
            theirs.shares,
            self.difference,
            self.alternatives,
            counts,
        )
        return np.asarray(counts >= self.alternatives)
