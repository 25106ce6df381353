"""SGLT: places grouped by what they mean, and fake traces through the same classes as real ones."""

from tracearena.synthesis.sglt.classes import LocationClasses, cluster, separation
from tracearena.synthesis.sglt.fakes import FakeMaker, Fakes, draw_by_likelihood
from tracearena.synthesis.sglt.graph import semantic_graph
from tracearena.synthesis.sglt.model import SGLT
from tracearena.synthesis.sglt.preparation import DaySeeds, MergedPlaces, fill_gaps, merge_places
from tracearena.synthesis.sglt.privacy import PassRates, PrivacyTests, Verdicts

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
