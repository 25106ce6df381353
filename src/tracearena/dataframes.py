"""Data frames for users: made with Polars, and converted to the library that they work with.

`Result` is the base of everything that is measured; `load_view` finds the pictures of traces and results,
and `read_frame` reads a data frame as traces.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl


LIBRARIES = ("polars", "pandas", "arrow", "geopandas", "scikit-mobility", "trackintel", "movingpandas")
WGS84 = "EPSG:4326"
_PACKAGES = {"skmob": "scikit-mobility", "pyarrow": "arrow"}
"""Libraries whose packages have other names."""
_TRACE_LIBRARIES = ("scikit-mobility", "trackintel", "movingpandas")
_EXTRAS = {"arrow": "tracearena[geo]", "pandas": "tracearena[geo]", "geopandas": "tracearena[geo]"}
"""What to install for a library, where that is not the library itself."""


def find_library(frame: Any) -> str | None:
    """Return which of `LIBRARIES` a data frame is of, by the classes that it is derived from; None for none.

    >>> import polars as pl
    >>> find_library(pl.DataFrame({"user": [1]})), find_library([1])
    ('polars', None)
    """
    packages = (kind.__module__.partition(".")[0] for kind in type(frame).__mro__)
    names = (_PACKAGES.get(package, package) for package in packages)
    return next((name for name in names if name in LIBRARIES), None)


def export_frame(
    frame: pl.DataFrame, library: str = "polars", *, position: tuple[str, str] | None = None
) -> Any:
    """Return a Polars frame as a frame of the library that is asked for.

    Parameters
    ----------
    library
        One of `LIBRARIES`; ``arrow`` is a table of PyArrow. Of scikit-mobility it is a ``TrajDataFrame``, of
        trackintel ``Positionfixes``, of movingpandas a ``TrajectoryCollection``, all with times in UTC.
    position
        The columns of latitude and longitude in degrees. For GeoPandas and libraries of traces they become
        points on WGS84; a table without them cannot be one of theirs.
    """
    if library not in LIBRARIES:
        raise ParameterError.of("library", library, f"one of {', '.join(LIBRARIES)}")
    if library == "polars":
        return frame
    if library not in ("pandas", "arrow") and position is None:
        raise ParameterError(f"library = {library!r} needs points, and this table has none")
    if library in _TRACE_LIBRARIES and "user_id" not in frame.columns:
        raise ParameterError(f"library = {library!r} needs users and times, and this table has none")
    try:
        if library == "arrow":
            return frame.to_arrow()
        if library == "pandas" or position is None:
            return frame.to_pandas()
        if library in _TRACE_LIBRARIES:
            return _export_traces(_prepare_trace_columns(frame, library), library, *position)
        return _build_geo_frame(frame.to_pandas(), *position)
    except ImportError as error:
        # Polars makes frames of pandas by PyArrow, which libraries of traces do not install.
        packages = f"'{library}' pyarrow" if library in _TRACE_LIBRARIES else f"'{_EXTRAS[library]}'"
        raise ParameterError(f"library = {library!r} needs more: pip install {packages} ({error})") from None


def _build_geo_frame(table: Any, latitude: str, longitude: str) -> Any:
    import geopandas

    points = geopandas.points_from_xy(table[longitude], table[latitude], crs=WGS84)
    return geopandas.GeoDataFrame(table.drop(columns=[latitude, longitude]), geometry=points)


def _prepare_trace_columns(frame: pl.DataFrame, library: str) -> pl.DataFrame:
    """Return a frame whose times are UTC; for movingpandas, trajectories of two users have two ids."""
    import polars as pl

    kind = frame.schema.get("time")
    if not isinstance(kind, pl.Datetime) or kind.time_zone is None:
        found = "instants without dates" if kind is None else "local times of no known time zone"
        raise ParameterError(f"library = {library!r} needs times in UTC, and these traces have {found}")
    if library != "movingpandas" or "traj" not in frame.columns:
        return frame
    owned = frame.select("user_id", "traj").unique()
    if owned.get_column("traj").n_unique() == len(owned):
        return frame
    return frame.with_columns(traj=pl.format("{}/{}", "user_id", "traj"))


def _export_traces(frame: pl.DataFrame, library: str, latitude: str, longitude: str) -> Any:
    """Return traces in the class of a library of traces."""
    # None of these must be installed; two of them work with times without a zone, which then are UTC.
    table = frame.to_pandas()
    if library == "trackintel":
        fixes = importlib.import_module("trackintel").Positionfixes
        return fixes(_build_geo_frame(table.rename(columns={"time": "tracked_at"}), latitude, longitude))
    table["time"] = table["time"].dt.tz_localize(None)
    if library == "scikit-mobility":
        names = {"user_id": "uid", "time": "datetime", latitude: "lat", longitude: "lng", "traj": "tid"}
        return importlib.import_module("skmob").TrajDataFrame(table.rename(columns=names))
    moving = importlib.import_module("movingpandas")
    if "traj" not in table:
        table["traj"] = table["user_id"]
    points = _build_geo_frame(table, latitude, longitude)
    return moving.TrajectoryCollection(points, traj_id_col="traj", obj_id_col="user_id", t="time")


class Result:
    """Base of frozen records of what was measured: plain values, a row of a frame, a table in a notebook."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    def to_frame(self, library: str = "polars") -> Any:
        """Return a data frame of one row; numbers within numbers have both names, joined by ``_``.

        `library` is ``polars``, ``pandas`` or ``arrow``.
        """
        return build_result_frame([self.to_dict()], library)

    def _repr_html_(self) -> str:
        html: str = load_view("result_html")(self)
        return html


def build_result_frame(rows: Iterable[Mapping[str, Any]], library: str = "polars") -> Any:
    """Return a data frame with a row for each set of plain values; what one lacks is null."""
    import polars as pl

    return export_frame(pl.DataFrame([flatten(row) for row in rows], infer_schema_length=None), library)


def flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values within values under both names.

    >>> flatten({"users": 3, "mean": {"tp_tv": 0.5}})
    {'users': 3, 'mean_tp_tv': 0.5}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{inner}": one for inner, one in flatten(value).items()}
        else:
            found[name] = value
    return found


def load_view(name: str) -> Any:
    """Return a function of `tracearena.plots`, which no other package may import: it draws all of them."""
    return getattr(importlib.import_module("tracearena.plots"), name)


def read_frame(frame: Any) -> Any:
    """Return a data frame as `tracearena.io.read` reads it: traces and a report.

    Packages below `tracearena.io` take data frames too, and cannot import it.
    """
    return importlib.import_module("tracearena.io").read(frame)
