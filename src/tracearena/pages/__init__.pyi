from . import contest, svg
from .html import COLOURS, MARKERS, Page
from .maps import ground, place_map, sensitive_marks

__all__ = ["COLOURS", "MARKERS", "Page", "contest", "ground", "place_map", "sensitive_marks", "svg"]
