"""What a notebook shows: pictures of traces and results, and small tables that stand for them.

Traces and results have `plot` and draw themselves in a notebook; both come from here. A picture is a
figure of Matplotlib, or of Plotly to move about in; a small table is HTML without scripts, of at most
50 kB whatever it stands for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
