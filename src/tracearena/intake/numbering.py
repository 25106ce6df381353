"""The ids of a column as numbers, and what each number stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.traces.row_table import distinct


def numbered(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of each value among the distinct ones, ascending, and those.

    >>> number, ids = numbered(pl.Series(["b", "a", "b"]))
    >>> number.tolist(), ids.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    if column.dtype.is_integer():
        ids, number = distinct(column.to_numpy())
        return number.astype(np.int64), ids
    known = column.unique().sort()
    # As physical numbers of an Enum, text is looked up once in parallel and never sorted as a whole.
    number = column.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int64)
    return number, np.array(known.to_list(), np.str_)
