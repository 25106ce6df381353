"""The scores of the contest: utility s_U, re-identification s_R and trace inference s_T."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import HEAVIEST, require_choice, require_number
from tracearena.dataframes import Result
from tracearena.errors import DataError
from tracearena.traces import IdTable, ObfuscatedTraces, Traces
from tracearena.traces._arrays import ExactSum, find_positions, to_comparable_ids

UtilityRule: TypeAlias = Literal["paper", "2019"]


@dataclass(frozen=True)
class UtilityScore(Result):
    """Utility of obfuscated traces: 1 means unchanged, 0 useless.

    Attributes
    ----------
    utility
        s_U, the mean over all events of 1 - loss.
    rule
        How a generalised event was scored.
    cells, deleted, generalised
        Number of all events, of deleted ones, and of those replaced by a set.
    """

    utility: float
    rule: UtilityRule
    cells: int
    deleted: int
    generalised: int


def utility_score(
    original: Traces, obfuscated: ObfuscatedTraces, *, rule: UtilityRule = "paper", limit_km: float = 2.0
) -> UtilityScore:
    """Return the utility s_U: how close the released places are to the original ones ([contest] section 3.4).

    Parameters
    ----------
    original, obfuscated
        The same events in the same order.
    rule
        Score of a generalised event: ``paper`` takes the mean distance over the set and then caps it at the
        limit; ``2019`` caps each distance and then takes the mean, as in the official program of PWS Cup
        2019. They differ only if a set extends beyond the limit.
    limit_km
        Distance at which a place is worth nothing, greater than 0.

    Notes
    -----
    A set that lists a place twice counts it twice.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([0, 0.01], [0, 0], km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 0]], places, Clock(instants_per_day=2))
    >>> utility_score(original, ObfuscatedTraces.like(original, [0, 1])).utility
    0.75
    """
    require_choice("rule", rule, get_args(UtilityRule))
    require_number("limit_km", limit_km, above=0)
    if original.n_events == 0:
        raise DataError("there are no events to score")
    if not obfuscated.has_rows_of(original):
        raise DataError(
            f"the obfuscated traces ({obfuscated.n_users:,} users, {obfuscated.n_events:,} events) "
            f"were not made from these original traces ({original.n_users:,} users, "
            f"{original.n_events:,} events), or their times were changed: utility compares events one by one"
        )
    score = UtilitySum.of(original, obfuscated, limit_km=limit_km).score
    if rule == "2019":
        return replace(score, rule=rule, utility=_official_mean(original, obfuscated, limit_km))
    return score


@dataclass(frozen=True)
class UtilitySum:
    """The utility of some users' events by the paper's rule; sums of it are that of all.

    Attributes
    ----------
    gains
        1 - loss of all events, added without rounding.
    deleted, generalised
        As in `UtilityScore`.
    """

    gains: ExactSum
    deleted: int
    generalised: int

    @classmethod
    def of(cls, original: Traces, obfuscated: ObfuscatedTraces, *, limit_km: float = 2.0) -> UtilitySum:
        """Score events, which are the same in both."""
        gains = ExactSum.of(1 - event_losses(original, obfuscated, limit_km=limit_km))
        return cls(gains, int(obfuscated.is_deleted.sum()), int(obfuscated.is_set.sum()))

    def __add__(self, other: UtilitySum) -> UtilitySum:
        return UtilitySum(
            self.gains + other.gains, self.deleted + other.deleted, self.generalised + other.generalised
        )

    @property
    def score(self) -> UtilityScore:
        """The score of all events."""
        return UtilityScore(self.gains.mean, "paper", self.gains.count, self.deleted, self.generalised)


def event_losses(
    original: Traces, obfuscated: ObfuscatedTraces, *, limit_km: float = 2.0
) -> NDArray[np.float64]:
    """Return the loss of each event by the paper's rule: 0 released as it is, 1 deleted or too far off."""
    loss = np.ones(original.n_events)
    single = obfuscated.is_single
    distance = original.places.distance_km(original.place_index[single], obfuscated.codes[single])
    loss[single] = np.minimum(distance / limit_km, 1)
    generalised = obfuscated.is_set
    if generalised.any():
        # Few distinct pairs of place and set stand for very many events.
        sets, place = obfuscated.sets, original.place_index[generalised].astype(np.int64)
        pairs = place * len(sets) + obfuscated.set_index[generalised]
        distinct, event_pair = np.unique(pairs, return_inverse=True)
        pair_place, pair_set = np.divmod(distinct, len(sets))
        listed = sets.take(pair_set)
        distance = original.places.distance_km(np.repeat(pair_place, listed.sizes), listed.members)
        mean = np.add.reduceat(distance / limit_km, listed.offsets[:-1]) / listed.sizes
        loss[generalised] = np.minimum(mean, 1)[event_pair]
    return loss


