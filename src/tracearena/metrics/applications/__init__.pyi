from .error import BayesianUpdate, DistanceError, bayesian_update, distance_error
from .homes import HomesComparison, KeyPlaces, compare_homes, key_places
from .networks import Gossip, HotspotOptions, Hotspots, gossip, hotspots
from .paired import IdTable, with_true_ids

__all__ = [
    "BayesianUpdate",
    "DistanceError",
    "Gossip",
    "HomesComparison",
    "HotspotOptions",
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
