from .classes import LocationClasses, cluster, separation
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
    "cluster",
    "draw_by_likelihood",
    "fill_gaps",
    "merge_places",
    "semantic_graph",
    "separation",
]
