"""VisitProb and HomeProb: naive Bayes over visited places ([contest] section 4.1).

A trace is scored by its likelihood under each user's visit probabilities; HomeProb uses only the events from
8:00 to 9:00.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from tracearena.algorithms.base import setting
from tracearena.attacks.base import (
    Floats,
    Ints,
    Ints32,
    Mask,
    Match,
    Matcher,
    MatchingAttack,
    MatchingIdentification,
    MatchingInference,
    check_places,
    choose_greedily,
    require_users,
)
from tracearena.attacks.candidate_search import CandidateIndex, TraceKeys, choose_by_candidates
from tracearena.checks import require_fitted, require_switch
from tracearena.engine import SeedLike, generator
from tracearena.traces import Clock, ObfuscatedTraces, PlaceSets, Traces

HOME_HOURS = (8.0, 9.0)
"""People tend to be at home from 8:00 to 9:00 ([contest] appendix D)."""

LEGACY_SAMPLING = 0.1
LEGACY_SET_SIZE = 10

AnyTraces = TypeVar("AnyTraces", Traces, ObfuscatedTraces)


@dataclass(kw_only=True)
class VisitMatcher(Matcher):
    """Scores users by the likelihood of the trace under their visit probabilities ([contest] 4.1).

    Parameters
    ----------
    hours
        Use only events from the first hour up to but not including the second; None uses all.
    sampling
        Share of the anonymized events that is used, drawn again for each match.
    largest_set
        Use only this many random places of a larger set; None uses all.
    in_order
        Add the likelihoods one event after the other and let rounding break ties, as the programs
        of 2019 did.
    """

    hours: tuple[float, float] | None = None
    sampling: float = 1.0
    largest_set: int | None = None
    in_order: bool = False

    visitors_: Visitors = field(init=False, repr=False, compare=False)

    def __str__(self) -> str:
        name = "VisitProb" if self.hours is None else "HomeProb({:g},{:g})".format(*self.hours)
        return name + (f" of {self.sampling:g}" if self.sampling < 1 else "")

    def fit(self, reference: Traces) -> Self:
        """Count how often each user visits each place."""
        require_users(reference)
        self.user_ids_ = reference.user_ids
        self.reference_ = reference
        self.visitors_ = index_visitors(self._keep_hours(reference))
        return self

    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Match:
        """Match each pseudonym to the most likely user."""
        require_fitted(self, "reference_")
        check_places(self.reference_, anonymized)
        seen = self.sample_events(self._keep_hours(anonymized), seed)
        n_users = len(self.user_ids_)
        if self.in_order:
            return choose_greedily(anonymized.n_users, n_users, partial(self._score_in_order, seen), tie=0.0)
        return choose_by_candidates(
            index_traces(self.visitors_, n_users, count_distinct_codes(seen), seen.sets), n_users
        )

    def _score_in_order(self, seen: ObfuscatedTraces, first: int, scores: Floats) -> None:
        from tracearena.attacks._kernels import add_visit_likelihoods_in_order

        events = first, first + len(scores), seen.offsets, seen.codes
        sets = seen.sets.offsets, seen.sets.members
        add_visit_likelihoods_in_order(*events, *self.visitors_[:3], *sets, UNSEEN, scores)

    def _keep_hours(self, traces: AnyTraces) -> AnyTraces:
        hours = self.hours
        return traces if hours is None else traces.keep(is_within_hours(traces.clock, traces.instants, hours))

    def sample_events(self, anonymized: ObfuscatedTraces, seed: SeedLike) -> ObfuscatedTraces:
        """Return the events and the places of sets that the attack looks at, drawn at random."""
        if self.sampling >= 1 and self.largest_set is None:
            return anonymized
        rng = generator(seed)
        if self.sampling < 1:
            anonymized = anonymized.keep(rng.random(anonymized.n_events) < self.sampling)
        return anonymized if self.largest_set is None else _shrink_sets(anonymized, self.largest_set, rng)


def is_within_hours(clock: Clock, instants: Ints32, hours: tuple[float, float]) -> Mask:
    """Return where the instants lie between two hours of the day, the second excluded."""
    second = clock.second_of_day(instants)
    return np.asarray((second >= hours[0] * 3600) & (second < hours[1] * 3600))


def _shrink_sets(traces: ObfuscatedTraces, largest: int, rng: np.random.Generator) -> ObfuscatedTraces:
    """Give every event with a larger set a random part of it, drawn for that event alone."""
    sizes = traces.sets.sizes
    events = np.flatnonzero(traces.is_set)
    events = events[sizes[traces.set_index[events]] > largest]
    if not len(events):
        return traces
    parts = [rng.permutation(traces.sets[one])[:largest] for one in traces.set_index[events]]
    codes = traces.codes.copy()
    codes[events] = -2 - len(traces.sets) - np.arange(len(events))
    members = np.concatenate([traces.sets.members, *parts])
    offsets = np.concatenate(
        [traces.sets.offsets, traces.sets.offsets[-1] + np.cumsum([len(p) for p in parts])]
    )
    return ObfuscatedTraces.like(traces, codes, PlaceSets(offsets, members))


@dataclass(kw_only=True)
class VisitAttack(MatchingAttack):
    """What VisitProb and HomeProb share, re-identification and trace inference alike.

    Parameters
    ----------
    legacy_2019
        Look at ten places of a set, and in VisitProb at a random tenth of the events, as the
        organisers' program did.
    """

    hours: ClassVar[tuple[float, float] | None] = None
    legacy_sampling: ClassVar[float] = LEGACY_SAMPLING

    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        require_switch("legacy_2019", self.legacy_2019)

    def make_matcher(self) -> VisitMatcher:
        """Return the matcher over the hours that the attack looks at."""
        if not self.legacy_2019:
            return VisitMatcher(hours=self.hours)
        return VisitMatcher(
            hours=self.hours, sampling=self.legacy_sampling, largest_set=LEGACY_SET_SIZE, in_order=True
        )


@dataclass(kw_only=True)
class VisitProbabilityR(VisitAttack, MatchingIdentification):
    """Identify the user whose visit probabilities make the trace most likely ([contest] 4.1)."""

    name: ClassVar[str] = "VisitProb-R"


@dataclass(kw_only=True)
class VisitProbabilityT(VisitAttack, MatchingInference):
    """Match users one to one by VisitProb, then undo the obfuscation ([contest] 4.1)."""

    name: ClassVar[str] = "VisitProb-T"


@dataclass(kw_only=True)
class HomeProbabilityR(VisitProbabilityR):
    """VisitProb-R with only the events between 8:00 and 9:00 ([contest] section 4.1)."""

    name: ClassVar[str] = "HomeProb-R"
    hours: ClassVar[tuple[float, float] | None] = HOME_HOURS
    legacy_sampling: ClassVar[float] = 1.0


@dataclass(kw_only=True)
class HomeProbabilityT(VisitProbabilityT):
    """VisitProb-T with users matched by HomeProb ([contest] section 4.1)."""

    name: ClassVar[str] = "HomeProb-T"
    hours: ClassVar[tuple[float, float] | None] = HOME_HOURS
    legacy_sampling: ClassVar[float] = 1.0


# Visitors of each place and of each set of places, as an index of likelihoods.

UNSEEN = 1e-8
"""Probability of a place that a user never visited; nothing is renormalised for it."""

MOST_VISITORS = 1 << 24
"""Visitors of sets are listed for as many traces at a time as need no more entries than this."""


class Visitors(NamedTuple):
    """Who visited each place: an index from places to users."""

    offsets: Ints
    users: Ints32
    probabilities: Floats
    gains: Floats


class Codes(NamedTuple):
    """The distinct codes of each pseudonym's trace, and how often each occurs."""

    offsets: Ints
    codes: Ints32
    counts: Floats


