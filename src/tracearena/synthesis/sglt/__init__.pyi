from .fakes import FakeMaker, Fakes, PassRates, PrivacyTests, Verdicts, draw_by_likelihood
from .legacy import LegacyFakeMaker, legacy_graph, legacy_mobility
from .semantics import (
    DaySeeds,
    LocationClasses,
    MergedPlaces,
    bisect_graph,
    fill_gaps,
    find_classes,
    merge_places,
    semantic_graph,
    separation,
)
from .synthesizer import SGLT

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
