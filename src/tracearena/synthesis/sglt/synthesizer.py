"""SGLT: fake traces with the same semantics as their seeds, at other places."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Synthesizer
from tracearena.checks import LARGEST_COUNT, require_fitted, require_number, require_switch, require_whole
from tracearena.engine import SeedLike, child_seed, report, seed_sequence, stream, use
from tracearena.errors import ParameterError
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.mobility.profiles import EPSILON, parse_period_hours
from tracearena.synthesis.baselines import build_day_traces, check_trainable
from tracearena.synthesis.sglt.fakes import (
    LARGEST_FACTOR,
    FakeMaker,
    Fakes,
    PassRates,
    PrivacyTests,
    Verdicts,
    draw_by_likelihood,
)
from tracearena.synthesis.sglt.legacy import LegacyFakeMaker, legacy_graph, legacy_mobility
from tracearena.synthesis.sglt.semantics import (
    MOST_STARTS,
    DaySeeds,
    LocationClasses,
    bisect_graph,
    find_classes,
    semantic_graph,
)
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.clock import DAY_S

ATTEMPTS = 20
"""Fakes made for each one wanted before a user goes without."""
ALTERNATIVES_SHARE = 0.1
"""Share of the training users who are not seeds, so that a seed can deny being one."""
_GRAPH, _CLASSES, _ALTERNATIVES = range(3)


@dataclass(kw_only=True)
class SGLT(Synthesizer):
    """Make fake traces that are semantically similar to their seeds, but geographically different.

    Places are clustered by how people use them. A fake is a Viterbi path through the classes of its seed, a
    real day of a training user, under the transitions of the population. Only fakes that pass the privacy
    tests are released.

    Parameters
    ----------
    classes
        Number of semantic classes, at least 1; None finds a good one.
    par_c
        Probability that a place of the class is dropped at an instant.
    par_m
        Probability that a place of the class one instant away is added; see `FakeMaker`.
    par_l
        Probability that the seed's own place is dropped at an instant.
    par_v
        Transition probabilities are multiplied by random numbers from 1 to this.
    periods
        Time periods of a day, at least 1, or the hours at which they begin, such as ``6-12-18-22``; each
        has its own mobility and mapping of places.
    privacy_tests
        Release only fakes that pass `PrivacyTests`. A tenth of the users (at least as many as `alternatives`)
        are then not used as seeds and get no traces.
    legacy_sglt
        Do the same as the program behind the published SGLT files, where it differs from the paper: see
        `legacy_graph`, `bisect_graph`, `legacy_mobility` and `LegacyFakeMaker`.
    decoder_failure
        With `legacy_sglt`: reproduce the failure of the program's decoder.
    geographic, intersection, difference, alternatives
        Thresholds of `PrivacyTests`.
    pool_size
        Make this many fakes of each user, and draw the traces from those that pass, in proportion to their
        likelihood; None takes the first that pass.
    starts
        Number of starts of k-means, at least 1; the best is kept.
    epsilon
        Weight of a move that nobody made, above 0 and at most 1; see `AggregateMobility`.
    steady_state
        Start fakes from the stationary distribution of the transition matrices, instead of the average
        distribution of the users.
    thin_once
        Let par_c drop places once per fake, instead of at every instant.

    Attributes
    ----------
    classes_
        `LocationClasses` of the places.
    mobility_
        `AggregateMobility` of the training users.
    graph_
        Location semantic graph, places × places.
    alternatives_
        Indices of the users who are not used as seeds.
    pass_rates_
        `PassRates` of the fakes made by the last `synthesize`; None without tests.

    References
    ----------
    V. Bindschaedler and R. Shokri, Synthesizing plausible privacy-preserving location traces,
    IEEE Symposium on Security and Privacy 2016 [sglt].

    Examples
    --------
    >>> from tracearena.traces import Grid
    >>> places = Places.of_grid(Grid(rows=2, columns=4, south=35, west=139, north=35.1, east=139.2))
    >>> days = [[0, 0, 0, 1], [2, 2, 2, 3], [4, 4, 4, 5], [6, 6, 6, 7]]
    >>> traces = Traces.from_dense(days, places, Clock(instants_per_day=4))
    >>> model = SGLT(classes=2, privacy_tests=False).fit(traces, seed=1)
    >>> model.classes_.class_of.tolist()
    [0, 1, 0, 1, 0, 1, 0, 1]
    >>> fakes = model.synthesize(traces_per_user=3, seed=2)
    >>> fakes
    <Traces: 4 users, 48 events, 8 places, instants 0 to 11>
    >>> bool((fakes.dense()[:, :4] == traces.dense()).any())
    False
    """

    name: ClassVar[str] = "SGLT"

    classes: int | None = None
    par_c: float = 0.25
    par_m: float = 0.75
    par_l: float = 1.0
    par_v: float = 4.0
    periods: int | str = 1
    privacy_tests: bool = True
    legacy_sglt: bool = False
    decoder_failure: bool = True
    geographic: float = 0.1
    intersection: float = 0.0
    difference: float = 0.1
    alternatives: int = 1
    pool_size: int | None = None
    starts: int = 1
    epsilon: float = EPSILON
    steady_state: bool = False
    thin_once: bool = False

    def __post_init__(self) -> None:
        if self.classes is not None:
            require_whole("classes", self.classes, at_least=1, at_most=LARGEST_COUNT)
        for name in ("par_c", "par_m", "par_l"):
            require_number(name, getattr(self, name), at_least=0, at_most=1)
        require_number("par_v", self.par_v, at_least=1, at_most=LARGEST_FACTOR)
        if isinstance(self.periods, str):
            parse_period_hours(self.periods)
        else:
            require_whole("periods", self.periods, at_least=1, at_most=DAY_S)
        require_whole("starts", self.starts, at_least=1, at_most=MOST_STARTS)
        require_number("epsilon", self.epsilon, above=0, at_most=1)
        if self.pool_size is not None:
            require_whole("pool_size", self.pool_size, at_least=1, at_most=LARGEST_COUNT)
        switches = ("thin_once", "steady_state", "privacy_tests", "legacy_sglt", "decoder_failure")
        for name in switches:
            require_switch(name, getattr(self, name))
        self._build_tests()
        own = {"thin_once": False, "starts": 1, "epsilon": EPSILON, "steady_state": False}
        changed = [name for name, usual in own.items() if getattr(self, name) != usual]
        if self.legacy_sglt and changed:
            raise ParameterError(f"legacy_sglt has its own rules for {' and '.join(changed)}")

    def fit(self, traces: Traces, *, seed: SeedLike = None) -> Self:
        """Learn the classes and the mobility of the training traces, which become the seeds.

        Gaps within a day are filled first (`fill_gaps`).
        """
        root = seed_sequence(seed)
        self.seeds_ = DaySeeds.of(check_trainable(self, traces))
        self.user_ids_: NDArray[np.generic] = traces.user_ids
        self.places_: Places = traces.places
        self.clock_: Clock = traces.clock
        profiles = MobilityProfiles.of(self.seeds_.as_traces(traces), self.periods)
        cluster_seed = child_seed(root, _CLASSES)
        self.classes_: LocationClasses
        if self.legacy_sglt:
            self.mobility_ = legacy_mobility(self.seeds_, profiles, self.places_)
            self.graph_ = legacy_graph(profiles, self.seeds_)
            self.classes_ = bisect_graph(self.graph_, self.classes, seed=cluster_seed)
        else:
            self.mobility_ = AggregateMobility.of(profiles, self.places_, epsilon=self.epsilon)
            if self.steady_state:
                self.mobility_ = self.mobility_.at_steady_state()
            self.graph_ = semantic_graph(profiles, seed=child_seed(root, _GRAPH))
            self.classes_ = find_classes(self.graph_, self.classes, starts=self.starts, seed=cluster_seed)
        self.tests_ = self._build_tests() if self.privacy_tests else None
        # Some users are not seeds, so that seeds can deny being one; at least one user remains a seed.
        self.alternatives_ = np.zeros(0, np.int64)
        if self.tests_ is not None and self.tests_.alternatives > 0:
            users = stream(root, _ALTERNATIVES).permutation(np.unique(self.seeds_.users))
            wanted = max(round(ALTERNATIVES_SHARE * len(users)), self.tests_.alternatives)
            self.alternatives_ = np.sort(users[: min(wanted, len(users) - 1)])
        self._alternative_profiles = self._build_profiles(
            self.seeds_.places[np.isin(self.seeds_.users, self.alternatives_)]
        )
        self.pass_rates_: PassRates | None = None
        return self

    @property
    def maker_(self) -> FakeMaker:
        """The maker of the fakes."""
        require_fitted(self, "classes_")
        learned: dict[str, Any] = {"classes": self.classes_, "mobility": self.mobility_}
        learned |= {name: getattr(self, name) for name in ("par_c", "par_m", "par_l", "par_v")}
        if self.legacy_sglt:
            return LegacyFakeMaker(**learned, decoder_failure=self.decoder_failure)
        return FakeMaker(**learned, thin_once=self.thin_once)

    def _build_tests(self) -> PrivacyTests:
        limits: dict[str, Any] = {
            name: getattr(self, name) for name in ("geographic", "intersection", "difference", "alternatives")
        }
        return PrivacyTests(**limits)

    def synthesize(self, traces_per_user: int = 1, *, seed: SeedLike = None) -> Traces:
        """Return fakes of the training users; day ``r`` is a user's fake number ``r``.

        The seed of fake ``r`` is the ``r``-th day of the user (after the last day, the first again). A user
        who is an alternative, or for whom no fake passed in 20 tries, has no events. With `pool_size`, the
        days of the user are in turn the seeds of the fakes in the pool, and days for which the pool has no
        more fakes have no events.
        """
        require_fitted(self, "classes_")
        require_whole("traces_per_user", traces_per_user, at_least=1, at_most=LARGEST_COUNT)
        count, root = traces_per_user, seed_sequence(seed)
        table = np.full((len(self.user_ids_) * count, self.clock_.instants_per_day), -1, np.int32)
        shape = len(self.user_ids_), count, self.clock_.instants_per_day
        if self.pool_size is not None:
            self._draw_from_pool(self.pool_size, count, table, root)
            return build_day_traces(table.reshape(shape), self.places_, self.clock_, self.user_ids_)
        lacking = self._number_fakes(count)
        verdicts: list[Verdicts] = []
        for attempt in range(ATTEMPTS if self.tests_ else 1):
            if not len(lacking):
                break
            report(attempt, ATTEMPTS)
            rows = self.seeds_.rows_of(lacking // count, lacking % count)
            with use(progress=None):
                fakes = self.maker_.make(self.seeds_.places, rows, child_seed(root, attempt))
            verdict = self.judge(fakes, rows)
            passed = np.ones(len(rows), bool) if verdict is None else verdict.passed
            verdicts += [] if verdict is None else [verdict]
            table[lacking[passed]] = fakes.places[passed]
            lacking = lacking[~passed]
        self.pass_rates_ = PassRates.of(verdicts) if self.tests_ else None
        return build_day_traces(table.reshape(shape), self.places_, self.clock_, self.user_ids_)

    def _draw_from_pool(
        self, size: int, count: int, table: NDArray[np.int32], root: np.random.SeedSequence
    ) -> None:
        """Draw each user's traces from the fakes of her pool that pass, in proportion to likelihood."""
        if size < count:
            raise ParameterError(
                f"pool_size={size}: {count} traces per user need a pool of {count} fakes or more"
            )
        fakes, rows, verdict = self.pool(size, seed=child_seed(root, 0))
        good = np.arange(len(fakes)) if verdict is None else np.flatnonzero(verdict.passed)
        owners = self.seeds_.users[rows[good]]
        drawn = draw_by_likelihood(
            fakes.log_likelihood[good], owners, len(self.user_ids_), count, stream(root, 1)
        ).ravel()
        table[drawn >= 0] = fakes.places[good[drawn[drawn >= 0]]]
        self.pass_rates_ = None if verdict is None else PassRates.of([verdict])

    def pool(
        self, fakes_per_user: int, *, seed: SeedLike = None
    ) -> tuple[Fakes, NDArray[np.int64], Verdicts | None]:
        """Make fakes of every seed user; return all fakes, their seed rows, and the results of the tests."""
        require_fitted(self, "classes_")
        require_whole("fakes_per_user", fakes_per_user, at_least=1, at_most=LARGEST_COUNT)
        wanted = self._number_fakes(fakes_per_user)
        rows = self.seeds_.rows_of(wanted // fakes_per_user, wanted % fakes_per_user)
        fakes = self.maker_.make(self.seeds_.places, rows, seed_sequence(seed))
        return fakes, rows, self.judge(fakes, rows)

    def judge(self, fakes: Fakes, rows: NDArray[np.int64]) -> Verdicts | None:
        """Run the privacy tests on fakes of the given seed rows; None without tests."""
        if self.tests_ is None:
            return None
        seeds = self.seeds_.places[rows]
        profiles = self._build_profiles(fakes.places), self._build_profiles(seeds)
        return self.tests_.judge(fakes.places, seeds, *profiles, self._alternative_profiles)

    def _build_profiles(self, days: NDArray[np.int32]) -> MobilityProfiles:
        clock = replace(self.clock_, first_day=None)
        return MobilityProfiles.of(Traces.from_dense(days, self.places_, clock), self.periods)

    def _number_fakes(self, count: int) -> NDArray[np.int64]:
        """Number the fakes (user · count + number) of the users who are seeds."""
        users = np.setdiff1d(np.unique(self.seeds_.users), self.alternatives_)
        return (users[:, None] * count + np.arange(count)).ravel()
