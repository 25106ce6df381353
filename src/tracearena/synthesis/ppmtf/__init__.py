"""PPMTF: two tensors factorised together, and traces drawn from the factors."""

from tracearena.synthesis.ppmtf.budget import PrivacyBudget, fit_bounded, measured_kappa, privacy_budget
from tracearena.synthesis.ppmtf.clusters import ClusterFeatures, cluster_features
from tracearena.synthesis.ppmtf.convergence import Convergence
from tracearena.synthesis.ppmtf.deniability import Deniability, deniability
from tracearena.synthesis.ppmtf.gibbs import Factors
from tracearena.synthesis.ppmtf.model import PPMTF
from tracearena.synthesis.ppmtf.partitioned import PartitionedTraces
from tracearena.synthesis.ppmtf.sampling import TraceModel
from tracearena.synthesis.ppmtf.seen import SeenCells
from tracearena.synthesis.ppmtf.tensors import transition_counts, visit_counts
from tracearena.synthesis.ppmtf.virtual import VirtualUsers

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
    "deniability",
    "fit_bounded",
    "measured_kappa",
    "privacy_budget",
    "transition_counts",
    "visit_counts",
]
