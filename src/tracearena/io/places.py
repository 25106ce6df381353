"""Files of places and of pseudonyms, in all formats.

`read_places` and `write_places` go by the file's columns; `read_pseudonyms` reads tables that pair pseudonyms
with users.
"""

from __future__ import annotations

import csv
import io
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, FileError
from tracearena.files.io import read_bytes
from tracearena.io import pwscup
from tracearena.io.dataframes import FRAME, convert_frame
from tracearena.io.fields.columns import LONGEST_ID, NUL, PLACES, convert_ids, find_roles
from tracearena.io.formats import checkins
from tracearena.io.tables import (
    ROW,
    check_column_type,
    is_parquet,
    read_named_columns,
    read_parquet,
    read_utf8_bytes,
    split_header,
    write_frame,
)
from tracearena.traces import Box, Grid, IdTable, Places

_REGIONS = "reg_id,y_id,x_id,y(center),x(center)"
_POIS = "poi_id,y,x,category"


def read_places(path: str | PathLike[str]) -> Places:
    """Read places: regions, POIs of the PPMTF tools, or a table of places.

    If regions have no column for hospitals, it comes from the ``POI_*.csv`` of the same city in the same
    folder, if there is one.
    """
    if is_parquet(path):
        return read_place_table(path)
    header, _ = split_header(read_utf8_bytes(path))
    if header == _REGIONS:
        pois = Path(path).with_name(Path(path).name.replace("regions_", "POI_", 1))
        return checkins.read_regions(path, pois if pois.is_file() and pois != Path(path) else None)
    if header.startswith(_REGIONS):
        return pwscup.read_places(path)
    if header.startswith(_POIS):
        from tracearena.io import ppmtf

        return ppmtf.read_places(path)
    return read_place_table(path)


def write_places(places: Places, path: str | PathLike[str], *, to: str = "table") -> None:
    """Write the file of places that goes with a format of traces."""
    if to in ("pwscup", "peopleflow"):
        pwscup.write_places(places, path)
    elif to == "ppmtf":
        from tracearena.io import ppmtf

        ppmtf.write_places(places, path)
    else:
        write_place_table(places, path)


def read_places_beside(path: Path, format: str) -> Places:
    """Find and read the file of places in the folder of a file of traces."""
    city = path.name.partition(".")[0].rpartition("_")[2]
    names = {
        "pwscup": ["info_region.csv"],
        "peopleflow": [f"regions_{city}.csv", "info_region.csv"],
        "ppmtf": [f"POI_{city}.csv"],
    }[format]
    folder = sorted(path.parent.glob("POI_*.csv")) if format == "ppmtf" else []
    for candidate in [*(path.with_name(name) for name in names), *folder[: len(folder) == 1]]:
        if candidate.is_file():
            return read_places(candidate)
    if format == "peopleflow":
        return checkins.tokyo_regions()
    raise FileError.whole(
        path, f"needs its file of places: give it with --places, or put {names[0]} next to it", "no-places"
    )


# Places in a CSV or Parquet file of our own: one row per place.

_BOUND_DECIMALS = 9
_NEEDED = {"venue", "lat", "lon"}
_OWN = ("sensitive", "row", "column")


def write_place_table(places: Places, path: str | PathLike[str]) -> None:
    """Write the columns of `Places.to_frame`, sensitive places as 1 and others as 0."""
    write_frame(places.to_frame().with_columns(pl.col("sensitive").cast(pl.Int8)), path)


def read_place_table(path: str | PathLike[str]) -> Places:
    """Read places: an id, latitude and longitude under the names `table` knows; the rest if it is there.

    With the columns ``row`` and ``column`` the places must be all cells of a grid, in its order.
    """

    def choose(names: list[str]) -> list[str]:
        if len(set(names)) != len(names):
            raise FileError.whole(path, "has two columns with the same name", "columns", ",".join(names))
        found = find_roles(names, PLACES)
        return [*found.values(), *(set(_OWN) & set(names))] if set(found) >= _NEEDED else names[:12]

    raw = read_named_columns(path, choose).drop(ROW)
    return _build_checked_places(_select_place_columns(raw, path), path)


