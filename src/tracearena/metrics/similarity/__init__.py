"""How alike two people's mobility is: in place (geographic) and in kind (semantic).

`MobilityProfiles` are what is compared; `geographic_similarity` and `semantic_similarity` compare
them pair by pair, and `zeroth_order_mapping` and `first_order_mapping` say which places match.
"""

from tracearena.metrics.similarity.aggregate import AggregateMobility
from tracearena.metrics.similarity.geographic import all_pairs, geographic_similarity
from tracearena.metrics.similarity.mapping import Mapping, first_order_mapping, zeroth_order_mapping
from tracearena.metrics.similarity.profiles import MobilityProfiles, Periods
from tracearena.metrics.similarity.semantic import RankedPlaces, semantic_similarity

__all__ = [
    "AggregateMobility",
    "Mapping",
    "MobilityProfiles",
    "Periods",
    "RankedPlaces",
    "all_pairs",
    "first_order_mapping",
    "geographic_similarity",
    "semantic_similarity",
    "zeroth_order_mapping",
]
