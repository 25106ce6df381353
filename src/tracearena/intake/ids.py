"""Ids as files hold them: of users, places and trajectories."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.traces.row_table import distinct

LONGEST_ID = 256
"""Letters of an id or a category: arrays of text are as wide as their longest entry."""

NUL = "\0"
"""What no id may hold: arrays of text drop it at the end of an entry."""


def identifiers(column: pl.Series) -> pl.Series:
    """Return ids as whole numbers if all of them are, written the plain way, and as text otherwise.

    >>> identifiers(pl.Series(["7", "12"])).to_list(), identifiers(pl.Series(["007", "12"])).to_list()
    ([7, 12], ['007', '12'])
    """
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype.is_float():
        whole = column.drop_nulls()
        if bool((whole == whole.floor()).all()):
            return column.cast(pl.Int64, strict=False)
    text = column.cast(pl.String)
    if _is_text(text):
        return text
    number = text.cast(pl.Int64, strict=False)
    plain = number.null_count() == text.null_count() and not bool(text.str.contains(r"^(0.|\+|-0)").any())
    return number if plain else text


def numbered(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of each id, from 0 in their order, and the ids; none is missing.

    >>> [part.tolist() for part in numbered(pl.Series(["b", "a", "b"]))]
    [[1, 0, 1], ['a', 'b']]
    """
    if column.dtype.is_integer():
        known, number = distinct(column.to_numpy())
        return number, known
    words = column.unique().sort()
    number = column.cast(pl.Enum(words)).to_physical().to_numpy().astype(np.int64)
    return number, array_of(words)


def array_of(ids: pl.Series) -> NDArray[Any]:
    """Return ids as an array of whole numbers or of text."""
    return np.array(ids.to_list(), np.str_) if ids.dtype == pl.String else ids.to_numpy()


def _is_text(text: pl.Series) -> bool:
    """Whether the first id is no number, so that none needs to be tried."""
    first = text.first()
    return isinstance(first, str) and not first.lstrip("-").isdigit()
