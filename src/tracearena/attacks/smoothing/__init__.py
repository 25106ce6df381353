"""Undoing noise on GPS traces: people move along paths, noise does not."""

from tracearena.attacks.smoothing.methods import Interpolation, InterpolationSmoothing, Smoothing

__all__ = ["Interpolation", "InterpolationSmoothing", "Smoothing"]
