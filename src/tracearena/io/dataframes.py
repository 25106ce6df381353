"""Convert data frames of any library to the rows that readers take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.dataframes import WGS84, find_library
from tracearena.errors import DataError, ParameterError
from tracearena.io.fields.columns import EVENTS, POINTS, find_rival_columns, find_roles, has_enough_columns
from tracearena.io.options import AS_NAMED, Layout

FRAME = "data frame"
"""What stands instead of a path in reports and errors."""

_GEOPANDAS = ("geopandas", "trackintel")
_PANDAS = ("pandas", *_GEOPANDAS, "scikit-mobility")
"""Libraries whose frames are those of GeoPandas, and of pandas."""
_ACCEPTED = (
    "a path, a pandas, Polars, GeoPandas or Arrow table, a frame of scikit-mobility, trackintel or "
    "movingpandas, columns by name, or a NumPy array with named fields"
)

Choice = Callable[[list[str]], list[str]]
"""Says which of the columns are wanted."""


def select_event_rows(frame: Any, layout: Layout = AS_NAMED) -> pl.DataFrame:
    """Return what readers of events or points may use of a table of any library."""
    useful = ("columns", "decimal", "time_format", "one_user")
    layout.refuse_all_but(useful, FRAME, "a data frame, whose columns have names")

    def list_candidates(names: list[str]) -> list[str]:
        """The columns with a role and those that might have it; all where the roles are not all found."""
        found: set[str] = set()
        for wanted in (EVENTS, POINTS):
            chosen = layout.roles(names, wanted)
            if not has_enough_columns(chosen):
                return names
            rivals = find_rival_columns(names, chosen, wanted).values()
            found |= {*chosen.values(), *(other for more in rivals for other in more)}
        return [name for name in names if name in found]

    return convert_frame(frame, list_candidates)


def convert_frame(frame: Any, chosen: Choice = list) -> pl.DataFrame:
    """Return a table of any library as a Polars frame, with those of its columns that are wanted.

    Of pandas, the levels of the index that have a name become columns, and so does an index of
    moments without one (``time``). Of GeoPandas, the points become ``lat`` and ``lng`` on WGS84.
    """
    if isinstance(frame, pl.LazyFrame):
        try:
            return frame.select(chosen(frame.collect_schema().names())).collect()
        except pl.exceptions.PolarsError as error:
            said = (str(error).splitlines() or [""])[0]
            raise DataError(f"the lazy frame cannot be collected: {said[:200]}") from None
    library = find_library(frame)
    if library == "movingpandas" and hasattr(frame, "to_point_gdf"):
        return _convert_pandas(_list_trajectory_points(frame), chosen)
    if library in _PANDAS and hasattr(frame, "columns"):
        return _convert_pandas(frame, chosen)
    if hasattr(frame, "__arrow_c_stream__") and library not in _PANDAS:
        try:
            made = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            said = (str(error).splitlines() or [""])[0]
            raise DataError(f"the Arrow table cannot be read: {said[:200]}") from None
        return made.select(chosen(made.columns))
    if isinstance(frame, np.ndarray) and frame.dtype.names is not None:
        frame = {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, Mapping):
        wanted = set(chosen([str(name) for name in frame]))
        columns = {name: values for name, values in frame.items() if str(name) in wanted}
        arrays: dict[str, pl.Series] = {}
        for name, values in columns.items():
            if isinstance(values, pl.Series):
                arrays[str(name)] = values
                continue
            try:
                array = np.asarray(values)
            except ValueError:  # lists of several lengths
                array = np.empty((0, 0))
            if array.ndim != 1:
                raise DataError(f"column {name} must be a list of values, one per row")
            arrays[str(name)] = _convert_array(array)
        lengths = {name: len(column) for name, column in arrays.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {length:,}" for name, length in list(lengths.items())[:8])
            raise DataError(f"all columns must have the same number of values, not {shown}")
        return pl.DataFrame(arrays)
    raise ParameterError.of("frame", type(frame).__name__, _ACCEPTED)


def _list_trajectory_points(moving: Any) -> Any:
    """Return the points of a trajectory, or of a collection of them, each with its user and trajectory."""
    several = getattr(moving, "trajectories", [moving])
    if not several:
        raise DataError("the trajectory collection is empty")
    points = moving.to_point_gdf(return_orig_tz=True)
    sizes = [len(one.df) for one in several]
    # A trajectory without an object is an object of its own.
    owners = np.array([one.id if one.obj_id is None else one.obj_id for one in several], object)
    names = np.array([one.id for one in several], object)
    return points.assign(user_id=np.repeat(owners, sizes), traj=np.repeat(names, sizes))


def _convert_pandas(frame: Any, chosen: Choice) -> pl.DataFrame:
    names = [str(name) for name in frame.columns]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise DataError(f"the frame has two columns named {repeated[0]!r}; rename one")
    geometry: Any = None
    if find_library(frame) in _GEOPANDAS:
        try:
            geometry = frame.geometry
        except AttributeError:
            raise DataError(
                "the GeoDataFrame has no active geometry; set one with frame.set_geometry"
            ) from None
        if geometry.crs is None:
            raise DataError(
                "the points have no coordinate reference system; frame.set_crs(4326) "
                "sets longitude and latitude on WGS84"
            )
    series = {
        name: frame.iloc[:, at]
        for at, name in enumerate(names)
        if geometry is None or name != str(geometry.name)
    }
    places = {} if geometry is None else _read_coordinates(geometry)
    series = {name: column for name, column in series.items() if name not in places}
    # The levels of an index that say something are columns too: those with a name, and moments.
    columns = [*series, *places]
    for level, given in enumerate(frame.index.names):
        values, name = frame.index.get_level_values(level), given
        if name is None and values.dtype.kind == "M" and "time" not in find_roles(columns):
            name = "time"
        if name is not None and str(name) not in columns:
            series[str(name)] = values.to_series()
    return pl.DataFrame(
        {
            name: places[name] if name in places else _convert_series(series[name])
            for name in chosen([*series, *places])
        }
    )


def _read_coordinates(geometry: Any) -> dict[str, pl.Series]:
    there = (~(geometry.isna() | geometry.is_empty)).to_numpy()
    kinds = geometry.geom_type.to_numpy(dtype=object)
    other = np.flatnonzero(there & (kinds != "Point"))
    if other.size:
        raise DataError(
            f"row {other[0] + 1}, column {geometry.name}: a {kinds[other[0]]}; every row must have a "
            f"Point (frame.explode splits a MultiPoint; {other.size:,} rows are not points)"
        )
    points = geometry[there].to_crs(WGS84)
    columns = {}
    for name, values in (("lat", points.y), ("lng", points.x)):
        degrees = np.full(len(geometry), np.nan)
        degrees[there] = values.to_numpy()
        columns[name] = pl.Series(degrees, nan_to_null=True)
    return columns


def _convert_series(column: Any) -> pl.Series:
    """Return a column of pandas; by Arrow where pandas itself keeps it so, and without it elsewhere."""
    kind = column.dtype
    if getattr(kind, "storage", None) == "pyarrow" or hasattr(kind, "pyarrow_dtype"):
        made = pl.from_arrow(column.array.__arrow_array__())
        assert isinstance(made, pl.Series)
        return made
    if getattr(kind, "tz", None) is not None:
        moments = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _convert_array(moments.to_numpy()).dt.replace_time_zone("UTC")
    if hasattr(kind, "categories"):
        codes = column.cat.codes.to_numpy()
        numbers = pl.Series(np.where(codes < 0, 0, codes).astype(np.uint32)).set(pl.Series(codes < 0), None)
        return _convert_series(kind.categories.to_series()).gather(numbers)
    if kind.name.startswith("period"):
        return _convert_series(column.dt.to_timestamp())
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return _convert_array(column.to_numpy())
    # Text and numbers that may be missing: whatever pandas keeps them in, objects with None hold all.
    values = column.to_numpy(dtype=object, na_value=None)
    try:
        import pyarrow

        return pl.Series(pyarrow.array(values, from_pandas=True))
    except (ImportError, ValueError, TypeError):
        # It need not be there; its errors, of a column of mixed values, are ValueError and TypeError.
        return _convert_array(values)


def _convert_array(values: NDArray[Any]) -> pl.Series:
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
