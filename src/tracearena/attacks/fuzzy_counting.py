"""Fuzzy counting, the winning attack of 2019: nearest vectors of spatially smoothed visit counts.

The steps of [contest] section 5.3, in its words:

1. *Fuzzy counting*, of the reference traces alone. A visit counts h(d) = η0 e^(-λ0 d) for the target region
   (d = 0) and its 8 surrounding regions.
2. *Feature vectors*. The count γ_ij of place i of user j becomes TF · IDF, with ξ_i the number of users who
   visit the place.
3. *1-nearest neighbour search* among the users for each pseudonym.

The trace inference then de-obfuscates as VisitProb-T, and *replaces frequent regions*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.attacks.base import (
    NOBODY,
    Match,
    Matcher,
    MatchingAttack,
    MatchingIdentification,
    MatchingInference,
    build_answer,
    check_places,
    require_users,
    undo_obfuscation,
)
from tracearena.attacks.candidate_search import CandidateIndex, TraceKeys, choose_by_candidates
from tracearena.checks import require_choice, require_fitted, require_number
from tracearena.engine import SeedLike
from tracearena.traces import ObfuscatedTraces, Places, Traces

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Weighting = Literal["log", "count", "printed", "log-idf", "count-idf", "printed-idf"]
"""TF is log(1 + count), the count, or log(1 + users / visitors); IDF is 1 or log(users / visitors)."""
Spread = Literal["first", "last"]
"""Whether visits are spread over the neighbours before they are weighed, or after."""


@dataclass(frozen=True)
class FuzzyDefaults:
    """Default parameters of the attacks; `arena.tune` finds better values on sample teams."""

    weighting: Weighting = "log"
    """TF = log(1 + count), IDF = 1: of four, the best on the team's sample traces ([contest] 5.3)."""
    eta: float = 0.33
    """η0, the best on the team's sample traces ([contest] 5.3)."""
    decay: float = 1.0
    """λ0, the best on the team's sample traces ([contest] 5.3)."""
    frequent: float = 0.5
    """A region is frequent if its share of the days exceeds this. The paper prints none; chosen by hand."""


DEFAULTS = FuzzyDefaults()


def build_spreading_matrix(places: Places, eta: float, decay: float) -> csr_array:
    """Return places × places: the fuzzy count h(d) of one visit to the row for each column.

    h(d) = η0 e^(-λ0 d) for the target region itself (d = 0) and its 8 surrounding regions (d in cells: 1, or
    √2 along the diagonal). Places that are no grid have no surrounding regions.

    References
    ----------
    [contest] section 5.3 and Figure 11.

    Examples
    --------
    >>> from tracearena.traces import Grid
    >>> places = Places.of_grid(Grid(rows=5, columns=5, south=0, west=0, north=1, east=1))
    >>> build_spreading_matrix(places, 0.2, 0.5).toarray()[12].reshape(5, 5).round(3)[2].tolist()
    [0.0, 0.121, 0.2, 0.121, 0.0]
    """
    from scipy.sparse import coo_array, csr_array

    if places.grid is None:
        index = np.arange(len(places))
        return csr_array((np.full(len(places), eta), (index, index)), shape=(len(places),) * 2)
    row, column = np.divmod(np.arange(len(places)), places.grid.columns)
    parts = []
    for up, right in ((up, right) for up in (-1, 0, 1) for right in (-1, 0, 1)):
        to_row, to_column = row + up, column + right
        inside = np.flatnonzero(
            (to_row >= 0) & (to_row < places.grid.rows) & (to_column >= 0) & (to_column < places.grid.columns)
        )
        weight = eta * np.exp(-decay * np.hypot(up, right))
        parts.append(
            (inside, (to_row * places.grid.columns + to_column)[inside], np.full(len(inside), weight))
        )
    origin, target, weights = (np.concatenate(one) for one in zip(*parts, strict=True))
    return csr_array(coo_array((weights, (origin, target)), shape=(len(places),) * 2))


def count_place_visits(traces: Traces | ObfuscatedTraces) -> csr_array:
    """Count visits, users × places; an event with k places adds 1/k to each, a deleted one nothing."""
    from scipy.sparse import coo_array, csr_array

    shape = traces.n_users, len(traces.places)
    if isinstance(traces, Traces):
        offsets, places, counts = traces.visit_counts()
        return csr_array((counts.astype(np.float64), places, offsets), shape=shape)
    event, place, weight = traces.pairs()
    return csr_array(coo_array((weight, (traces.user_index[event], place)), shape=shape))


