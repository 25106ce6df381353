from . import fakes
from .cheating import Cheating
from .cluster_averaging import ClusterAveraging
from .decoy import Decoy
from .fakes.defence import FakeTraces
from .gps_laplace import GeoInd
from .gps_snapping import Snapping
from .gps_thinning import Thinning
from .impostor import Impostor
from .k_anonymity import KAnonymous
from .mrlh import MRLH
from .none import NoObfuscation
from .pipeline import Pipeline, place_part
from .planar_laplace import PlanarLaplace
from .randomized_response import RandomizedResponse
from .time import PerDay, Resample, RoundTime, ShuffleDays, SwapHours, SwapTimes, TimeDefence
from .trim_ends import TrimEnds
from .zones import Zones

__all__ = [
    "Cheating",
    "ClusterAveraging",
    "Decoy",
    "FakeTraces",
    "GeoInd",
    "Impostor",
    "KAnonymous",
    "MRLH",
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
