"""Pages for people: one self-contained HTML file, offline, readable on a phone and on paper.

`Page` collects headings, text, tables and Plotly figures and writes them as one file;
`place_map` draws amounts on a map that keeps the shape of the ground; other maps start
from `ground`. Colours come from `COLOURS` (Okabe-Ito) for categories and ``"Viridis"`` for amounts,
everywhere.
"""

from tracearena.pages.maps import ground, place_map, sensitive_marks
from tracearena.pages.page import COLOURS, Page

__all__ = ["COLOURS", "Page", "ground", "place_map", "sensitive_marks"]
