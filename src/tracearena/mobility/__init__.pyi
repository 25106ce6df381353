from . import laws
from .aggregate import AggregateMobility
from .counts import SparseTensor, transition_counts, visit_counts
from .profiles import MobilityProfiles, Periods
from .transitions import UserTransitions, departures, has_transitions, transition_matrix

__all__ = [
    "AggregateMobility",
    "MobilityProfiles",
    "Periods",
    "SparseTensor",
    "UserTransitions",
    "departures",
    "has_transitions",
    "laws",
    "transition_counts",
    "transition_matrix",
    "visit_counts",
]
