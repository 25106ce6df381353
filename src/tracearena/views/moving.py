"""Figures of our pages as figures of Plotly, which notebooks show and people move about in."""

from __future__ import annotations

from typing import Any

from tracearena.pages.html import COLOURS

_COLOURS = {"var(--ink)": "#1c1e21", "var(--paper)": "#ffffff", "var(--soft)": "#5b6169"}
"""What stands for the colours of a page that follows its reader's setting; those of paper."""


def moving(figure: dict[str, Any]) -> Any:
    """Return a figure of Plotly made of the dictionary that a page would show."""
    import plotly.graph_objects as go

    made = go.Figure(_inked(figure))
    made.update_layout(
        template="plotly_white",
        colorway=COLOURS,
        font={"family": "system-ui, sans-serif"},
        margin={"l": 10, "r": 10, "b": 10},
    )
    return made.update_xaxes(automargin=True).update_yaxes(automargin=True)


def _inked(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _inked(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_inked(value) for value in part]
    return _COLOURS.get(part, part) if isinstance(part, str) else part
