"""Which ids the files can hold: plain whole numbers from 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.formats.pwscup._layout import MAX_ID, Column
from tracearena.traces import Places

_HIGHEST_REGION = 2**24


def place_column(places: Places, kind: str) -> Column:
    """Return the column of region ids of these places."""
    ids = region_ids(places)
    highest = int(ids.max(initial=0))
    known = None if highest == len(ids) else frozenset(ids.tolist())
    return Column("reg_id", kind, highest, known)


def region_ids(places: Places) -> NDArray[np.int32]:
    """Return the ids of places as the files can hold them: whole numbers from 1 on."""
    ids = places.ids
    if ids.dtype.kind != "i" or (len(ids) and not (ids.min() >= 1 and ids.max() <= _HIGHEST_REGION)):
        raise DataError(
            f"the ids of the places must be whole numbers from 1 to {_HIGHEST_REGION} in PWS Cup files"
        )
    return ids.astype(np.int32)


def id_column(values: NDArray[Any], name: str) -> NDArray[np.int32]:
    """Return external ids as the files can hold them."""
    if values.dtype.kind != "i" or (len(values) and not (values.min() >= 1 and values.max() <= MAX_ID)):
        raise DataError(f"{name} must be whole numbers from 1 to {MAX_ID} in PWS Cup files")
    return values.astype(np.int32)
