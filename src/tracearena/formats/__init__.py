"""Readers and writers of files, one module a format.

`read` and `write` go by the format's name; `recognise` finds it from the first lines. What a file
got wrong is in the `Report` beside the traces.

>>> import tracearena as ta
>>> traces, report = ta.formats.read("checkins.csv", grid="32x32")   # doctest: +SKIP
>>> ta.formats.write("checkins.parquet", traces)                     # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracearena.formats.choices import Choices
    from tracearena.formats.dispatch import FORMATS, read, write
    from tracearena.formats.fitting import fitted
    from tracearena.formats.place_files import read_places, write_places
    from tracearena.formats.recognition import recognise
    from tracearena.formats.report import Dropped, Report

__all__ = [
    "FORMATS",
    "Choices",
    "Dropped",
    "Report",
    "fitted",
    "read",
    "read_places",
    "recognise",
    "write",
    "write_places",
]

# The strict readers of contests need no Polars, whose import takes longer than they do.
_HOMES = {
    "choices": ("Choices",),
    "dispatch": ("FORMATS", "read", "write"),
    "fitting": ("fitted",),
    "place_files": ("read_places", "write_places"),
    "recognition": ("recognise",),
    "report": ("Dropped", "Report"),
}
_MODULES = ("foursquare", "gowalla", "peopleflow", "place_table", "ppmtf", "pwscup", "table", "tsmc")


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"tracearena.formats.{module}"), name)
    if name in _MODULES:
        return importlib.import_module(f"tracearena.formats.{name}")
    raise AttributeError(f"module 'tracearena.formats' has no attribute {name!r}")
