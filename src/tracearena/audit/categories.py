"""Sensitive places by kind: what their category says, or that the file marks them."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import Places

MARKED = "marked"
"""Places that the file itself marks as sensitive."""

PATTERNS = {
    "health": r"hospital|clinic|doctor|dentist|medical|pharmac|health|therap|psychi|rehab|maternity",
    "worship": r"church|mosque|synagogue|temple|shrine|cathedral|chapel|worship|spiritual|religio|monastery",
    "justice": r"prison|jail|court ?house|police|probation",
    "politics": r"political|campaign office|trade union|union hall|embassy|consulate",
    "intimate": r"strip club|sex|adult|gay bar|love hotel|escort",
    "addiction": r"casino|betting|liquor|alcoholics|cannabis|dispensary",
    "children": r"kindergarten|nursery|day ?care|elementary school|primary school|playground",
}
"""Words in a category, which may be a path such as ``food/Café``, by kind."""


def categories_of(places: Places) -> dict[str, NDArray[np.bool_]]:
    """Return which places are of each sensitive kind; kinds without places are left out.

    >>> places = Places([0, 1, 2], [0, 0, 0], categories=["building/Hospital/7", "food/Café", "Church"])
    >>> {kind: chosen.tolist() for kind, chosen in categories_of(places).items()}
    {'health': [True, False, False], 'worship': [False, False, True]}
    """
    found = {MARKED: places.sensitive} if places.sensitive.any() else {}
    if places.categories is None:
        return found
    kinds, inverse = np.unique(places.categories.astype(str), return_inverse=True)
    for name, pattern in PATTERNS.items():
        match = np.array([bool(re.search(pattern, kind, re.IGNORECASE)) for kind in kinds.tolist()])
        if match.any():
            found[name] = match[inverse]
    return found
