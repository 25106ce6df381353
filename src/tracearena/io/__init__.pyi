from . import large, places, points, ppmtf, pwscup
from .formats.recognition import FORMATS, GPS_FORMATS
from .inputs import Input
from .options import ChoiceOptions, Choices, LayoutOptions, ReadOptions
from .places import read_places, write_places
from .readers import read
from .released import ReleasedOptions, read_released
from .report import Example, Reading, Report
from .writers import fit_to_format, write

__all__ = [
    "FORMATS",
    "GPS_FORMATS",
    "ChoiceOptions",
    "Choices",
    "Example",
    "Input",
    "LayoutOptions",
    "ReadOptions",
    "Reading",
    "ReleasedOptions",
    "Report",
    "fit_to_format",
    "large",
    "places",
    "points",
    "ppmtf",
    "pwscup",
    "read",
    "read_places",
    "read_released",
    "write",
    "write_places",
]
