"""Positions of any coordinate system to latitudes and longitudes on WGS84, and a word about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError
from tracearena.intake.report import Report

_WGS84 = ("EPSG:4326", "OGC:CRS84", "EPSG:4979")
_Degrees = tuple[NDArray[np.float64], NDArray[np.float64]]


def degrees(x: NDArray[np.float64], y: NDArray[np.float64], system: Any, report: Report) -> _Degrees:
    """Return latitude and longitude of positions with x to the east and y to the north.

    Parameters
    ----------
    system
        Whatever pyproj takes for a coordinate system: a name, a number, its text; None is WGS84.
    report
        Is told of a change from one system to another.
    """
    if system is None:
        return y, x
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError, ProjError

    try:
        known = CRS.from_user_input(system)
        if any(known.equals(CRS.from_user_input(name), ignore_axis_order=True) for name in _WGS84):
            return y, x
        change = Transformer.from_crs(known, "EPSG:4326", always_xy=True)
        longitude, latitude = change.transform(x, y)
    except (CRSError, ProjError) as error:
        said = str(error).splitlines()[0][:200]
        problem = f"has a coordinate system that cannot be changed to WGS84: {said}"
        raise FileError.whole(report.path, problem, "coordinate-system", str(system)) from None
    problem = f"is of the coordinate system {known.name}, and changed to WGS84"
    report.notice_fault(Fault(None, "geometry", None, problem, "coordinate-system", None), len(x))
    return np.asarray(latitude), np.asarray(longitude)
