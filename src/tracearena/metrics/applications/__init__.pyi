from .error import BayesianUpdate, DistanceError, bayesian_update, distance_error
from .homes import HomesComparison, KeyPlaces, compare_homes, homes_and_workplaces
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
    "homes_and_workplaces",
    "hotspots",
    "with_true_ids",
]
