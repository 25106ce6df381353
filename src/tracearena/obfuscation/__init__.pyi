from . import fakes
from .cheating import Cheating
from .cluster_averaging import ClusterAveraging
from .fakes.defence import FakeTraces
from .gps_laplace import GeoInd
from .gps_snapping import Snapping
from .gps_thinning import Thinning
from .mrlh import MRLH
from .none import NoObfuscation
from .planar_laplace import PlanarLaplace
from .randomized_response import RandomizedResponse

__all__ = [
    "MRLH",
    "Cheating",
    "ClusterAveraging",
    "FakeTraces",
    "GeoInd",
    "NoObfuscation",
    "PlanarLaplace",
    "RandomizedResponse",
    "Snapping",
    "Thinning",
    "fakes",
]
