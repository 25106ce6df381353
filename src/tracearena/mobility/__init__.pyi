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
from .trips import Trips, cut_trips

__all__ = [
    "AggregateMobility",
    "MobilityProfiles",
    "Periods",
    "SparseTensor",
    "StayPoints",
    "Trips",
    "UserTransitions",
    "cut_trips",
    "departures",
    "has_transitions",
    "statistics",
    "stay_points",
    "transition_counts",
    "transition_matrix",
    "visit_counts",
]
