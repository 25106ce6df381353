from .bisection import bisect_graph
from .classes import LocationClasses, find_classes, separation
from .fakes import FakeMaker, Fakes, draw_by_likelihood
from .graph import semantic_graph
from .legacy_fakes import LegacyFakeMaker
from .legacy_similarity import legacy_graph
from .legacy_transitions import legacy_mobility
from .model import SGLT
from .preparation import DaySeeds, MergedPlaces, fill_gaps, merge_places
from .privacy import PassRates, PrivacyTests, Verdicts

__all__ = [
    "DaySeeds",
    "FakeMaker",
    "Fakes",
    "LegacyFakeMaker",
    "LocationClasses",
    "MergedPlaces",
    "PassRates",
    "PrivacyTests",
    "SGLT",
    "Verdicts",
    "bisect_graph",
    "draw_by_likelihood",
    "fill_gaps",
    "find_classes",
    "legacy_graph",
    "legacy_mobility",
    "merge_places",
    "semantic_graph",
    "separation",
]
