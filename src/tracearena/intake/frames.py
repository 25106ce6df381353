"""Data frames of any library, as the rows that readers take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import DataError, ParameterError
from tracearena.frames import WGS84
from tracearena.intake.columns import roles

FRAME = "data frame"
"""What stands in the place of a path in reports and errors."""

_ACCEPTED = (
    "a path, a pandas, Polars, GeoPandas or Arrow table, columns by name, or a NumPy array with named fields"
)


def rows_of_frame(frame: Any) -> pl.DataFrame:
    """Return a table of any library as a Polars frame.

    Of pandas, the levels of the index that have a name become columns, and so does an index of
    moments without one (``time``). Of GeoPandas, the points become ``lat`` and ``lng`` on WGS84.
    """
    if isinstance(frame, pl.LazyFrame):
        return _collected(frame)
    if isinstance(frame, pl.DataFrame):
        return frame
    if _is_of("pandas", frame) and hasattr(frame, "columns"):
        return _of_pandas(frame)
    if hasattr(frame, "__arrow_c_stream__") and not _is_of("pandas", frame):
        return _of_arrow(frame)
    if isinstance(frame, np.ndarray) and frame.dtype.names is not None:
        frame = {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, Mapping):
        return _of_columns(frame)
    raise ParameterError.of("frame", type(frame).__name__, _ACCEPTED)


def _is_of(library: str, frame: Any) -> bool:
    """Whether the class of a frame, or one it is derived from, is of a library that need not be there."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(frame).__mro__)


def _collected(frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except pl.exceptions.PolarsError as error:
        said = (str(error).splitlines() or [""])[0]
        raise DataError(f"the lazy frame cannot be collected: {said[:200]}") from None


def _of_arrow(frame: Any) -> pl.DataFrame:
    try:
        made = pl.DataFrame(frame)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        said = (str(error).splitlines() or [""])[0]
        raise DataError(f"the Arrow table cannot be read: {said[:200]}") from None
    return made


def _of_columns(columns: Mapping[Any, Any]) -> pl.DataFrame:
    made = {str(name): _of_values(name, values) for name, values in columns.items()}
    lengths = {name: len(column) for name, column in made.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length:,}" for name, length in list(lengths.items())[:8])
        raise DataError(f"columns must have as many values as each other, not {shown}")
    return pl.DataFrame(made)


def _of_values(name: Any, values: Any) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"column {name} must be a list of values, one a row")
    return _of_array(array)


def _of_pandas(frame: Any) -> pl.DataFrame:
    names = [str(name) for name in frame.columns]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise DataError(f"the frame has two columns of the name {repeated[0]!r}; rename one")
    geometry = _geometry_of(frame)
    columns = {
        name: _of_series(frame.iloc[:, at])
        for at, name in enumerate(names)
        if geometry is None or name != str(geometry.name)
    }
    if geometry is not None:
        columns |= _coordinates(geometry)
    return pl.DataFrame(columns | _index_columns(frame.index, columns))


def _index_columns(index: Any, columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Return the levels of an index that say something: those with a name, and moments."""
    found: dict[str, pl.Series] = {}
    for level, given in enumerate(index.names):
        values = index.get_level_values(level)
        name = given
        if name is None and values.dtype.kind == "M" and "time" not in roles(list(columns)):
            name = "time"
        if name is not None and str(name) not in columns:
            found[str(name)] = _of_series(values.to_series())
    return found


def _geometry_of(frame: Any) -> Any:
    """Return the points of a frame of GeoPandas; None of any other frame."""
    if not _is_of("geopandas", frame):
        return None
    try:
        geometry = frame.geometry
    except AttributeError:
        raise DataError("the GeoDataFrame has no active geometry; frame.set_geometry names one") from None
    if geometry.crs is None:
        raise DataError(
            "the points have no coordinate reference system; frame.set_crs(4326) says that they are "
            "longitude and latitude on WGS84"
        )
    return geometry


def _coordinates(geometry: Any) -> dict[str, pl.Series]:
    there = (~(geometry.isna() | geometry.is_empty)).to_numpy()
    kinds = geometry.geom_type.to_numpy(dtype=object)
    other = np.flatnonzero(there & (kinds != "Point"))
    if other.size:
        raise DataError(
            f"row {other[0] + 1}, column {geometry.name}: a {kinds[other[0]]}; every row must hold a Point "
            f"(frame.explode makes points of a MultiPoint; {other.size:,} rows are no points)"
        )
    points = geometry[there].to_crs(WGS84)
    columns = {}
    for name, values in (("lat", points.y), ("lng", points.x)):
        degrees = np.full(len(geometry), np.nan)
        degrees[there] = values.to_numpy()
        columns[name] = pl.Series(degrees, nan_to_null=True)
    return columns


def _of_series(column: Any) -> pl.Series:
    """Return a column of pandas; by Arrow where pandas itself keeps it so, and without it elsewhere."""
    kind = column.dtype
    if getattr(kind, "storage", None) == "pyarrow" or hasattr(kind, "pyarrow_dtype"):
        made = pl.from_arrow(column.array.__arrow_array__())
        assert isinstance(made, pl.Series)
        return made
    if getattr(kind, "tz", None) is not None:
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _of_array(moments.to_numpy()).dt.replace_time_zone("UTC")
    if hasattr(kind, "categories"):
        return _of_series(kind.categories.to_series()).gather(_codes(column.cat.codes.to_numpy()))
    if kind.name.startswith("period"):
        return _of_series(column.dt.to_timestamp())
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return _of_array(column.to_numpy())
    # Text and numbers that may be missing: whatever pandas keeps them in, objects with None hold all.
    return _of_array(column.to_numpy(dtype=object, na_value=None))


def _codes(codes: NDArray[Any]) -> pl.Series:
    return pl.Series(np.where(codes < 0, 0, codes).astype(np.uint32)).set(pl.Series(codes < 0), None)


def _of_array(values: NDArray[Any]) -> pl.Series:
    """Return an array without missing values other than None, NaN and NaT."""
    kind = values.dtype
    if kind.kind == "M":
        unit = np.datetime_data(kind)[0]
        finer = {"s": "ms", "m": "ms", "h": "ms"}.get(unit, "D" if unit in "YMW" else unit)
        return pl.Series(values.astype(f"datetime64[{finer}]"))
    if kind.kind == "U":
        return pl.Series(values.tolist(), dtype=pl.String)
    if kind.kind != "O":
        return pl.Series(np.ascontiguousarray(values))
    present = values.tolist()
    if any(isinstance(value, float) for value in present):
        present = [None if value != value else value for value in present]
    try:
        return pl.Series(present, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        # Objects of several kinds, such as moments of several zones, are what they look like.
        return pl.Series([None if value is None else str(value) for value in present], dtype=pl.String)
