from .budget import PrivacyBudget, fit_bounded, measured_kappa, privacy_budget
from .clusters import ClusterFeatures, cluster_features
from .deniability import Deniability, measure_deniability
from .distributed import PartitionedTraces
from .files import Convergence
from .gibbs import Factors
from .model import PPMTF
from .sampling import TraceModel
from .tensors import transition_counts, visit_counts
from .training import SeenCells
from .virtual import VirtualUsers

__all__ = [
    "PPMTF",
    "ClusterFeatures",
    "Convergence",
    "Deniability",
    "Factors",
    "PartitionedTraces",
    "PrivacyBudget",
    "SeenCells",
    "TraceModel",
    "VirtualUsers",
    "cluster_features",
    "fit_bounded",
    "measure_deniability",
    "measured_kappa",
    "privacy_budget",
    "transition_counts",
    "visit_counts",
]