@dataclass(kw_only=True)
class FuzzyMatcher(Matcher):
    """Matches each trace to the nearest fuzzily counted user ([contest] section 5.3).

    Parameters
    ----------
    weighting
        The TF and IDF of the counts.
    eta, decay
        η0, the weight of a visited place itself, and λ0, how fast it falls per cell.
    spread
        Whether the reference counts are spread before they are weighted, or after.
    """

    weighting: Weighting = DEFAULTS.weighting
    eta: float = DEFAULTS.eta
    decay: float = DEFAULTS.decay
    spread: Spread = "first"

    reference_: Traces = field(init=False, repr=False, compare=False)
    vectors_: csr_array = field(init=False, repr=False, compare=False)
    index_: CandidateIndex = field(init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"FuzzyCount({self.weighting},{self.eta:g},{self.decay:g},spread={self.spread})"

    def fit(self, reference: Traces) -> Self:
        """Compute a feature vector of every user from the user's fuzzy counts."""
        require_users(reference)
        self.user_ids_ = reference.user_ids
        self.reference_ = reference
        counts = count_place_visits(reference)
        visitors = np.bincount(counts.indices, minlength=len(reference.places))
        self._rarity = reference.n_users / np.maximum(visitors, 1)
        h = build_spreading_matrix(reference.places, self.eta, self.decay)
        if self.spread == "first":
            self.vectors_ = self._weigh_counts(counts @ h)
        else:
            self.vectors_ = self._weigh_counts(counts) @ h
        by_place = self.vectors_.tocsc()
        # |a - r|² is |a|², which is the same for all users, minus 2 a·r - |r|².
        lengths = np.asarray((self.vectors_**2).sum(axis=1)).ravel()
        self.index_ = CandidateIndex.of(-lengths, by_place.indptr, by_place.indices, by_place.data)
        return self

    def match(self, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Match:
        """Choose the user whose feature vector is nearest to the trace's, which is not spread."""
        require_fitted(self, "reference_")
        check_places(self.reference_, anonymized)
        traces = self._weigh_counts(count_place_visits(anonymized))
        items = TraceKeys(traces.indptr.astype(np.int64), traces.indices.astype(np.int64), 2 * traces.data)
        return choose_by_candidates([(self.index_, items)], len(self.user_ids_))

    def _weigh_counts(self, counts: csr_array) -> csr_array:
        """Return TF · IDF of counts, users or traces × places."""
        weighed = counts.copy()
        if self.weighting.startswith("log"):
            weighed.data = np.log1p(weighed.data)
        elif self.weighting.startswith("printed"):
            weighed.data = np.log1p(self._rarity)[weighed.indices]
        if self.weighting.endswith("idf"):
            weighed.data = weighed.data * np.log(self._rarity)[weighed.indices]
        return weighed


class FuzzyAttack(MatchingAttack):
    """What FuzzyCount-R and FuzzyCount-T share: the matcher and its settings."""

    weighting: Weighting
    eta: float
    decay: float
    spread: Spread

    def __post_init__(self) -> None:
        require_choice("weighting", self.weighting, get_args(Weighting))
        require_choice("spread", self.spread, get_args(Spread))
        require_number("eta", self.eta, above=0, at_most=1e6)
        require_number("decay", self.decay, at_least=0, at_most=1e6)

    def make_matcher(self) -> FuzzyMatcher:
        """Return the matcher by fuzzy counts."""
        return FuzzyMatcher(weighting=self.weighting, eta=self.eta, decay=self.decay, spread=self.spread)


@dataclass(kw_only=True)
class FuzzyCounting(FuzzyAttack, MatchingIdentification):
    """Identify the user with the most similar fuzzy visit counts ([contest] 5.3).

    Parameters
    ----------
    weighting
        ``"log"`` (TF = log(1 + count), IDF = 1), ``"count"`` (count, 1), ``"printed"``
        (log(1 + users / visitors) wherever the count is not 0, 1); ``"log-idf"``, ``"count-idf"`` and
        ``"printed-idf"`` with IDF = log(users / visitors of the place).
    eta
        Weight η0 of a visited place itself, above 0.
    decay
        λ0, at least 0: a neighbour at a distance of d cells has the weight η0 e^(-λ0 d).
    spread
        ``"first"``: reference counts are spread over the neighbours and then weighted, as in the paper;
        ``"last"``: weighted and then spread, as in the team's program.

    Notes
    -----
    The paper prints the TF as log(1 + users / visitors), which does not depend on the counts, so η0 and λ0
    would have no effect. With ``spread=first`` it identifies almost nobody. We assume that log(1 + count) was
    meant, which the team's program has and which is the default. The program is
    ``FuzzyCount-R(log,decay=0.5,spread=last)``: its λ0 was 0.5, the paper's is 1. A place that no reference
    user visits has the IDF of a place with one visitor.
    """

    name: ClassVar[str] = "FuzzyCount-R"

    weighting: Weighting = DEFAULTS.weighting
    eta: float = DEFAULTS.eta
    decay: float = DEFAULTS.decay
    spread: Spread = "first"


@dataclass(kw_only=True)
class FuzzyCountingT(FuzzyAttack, MatchingInference):
    """Match by fuzzy counting, then undo the obfuscation, preferring frequent places ([contest] 5.3).

    If a user was at one place at the same time of day on enough reference days, the answer is that place,
    whatever the matched trace contains. If the trace contains nothing, it is always the answer.

    Parameters
    ----------
    weighting, eta, decay, spread
        As for FuzzyCount-R.
    frequent
        A place is frequent if its share of the reference days exceeds this; from 0 to 1.

    Notes
    -----
    The paper does not say what happens if two pseudonyms match one user (the program decides at random). Here
    pseudonyms choose in ascending order among the remaining users, as in VisitProb-T.
    """

    name: ClassVar[str] = "FuzzyCount-T"

    weighting: Weighting = DEFAULTS.weighting
    eta: float = DEFAULTS.eta
    decay: float = DEFAULTS.decay
    frequent: float = DEFAULTS.frequent
    spread: Spread = "first"

    matcher_: FuzzyMatcher = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_number("frequent", self.frequent, at_least=0, at_most=1)

    def infer_from(self, match: Match, anonymized: ObfuscatedTraces, *, seed: SeedLike = None) -> Traces:
        """Return the inferred traces for an existing match."""
        matcher = self.matcher_
        # De-obfuscate as VisitProb-T.
        table = undo_obfuscation(anonymized, match.exclusive, len(matcher.user_ids_), seed=seed)
        # Replace frequent regions.
        place, share = find_frequent_places(matcher.reference_)
        time = anonymized.clock.time_of_day(np.arange(*anonymized.span))
        usual, often = place[:, time], share[:, time] > self.frequent
        owner = match.exclusive[anonymized.user_index]
        known = (owner != NOBODY) & ~anonymized.is_deleted
        is_observed = np.zeros((len(matcher.user_ids_), anonymized.n_instants), bool)
        is_observed[owner[known], anonymized.instants[known] - anonymized.span[0]] = True
        replaced = (usual >= 0) & (often | ~is_observed)
        return build_answer(np.where(replaced, usual, table), anonymized, matcher.user_ids_)


def find_frequent_places(reference: Traces) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each user's most frequent place by time of day, -1 if none, and its share of the days.

    Both are users × times of day. Of equally frequent places the first in order counts.
    """
    clock = reference.clock
    width = max(len(reference.places), 1)
    moment = reference.user_index * np.int64(clock.instants_per_day) + clock.time_of_day(reference.instants)
    keys, counts = np.unique(moment * width + reference.place_index, return_counts=True)
    moment, place = np.divmod(keys, width)
    order = np.lexsort((place, -counts, moment))
    first = order[np.flatnonzero(np.diff(moment[order], prepend=-1))]
    usual = np.full(reference.n_users * clock.instants_per_day, -1, np.int32)
    share = np.zeros(len(usual))
    days = -(-reference.n_instants // clock.instants_per_day)
    usual[moment[first]] = place[first]
    share[moment[first]] = counts[first] / max(days, 1)
    shape = reference.n_users, clock.instants_per_day
    return usual.reshape(shape), share.reshape(shape)
