"""POI files: where the places are, and which of them the traces speak of."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import FileError
from tracearena.io.ppmtf._columns import UNKNOWN, CellTable, read_table, write_table
from tracearena.traces import Box, Grid, Places

_REGIONS = ("poi_id", "y", "x", "category", "y_id", "x_id", "2D_id", "count")
_POIS = ("poi_id", "y", "x", "category", "count")
_INDEX = ("poi_id", "poi_index", "category", "counts")
_SAME_DEGREES = 1e-6


def read_places(path: str | PathLike[str], index: str | PathLike[str] | None = None) -> Places:
    """Read ``POI_<city>.csv``, of regions (people flow) or of POIs (check-ins).

    Regions that form a whole grid get that grid. Of POIs the traces speak by their number in
    ``POIindex_<city>.csv``: those places are returned, in that order.

    Parameters
    ----------
    index
        The index file; by default the one beside `path`, if there is one. Without it the places
        of the file are returned as they stand.
    """
    table = read_table(path, _REGIONS, _POIS)
    latitude, longitude = table.number("y", -90, 90), table.number("x", -180, 180)
    ids, categories = _parse_place_ids(table), table.text("category")
    grid = _recognise_grid(table, latitude, longitude) if "2D_id" in table else None
    table.close()
    index = _find_index_file(path) if index is None else Path(index)
    if index is not None:
        chosen = _find_indexed_rows(index, ids)
        if not np.array_equal(chosen, np.arange(len(ids))):
            ids, categories, grid = ids[chosen], categories[chosen], None
            latitude, longitude = latitude[chosen], longitude[chosen]
    known = None if (categories == UNKNOWN).all() else categories
    return Places(latitude, longitude, ids=ids, categories=known, grid=grid)


def _parse_place_ids(table: CellTable) -> NDArray[Any]:
    """Whole numbers where every id is one and is written as one; text otherwise."""
    text = table.text("poi_id")
    _, first = np.unique(text, return_index=True)
    repeated = np.ones(len(text), bool)
    repeated[first] = False
    table.require("poi_id", ~repeated, "stands in an earlier row already", "repeated-id")
    try:
        numbers = text.astype(np.int64)
    except (ValueError, OverflowError):
        return text
    return numbers if (numbers.astype(np.str_) == text).all() else text


def _recognise_grid(
    table: CellTable, latitude: NDArray[np.float64], longitude: NDArray[np.float64]
) -> Grid | None:
    """Recognise a whole grid, numbered row by row from the south-west corner."""
    row, column = table.whole("y_id"), table.whole("x_id")
    cell = table.whole("2D_id")
    rows, columns = int(row.max(initial=0)) + 1, int(column.max(initial=0)) + 1
    if rows < 2 or columns < 2 or rows * columns != len(cell):
        return None
    if not (np.array_equal(cell, np.arange(len(cell))) and np.array_equal(row * columns + column, cell)):
        return None
    height = (latitude[-1] - latitude[0]) / (rows - 1)
    width = (longitude[-1] - longitude[0]) / (columns - 1)
    if height <= 0 or width <= 0:
        return None
    south, west = latitude[0] - height / 2, longitude[0] - width / 2
    bounds = (south, west, south + height * rows, west + width * columns)
    # Borders are short decimals that the centres hold to the last bit or two only.
    grid = Grid.over(Box(*(round(float(degrees), 9) for degrees in bounds)), rows, columns)
    there = grid.centres()
    close = np.allclose(there, (latitude, longitude), rtol=0, atol=_SAME_DEGREES)
    return grid if close else None


def _find_index_file(path: str | PathLike[str]) -> Path | None:
    file = Path(path)
    if not file.name.startswith("POI_"):
        return None
    beside = file.with_name(file.name.replace("POI_", "POIindex_", 1))
    return beside if beside.is_file() else None


def _find_indexed_rows(path: Path, ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each place of the index file its row among `ids`."""
    indexed, _ = read_place_index(path)
    known = {str(one): row for row, one in enumerate(ids.tolist())}
    missing = [one for one in indexed.tolist() if one not in known]
    if missing:
        raise FileError.whole(
            path, f"names {len(missing)} places that the POI file does not have", "unknown-place", missing[0]
        )
    return np.array([known[one] for one in indexed.tolist()], np.int64)


def read_place_index(path: str | PathLike[str]) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Read ``POIindex_<city>.csv``: id and category of place 0, 1, …"""
    table = read_table(path, _INDEX)
    order = table.whole("poi_index", 0, max(len(table) - 1, 0))
    table.require(
        "poi_index", _find_first_occurrences(order), "stands in an earlier row already", "repeated-index"
    )
    ids, categories = table.text("poi_id"), table.text("category")
    table.close()
    rows = np.argsort(order)
    return ids[rows], categories[rows]


def _find_first_occurrences(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    seen = np.zeros(len(values), bool)
    seen[np.unique(values, return_index=True)[1]] = True
    return seen


def write_places(places: Places, path: str | PathLike[str], counts: Any = None) -> None:
    """Write ``POI_<city>.csv``, as regions if the places are a grid, else as POIs.

    Parameters
    ----------
    counts
        How often each place was visited; "-" if it is not known.
    """
    columns: dict[str, Any] = {
        "poi_id": places.ids,
        "y": places.latitude,
        "x": places.longitude,
        "category": format_categories(places),
    }
    if places.grid is not None:
        cell = np.arange(len(places))
        columns["y_id"], columns["x_id"] = np.divmod(cell, places.grid.columns)
        columns["2D_id"] = cell
    write_table(path, columns | {"count": _choose_counts(places, counts)})


def write_place_index(places: Places, path: str | PathLike[str], counts: Any = None) -> None:
    """Write ``POIindex_<city>.csv``."""
    columns = {
        "poi_id": places.ids,
        "poi_index": np.arange(len(places)),
        "category": format_categories(places),
        "counts": _choose_counts(places, counts),
    }
    write_table(path, columns)


def format_categories(places: Places) -> NDArray[np.str_]:
    """Return the category of each place as these files write it."""
    return np.full(len(places), UNKNOWN) if places.categories is None else places.categories


def _choose_counts(places: Places, counts: Any) -> NDArray[Any]:
    return np.full(len(places), UNKNOWN) if counts is None else np.asarray(counts)
