from . import contest, svg
from .maps import ground, place_map, sensitive_marks
from .page import Page
from .style import COLOURS, MARKERS

__all__ = ["COLOURS", "MARKERS", "Page", "contest", "ground", "place_map", "sensitive_marks", "svg"]
