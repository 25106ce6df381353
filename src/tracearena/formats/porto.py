"""Taxis of Porto (ECML/PKDD 2015): one row a trip, with all its points in one field.

``"TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP","DAY_TYPE","MISSING_DATA",
"POLYLINE"``: the taxi is the user, the trip a trajectory. POLYLINE is ``[[lon,lat],…]``, a point each 15
seconds from TIMESTAMP (seconds since 1970) on. Where MISSING_DATA is ``True`` points lack somewhere on the
way, so that the time of those behind is unknown: such a trip is left out, as is one without points.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import polars as pl

from tracearena.formats.headed import columns_of
from tracearena.intake.report import Report, Rule
from tracearena.intake.tables import ROW

COLUMNS = ("TRIP_ID", "TAXI_ID", "TIMESTAMP", "MISSING_DATA", "POLYLINE")
SECONDS_A_POINT = 15
# As JSON writes them, and none beyond what a number of the machine holds.
_NUMBER = r"-?(0|[1-9]\d{0,15})(\.\d{1,100})?([eE][+-]?\d{1,2})?"
_PAIR = rf"\[\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\]"
_POLYLINE = rf"^\s*\[\s*({_PAIR}\s*(,\s*{_PAIR}\s*)*)?\]\s*$"


def are_porto(names: Sequence[str]) -> bool:
    """Whether a header is that of Porto's taxis."""
    return set(COLUMNS) <= set(names)


def rows(path: str | PathLike[str], report: Report) -> pl.DataFrame:
    """Return one row a point, numbered by its trip."""
    frame = columns_of(path, report, lambda _: list(COLUMNS)).rename({ROW: "row"})
    frame = frame.with_columns(pl.col(COLUMNS).cast(pl.String))
    line, missing = pl.col("POLYLINE"), pl.col("MISSING_DATA").str.to_lowercase()
    start = pl.col("TIMESTAMP").str.strip_chars().cast(pl.Float64, strict=False)
    rules = [
        Rule(reason="missing data", bad=missing.is_in(["true", "1"]), column="MISSING_DATA"),
        Rule(reason="no points", bad=line.str.contains(r"^\s*\[\s*\]\s*$"), column="POLYLINE"),
        Rule(
            reason="not a list of [longitude,latitude]",
            bad=~line.str.contains(_POLYLINE).fill_null(False),
            column="POLYLINE",
        ),
        Rule(reason="not seconds since 1970", bad=~start.is_finite().fill_null(False), column="TIMESTAMP"),
    ]
    kept = report.sift(frame, rules)
    report.refuse_if_nothing_is_left(kept.height)
    return kept.select(
        pl.col("row").alias(ROW),
        pl.col("TAXI_ID").alias("user"),
        pl.col("TRIP_ID").alias("traj"),
        start.alias("time"),
        line.str.json_decode(pl.List(pl.List(pl.Float64))).alias("position"),
    ).pipe(_points)


def _points(trips: pl.DataFrame) -> pl.DataFrame:
    number = pl.int_ranges(0, pl.col("position").list.len())
    points = trips.with_columns(number.alias("number")).explode("position", "number")
    return points.select(
        ROW,
        "user",
        "traj",
        pl.col("time") + SECONDS_A_POINT * pl.col("number"),
        pl.col("position").list.get(1).alias("lat"),
        pl.col("position").list.get(0).alias("lon"),
    )
