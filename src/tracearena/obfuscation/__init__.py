"""Defences: what is released in the stead of each event."""

from tracearena.obfuscation.base import Obfuscator
from tracearena.obfuscation.cheating import Cheating
from tracearena.obfuscation.cluster_averaging import ClusterAveraging
from tracearena.obfuscation.fakes import FakeTraces
from tracearena.obfuscation.gps_base import GpsObfuscator
from tracearena.obfuscation.gps_laplace import GeoInd
from tracearena.obfuscation.gps_snapping import Snapping
from tracearena.obfuscation.gps_thinning import Thinning
from tracearena.obfuscation.mrlh import MRLH
from tracearena.obfuscation.none import NoObfuscation
from tracearena.obfuscation.planar_laplace import PlanarLaplace
from tracearena.obfuscation.randomized_response import RandomizedResponse

__all__ = [
    "MRLH",
    "Cheating",
    "ClusterAveraging",
    "FakeTraces",
    "GeoInd",
    "GpsObfuscator",
    "NoObfuscation",
    "Obfuscator",
    "PlanarLaplace",
    "RandomizedResponse",
    "Snapping",
    "Thinning",
]
