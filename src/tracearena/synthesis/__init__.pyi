from . import ppmtf, private, sglt
from .baselines import SGD, Training, Uniform
from .ppmtf.model import PPMTF
from .private.roles import PrivateRoles
from .private.trips import PrivateTrips
from .sglt.synthesizer import SGLT

__all__ = [
    "PPMTF",
    "SGD",
    "SGLT",
    "PrivateRoles",
    "PrivateTrips",
    "Training",
    "Uniform",
    "ppmtf",
    "private",
    "sglt",
]
