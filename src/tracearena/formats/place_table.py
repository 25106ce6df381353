"""Places in a CSV or Parquet file of our own: one row a place."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracearena.errors import DataError, FileError
from tracearena.files.io import replacing, require_columns
from tracearena.intake.columns import PLACES, roles
from tracearena.intake.delimited import read_rows, split_header, text_bytes
from tracearena.intake.frames import FRAME, rows_of_frame
from tracearena.intake.ids import LONGEST_ID, NUL, identifiers
from tracearena.intake.tables import expected, is_parquet, read_parquet
from tracearena.intake.text_tables import header_fields
from tracearena.traces import Box, Grid, Places

_BOUND_DECIMALS = 9
_OWN = ("sensitive", "row", "column")


def write(places: Places, path: str | PathLike[str]) -> None:
    """Write the columns of `Places.to_frame`, sensitive places as 1 and others as 0."""
    frame = places.to_frame().with_columns(pl.col("sensitive").cast(pl.Int8))
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
        else:
            out.write(frame.write_csv().encode())


def read(path: str | PathLike[str]) -> Places:
    """Read places: an id, latitude and longitude under the names `table` knows; the rest if it is there.

    With the columns ``row`` and ``column`` the places must be all cells of a grid, in its order.
    """
    return _places_of(_parquet(path) if is_parquet(path) else _csv(path), path)


def of_frame(frame: Any) -> Places:
    """Make places of a data frame of any library with the columns of a file of places."""
    return _places_of(_chosen(rows_of_frame(frame), FRAME), FRAME)


def _places_of(frame: pl.DataFrame, path: str | PathLike[str]) -> Places:
    found = roles(frame.columns, PLACES)
    if not {"venue", "lat", "lon"} <= set(found):
        names = ", ".join(frame.columns[:12])
        raise FileError.whole(path, "no columns for a place, latitude and longitude", "columns", names)
    latitude, longitude = (_numbers(path, frame, found[role]) for role in ("lat", "lon"))
    ids = identifiers(frame[found["venue"]])
    if ids.null_count() or (ids.dtype == pl.String and bool((ids.str.len_chars() > LONGEST_ID).any())):
        raise FileError.whole(
            path, f"has places without an id, or with one beyond {LONGEST_ID} letters", "id"
        )
    if ids.dtype == pl.String and bool(ids.str.contains(NUL, literal=True).any()):
        raise FileError.whole(path, "has places whose id holds U+0000", "id")
    sensitive = frame["sensitive"].cast(pl.Int8, strict=False).fill_null(0) if "sensitive" in frame else None
    try:
        return Places(
            latitude,
            longitude,
            ids=np.asarray(ids.to_list()),
            sensitive=None if sensitive is None else sensitive.to_numpy() > 0,
            categories=_categories(frame[found["category"]]) if "category" in found else None,
            grid=_grid(path, frame, latitude, longitude) if {"row", "column"} <= set(frame.columns) else None,
        )
    except DataError as error:
        if isinstance(error, FileError):
            raise
        raise FileError.whole(path, str(error), "places") from None


def _parquet(path: str | PathLike[str]) -> pl.DataFrame:
    raw = read_parquet(
        path, lambda names: [*roles(names, PLACES).values(), *(set(_OWN) & set(names))] or names[:12]
    )
    return _chosen(raw, path)


def _chosen(raw: pl.DataFrame, path: str | PathLike[str]) -> pl.DataFrame:
    kinds = {column: role for role, column in roles(raw.columns, PLACES).items()}
    if not {"venue", "lat", "lon"} <= set(kinds.values()):
        return raw
    # A frame may have columns of its own under names that events have, such as a time.
    known = [name for name in raw.columns if name in kinds or name in _OWN]
    return pl.DataFrame({name: expected(raw[name], kinds.get(name, name), path) for name in known})


def _categories(column: pl.Series) -> list[str]:
    return column.cast(pl.String).fill_null("").str.slice(0, LONGEST_ID).to_list()


def _csv(path: str | PathLike[str]) -> pl.DataFrame:
    header, rest = split_header(text_bytes(path))
    names, separator = header_fields(header)
    require_columns(path, len(names))
    columns = [f"column {i}" for i in range(len(names))]
    frame = read_rows(path, rest, columns, separator, quoted=True)
    unique = dict(zip(columns, names, strict=True))
    if len(set(names)) != len(names):
        raise FileError.whole(path, "has two columns of one name", "columns", header)
    return frame.select(columns).rename(unique)


def _numbers(path: str | PathLike[str], frame: pl.DataFrame, column: str) -> Any:
    numbers = frame[column].cast(pl.Float64, strict=False)
    if numbers.null_count():
        row = int(numbers.is_null().arg_true()[0])
        raise FileError.whole(
            path, f"row {row + 1}, column {column}: not a number", "number", str(frame[column][row])
        )
    return numbers.to_numpy()


def _grid(path: str | PathLike[str], frame: pl.DataFrame, latitude: Any, longitude: Any) -> Grid:
    row, column = (
        frame[name].cast(pl.Int64, strict=False).fill_null(0).to_numpy() for name in ("row", "column")
    )
    rows, columns = int(row.max(initial=0)), int(column.max(initial=0))
    expected = np.divmod(np.arange(len(row)), max(columns, 1))
    whole = rows * columns == len(row) and np.array_equal(row - 1, expected[0])
    if rows < 2 or columns < 2 or not whole or not np.array_equal(column - 1, expected[1]):
        raise FileError.whole(
            path, "rows and columns are not those of a whole grid of at least 2 × 2", "grid"
        )
    height, width = (latitude[-1] - latitude[0]) / (rows - 1), (longitude[-1] - longitude[0]) / (columns - 1)
    # Rounded, because centres carry the noise of their own arithmetic.
    south, west = latitude[0] - height / 2, longitude[0] - width / 2
    north, east = latitude[-1] + height / 2, longitude[-1] + width / 2
    box = Box(*(round(float(bound), _BOUND_DECIMALS) for bound in (south, west, north, east)))
    return Grid.over(box, rows, columns)
