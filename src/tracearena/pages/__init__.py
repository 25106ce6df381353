"""Pages for people: one self-contained HTML file, offline, readable on a phone and on paper.

`Page` collects headings, text, tables and Plotly figures and writes them as one file;
`place_map` draws amounts on a map that keeps the shape of the ground. Colours come from
`COLOURS` (Okabe-Ito) for categories and ``"Viridis"`` for amounts, everywhere.
"""

from tracearena.pages.maps import place_map
from tracearena.pages.page import COLOURS, Page

__all__ = ["COLOURS", "Page", "place_map"]
