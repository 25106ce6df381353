from . import contest, svg
from .html import COLOURS, MARKERS, Page
from .place_maps import map_layout, place_map, sensitive_marks

__all__ = ["COLOURS", "MARKERS", "Page", "contest", "map_layout", "place_map", "sensitive_marks", "svg"]
