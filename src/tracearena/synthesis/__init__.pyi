from . import ppmtf, sglt
from .baselines import SGD, Training, Uniform
from .ppmtf.model import PPMTF
from .sglt.synthesizer import SGLT

__all__ = ["PPMTF", "SGD", "SGLT", "Training", "Uniform", "ppmtf", "sglt"]