def index_visitors(reference: Traces) -> Visitors:
    """Return who visits each place, how often, and what a visit says for her: log(probability / unseen)."""
    offsets, places, counts = reference.visit_counts()
    users = np.repeat(np.arange(reference.n_users, dtype=np.int32), np.diff(offsets))
    total = np.bincount(users, weights=counts, minlength=reference.n_users)
    by_place = np.argsort(places, kind="stable")
    probability = (counts / total[users])[by_place]
    return Visitors(
        np.searchsorted(places[by_place], np.arange(len(reference.places) + 1)),
        users[by_place],
        probability,
        np.log(probability / UNSEEN),
    )


def count_distinct_codes(traces: ObfuscatedTraces) -> Codes:
    """Count each distinct code of each pseudonym that says anything."""
    kept = ~traces.is_deleted
    lowest = -2 - len(traces.sets)
    width = len(traces.places) - lowest
    keys = traces.user_index[kept].astype(np.int64) * width + (traces.codes[kept] - lowest)
    distinct, counts = np.unique(keys, return_counts=True)
    owner, shifted = np.divmod(distinct, width)
    offsets = np.searchsorted(owner, np.arange(traces.n_users + 1))
    return Codes(offsets, (shifted + lowest).astype(np.int32), counts.astype(np.float64))


def index_traces(
    visitors: Visitors, n_users: int, codes: Codes, sets: PlaceSets, *, most: int = MOST_VISITORS
) -> Iterator[tuple[CandidateIndex, TraceKeys]]:
    """Yield the traces in order, as many at a time as name sets of no more than `most` visitors.

    The score of a user is the log-likelihood of the trace under her visit probabilities, but for a
    constant. A set of k places has the mean probability of its members; those of its visitors are
    worked out once, and it is then a key like any place.
    """
    from tracearena.attacks._kernels import compute_set_gains, cut_by_sets

    n_places = len(visitors.offsets) - 1
    sizes = np.concatenate([[0], np.cumsum(np.diff(visitors.offsets)[sets.members])])
    bounds = np.diff(sizes[sets.offsets])
    limits = cut_by_sets(codes.offsets, codes.codes, bounds, most)
    for first, stop in pairwise(limits):
        items = TraceKeys(codes.offsets, codes.codes.astype(np.int64), codes.counts).part(first, stop)
        named = np.unique(items.keys[items.keys < 0])
        offsets, users, gains = compute_set_gains(
            -2 - named, bounds, *visitors[:3], sets.offsets, sets.members, UNSEEN, n_users
        )
        key = np.where(items.keys < 0, n_places + np.searchsorted(named, items.keys), items.keys)
        index = CandidateIndex.of(
            np.zeros(n_users),
            np.concatenate([visitors.offsets, visitors.offsets[-1] + offsets[1:]]),
            np.concatenate([visitors.users, users]),
            np.concatenate([visitors.gains, gains]),
        )
        yield index, items._replace(keys=key)
