"""GeoPackage and GeoParquet: tables with a column of points, through the extra ``[geo]``.

The other columns have the names that tables have (`intake.columns`). Points of another coordinate system
than WGS84 are changed to it, and the report says so.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.errors import Fault, FileError, ParameterError
from tracearena.files.limits import MAX_BYTES, MAX_TABLE_EXPANSION, require_expansion
from tracearena.files.whole import replacing
from tracearena.formats.coordinate_systems import degrees
from tracearena.intake.columns import NAMES, plain_name, roles
from tracearena.intake.frames import rows_of_frame
from tracearena.intake.report import SHOWN_EXAMPLES, Report
from tracearena.intake.tables import ROW, parquet_schema
from tracearena.traces import GpsTraces, Traces

_LAYER = "traces"
_BYTES_A_VALUE = 8


def rows_of_geopackage(path: str | PathLike[str], report: Report) -> pl.DataFrame:
    """Return the rows of the layer of points that has a column for the time."""
    pyogrio = _extra("pyogrio", path)
    if Path(path).stat().st_size > MAX_BYTES:
        raise FileError.whole(path, f"is larger than the limit of {MAX_BYTES:,} bytes", "too-large")
    layer = _layer(path)
    _extra("geopandas", path)
    with _broken(path, "GeoPackage"):
        frame = pyogrio.read_dataframe(Path(path), layer=layer)
    return rows_of_geo_frame(frame, report)


def rows_of_geoparquet(path: str | PathLike[str], report: Report) -> pl.DataFrame:
    """Return the rows of a GeoParquet file."""
    geopandas = _extra("geopandas", path)
    columns = len(parquet_schema(path))
    with _broken(path, "GeoParquet"):
        count = int(pl.scan_parquet(Path(path), glob=False).select(pl.len()).collect().item())
        unpacked = count * columns * _BYTES_A_VALUE
        require_expansion(path, Path(path).stat().st_size, unpacked, MAX_TABLE_EXPANSION)
        frame = geopandas.read_parquet(Path(path))
    return rows_of_geo_frame(frame, report)


def rows_of_geo_frame(frame: Any, report: Report) -> pl.DataFrame:
    """Return the rows of a GeoDataFrame of points, with latitude and longitude on WGS84."""
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
    latitude, longitude = degrees(kept.geometry.x.to_numpy(), kept.geometry.y.to_numpy(), frame.crs, report)
    others = rows_of_frame(_without_positions(kept))
    numbers = pl.Series(ROW, good.arg_true().cast(pl.Int64) + 1)
    return others.with_columns(numbers, pl.Series("lat", latitude), pl.Series("lon", longitude))


def _without_positions(frame: Any) -> Any:
    """Return the columns of a GeoDataFrame as pandas has them, but none that could be a position."""
    import pandas

    positions = (*NAMES["lat"], *NAMES["lon"])
    kept = [
        name
        for name in frame.columns
        if plain_name(str(name)) not in positions and str(frame[name].dtype) != "geometry"
    ]
    return pandas.DataFrame({name: frame[name] for name in kept})


@dataclass(frozen=True)
class Layer:
    """A table of a GeoPackage: its kind of geometry, and its columns."""

    kind: str
    columns: tuple[str, ...]


def layers_of(path: str | PathLike[str]) -> dict[str, Layer]:
    """Return the layers of a GeoPackage by name.

    A database that has more than tables is refused: a view may compute without end.
    """
    source = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(source, uri=True)) as base:
            kinds = dict(base.execute("SELECT name, type FROM sqlite_master").fetchall())
            if "view" in kinds.values():
                raise FileError.whole(path, "has views beside its tables; it is refused", "view")
            if kinds.get("gpkg_geometry_columns") != "table":
                raise FileError.whole(path, "is no GeoPackage", "bad-geopackage")
            found = base.execute("SELECT table_name, geometry_type_name FROM gpkg_geometry_columns")
            return {
                str(name): Layer(str(kind).upper(), tuple(_columns(base, str(name))))
                for name, kind in found.fetchall()
            }
    except sqlite3.Error as error:
        raise FileError.whole(path, f"is not a whole GeoPackage: {error}", "bad-geopackage") from None


def _columns(base: sqlite3.Connection, table: str) -> list[str]:
    return [str(name) for (name,) in base.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _layer(path: str | PathLike[str]) -> str:
    """Return the one layer of points with times."""
    layers = layers_of(path)
    of_points = [name for name, layer in layers.items() if layer.kind in ("POINT", "GEOMETRY")]
    if not of_points:
        shown = ", ".join(f"{name} ({layer.kind})" for name, layer in layers.items())[:200] or "none"
        raise FileError.whole(path, f"has no layer of points; its layers: {shown}", "no-points")
    timed = [name for name in of_points if "time" in roles(layers[name].columns)]
    wanted = timed or of_points
    if len(wanted) > 1:
        shown = ", ".join(wanted)[:200]
        raise FileError.whole(path, f"has several layers of points: {shown}; keep one of them", "layers")
    return wanted[0]


def _extra(module: str, path: str | PathLike[str]) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise ParameterError(
            f"{path}: GeoPackage and GeoParquet need {module}: pip install 'tracearena[geo]'"
        ) from None


@contextmanager
def _broken(path: str | PathLike[str], format: str) -> Iterator[None]:
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
        raise FileError.whole(path, f"is not a whole {format} file: {said}", "bad-geo") from None


def write_geopackage(traces: GpsTraces | Traces, path: str | PathLike[str]) -> None:
    """Write a layer ``traces`` of points, with the columns of a table."""
    pyogrio = _extra("pyogrio", path)
    content = io.BytesIO()
    pyogrio.write_dataframe(_frame_of(traces, path), content, driver="GPKG", layer=_LAYER)
    with replacing(path) as out:
        out.write(content.getvalue())


def write_geoparquet(traces: GpsTraces | Traces, path: str | PathLike[str]) -> None:
    """Write points with the columns of a table."""
    content = io.BytesIO()
    _frame_of(traces, path).to_parquet(content, index=False)
    with replacing(path) as out:
        out.write(content.getvalue())


def _frame_of(traces: GpsTraces | Traces, path: str | PathLike[str]) -> Any:
    _extra("geopandas", path)
    return traces.to_frame("geopandas")
