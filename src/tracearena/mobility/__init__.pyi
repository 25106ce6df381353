from . import statistics
from .profiles import AggregateMobility, MobilityProfiles, Periods
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
    "Trips",
    "UserTransitions",
    "cut_trips",
    "departures",
    "has_transitions",
    "statistics",
    "transition_counts",
    "transition_matrix",
    "visit_counts",
]
