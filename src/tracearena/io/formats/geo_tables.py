"""GeoPackage and GeoParquet: tables with a column of points, through the extra ``[geo]``.

The other columns have the names that tables have (`fields.columns`). Points of another coordinate system
than WGS84 are changed to it, and the report says so.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.files.io import MAX_BYTES, MAX_TABLE_EXPANSION, replacing, require_expansion
from tracearena.io.dataframes import convert_frame
from tracearena.io.fields.columns import (
    EVENTS,
    NAMES,
    POINTS,
    build_missing_faults,
    find_rival_columns,
    find_roles,
    has_enough_columns,
    has_trip_columns,
    simplify_name,
)
from tracearena.io.fields.coordinates import convert_to_degrees
from tracearena.io.formats import json_files, phones, trips
from tracearena.io.options import AS_NAMED, Layout
from tracearena.io.report import SHOWN_EXAMPLES, Report
from tracearena.io.tables import BYTES_A_VALUE, ROW, check_column_type, read_parquet_schema, strip_endings
from tracearena.traces import GpsTraces, Traces

_LAYER = "traces"


def rows_of_geopackage(path: str | PathLike[str], report: Report) -> pl.DataFrame:
    """Return the rows of the layer of points that has a column for the time."""
    pyogrio = _import_geo_extra("pyogrio", path)
    if Path(path).stat().st_size > MAX_BYTES:
        raise FileError.whole(path, f"is larger than the limit of {MAX_BYTES:,} bytes", "too-large")
    layers = read_layers(path)
    of_points = [name for name, layer in layers.items() if layer.kind in ("POINT", "GEOMETRY")]
    if not of_points:
        shown = ", ".join(f"{name} ({layer.kind})" for name, layer in layers.items())[:200] or "none"
        raise FileError.whole(path, f"has no layer of points; its layers: {shown}", "no-points")
    timed = [name for name in of_points if "time" in find_roles(layers[name].columns)]
    wanted = timed or of_points
    if len(wanted) > 1:
        shown = ", ".join(wanted)[:200]
        raise FileError.whole(path, f"has several layers of points: {shown}; keep only one", "layers")
    layer = wanted[0]
    _import_geo_extra("geopandas", path)
    with _convert_geo_errors(path, "GeoPackage"):
        frame = pyogrio.read_dataframe(Path(path), layer=layer)
    return rows_of_geo_frame(frame, report)


def rows_of_geoparquet(path: str | PathLike[str], report: Report, layout: Layout = AS_NAMED) -> pl.DataFrame:
    """Return the rows of a GeoParquet file: its points, and the columns that may have a role."""
    geopandas = _import_geo_extra("geopandas", path)
    schema = read_parquet_schema(path)
    useful = _find_useful_columns(path, schema, layout)
    with _convert_geo_errors(path, "GeoParquet"):
        said = pl.read_parquet_metadata(Path(path))
        index = json.loads(said.get("pandas", "{}")).get("index_columns", [])
        geometry = json.loads(said["geo"])["primary_column"]
        columns = [name for name in schema if name in useful or name in index or name == geometry]
        require_expansion(
            path, Path(path).stat().st_size, _count_unpacked_bytes(path, schema, columns), MAX_TABLE_EXPANSION
        )
        frame = geopandas.read_parquet(Path(path), columns=columns)
    return rows_of_geo_frame(frame, report)


def _find_useful_columns(
    path: str | PathLike[str], schema: Mapping[str, pl.DataType], layout: Layout
) -> set[str]:
    """Return the columns that a reader of events, points or trips may use next to the geometry."""
    positions = (*NAMES["lat"], *NAMES["lon"])
    names = [name for name in schema if simplify_name(name) not in positions]
    if has_trip_columns(list(schema)):
        return set(trips.find_useful_trip_columns(list(schema), layout))
    placed = [*names, "lat", "lon"]
    layout.require_columns(placed, path)
    useful: set[str] = set()
    for wanted in (EVENTS, POINTS):
        found = layout.roles(placed, wanted)
        if not has_enough_columns(found):
            raise FileError(path, build_missing_faults(names, found, wanted))
        for role, column in found.items():
            if column in names:
                check_column_type(pl.Series(column, dtype=schema[column]), role, path)
        others = [other for more in find_rival_columns(names, found, wanted).values() for other in more]
        useful |= {*found.values(), *(other for other in others if not schema[other].is_nested())}
    return useful


def _count_unpacked_bytes(
    path: str | PathLike[str], schema: Mapping[str, pl.DataType], columns: Sequence[str]
) -> int:
    """Return how many bytes columns take, with every text and geometry at its length."""
    lengths = []
    for name in columns:
        kind, values = schema[name], pl.col(name)
        if kind == pl.String:
            lengths.append(values.str.len_bytes())
        elif kind == pl.Binary:
            lengths.append(values.bin.size())
        elif kind in (pl.Categorical, pl.Enum):
            lengths.append(values.cat.len_bytes())
    sums = [length.cast(pl.Int64).sum().alias(str(at)) for at, length in enumerate(lengths)]
    rows, *texts = pl.scan_parquet(Path(path), glob=False).select(pl.len(), *sums).collect().row(0)
    return int(rows * len(columns) * BYTES_A_VALUE + sum(texts))


def rows_of_geo_frame(frame: Any, report: Report) -> pl.DataFrame:
    """Return the rows of a GeoDataFrame of points, with latitude and longitude on WGS84."""
    import pandas

    report.header_lines = None
    geometry = frame.geometry
    kinds = pl.Series([str(kind) for kind in geometry.geom_type.to_list()])
    good = (kinds == "Point") & ~pl.Series(geometry.is_empty.to_numpy())
    for at in (~good).arg_true().head(SHOWN_EXAMPLES).to_list():
        fault = Fault(at + 1, geometry.name, kinds[at], "must be a point", "bad-geometry", None)
        report.drop("bad geometry", 0, fault)
    report.drop("bad geometry", int((~good).sum()))
    report.refuse_if_nothing_is_left(int(good.sum()))
    at = good.to_numpy()
    kept = frame[at]
    latitude, longitude = convert_to_degrees(
        kept.geometry.x.to_numpy(), kept.geometry.y.to_numpy(), frame.crs, report
    )
    positions = (*NAMES["lat"], *NAMES["lon"])
    columns = [
        name
        for name in kept.columns
        if simplify_name(str(name)) not in positions and str(kept[name].dtype) != "geometry"
    ]
    others = convert_frame(pandas.DataFrame({name: kept[name] for name in columns}))
    numbers = pl.Series(ROW, good.arg_true().cast(pl.Int64) + 1)
    return others.with_columns(numbers, pl.Series("lat", latitude), pl.Series("lon", longitude))


@dataclass(frozen=True)
class Layer:
    """A table of a GeoPackage: its kind of geometry, and its columns."""

    kind: str
    columns: tuple[str, ...]


def read_layers(path: str | PathLike[str]) -> dict[str, Layer]:
    """Return the layers of a GeoPackage by name.

    A database that has more than tables is refused: a view may compute without end.
    """
    source = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(source, uri=True)) as base:
            # By its type alone: a trigger may have the name of a view.
            if base.execute("SELECT 1 FROM sqlite_master WHERE type = 'view'").fetchone():
                raise FileError.whole(path, "has views in addition to tables, which are not allowed", "view")
            known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'gpkg_geometry_columns'"
            if not base.execute(known).fetchone():
                raise FileError.whole(path, "is not a GeoPackage", "bad-geopackage")
            columns = "SELECT name FROM pragma_table_info(?)"
            found = base.execute("SELECT table_name, geometry_type_name FROM gpkg_geometry_columns")
            return {
                str(name): Layer(
                    str(kind).upper(), tuple(str(column) for (column,) in base.execute(columns, (str(name),)))
                )
                for name, kind in found.fetchall()
            }
    except sqlite3.Error as error:
        raise FileError.whole(path, f"is not a complete GeoPackage: {error}", "bad-geopackage") from None


def _import_geo_extra(module: str, path: str | PathLike[str]) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise ParameterError.about(
            path, f"GeoPackage and GeoParquet need {module}: pip install 'tracearena[geo]'"
        ) from None


@contextmanager
def _convert_geo_errors(path: str | PathLike[str], format: str) -> Iterator[None]:
    """Turn what the libraries say of a broken file into our error; each of them has errors of its own."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except FileError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise FileError.whole(path, f"is not a complete {format} file: {said}", "bad-geo") from None


