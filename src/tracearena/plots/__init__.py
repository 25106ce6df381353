"""Pictures of traces and results, and small tables of them for notebooks.

Traces and results have a method `plot`, and notebooks display them as small tables; both come from here. A
picture is a Matplotlib figure, or a Plotly figure in which you can zoom. A small table is HTML without
scripts, of at most 50 kB.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
