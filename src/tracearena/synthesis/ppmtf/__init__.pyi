from .budget import PrivacyBudget, fit_bounded, measured_kappa, privacy_budget
from .chains import ChainReport, run_chains
from .clusters import ClusterFeatures, cluster_features
from .conditionals import Factors
from .deniability import Deniability, measure_deniability
from .distributed import PartitionedTraces
from .frame import SeenCells
from .model import PPMTF
from .sampling import TraceModel
from .training import Convergence
from .virtual import VirtualUsers

__all__ = [
    "ChainReport",
    "ClusterFeatures",
    "Convergence",
    "Deniability",
    "Factors",
    "PPMTF",
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
    "run_chains",
]
