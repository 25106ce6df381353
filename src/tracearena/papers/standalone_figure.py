"""A Matplotlib figure that a notebook shows by itself.

It is a module of its own because a subclass loads Matplotlib on import.
"""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_DPI = 110


class StandaloneFigure(Figure):
    """A figure on a canvas of its own: no window, no global state, nothing to close."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        """Return the picture as notebooks ask for it."""
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=_DPI, bbox_inches="tight")
        return out.getvalue()
