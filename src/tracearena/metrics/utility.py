"""The contest's utility score s_U."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_choice, require_number
from tracearena.errors import DataError
from tracearena.results import Result
from tracearena.traces import ObfuscatedTraces, Traces
from tracearena.traces._arrays import ExactSum

UtilityRule: TypeAlias = Literal["paper", "2019"]


@dataclass(frozen=True)
class UtilityScore(Result):
    """Utility of obfuscated traces: 1 is untouched, 0 is useless.

    Attributes
    ----------
    utility
        s_U, the mean over all events of 1 - loss.
    rule
        How a generalised event was scored.
    cells, deleted, generalised
        Number of events in all, deleted, and replaced by a set.
    """

    utility: float
    rule: UtilityRule
    cells: int
    deleted: int
    generalised: int


def utility_score(
    original: Traces, obfuscated: ObfuscatedTraces, *, rule: UtilityRule = "paper", limit_km: float = 2.0
) -> UtilityScore:
    """Score how near the released places are to the original ones ([contest] section 3.4).

    Parameters
    ----------
    original, obfuscated
        The same events in the same order.
    rule
        How a generalised event loses: ``paper`` takes the mean distance over the set, then cuts it
        off at the limit; ``2019`` cuts off each distance, then takes the mean, as the official
        program of PWS Cup 2019 did. They differ only where a set reaches beyond the limit.
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
    _check_same_events(original, obfuscated)
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
        loss[generalised] = _set_losses(original, obfuscated, generalised, limit_km)
    return loss


def _set_losses(
    original: Traces,
    obfuscated: ObfuscatedTraces,
    generalised: NDArray[np.bool_],
    limit_km: float,
) -> NDArray[np.float64]:
    # Few distinct pairs of place and set stand for very many events.
    sets = obfuscated.sets
    pair = original.place_index[generalised].astype(np.int64) * len(sets) + obfuscated.set_index[generalised]
    distinct, event_pair = np.unique(pair, return_inverse=True)
    place, chosen = np.divmod(distinct, len(sets))
    listed = sets.take(chosen)
    share = original.places.distance_km(np.repeat(place, listed.sizes), listed.members) / limit_km
    mean = np.add.reduceat(share, listed.offsets[:-1]) / listed.sizes
    return np.asarray(np.minimum(mean, 1)[event_pair])


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


def _check_same_events(original: Traces, obfuscated: ObfuscatedTraces) -> None:
    if original.n_events == 0:
        raise DataError("there are no events to score")
    if not obfuscated.has_rows_of(original):
        raise DataError(
            f"the obfuscated traces ({obfuscated.n_users:,} users, {obfuscated.n_events:,} events) are not "
            f"obfuscated from these originals ({original.n_users:,} users, {original.n_events:,} events), or "
            "their times were changed: utility compares event by event"
        )
