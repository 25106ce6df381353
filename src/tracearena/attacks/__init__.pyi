from . import bayesian, deanonymisation, linking, markov, smoothing, tracking, zone_finding
from .aligned import AlignedIdentification, AlignedMatcher
from .fuzzy_counting import FuzzyCounting, FuzzyCountingT, FuzzyMatcher
from .linking.linker import Linker
from .markov.identification import MarkovIdentification, TraceGuesses
from .markov.membership import MembershipInference, MembershipResult
from .matching import Match, Matcher, MatchingIdentification, MatchingInference
from .parameters import ParameterLeak, attack_parameters
from .random_guess import RandomIdentification, RandomInference
from .replay import ReferenceReplay
from .smoothing.methods import Interpolation, InterpolationSmoothing, Smoothing
from .tracking.viterbi import ViterbiTracking
from .visit_probability import (
    HomeProbabilityR,
    HomeProbabilityT,
    VisitMatcher,
    VisitProbabilityR,
    VisitProbabilityT,
)
from .zone_finding.homes import GuessedHomes, homes_behind_zones

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
    "MarkovIdentification",
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
    "TraceGuesses",
    "VisitMatcher",
    "VisitProbabilityR",
    "VisitProbabilityT",
    "ViterbiTracking",
    "attack_parameters",
    "bayesian",
    "deanonymisation",
    "homes_behind_zones",
    "linking",
    "markov",
    "smoothing",
    "tracking",
    "zone_finding",
]
