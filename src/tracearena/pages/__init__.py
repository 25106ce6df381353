"""Pages for people: one self-contained HTML file, offline, readable on a phone and on paper.

`Page` collects headings, text, tables and Plotly figures and writes them as one file;
`place_map` draws amounts on a map that keeps the shape of the ground; other maps start
from `ground`. Colours come from `COLOURS` (Okabe-Ito) for categories and ``"Viridis"`` for amounts,
markers from `MARKERS`, everywhere. `svg` has pictures for pages that a server sends.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
