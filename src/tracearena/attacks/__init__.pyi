from . import bayesian, deanonymisation, gps_smoothing, linking, privacy_zones, synthetic, viterbi
from .base import Match, Matcher, MatchingIdentification, MatchingInference
from .baselines import (
    AlignedIdentification,
    AlignedMatcher,
    RandomIdentification,
    RandomInference,
    ReferenceReplay,
)
from .fuzzy_counting import FuzzyCounting, FuzzyCountingT, FuzzyMatcher
from .gps_smoothing import Interpolation, InterpolationSmoothing, Smoothing
from .linking.linker import Linker
from .parameters import ParameterLeak, attack_parameters
from .privacy_zones import GuessedHomes, homes_behind_zones
from .synthetic import MembershipInference, MembershipResult, SyntheticIdentification, TraceGuesses
from .visit_probability import (
    HomeProbabilityR,
    HomeProbabilityT,
    VisitMatcher,
    VisitProbabilityR,
    VisitProbabilityT,
)
from .viterbi import ViterbiTracking

__all__ = [
    "AlignedIdentification",
    "AlignedMatcher",
    "FuzzyCounting",
    "FuzzyCountingT",
    "FuzzyMatcher",
    "GuessedHomes",
    "HomeProbabilityR",
    "HomeProbabilityT",
    "Interpolation",
    "InterpolationSmoothing",
    "Linker",
    "Match",
    "Matcher",
    "MatchingIdentification",
    "MatchingInference",
    "MembershipInference",
    "MembershipResult",
    "ParameterLeak",
    "RandomIdentification",
    "RandomInference",
    "ReferenceReplay",
    "Smoothing",
    "SyntheticIdentification",
    "TraceGuesses",
    "VisitMatcher",
    "VisitProbabilityR",
    "VisitProbabilityT",
    "ViterbiTracking",
    "attack_parameters",
    "bayesian",
    "deanonymisation",
    "gps_smoothing",
    "homes_behind_zones",
    "linking",
    "privacy_zones",
    "synthetic",
    "viterbi",
]
