from . import contest
from .maps import ground, place_map, sensitive_marks
from .page import COLOURS, Page

__all__ = ["COLOURS", "Page", "contest", "ground", "place_map", "sensitive_marks"]
