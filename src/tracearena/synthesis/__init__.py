"""Synthesizers: new traces that look like the training traces, and how."""

from tracearena.synthesis.base import Synthesizer
from tracearena.synthesis.ppmtf import PPMTF

__all__ = ["PPMTF", "Synthesizer"]