def write_geopackage(traces: GpsTraces | Traces, path: str | PathLike[str]) -> None:
    """Write a layer ``traces`` of points, with the columns of a table."""
    pyogrio = _import_geo_extra("pyogrio", path)
    content = io.BytesIO()
    pyogrio.write_dataframe(_build_geo_frame(traces, path), content, driver="GPKG", layer=_LAYER)
    with replacing(path) as out:
        out.write(content.getvalue())


def write_geoparquet(traces: GpsTraces | Traces, path: str | PathLike[str]) -> None:
    """Write points with the columns of a table."""
    content = io.BytesIO()
    _build_geo_frame(traces, path).to_parquet(content, index=False)
    with replacing(path) as out:
        out.write(content.getvalue())


def _build_geo_frame(traces: GpsTraces | Traces, path: str | PathLike[str]) -> Any:
    _import_geo_extra("geopandas", path)
    return traces.to_frame("geopandas")


# Formats that come down to rows of a table: what each is, and one way to its rows.

_File = str | PathLike[str]

_ONE_PERSON: Mapping[str, Callable[[_File, Report, str], pl.DataFrame]] = {
    "google-records": phones.read_google_records,
    "google-timeline": phones.read_google_timeline,
    "owntracks": phones.read_owntracks,
}
_NAMED: Mapping[str, Callable[[_File, Report, str | None], pl.DataFrame]] = {
    "geojson": json_files.read_geojson_rows,
    "jsonl": json_files.read_jsonl_rows,
    "gpkg": lambda path, report, _: rows_of_geopackage(path, report),
}


def read_format_rows(
    path: _File, format: str, report: Report, layout: Layout, owner: str | None = None
) -> tuple[pl.DataFrame, Layout]:
    """Return the rows of a file that comes down to rows, and what is left to say about their columns.

    Parameters
    ----------
    owner
        Whose file it is, if the file does not say; by default it is called like the file.
    """
    by_name = replace(layout, columns={}, one_user=None)
    if format == "trips":
        return trips.read_trips(path, report, layout), by_name
    if format in _NAMED or format == "geoparquet":
        said = layout.one_user is not None or "user" in layout.columns
        if format == "geoparquet":
            frame = rows_of_geoparquet(path, report, layout)
        else:
            frame = _NAMED[format](path, report, None if said else owner or strip_endings(path))
        if has_trip_columns(frame.columns):
            return trips.split_trips(frame, report, layout), by_name
        return frame, layout
    if format == "porto":
        return trips.read_porto_trips(path, report), by_name
    frame = _ONE_PERSON[format](path, report, owner or strip_endings(path))
    if layout.one_user is not None:
        frame = frame.with_columns(pl.lit(layout.one_user).alias("user"))
    return frame, by_name
