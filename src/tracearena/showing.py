"""The way from traces and results to the pictures that notebooks show of them.

Whatever is drawn stands to the left of the room that draws, `views`, and so asks for it by name when
somebody wants to look.
"""

from __future__ import annotations

import importlib
from typing import Any

_VIEWS = "tracearena.views"


def view(name: str) -> Any:
    """Return a function of the room `views`."""
    return getattr(importlib.import_module(_VIEWS), name)
