"""tracearena: where defences and attacks on location traces meet.

Every room of the package is imported when it is first used:

>>> import tracearena as ta
>>> ta.obfuscation.PlanarLaplace(l=4, r=1)
PlanarLaplace(l=4, r=1)
"""

from __future__ import annotations

import importlib
from types import ModuleType

__version__ = "0.1.0"

_ROOMS = (
    "attacks",
    "cities",
    "contest",
    "engine",
    "errors",
    "figures",
    "formats",
    "metrics",
    "obfuscation",
    "pages",
    "registry",
    "synthesis",
    "traces",
)

__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> ModuleType:
    if name in _ROOMS:
        return importlib.import_module(f"tracearena.{name}")
    raise AttributeError(f"module 'tracearena' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
