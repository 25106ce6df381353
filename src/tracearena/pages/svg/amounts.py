"""Colours of amounts: viridis, as in Plotly's maps."""

from __future__ import annotations

_STOPS = (
    "440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725",
)  # fmt: skip
DECIMALS = 3
"""With how many decimals a score is written; a live board has fewer."""
_BRIGHT = 0.45
"""From here on black is easier to read on the colour than white is."""


def viridis(share: float) -> str:
    """Return the colour of a share from 0 (dark) to 1 (bright).

    >>> viridis(0), viridis(1)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(_STOPS) - 1)
    low = min(int(place), len(_STOPS) - 2)
    part = place - low
    mixed = (
        round((1 - part) * int(_STOPS[low][i : i + 2], 16) + part * int(_STOPS[low + 1][i : i + 2], 16))
        for i in (0, 2, 4)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink_on(share: float) -> str:
    """Return the class of words that stand on the colour of a share."""
    return "on-bright" if share >= _BRIGHT else "on-dark"
