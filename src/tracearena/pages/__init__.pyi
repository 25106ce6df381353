from . import contest, svg
from .contest_days import map_layout, place_map, sensitive_marks
from .html import COLOURS, MARKERS, Page

__all__ = ["COLOURS", "MARKERS", "Page", "contest", "map_layout", "place_map", "sensitive_marks", "svg"]
