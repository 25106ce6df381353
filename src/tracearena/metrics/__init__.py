"""Scores of defences and attacks, and what released data is still good for."""

from tracearena.metrics.distributions import (
    ClusterPopulations,
    category_fractions,
    cluster_populations,
    population,
    tp_tv,
    vf_tv,
    visit_fractions,
)
from tracearena.metrics.diversity import Diversity, diversity
from tracearena.metrics.poi_accuracy import PoiAccuracy, poi_accuracy
from tracearena.metrics.publishing import time_divergence, visit_divergence
from tracearena.metrics.reidentification import ReidentificationScore, reidentification_score
from tracearena.metrics.trace_inference import TraceInferenceScore, trace_inference_score
from tracearena.metrics.transitions import (
    legacy_directions,
    tm_emd,
    tm_emd_sliced,
    tm_tv,
    tp_emd_sliced,
    transition_matrix,
)
from tracearena.metrics.utility import UtilityScore, utility_score

__all__ = [
    "ClusterPopulations",
    "Diversity",
    "PoiAccuracy",
    "ReidentificationScore",
    "TraceInferenceScore",
    "UtilityScore",
    "category_fractions",
    "cluster_populations",
    "diversity",
    "legacy_directions",
    "poi_accuracy",
    "population",
    "reidentification_score",
    "time_divergence",
    "tm_emd",
    "tm_emd_sliced",
    "tm_tv",
    "tp_emd_sliced",
    "tp_tv",
    "trace_inference_score",
    "transition_matrix",
    "utility_score",
    "vf_tv",
    "visit_divergence",
    "visit_fractions",
]