def build_places(frame: Any) -> Places:
    """Make places of a data frame of any library with the columns of a file of places."""
    return _build_checked_places(_select_place_columns(convert_frame(frame), FRAME), FRAME)


def _build_checked_places(frame: pl.DataFrame, path: str | PathLike[str]) -> Places:
    found = find_roles(frame.columns, PLACES)
    if not set(found) >= _NEEDED:
        names = ", ".join(frame.columns[:12])
        raise FileError.whole(path, "no columns for a place, latitude and longitude", "columns", names)
    degrees = []
    for column in (found["lat"], found["lon"]):
        numbers = frame[column].cast(pl.Float64, strict=False)
        if numbers.null_count():
            row = int(numbers.is_null().arg_true()[0])
            problem = f"row {row + 1}, column {column}: not a number"
            raise FileError.whole(path, problem, "number", str(frame[column][row]))
        degrees.append(numbers.to_numpy())
    latitude, longitude = degrees
    ids = convert_ids(frame[found["venue"]])
    if ids.null_count() or (ids.dtype == pl.String and bool((ids.str.len_chars() > LONGEST_ID).any())):
        raise FileError.whole(
            path, f"has places without an id, or with one beyond {LONGEST_ID} letters", "id"
        )
    if ids.dtype == pl.String and bool(ids.str.contains(NUL, literal=True).any()):
        raise FileError.whole(path, "has places with U+0000 in the id", "id")
    sensitive = frame["sensitive"].cast(pl.Int8, strict=False).fill_null(0) if "sensitive" in frame else None
    categories = None
    if "category" in found:
        texts = frame[found["category"]].cast(pl.String).fill_null("")
        categories = texts.str.slice(0, LONGEST_ID).to_list()
    has_grid = {"row", "column"} <= set(frame.columns)
    try:
        return Places(
            latitude,
            longitude,
            ids=np.asarray(ids.to_list()),
            sensitive=None if sensitive is None else sensitive.to_numpy() > 0,
            categories=categories,
            grid=_build_place_grid(path, frame, latitude, longitude) if has_grid else None,
        )
    except DataError as error:
        if isinstance(error, FileError):
            raise
        raise FileError.whole(path, str(error), "places") from None


def _select_place_columns(raw: pl.DataFrame, path: str | PathLike[str]) -> pl.DataFrame:
    kinds = {column: role for role, column in find_roles(raw.columns, PLACES).items()}
    if not set(kinds.values()) >= _NEEDED:
        return raw
    # A frame may have columns of its own under names that events have, such as a time.
    known = [name for name in raw.columns if name in kinds or name in _OWN]
    return pl.DataFrame({name: check_column_type(raw[name], kinds.get(name, name), path) for name in known})


def _build_place_grid(path: str | PathLike[str], frame: pl.DataFrame, latitude: Any, longitude: Any) -> Grid:
    row, column = (
        frame[name].cast(pl.Int64, strict=False).fill_null(0).to_numpy() for name in ("row", "column")
    )
    rows, columns = int(row.max(initial=0)), int(column.max(initial=0))
    expected = np.divmod(np.arange(len(row)), max(columns, 1))
    whole = rows * columns == len(row) and np.array_equal(row - 1, expected[0])
    if rows < 2 or columns < 2 or not whole or not np.array_equal(column - 1, expected[1]):
        raise FileError.whole(path, "rows and columns do not form a complete grid of at least 2 × 2", "grid")
    height, width = (latitude[-1] - latitude[0]) / (rows - 1), (longitude[-1] - longitude[0]) / (columns - 1)
    # Rounded, because centres carry the noise of their own arithmetic.
    south, west = latitude[0] - height / 2, longitude[0] - width / 2
    north, east = latitude[-1] + height / 2, longitude[-1] + width / 2
    box = Box(*(round(float(bound), _BOUND_DECIMALS) for bound in (south, west, north, east)))
    return Grid.over(box, rows, columns)


