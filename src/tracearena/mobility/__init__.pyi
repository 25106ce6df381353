from . import statistics
from .profiles import AggregateMobility, MobilityProfiles, Periods
from .stays import StayPoints, stay_points
from .transitions import (
    SparseTensor,
    UserTransitions,
    departures,
    has_transitions,
    transition_counts,
    transition_matrix,
    visit_counts,
)

__all__ = [
    "AggregateMobility",
    "MobilityProfiles",
    "Periods",
    "SparseTensor",
    "StayPoints",
    "UserTransitions",
    "departures",
    "has_transitions",
    "statistics",
    "stay_points",
    "transition_counts",
    "transition_matrix",
    "visit_counts",
]
