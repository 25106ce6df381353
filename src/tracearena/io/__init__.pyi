from . import large, places, points, ppmtf, pwscup
from .options import Choices
from .places import read_places, write_places
from .readers import read
from .recognition import FORMATS, GPS_FORMATS, recognise
from .released import read_released
from .report import Example, Reading, Report
from .writers import fit_to_format, write

__all__ = [
    "FORMATS",
    "GPS_FORMATS",
    "Choices",
    "Example",
    "Reading",
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
    "recognise",
    "write",
    "write_places",
]
