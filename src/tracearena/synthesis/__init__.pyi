from . import ppmtf, sglt
from .baselines import Training, Uniform
from .ppmtf.model import PPMTF
from .sgd import SGD
from .sglt.model import SGLT

__all__ = ["PPMTF", "SGD", "SGLT", "Training", "Uniform", "ppmtf", "sglt"]
