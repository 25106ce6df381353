from . import applications, similarity
from .applications import homes_and_workplaces
from .contest_scores import (
    ReidentificationScore,
    TraceInferenceScore,
    UtilityScore,
    reidentification_score,
    trace_inference_score,
    utility_score,
)
from .counts import Diversity, measure_diversity
from .distributions import (
    ClusterPopulations,
    category_fractions,
    cluster_populations,
    population,
    tp_tv,
    vf_tv,
    visit_fractions,
)
from .services import PoiAccuracy, poi_accuracy_score, time_divergence, visit_divergence
from .transitions import legacy_directions, tm_emd, tm_emd_sliced, tm_tv, tp_emd_sliced
from .transport import tm_emd_exact, tp_emd_exact
from .trips import TripSummary, TripUtility, compare_trips, summarise_trips

__all__ = [
    "ClusterPopulations",
    "Diversity",
    "PoiAccuracy",
    "ReidentificationScore",
    "TraceInferenceScore",
    "TripSummary",
    "TripUtility",
    "UtilityScore",
    "applications",
    "category_fractions",
    "cluster_populations",
    "compare_trips",
    "homes_and_workplaces",
    "legacy_directions",
    "measure_diversity",
    "poi_accuracy_score",
    "population",
    "reidentification_score",
    "similarity",
    "summarise_trips",
    "time_divergence",
    "tm_emd",
    "tm_emd_exact",
    "tm_emd_sliced",
    "tm_tv",
    "tp_emd_exact",
    "tp_emd_sliced",
    "tp_tv",
    "trace_inference_score",
    "utility_score",
    "vf_tv",
    "visit_divergence",
    "visit_fractions",
]
