from . import fakes
from .cluster_averaging import ClusterAveraging
from .fakes import FakeTraces
from .gps import GeoInd, Snapping, Thinning
from .k_anonymity import KAnonymous
from .mimicry import Decoy, Impostor
from .pipeline import Pipeline, place_part
from .planar_laplace import PlanarLaplace
from .privacy_zones import TrimEnds, Zones
from .samples_2019 import MRLH, Cheating, NoObfuscation, RandomizedResponse
from .time import PerDay, Resample, RoundTime, ShuffleDays, SwapHours, SwapTimes, TimeDefence

__all__ = [
    "MRLH",
    "Cheating",
    "ClusterAveraging",
    "Decoy",
    "FakeTraces",
    "GeoInd",
    "Impostor",
    "KAnonymous",
    "NoObfuscation",
    "PerDay",
    "Pipeline",
    "PlanarLaplace",
    "RandomizedResponse",
    "Resample",
    "RoundTime",
    "ShuffleDays",
    "Snapping",
    "SwapHours",
    "SwapTimes",
    "Thinning",
    "TimeDefence",
    "TrimEnds",
    "Zones",
    "fakes",
    "place_part",
]