# Tables of who is behind which pseudonym, the secret or a guess, of any two columns and any ids.

HEADER = ("pse_id", "user_id")
_MOST_BYTES = 2**30
_PSEUDONYM = ("pse_id", "pseudonym", "pseudonym_id", "released_id")
_USER = ("user_id", "user", "uid", "original_id")


def read_pseudonyms(path: str | PathLike[str]) -> dict[str, str]:
    """Read a CSV table of pseudonyms and users (``pse_id,user_id``), the pseudonym first.

    The first line is a header; where its names say so (``user_id,pse_id``) the user may stand first. Ids are
    text here: the contest's tables of numbers and those of GPS users with names are read alike.
    """
    return _read_pairs(path, one_to_one=True)


def read_id_pairs(path: str | PathLike[str], *, one_to_one: bool = True) -> IdTable:
    """Read a table of pseudonyms and users, CSV or Parquet, by ascending pseudonym.

    Parameters
    ----------
    one_to_one
        Refuse a user who stands under two pseudonyms; a guess may name one twice.
    """
    pairs = _read_pairs(path, one_to_one=one_to_one)
    pseudonyms, users = _convert_pair_ids(list(pairs)), _convert_pair_ids(list(pairs.values()))
    order = np.argsort(pseudonyms, kind="stable")
    return IdTable(pseudonyms[order], users[order])


def write_id_pairs(table: IdTable, path: str | PathLike[str]) -> None:
    """Write an inferred ID table, as Parquet if the name ends in .parquet, otherwise as CSV."""
    write_frame(pl.DataFrame(dict(zip(HEADER, (table.pseudonyms, table.user_ids), strict=True))), path)


def _read_pairs(path: str | PathLike[str], *, one_to_one: bool) -> dict[str, str]:
    if not is_parquet(path):
        text = read_bytes(path, max_bytes=_MOST_BYTES).decode("utf-8-sig", "replace")
        # Ids may hold what `str.splitlines` takes for the end of a line.
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        except csv.Error as error:
            raise FileError.whole(path, f"is not a CSV table: {error}", "bad-csv") from None
    else:
        frame = read_parquet(path, lambda names: names)
        columns = [
            check_column_type(column, "user", path).cast(str).fill_null("").to_list() for column in frame
        ]
        rows = [frame.columns, *map(list, zip(*columns, strict=True))]
    if not rows:
        raise FileError.whole(path, "is empty; an id table has a header and one row per pseudonym", "empty")
    header = [name.strip().lower() for name in rows[0]]
    if len(header) != 2:
        problem = f"has {len(header)} columns; an id table has two, pse_id,user_id"
        raise FileError.whole(path, problem, "wrong-header", ",".join(rows[0]))
    swapped = header[0] in _USER and header[1] in _PSEUDONYM
    table: dict[str, str] = {}
    users: set[str] = set()
    for at, row in enumerate(rows[1:], start=1):
        if len(row) != 2 or not all(value.strip() for value in row):
            problem = "a row must have a pseudonym and a user"
            raise FileError(path, [Fault(at, None, ",".join(row), problem, "wrong-length")])
        if any("\0" in value for value in row):
            raise FileError(path, [Fault(at, None, ",".join(row), "ids must not contain U+0000", "bad-id")])
        pseudonym, user = (value.strip() for value in (reversed(row) if swapped else row))
        if pseudonym in table or (one_to_one and user in users):
            column = rows[0][0 if (pseudonym in table) != swapped else 1]
            problem = "occurs twice" + ("; ids and pseudonyms must be unique" if one_to_one else "")
            value = pseudonym if pseudonym in table else user
            raise FileError(path, [Fault(at, column, value, problem, "repeated-id")])
        table[pseudonym] = user
        users.add(user)
    if not table:
        raise FileError.whole(path, "has a header and no rows", "empty")
    return table


def _convert_pair_ids(texts: list[str]) -> NDArray[Any]:
    """Return ids as numbers if all of them are, written the plain way, and as text otherwise."""
    return np.asarray(convert_ids(pl.Series(texts, dtype=pl.String)).to_list())
