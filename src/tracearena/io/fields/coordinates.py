"""Rules for coordinates and GPS points of any format: degrees on earth, order and dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import Fault, FileError
from tracearena.io.fields.columns import WORDS
from tracearena.traces import GpsTraces
from tracearena.traces.time import BARE_AS_UTC, LocalTime, build_chosen_local_time, guess_local_time

if TYPE_CHECKING:
    import polars as pl

    from tracearena.io.report import Report

SWAPPED = "latitude and longitude seem to be swapped; exchange the columns"
OLDEST_MS = int(np.datetime64("2005-01-01", "ms").astype(np.int64))


def find_local_time(traces: GpsTraces, report: Report) -> LocalTime:
    """Return whose clocks the hours of the day of GPS points go by."""
    if report.timezone is not None:
        return build_chosen_local_time(report.timezone)
    if report.all_unzoned:
        return BARE_AS_UTC
    return guess_local_time(traces.latitude, traces.longitude)


def find_misplaced(
    path: str,
    latitude: NDArray[np.float64],
    longitude: NDArray[np.float64],
    rows: NDArray[np.int64],
    report: Report,
    header_lines: int | None = 1,
) -> NDArray[np.bool_]:
    """Find positions that are not on earth, report them, and return where they are.

    A latitude beyond ±90 next to a longitude within ±90 is reported as swapped. A file most of
    whose positions are so is refused: exchanging its columns is the cure, not dropping them.
    """
    bad_latitude = ~(np.abs(latitude) <= 90)
    bad_longitude = ~(np.abs(longitude) <= 180)
    swapped = bad_latitude & (np.abs(latitude) <= 180) & (np.abs(longitude) <= 90)
    at = np.flatnonzero(swapped)
    if 2 * len(at) > len(latitude):
        first = _build_swapped_fault(rows[at[0]], latitude[at[0]], longitude[at[0]], header_lines)
        raise FileError(path, [first], total=len(at))
    for i in at:
        report.drop_fault(_build_swapped_fault(rows[i], latitude[i], longitude[i], header_lines), path=path)
    for i in np.flatnonzero(bad_latitude & ~swapped):
        report.drop_fault(_build_range_fault("latitude", rows[i], latitude[i], 90, header_lines), path=path)
    for i in np.flatnonzero(bad_longitude & ~bad_latitude):
        report.drop_fault(
            _build_range_fault("longitude", rows[i], longitude[i], 180, header_lines), path=path
        )
    return np.asarray(bad_latitude | bad_longitude)


def _build_swapped_fault(row: int, latitude: float, longitude: float, header_lines: int | None) -> Fault:
    return Fault(int(row), "latitude", f"{latitude}, {longitude}", SWAPPED, "swapped", header_lines)


def _build_range_fault(column: str, row: int, value: float, limit: int, header_lines: int | None) -> Fault:
    return Fault(
        int(row), column, str(value), f"must be from -{limit} to {limit}", f"bad-{column}", header_lines
    )


def report_old_times(path: str, time_ms: NDArray[np.int64], rows: NDArray[np.int64], report: Report,
                header_lines: int | None = 1) -> None:  # fmt: skip
    """Report points from before there were such files (a receiver that had not found its satellites)."""
    odd = np.flatnonzero(time_ms < OLDEST_MS)
    if odd.size:
        shown = str(np.datetime64(int(time_ms[odd[0]]), "ms").astype("datetime64[s]"))
        problem = "has a date before 2005, as from a receiver without a fix"
        fault = Fault(int(rows[odd[0]]), "time", shown, problem, "odd-date", header_lines)
        report.notice_fault(fault, int(odd.size), path=path)


def report_unsorted_times(path: str, time_ms: NDArray[np.int64], rows: NDArray[np.int64], report: Report,
             header_lines: int | None = 1) -> None:  # fmt: skip
    """Report times that fall; the points are sorted later."""
    falls = np.flatnonzero(np.diff(time_ms) < 0)
    if falls.size:
        first = int(falls[0]) + 1
        shown = str(np.datetime64(int(time_ms[first]), "ms").astype("datetime64[s]"))
        problem = "comes after a later time; the points are sorted by time"
        fault = Fault(int(rows[first]), "time", shown, problem, "unsorted", header_lines)
        report.notice_fault(fault, int(falls.size), path=path)


def report_odd_users(path: str, traces: GpsTraces, report: Report) -> None:
    """Report users without points, and points of one user at the same time."""
    for user in np.flatnonzero(np.diff(traces.offsets) == 0):
        fault = Fault(None, "user", str(traces.user_ids[user]), "has no points", "empty-user")
        report.notice_fault(fault, path=path)
    same = np.flatnonzero(traces.time_ms[1:] == traces.time_ms[:-1])
    same = same[~np.isin(same + 1, traces.offsets)]
    if same.size:
        at = int(same[0])
        user = np.searchsorted(traces.offsets, at, "right") - 1
        shown = str(np.datetime64(int(traces.time_ms[at]), "ms").astype("datetime64[s]"))
        problem = f"user {traces.user_ids[user]} has two points at the same time"
        report.notice_fault(Fault(None, "time", shown, problem, "same-time"), int(same.size))


# Positions of any coordinate system as latitudes and longitudes on WGS84.

_WGS84 = ("EPSG:4326", "OGC:CRS84", "EPSG:4979")
_Degrees = tuple[NDArray[np.float64], NDArray[np.float64]]


def convert_to_degrees(
    x: NDArray[np.float64], y: NDArray[np.float64], system: Any, report: Report
) -> _Degrees:
    """Return latitude and longitude of positions with x to the east and y to the north.

    Parameters
    ----------
    system
        Whatever pyproj takes for a coordinate system: a name, a number, its text; None is WGS84.
    report
        Receives a note when one system is changed to another.
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
        problem = f"has a coordinate system that cannot be converted to WGS84: {said}"
        raise FileError.whole(report.path, problem, "coordinate-system", str(system)) from None
    problem = f"has the coordinate system {known.name}, and was converted to WGS84"
    report.notice_fault(Fault(None, "geometry", None, problem, "coordinate-system", None), len(x))
    return np.asarray(latitude), np.asarray(longitude)


