from .classes import LocationClasses, find_classes, separation
from .fakes import FakeMaker, Fakes, draw_by_likelihood
from .graph import semantic_graph
from .model import SGLT
from .preparation import DaySeeds, MergedPlaces, fill_gaps, merge_places
from .privacy import PassRates, PrivacyTests, Verdicts

__all__ = [
    "SGLT",
    "DaySeeds",
    "FakeMaker",
    "Fakes",
    "LocationClasses",
    "MergedPlaces",
    "PassRates",
    "PrivacyTests",
    "Verdicts",
    "draw_by_likelihood",
    "fill_gaps",
    "find_classes",
    "merge_places",
    "semantic_graph",
    "separation",
]
