"""What released GPS traces are still good for, and what they still give away."""

from tracearena.metrics.applications.bayesian_update import BayesianUpdate, bayesian_update
from tracearena.metrics.applications.distance_error import DistanceError, distance_error
from tracearena.metrics.applications.gossip import Gossip, gossip
from tracearena.metrics.applications.homes import HomesComparison, KeyPlaces, compare_homes, key_places
from tracearena.metrics.applications.hotspots import Hotspots, hotspots
from tracearena.metrics.applications.identity import IdTable, with_true_ids
from tracearena.metrics.applications.release_noise import ReleaseNoise, release_noise
from tracearena.metrics.applications.uniqueness import Uniqueness, uniqueness
from tracearena.traces.area import Area, default_area, tessellation

__all__ = [
    "Area",
    "BayesianUpdate",
    "DistanceError",
    "Gossip",
    "HomesComparison",
    "Hotspots",
    "IdTable",
    "KeyPlaces",
    "ReleaseNoise",
    "Uniqueness",
    "bayesian_update",
    "compare_homes",
    "default_area",
    "distance_error",
    "gossip",
    "hotspots",
    "key_places",
    "release_noise",
    "tessellation",
    "uniqueness",
    "with_true_ids",
]
