"""Columns of a table that no reader uses, which may tell people apart all the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import polars as pl

from tracearena.intake import times
from tracearena.intake.columns import EVENTS, names_utc
from tracearena.intake.ids import identifiers
from tracearena.intake.layout import Layout
from tracearena.intake.report import Report
from tracearena.intake.tables import by_role, rows_of_file

if TYPE_CHECKING:
    from tracearena.intake.sampling import Sample

MOST_COLUMNS = 20
"""Of a table with more columns that nobody reads, the first are looked at."""


def values_of_columns(
    path: str | PathLike[str], columns: Sequence[str], layout: Layout, sample: Sample | None = None
) -> dict[str, pl.DataFrame]:
    """Return for each column who has which value when: ``user`` and ``value`` as text, ``at`` in seconds.

    Columns of lists and rows without a value are left out. A sample of people is that of the other readers.
    """
    found = {}
    for column in columns[:MOST_COLUMNS]:
        # Tables are read for roles: here the column takes that of the category, which is any text.
        as_category = replace(layout, columns={**layout.columns, "category": column})
        report = Report(str(path), "table")
        raw = rows_of_file(path, report, EVENTS, as_category, sample)
        if raw.schema[column].is_nested():
            continue
        rows, names = by_role(raw.with_columns(pl.col(column).cast(pl.String)), report, EVENTS, as_category)
        are_utc = names_utc(names["time"])
        at = times.parse(rows["time"], style=layout.time_format, are_utc=are_utc).at
        users = identifiers(rows["user"]).cast(pl.String)
        made = pl.DataFrame({"user": users, "at": at, "value": rows["category"].str.strip_chars()})
        found[column] = made.filter(pl.col("value") != "").drop_nulls()
    return found
