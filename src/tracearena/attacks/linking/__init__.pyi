from .evidence import EVIDENCE, Histogram, Scalar, histogram, kinds_for, scalar
from .linker import Linker, LinkMatch, LinkMatcher
from .observations import Observations

__all__ = [
    "EVIDENCE",
    "Histogram",
    "LinkMatch",
    "LinkMatcher",
    "Linker",
    "Observations",
    "Scalar",
    "histogram",
    "kinds_for",
    "scalar",
]
