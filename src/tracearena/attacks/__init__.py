"""Attacks: who is who, and who was where."""

from tracearena.attacks.base import ReidentificationAttack, TraceInferenceAttack
from tracearena.attacks.evaluation import (
    Evaluation,
    Halves,
    Utility,
    baselines,
    evaluate,
    halves,
    worse_than_uniform,
)
from tracearena.attacks.fuzzy_counting import FuzzyCounting, FuzzyCountingT, FuzzyMatcher
from tracearena.attacks.gps_base import GpsAttack
from tracearena.attacks.home_probability import HomeProbabilityR, HomeProbabilityT
from tracearena.attacks.markov import (
    MarkovIdentification,
    MembershipInference,
    MembershipResult,
    TraceGuesses,
)
from tracearena.attacks.matching import Match, Matcher, MatchingIdentification, MatchingInference
from tracearena.attacks.random_guess import RandomIdentification, RandomInference
from tracearena.attacks.replay import ReferenceReplay
from tracearena.attacks.smoothing import Interpolation, InterpolationSmoothing, Smoothing
from tracearena.attacks.tracking import ServiceResult, ViterbiTracking, hide_from_service
from tracearena.attacks.tuning import SampleTeam, Tuning, tune
from tracearena.attacks.visit_probability import VisitMatcher, VisitProbabilityR, VisitProbabilityT

__all__ = [
    "Evaluation",
    "FuzzyCounting",
    "FuzzyCountingT",
    "FuzzyMatcher",
    "GpsAttack",
    "Halves",
    "HomeProbabilityR",
    "HomeProbabilityT",
    "Interpolation",
    "InterpolationSmoothing",
    "MarkovIdentification",
    "Match",
    "Matcher",
    "MatchingIdentification",
    "MatchingInference",
    "MembershipInference",
    "MembershipResult",
    "RandomIdentification",
    "RandomInference",
    "ReferenceReplay",
    "ReidentificationAttack",
    "SampleTeam",
    "ServiceResult",
    "Smoothing",
    "TraceGuesses",
    "TraceInferenceAttack",
    "Tuning",
    "Utility",
    "VisitMatcher",
    "VisitProbabilityR",
    "VisitProbabilityT",
    "ViterbiTracking",
    "baselines",
    "evaluate",
    "halves",
    "hide_from_service",
    "tune",
    "worse_than_uniform",
]
