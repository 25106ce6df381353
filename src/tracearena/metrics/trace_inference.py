"""The contest's trace-inference privacy score s_T, and the expected error beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import HEAVIEST, require_number
from tracearena.errors import DataError
from tracearena.results import Result
from tracearena.traces import Traces
from tracearena.traces._arrays import positions


@dataclass(frozen=True)
class TraceInferenceScore(Result):
    """Privacy against trace inference: 1 is every place missed by far, 0 is every place found.

    Attributes
    ----------
    trace_inference
        s_T, the weighted mean of min(distance / limit, 1).
    expected_error_km
        Plain mean distance between true and inferred places, in km.
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
    """Score how far the inferred places are from the true ones ([contest] section 3.4, equation 2).

    Parameters
    ----------
    original
        The truth; users without an event at an instant are not scored there.
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
    at = positions(original.user_ids, inferred.user_ids)
    if (at < 0).any():
        raise DataError("the inferred traces lack a user of the original traces")
    if inferred.span[0] > original.span[0] or inferred.span[1] < original.span[1]:
        raise DataError(
            f"the inferred traces cover instants {inferred.span}, the original ones {original.span}"
        )
    found = inferred.dense()[at][original.user_index, original.instants - inferred.span[0]]
    if (found < 0).any():
        raise DataError(
            f"the inferred traces lack a place for {int((found < 0).sum()):,} events of the original"
        )
    return np.asarray(found)
