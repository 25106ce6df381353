"""Which regions of a contest are sensitive: those with a hospital in them, or whatever is named."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, ParameterError
from tracearena.traces import Places, Traces

_SHOWN = 10


def parse_categories(text: str) -> tuple[str, ...]:
    """Read which categories are sensitive, such as ``category=hospital`` or ``category=hospital,clinic``.

    >>> parse_categories("category=Hospital, clinic")
    ('hospital', 'clinic')
    """
    match = re.fullmatch(r"\s*category\s*=(.*)", text, re.DOTALL)
    names = [] if match is None else [name.strip().casefold() for name in match[1].split(",")]
    if not names or not all(names):
        raise ParameterError.of("sensitive", text, "category= and one or more categories with commas between")
    return tuple(names)


def of_categories(points: Places, categories: tuple[str, ...]) -> Places:
    """Return the points of some categories; of ``building/Hospital/7`` each part is one.

    >>> places = Places([35.0, 35.1], [139.0, 139.1], categories=["building/Hospital/7", "food/Ramen"])
    >>> of_categories(places, ("hospital",)).latitude.tolist()
    [35.0]
    """
    if points.categories is None:
        raise DataError("the places have no categories")
    kinds, kind_of = np.unique(points.categories, return_inverse=True)
    parts = [{part.strip().casefold() for part in (kind, *kind.split("/"))} for kind in kinds.tolist()]
    unknown = [name for name in categories if not any(name in one for one in parts)]
    if unknown:
        known = sorted({part for one in kinds.tolist() for part in one.split("/")[:2] if part})
        shown = ", ".join(known[:_SHOWN]) + (f" and {len(known) - _SHOWN} more" if known[_SHOWN:] else "")
        raise DataError(f"no place is of category {unknown[0]!r}; there are {shown or 'none'}")
    chosen = np.array([bool(one.intersection(categories)) for one in parts])[kind_of]
    return Places(points.latitude[chosen], points.longitude[chosen])


def with_sensitive(traces: Traces, points: Places) -> Traces:
    """Return the traces with those regions sensitive in which one of the points lies, and no others."""
    places = traces.places
    if places.grid is None:
        raise DataError("the regions with sensitive places in them are those of a grid (--grid 32x32)")
    cells: NDArray[np.int32] = places.grid.cell_of(points.latitude, points.longitude)
    if not (cells >= 0).any():
        raise DataError(f"none of the {len(points):,} sensitive places lies in the box of the regions")
    marked = Places(
        places.latitude,
        places.longitude,
        ids=places.ids,
        sensitive=np.isin(np.arange(len(places)), cells),
        categories=places.categories,
        grid=places.grid,
        km_per_degree=places.km_per_degree,
    )
    return traces.onto(marked)
