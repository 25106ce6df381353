from .fakes import FakeMaker, Fakes, draw_by_likelihood
from .legacy import LegacyFakeMaker, legacy_graph, legacy_mobility
from .model import SGLT
from .preparation import DaySeeds, MergedPlaces, fill_gaps, merge_places
from .privacy import PassRates, PrivacyTests, Verdicts
from .semantics import LocationClasses, bisect_graph, find_classes, semantic_graph, separation

__all__ = [
    "SGLT",
    "DaySeeds",
    "FakeMaker",
    "Fakes",
    "LegacyFakeMaker",
    "LocationClasses",
    "MergedPlaces",
    "PassRates",
    "PrivacyTests",
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