# Coordinates that are not degrees: metres of a map, cells of a grid, or latitudes where longitudes should be.
# One row does not tell; most rows do. What speaks against degrees is counted, so that a file that is read
# some rows after the others is judged as a whole.

_CELLS = "x and y are whole numbers: cells of a grid or metres, not degrees"
_METRES = (
    "these are projected coordinates (metres), not degrees: convert them to "
    "latitude and longitude (WGS 84) first"
)
_PROJECTED = 1000


@dataclass(frozen=True)
class CoordinateProblem:
    """How many rows speak against degrees in one way, and the first of them."""

    rows: int
    path: str
    first: Fault

    def __add__(self, later: CoordinateProblem) -> CoordinateProblem:
        return replace(self, rows=self.rows + later.rows)


@dataclass(frozen=True)
class CoordinateDoubts:
    """What some rows say against their coordinates being degrees.

    Attributes
    ----------
    read
        Rows with both coordinates.
    broken
        Rows of a map's columns that are no whole numbers, and so no cells.
    against
        What speaks against degrees.
    """

    read: int = 0
    broken: int = 0
    against: Mapping[str, CoordinateProblem] = field(default_factory=dict)

    def __add__(self, other: CoordinateDoubts) -> CoordinateDoubts:
        both = dict(self.against)
        for code, found in other.against.items():
            both[code] = both[code] + found if code in both else found
        return CoordinateDoubts(self.read + other.read, self.broken + other.broken, both)

    def refuse(self) -> None:
        """Refuse a table if most of its coordinates are not degrees, or if all look like cells."""
        for code, found in self.against.items():
            if not self.broken if code == "no-degrees" else 2 * found.rows > self.read:
                raise FileError(found.path, [found.first], found.rows)


def find_coordinate_doubts(
    frame: pl.DataFrame, names: Mapping[str, str], path: str, header_lines: int | None, *, of_maps: bool
) -> CoordinateDoubts:
    """Count what speaks against the columns ``_lat`` and ``_lon`` being degrees.

    Parameters
    ----------
    names
        What the file calls the columns.
    of_maps
        Whether they have the names that maps give to metres, and nobody says that they are degrees.
    """
    latitude, longitude = frame["_lat"].abs(), frame["_lon"].abs()
    whole = (latitude == latitude.floor()) & (longitude == longitude.floor()) if of_maps else None

    def found() -> Iterator[tuple[str, CoordinateProblem]]:
        if whole is not None and whole.any():
            cure = f"if they are degrees, use --columns lng={names['lon']},lat={names['lat']}"
            yield "no-degrees", first_of(whole, f"{_CELLS}; {cure}", "no-degrees")
        if _find_largest(latitude) <= 90 and _find_largest(longitude) <= _PROJECTED:
            return
        far = (latitude > _PROJECTED) | (longitude > _PROJECTED)
        swapped = (latitude > 90) & (latitude <= 180) & (longitude <= 90)
        for bad, problem, code in ((far, _METRES, "projected"), (swapped, SWAPPED, "swapped")):
            if bad.any():
                yield code, first_of(bad, problem, code)

    def first_of(bad: pl.Series, problem: str, code: str) -> CoordinateProblem:
        return CoordinateProblem(
            int(bad.sum()), path, build_degrees_fault(frame.filter(bad), names, problem, code, header_lines)
        )

    read = int((latitude.is_not_null() & longitude.is_not_null()).sum())
    return CoordinateDoubts(read, 0 if whole is None else int((~whole).sum()), dict(found()))


def build_degrees_fault(
    bad: pl.DataFrame, names: Mapping[str, str], problem: str, code: str, header_lines: int | None
) -> Fault:
    """Return what is wrong with the first of some rows."""
    first = bad.row(0, named=True)
    column = ", ".join(names.get(role, WORDS[role]) for role in ("lat", "lon"))
    return Fault(first["row"], column, f"{first['lat']}, {first['lon']}", problem, code, header_lines)


def _find_largest(degrees: pl.Series) -> float:
    most = degrees.max()
    return float(most) if isinstance(most, (int, float)) else 0.0
