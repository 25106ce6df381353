"""Rows as they stand in a file to points that can be used, some rows after the others."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tracearena.intake.columns import POINTS
from tracearena.intake.gps_points import utc_of
from tracearena.intake.ids import LONGEST_ID, identifiers
from tracearena.intake.layout import Layout
from tracearena.intake.positions import oddly_dated
from tracearena.intake.report import Report
from tracearena.intake.rows import Rows, parsed_rows
from tracearena.intake.tables import by_role
from tracearena.traces import Box


def usable_points(
    raw: pl.DataFrame, report: Report, layout: Layout, first_times: pl.Series, box: Box | None
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the points that can be used, and who has points outside the box; the report is told why.

    Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
    ``trajectory``, and ``row``.

    Parameters
    ----------
    first_times
        The first times of the table, which tell how all are written.
    box
        Points outside of it are left out.
    """
    rows = _parsed(raw, report, layout, first_times)
    frame = report.sift(rows.frame, [*rows.who(), *rows.when(), *rows.where()])
    oddly_dated(report.path, frame["_at"].to_numpy(), frame["row"].to_numpy(), report, report.header_lines)
    return _inside(columns(frame), box, report)


def parsed_points(raw: pl.DataFrame, report: Report, layout: Layout, first_times: pl.Series) -> pl.DataFrame:
    """Return rows with what was read of them, whether they can be used or not."""
    return _parsed(raw, report, layout, first_times).frame


def columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what was read of rows under the names of points."""
    wanted = {"user": frame["user"], "at": frame["_at"], "lat": frame["_lat"], "lon": frame["_lon"]}
    if "trajectory" in frame.columns:
        ids = identifiers(frame["trajectory"])
        is_text = ids.dtype == pl.String
        wanted["trajectory"] = ids.fill_null("").str.slice(0, LONGEST_ID) if is_text else ids.fill_null(-1)
    return pl.DataFrame({**wanted, "row": frame["row"]})


def _parsed(raw: pl.DataFrame, report: Report, layout: Layout, first_times: pl.Series) -> Rows:
    given, names = by_role(raw, report, POINTS, layout)
    report.rows = given.height
    rows = parsed_rows(given, report, unit="ms", layout=layout, names=names, first_times=first_times)
    return replace(rows, frame=rows.frame.with_columns(_at=utc_of(rows, report)))


def _inside(frame: pl.DataFrame, box: Box | None, report: Report) -> tuple[pl.DataFrame, pl.Series]:
    if box is None:
        return frame, frame["user"].clear()
    south, west, north, east = box
    inside = pl.col("lat").is_between(south, north) & pl.col("lon").is_between(west, east)
    outside = frame.filter(~inside)["user"]
    if len(outside):
        report.drop("outside the bounds", len(outside))
    return frame.filter(inside), outside.unique()
