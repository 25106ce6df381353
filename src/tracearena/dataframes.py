"""Data frames for users: made with Polars, and converted to the library that they work with.

`Result` is the base of everything that is measured; `load_view` finds the pictures of traces and results.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracearena.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl


LIBRARIES = ("polars", "pandas", "arrow", "geopandas")
WGS84 = "EPSG:4326"


def export_frame(
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
        raise ParameterError("library = 'geopandas' needs points, and this table has none")
    try:
        if library == "arrow":
            return frame.to_arrow()
        table = frame.to_pandas()
        if library == "pandas" or position is None:
            return table
        import geopandas

        latitude, longitude = position
        points = geopandas.points_from_xy(table[longitude], table[latitude], crs=WGS84)
        return geopandas.GeoDataFrame(table.drop(columns=list(position)), geometry=points)
    except ImportError:
        raise ParameterError(f"library = {library!r} needs more: pip install 'tracearena[geo]'") from None


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
