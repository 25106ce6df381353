"""Pages for people: one self-contained HTML file, offline, readable on a phone and on paper.

`Page` fills in a template and writes it as one file; the templates in ``templates`` have all the sentences.
`svg` has the pictures of a contest, for the server, reports and notebooks. `place_map` draws amounts on a
Plotly map with a true aspect ratio; other maps start from `map_layout`. All pictures use `COLOURS`
(Okabe-Ito) for categories, ``"Viridis"`` for amounts, and `MARKERS`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
