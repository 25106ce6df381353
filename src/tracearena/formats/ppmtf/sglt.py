"""What the SGLT program reads: traces, mobility and locations, all counted from 1."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.files.io import replacing
from tracearena.formats.ppmtf._columns import read_bare_table, write_table
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE


def read_sglt_traces(path: str | PathLike[str], places: Places, clock: Clock) -> Traces:
    """Read ``input.trace``: user, time and location of each event, without header."""
    table = read_bare_table(path, ("user", "time", "location"))
    users, times = table.whole("user", 1), table.whole("time", 1)
    location = table.whole("location", 1, max(len(places), 1))
    table.close()
    return Traces.from_events(users - 1, times - 1, location - 1, places, clock)


def write_sglt_traces(traces: Traces, path: str | PathLike[str]) -> None:
    """Write ``input.trace``; users are counted in their order."""
    columns = {
        "user": traces.user_index + 1,
        "time": traces.instants - traces.span[0] + 1,
        "location": traces.place_index + 1,
    }
    write_table(path, columns, header=False)


def write_sglt_mobility(n_places: int, path: str | PathLike[str]) -> None:
    """Write ``input.mobility``: every place can be reached from every other."""
    line = (", ".join(["1"] * n_places) + "\n").encode()
    with replacing(path) as file:
        file.write(line * n_places)


def read_sglt_mobility(path: str | PathLike[str]) -> NDArray[np.bool_]:
    """Read ``input.mobility``: places × places, true where one can be reached from the other."""
    table = read_bare_table(path)
    reachable = np.column_stack([table.number(column, 0, 1) for column in table.columns]) > 0
    table.close()
    if reachable.shape[0] != reachable.shape[1]:
        raise DataError(f"{path}: {reachable.shape[0]} rows of {reachable.shape[1]} places are not square")
    return reachable


def locations_km(places: Places) -> NDArray[np.float64]:
    """Return x and y in km of each cell's lower-left corner, at 111 and 91 km per degree.

    Places that are not cells of a grid have their own coordinates.
    """
    grid = places.grid
    half = (0.0, 0.0) if grid is None else (grid.cell_width / 2, grid.cell_height / 2)
    x = (places.longitude - half[0]) * CONTEST_KM_PER_DEGREE[1]
    y = (places.latitude - half[1]) * CONTEST_KM_PER_DEGREE[0]
    return np.column_stack([x, y])


def write_sglt_locations(places: Places, path: str | PathLike[str]) -> None:
    """Write ``locations``: x and y in km, one line a place."""
    lines = "".join(f"{x!r}, {y!r}\n" for x, y in locations_km(places).tolist())
    with replacing(path) as file:
        file.write(lines.encode())


def read_sglt_locations(path: str | PathLike[str]) -> NDArray[np.float64]:
    """Read ``locations``: x and y in km of each place."""
    table = read_bare_table(path, ("x", "y"))
    points = table.matrix()
    table.close()
    return points
