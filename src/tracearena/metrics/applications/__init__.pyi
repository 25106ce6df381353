from .error import BayesianUpdate, DistanceError, bayesian_update, distance_error
from .homes import HomesComparison, KeyPlaces, compare_homes, key_places
from .offloading import Hotspots, hotspots
from .paired import IdTable, with_true_ids
from .spreading import Gossip, gossip

__all__ = [
    "BayesianUpdate",
    "DistanceError",
    "Gossip",
    "HomesComparison",
    "Hotspots",
    "IdTable",
    "KeyPlaces",
    "bayesian_update",
    "compare_homes",
    "distance_error",
    "gossip",
    "hotspots",
    "key_places",
    "with_true_ids",
]
