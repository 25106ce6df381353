from .budget import PrivacyBudget, fit_bounded, measure_kappa, privacy_budget
from .deniability import Deniability, DeniabilityTest, measure_deniability
from .diagnostics import ChainReport, run_chains
from .distributed import PartitionedTraces
from .generation import TraceModel, VirtualUsers
from .gibbs import Factors
from .model import PPMTF, ClusterFeatures, cluster_features
from .training import Convergence, SeenCells

__all__ = [
    "PPMTF",
    "ChainReport",
    "ClusterFeatures",
    "Convergence",
    "Deniability",
    "DeniabilityTest",
    "Factors",
    "PartitionedTraces",
    "PrivacyBudget",
    "SeenCells",
    "TraceModel",
    "VirtualUsers",
    "cluster_features",
    "fit_bounded",
    "measure_deniability",
    "measure_kappa",
    "privacy_budget",
    "run_chains",
]
