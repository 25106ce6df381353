"""Synthesizers: new traces that look like the training traces.

`PPMTF` keeps what is typical of clusters of users, `SGD` only what is common to all, `SGLT` what a
real day means while it moves the day to other places; `Uniform` and `Training` are the two ends of
the scale.
"""

from tracearena.synthesis.base import Synthesizer
from tracearena.synthesis.baselines import Training, Uniform
from tracearena.synthesis.ppmtf import PPMTF
from tracearena.synthesis.sgd import SGD
from tracearena.synthesis.sglt import SGLT

__all__ = ["PPMTF", "SGD", "SGLT", "Synthesizer", "Training", "Uniform"]
