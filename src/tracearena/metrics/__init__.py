"""Scores of defences and attacks, and what released data is still good for."""

from tracearena.metrics.reidentification import ReidentificationScore, reidentification_score
from tracearena.metrics.trace_inference import TraceInferenceScore, trace_inference_score
from tracearena.metrics.utility import UtilityScore, utility_score

__all__ = [
    "ReidentificationScore",
    "TraceInferenceScore",
    "UtilityScore",
    "reidentification_score",
    "trace_inference_score",
    "utility_score",
]
