"""A look at the files of a table of points: whether they are one, and what its columns are."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.files.limits import require_columns
from tracearena.intake.columns import POINTS, are_enough, missing
from tracearena.intake.layout import AS_NAMED, ONE_USER, Layout
from tracearena.intake.report import Report
from tracearena.intake.tables import UNDELIMITED, notice_rivals, parquet_schema, read_parquet
from tracearena.streams.parquet_parts import count_rows, parquet_files, said_by_folders
from tracearena.streams.point_files import PointFiles
from tracearena.traces import Box
from tracearena.traces.time import require_zone

_FIRST_ROWS = 1 << 16


def open_points(
    path: str | PathLike[str],
    report: Report,
    *,
    layout: Layout = AS_NAMED,
    timezone: str | None = None,
    box: Box | None = None,
) -> PointFiles:
    """Look at the files of a table of points, without reading its rows; refuse those that are none.

    A folder holds ``.parquet`` files, also in folders below it, whose names (``uid=7``) are a column.
    """
    if timezone is not None:
        require_zone(timezone)
    place = Path(path)
    layout.refuse_all_but(UNDELIMITED, place, "Parquet, whose columns have names")
    files = parquet_files(place)
    if not files:
        raise FileError.whole(place, "holds no .parquet files", "empty")
    said = [said_by_folders(place, file) for file in files]
    schema = _chosen(files[0], said[0], report, layout)
    rows = []
    for file, also in zip(files, said, strict=True):
        _require_alike(file, also, files[0], schema)
        rows.append(count_rows(file, len(schema)))
    times = layout.roles(list(schema), POINTS)["time"]
    first = next((at for at, count in enumerate(rows) if count), None)
    if first is None:
        raise FileError.whole(place, "holds no point", "no-points")
    if times in said[first]:
        first_times = pl.Series([said[first][times]], dtype=pl.String)
    else:
        first_times = read_parquet(files[first], lambda _: [times], _FIRST_ROWS)[times]
    return PointFiles(
        str(place), tuple(files), tuple(rows), schema, tuple(said), layout, timezone, first_times, box
    )


def _chosen(
    file: Path, said: Mapping[str, str | None], report: Report, layout: Layout
) -> dict[str, pl.DataType]:
    schema = {**parquet_schema(file), **dict.fromkeys(said, pl.String())}
    require_columns(file, len(schema))
    layout.require_columns(list(schema), file)
    found = layout.roles(list(schema), POINTS)
    if not are_enough(found):
        raise FileError(file, missing(list(schema), found, POINTS, layout.header))
    notice_rivals(list(schema), found, report, layout)
    return {name: schema[name] for name in found.values() if name != ONE_USER}


def _require_alike(
    file: Path, said: Mapping[str, str | None], first: Path, wanted: Mapping[str, pl.DataType]
) -> None:
    schema = {**parquet_schema(file), **dict.fromkeys(said, pl.String())}
    for name, kind in wanted.items():
        if name not in schema:
            problem = f"has no column {name}, which {first.name} has"
        elif schema[name] != kind:
            problem = f"has {schema[name]} in the column {name}, and {first.name} has {kind}"
        else:
            continue
        raise FileError(file, [Fault(None, name, None, problem, "columns")])
