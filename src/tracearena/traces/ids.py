"""Ids of two files beside each other: those that are written alike are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def comparable(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ids of two files so that they can be compared: as text, unless both are numbers.

    A file's ids are numbers only if all of them are, so that one odd id makes text of the others.

    >>> comparable(np.array([1, 2]), np.array(["1", "unknown"]))[0].tolist()
    ['1', '2']
    """
    if first.dtype.kind == second.dtype.kind:
        return first, second
    return first.astype(np.str_), second.astype(np.str_)


def positions(wanted: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each wanted id stands among the known ones, -1 for one that is not there.

    >>> positions(np.array([2, 7]), np.array(["unknown", "2"])).tolist()
    [1, -1]
    """
    wanted, known = comparable(wanted, known)
    at = {user: place for place, user in enumerate(known.tolist())}
    return np.array([at.get(user, -1) for user in wanted.tolist()], np.int64)
