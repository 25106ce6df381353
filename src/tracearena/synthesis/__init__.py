"""Synthesizers: new traces that look like the training traces.

`PPMTF` keeps what is typical of clusters of users, `SGD` only what is common to all; `Uniform` and
`Training` are the two ends of the scale.
"""

from tracearena.synthesis.base import Synthesizer
from tracearena.synthesis.baselines import Training, Uniform
from tracearena.synthesis.ppmtf import PPMTF
from tracearena.synthesis.sgd import SGD

__all__ = ["PPMTF", "SGD", "Synthesizer", "Training", "Uniform"]
