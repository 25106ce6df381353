"""Columns of a CSV or Parquet file, chosen by their names and as they are, for tables of a special shape."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike

import polars as pl

from tracearena.errors import FileError
from tracearena.files.io import require_columns
from tracearena.intake.delimited import length_rules, read_rows, split_header, text_bytes
from tracearena.intake.report import Report
from tracearena.intake.tables import ROW, is_parquet, read_parquet
from tracearena.intake.text_tables import header_fields


def columns_of(
    path: str | PathLike[str], report: Report, chosen: Callable[[list[str]], list[str]]
) -> pl.DataFrame:
    """Return some columns with the number of each row; those of CSV are text.

    Rows with more fields than the header are dropped and reported.
    """
    if is_parquet(path):
        return read_parquet(path, chosen).with_row_index(ROW, 1)
    header, rest = split_header(text_bytes(path))
    names, separator = header_fields(header)
    require_columns(path, len(names))
    if not rest.strip():
        raise FileError.whole(path, "has a header and no rows", "empty")
    plain = [f"column {i}" for i in range(len(names))]
    frame = report.sift(read_rows(path, rest, plain, separator, quoted=True), length_rules(()))
    report.refuse_if_nothing_is_left(frame.height)
    named = {plain[names.index(name)]: name for name in chosen(names)}
    return frame.select("row", *named).rename({"row": ROW, **named})
