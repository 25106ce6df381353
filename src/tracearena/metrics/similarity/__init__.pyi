from .geographic import all_pairs, geographic_similarity
from .mapping import Mapping, first_order_mapping, zeroth_order_mapping
from .semantic import RankedPlaces, semantic_similarity

__all__ = [
    "Mapping",
    "RankedPlaces",
    "all_pairs",
    "first_order_mapping",
    "geographic_similarity",
    "semantic_similarity",
    "zeroth_order_mapping",
]
