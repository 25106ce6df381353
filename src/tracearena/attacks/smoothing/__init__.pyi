from .methods import Interpolation, InterpolationSmoothing, Smoothing

__all__ = ["Interpolation", "InterpolationSmoothing", "Smoothing"]
