"""Pages for people: one self-contained HTML file, offline, readable on a phone and on paper.

`Page` fills in a template and writes it as one file; the templates, with all their sentences, are in
``templates``. `svg` has the pictures of a contest, for the server, reports and notebooks. `place_map`
draws amounts for Plotly on a map that keeps the shape of the ground; other maps start from `map_layout`.
Colours come from `COLOURS` (Okabe-Ito) for categories and ``"Viridis"`` for amounts, markers from
`MARKERS`, everywhere.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
