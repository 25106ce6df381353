"""The regions (info_region.csv) and the distances between them."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, ParameterError
from tracearena.formats.pwscup._ids import region_ids
from tracearena.formats.pwscup._layout import DISTANCES, REGIONS, REGIONS_WITHOUT_HOSPITALS
from tracearena.formats.pwscup._rows import write_lines
from tracearena.formats.pwscup._sheet import Sheet, open_sheet
from tracearena.traces import Grid, Places
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

_TOLERANCE_DEGREES = 1e-6
_BOUND_DECIMALS = 9


def contest_regions() -> Places:
    """Return the 1,024 regions of the contest by number, for work that needs no map."""
    tokyo = Grid(rows=32, columns=32, south=35.65, west=139.68, north=35.75, east=139.80)
    return Places.of_grid(tokyo, km_per_degree=CONTEST_KM_PER_DEGREE)


def read_places(path: str | PathLike[str]) -> Places:
    """Read the regions of a grid; hospitals are sensitive.

    Regions must be numbered 1, 2, … row by row from the south-west, and their centres must lie
    where those of equal cells lie. The column ``hospital`` may be missing: no region is sensitive
    then. Distances are planar, with `CONTEST_KM_PER_DEGREE`.
    """
    sheet = open_sheet(path, REGIONS, REGIONS_WITHOUT_HOSPITALS)
    rows = [cells for _, cells in sheet.lines()]
    sheet.refuse_faulty()
    latitude = np.array([float(cells[3]) for cells in rows])
    longitude = np.array([float(cells[4]) for cells in rows])
    grid = _grid_of(rows, latitude, longitude, sheet)
    return Places(
        latitude,
        longitude,
        ids=np.arange(1, len(rows) + 1),
        sensitive=[cells[5:] == ["1"] for cells in rows],
        grid=grid,
        km_per_degree=CONTEST_KM_PER_DEGREE,
    )


def _grid_of(
    rows: list[list[str]], latitude: NDArray[np.float64], longitude: NDArray[np.float64], sheet: Sheet
) -> Grid:
    columns = max(sum(cells[1] == "1" for cells in rows), 1)
    n_rows = len(rows) // columns
    for index, cells in enumerate(rows):
        wanted = [str(index + 1), str(index // columns + 1), str(index % columns + 1)]
        if cells[:3] != wanted:
            problem = f"reg_id,y_id,x_id must be {','.join(wanted)}: regions run eastward, then northward"
            sheet.add(Fault(index + 1, None, ",".join(cells[:3]), problem, "not-a-grid"))
    if n_rows < 2 or columns < 2 or n_rows * columns != len(rows):
        problem = f"{len(rows)} regions with {columns} in the first row are no grid of at least 2 × 2"
        sheet.add(Fault(None, None, None, problem, "not-a-grid"))
    sheet.refuse_faulty()
    grid = _bounds(n_rows, columns, latitude, longitude, sheet)
    expected = grid.centres()
    for got, want, name in zip((latitude, longitude), expected, ("y(center)", "x(center)"), strict=True):
        for index in np.flatnonzero(np.abs(got - want) > _TOLERANCE_DEGREES).tolist():
            problem = f"cells must be equal: the centre must be near {want[index]:.7f}"
            sheet.add(Fault(index + 1, name, str(got[index]), problem, "not-a-grid"))
    sheet.refuse_faulty()
    return grid


def _bounds(
    rows: int, columns: int, latitude: NDArray[np.float64], longitude: NDArray[np.float64], sheet: Sheet
) -> Grid:
    # Rounded, because centres are printed with the noise of their own arithmetic.
    height = (latitude[-1] - latitude[0]) / (rows - 1)
    width = (longitude[-1] - longitude[0]) / (columns - 1)
    try:
        return Grid(
            rows=rows,
            columns=columns,
            south=round(float(latitude[0] - height / 2), _BOUND_DECIMALS),
            west=round(float(longitude[0] - width / 2), _BOUND_DECIMALS),
            north=round(float(latitude[-1] + height / 2), _BOUND_DECIMALS),
            east=round(float(longitude[-1] + width / 2), _BOUND_DECIMALS),
        )
    except ParameterError as error:
        sheet.add(Fault(None, None, None, f"the centres span no box: {error}", "not-a-grid"))
        sheet.refuse_faulty()
        raise


def write_places(places: Places, path: str | PathLike[str]) -> None:
    """Write the regions of a grid of at least 2 × 2 cells with ids 1, 2, …"""
    grid = places.grid
    if grid is None or min(grid.rows, grid.columns) < 2:
        raise DataError("info_region.csv holds the cells of a grid of at least 2 × 2")
    if not np.array_equal(region_ids(places), np.arange(1, len(places) + 1)):
        raise DataError("info_region.csv numbers the regions 1, 2, … in the order of the grid")
    lines = []
    for index, (y, x, hospital) in enumerate(
        zip(places.latitude, places.longitude, places.sensitive, strict=True)
    ):
        row, column = divmod(index, grid.columns)
        lines.append(f"{index + 1},{row + 1},{column + 1},{_decimal(y)},{_decimal(x)},{int(hospital)}")
    write_lines(path, REGIONS, lines)


def _decimal(value: float) -> str:
    """Return the shortest decimal that reads as this number, never with an exponent."""
    return np.format_float_positional(value, trim="0")


def write_distances(places: Places, path: str | PathLike[str]) -> None:
    """Write the distance in km of every ordered pair of regions, unrounded."""
    ids = region_ids(places).tolist()
    lines = []
    for index, (first, hospital) in enumerate(zip(ids, places.sensitive.tolist(), strict=True)):
        distances = places.distance_km(index, np.arange(len(places))).tolist()
        tail = int(hospital)
        lines += [f"{first},{second},{km!r},{tail}" for second, km in zip(ids, distances, strict=True)]
    write_lines(path, DISTANCES, lines)