def _official_mean(original: Traces, obfuscated: ObfuscatedTraces, limit_km: float) -> float:
    """Return 1 - mean loss, added up one listed place after the other as the program of 2019 did.

    Over a hundred thousand places the order of addition shows in the twelfth digit, where published
    scores are compared.
    """
    event, place, _ = obfuscated.pairs()
    distance = original.places.distance_km(original.place_index[event], place)
    sizes = np.bincount(event, minlength=obfuscated.n_events)
    deleted = np.flatnonzero(obfuscated.is_deleted)
    loss = np.minimum(distance / limit_km, 1) / sizes[event]
    loss = np.insert(loss, np.searchsorted(event, deleted), 1.0)
    return float(1 - np.add.accumulate(loss)[-1] / obfuscated.n_events)


# Privacy against re-identification, s_R.


@dataclass(frozen=True)
class ReidentificationScore(Result):
    """Privacy against re-identification: 1 means that no user was identified, 0 that all were."""

    reidentification: float
    identified: int
    pseudonyms: int


def reidentification_score(id_table: IdTable, inferred: IdTable) -> ReidentificationScore:
    """Return s_R = 1 - share of pseudonyms whose user was found ([contest] section 3.4).

    Examples
    --------
    The paper's Figure 6:

    >>> truth = IdTable([2001, 2002, 2003], [2, 3, 1])
    >>> reidentification_score(truth, IdTable([2001, 2002, 2003], [2, 2, 1])).identified
    2
    """
    if not np.array_equal(id_table.pseudonyms, inferred.pseudonyms):
        raise DataError(
            f"the {len(inferred):,} pseudonyms of the inferred table are not the "
            f"{len(id_table):,} of the ID table"
        )
    if not len(id_table):
        raise DataError("there are no pseudonyms to score")
    true, guessed = to_comparable_ids(id_table.user_ids, inferred.user_ids)
    identified = int((true == guessed).sum())
    missed = len(id_table) - identified
    return ReidentificationScore(missed / len(id_table), identified, len(id_table))


# Privacy against trace inference, s_T, and the expected error.


@dataclass(frozen=True)
class TraceInferenceScore(Result):
    """Privacy against trace inference: 1 means that all places were missed, 0 that all were found.

    Attributes
    ----------
    trace_inference
        s_T, the weighted mean of min(distance / limit, 1).
    expected_error_km
        Unweighted mean distance between true and inferred places, in km.
    cells, sensitive_cells
        Number of events scored, and of those at sensitive places.
    """

    trace_inference: float
    expected_error_km: float
    cells: int
    sensitive_cells: int


def trace_inference_score(
    original: Traces, inferred: Traces, *, sensitive_weight: float = 10.0, limit_km: float = 2.0
) -> TraceInferenceScore:
    """Return s_T: how far inferred places are from the true ones ([contest] section 3.4, equation 2).

    Parameters
    ----------
    original
        The true traces; instants without an event of a user are not scored.
    inferred
        One place for every user and instant of the original.
    sensitive_weight
        Weight of an event whose *original* place is sensitive, above 0 and at most 10^9; others weigh 1.
    limit_km
        Distance from which an inference is worth nothing to the attacker, greater than 0.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([0, 0.01], [0, 0], km_per_degree=(100, 100))
    >>> original = Traces.from_dense([[0, 0]], places, Clock(instants_per_day=2))
    >>> trace_inference_score(original, original.with_places([0, 1])).trace_inference
    0.25
    """
    require_number("sensitive_weight", sensitive_weight, above=0, at_most=HEAVIEST)
    require_number("limit_km", limit_km, above=0)
    if original.n_events == 0:
        raise DataError("there are no events to score")
    distance = original.places.distance_km(original.place_index, places_at(inferred, original))
    sensitive = original.places.sensitive[original.place_index]
    weight = np.where(sensitive, sensitive_weight, 1.0)
    return TraceInferenceScore(
        trace_inference=float((weight * np.minimum(distance / limit_km, 1)).sum() / weight.sum()),
        expected_error_km=float(distance.mean()),
        cells=original.n_events,
        sensitive_cells=int(sensitive.sum()),
    )


def places_at(inferred: Traces, original: Traces) -> NDArray[np.int32]:
    """Return the place that `inferred` gives for the user and instant of each original event."""
    if inferred.has_users_of(original) and inferred.has_rows_of(original):
        return inferred.place_index
    at = find_positions(original.user_ids, inferred.user_ids)
    if (at < 0).any():
        raise DataError("a user of the original traces is missing in the inferred traces")
    if inferred.span[0] > original.span[0] or inferred.span[1] < original.span[1]:
        raise DataError(
            f"the inferred traces cover instants {inferred.span}, but the original ones cover {original.span}"
        )
    found = inferred.dense()[at][original.user_index, original.instants - inferred.span[0]]
    if (found < 0).any():
        raise DataError(
            f"the inferred traces have no place for {int((found < 0).sum()):,} events of the original"
        )
    return np.asarray(found)
