"""Tables for people: made once with Polars, and handed out as the library they work with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

LIBRARIES = ("polars", "pandas", "arrow", "geopandas")
WGS84 = "EPSG:4326"


def handed_out(
    frame: pl.DataFrame, library: str = "polars", *, position: tuple[str, str] | None = None
) -> Any:
    """Return a Polars frame as a frame of the library that is asked for.

    Parameters
    ----------
    library
        ``polars``, ``pandas``, ``arrow`` (a table of PyArrow) or ``geopandas``.
    position
        The columns of latitude and longitude in degrees. For GeoPandas they become one column of
        points on WGS84; a table without them is none of its tables.
    """
    if library not in LIBRARIES:
        raise ParameterError.of("library", library, f"one of {', '.join(LIBRARIES)}")
    if library == "polars":
        return frame
    if library == "geopandas" and position is None:
        raise ParameterError("library = 'geopandas' needs a point in every row, and this table has none")
    try:
        if library == "arrow":
            return frame.to_arrow()
        table = frame.to_pandas()
        return table if library == "pandas" or position is None else _with_points(table, position)
    except ImportError:
        raise ParameterError(f"library = {library!r} needs more: pip install 'tracearena[geo]'") from None


def _with_points(table: Any, position: tuple[str, str]) -> Any:
    import geopandas

    latitude, longitude = position
    points = geopandas.points_from_xy(table[longitude], table[latitude], crs=WGS84)
    return geopandas.GeoDataFrame(table.drop(columns=list(position)), geometry=points)
