"""The arrays that the loops of PPMTF take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.integer]
"""Rows of a matrix; the smallest type that holds them."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Small = NDArray[np.float32]
Flags = NDArray[np.bool_]
