"""Tables of trips: one row has a start and an end, with a time and a position each.

Bike shares (``started_at, ended_at, start_lat, start_lng, end_lat, end_lng``) and taxis
(``tpep_pickup_datetime, pickup_latitude, …``) have them. Each trip becomes two GPS points and is a
trajectory. Most such tables do not say who travelled, and they are refused until somebody decides:
``one_user`` if it was one person, ``columns={"user": …}`` with the column that tells, or with ``ROW`` to make
each trip a user of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike

import polars as pl

from tracearena.errors import Fault, FileError
from tracearena.io.fields.columns import NAMES, find_trip_columns, simplify_name
from tracearena.io.options import Layout, find_column
from tracearena.io.report import DropRule, Report
from tracearena.io.tables import ROW, find_row_numbers, read_named_columns

EACH_ROW = "ROW"
"""In place of a user's column: each trip is a user of its own."""


USERS = (*NAMES["user"], "rider", "riderid", "member", "memberid", "customerid", "hacklicense", "driverid",
         "medallion", "taxiid")  # fmt: skip
_TRIPS = ("rideid", "tripid", "rentalid", "trip", "id")


def read_trips(path: str | PathLike[str], report: Report, layout: Layout) -> pl.DataFrame:
    """Return two rows per trip, numbered by the trip."""
    rows = read_named_columns(path, lambda names: find_useful_trip_columns(names, layout), report)
    return split_trips(rows, report, layout)


def find_useful_trip_columns(names: Sequence[str], layout: Layout) -> list[str]:
    """Return the columns of a table of trips that are read: both ends, who, and which trip."""
    plain = {simplify_name(name): name for name in reversed(names)}
    others = [
        _find_first_name(plain, USERS),
        _find_first_name(plain, _TRIPS),
        *_find_chosen_columns(names, layout).values(),
    ]
    return sorted({*find_trip_columns(names).values(), *(name for name in others if name is not None)})


def split_trips(trips: pl.DataFrame, report: Report, layout: Layout) -> pl.DataFrame:
    """Return two rows per trip of a table of trips."""
    names = [name for name in trips.columns if name != ROW]
    found, number = find_trip_columns(names), find_row_numbers(trips)
    said = {role: name for role, name in layout.columns.items() if (role, name) != ("user", EACH_ROW)}
    replace(layout, columns=said, one_user=None).require_columns(names, report.path)
    asked = _find_chosen_columns(names, layout)
    plain = {simplify_name(name): name for name in reversed(names)}
    named = asked.get("trajectory") or _find_first_name(plain, _TRIPS)
    trajectory = number if named is None else trips[named]
    user = _find_trip_users(trips, asked.get("user"), plain, report.path, layout)
    ends = []
    for end in ("start", "end"):
        time, latitude, longitude = (trips[found[f"{end} {role}"]] for role in ("time", "lat", "lon"))
        made = [number.alias(ROW), user.alias("user"), trajectory.alias("traj"), time.alias("time")]
        ends.append(pl.DataFrame([*made, latitude.alias("lat"), longitude.alias("lon")]))
    return pl.concat(ends).sort(ROW, maintain_order=True)


def _find_chosen_columns(names: Sequence[str], layout: Layout) -> dict[str, str]:
    """Return the columns that are named for a role and there, as the table writes them."""
    found = {role: find_column(names, said) for role, said in layout.columns.items()}
    return {role: name for role, name in found.items() if name is not None}


def _find_trip_users(
    trips: pl.DataFrame, asked: str | None, plain: Mapping[str, str], path: str, layout: Layout
) -> pl.Series:
    if layout.one_user is not None:
        return pl.repeat(layout.one_user, trips.height, eager=True)
    if layout.columns.get("user") == EACH_ROW:
        return find_row_numbers(trips)
    column = asked or _find_first_name(plain, USERS)
    if column is not None:
        return trips[column]
    ids = [plain[name] for name in _TRIPS if name in plain]
    each = f" --columns user={ids[0] if ids else EACH_ROW}"
    problem = (
        "no column says who made the trips: name one with --columns user=COLUMN; if one person made all "
        f"trips, use --one-user NAME;{each} makes each trip a user of its own, which hides who made several"
    )
    raise FileError(path, [Fault(0, None, ", ".join(plain.values())[:200], problem, "columns")])


def _find_first_name(plain: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((plain[name] for name in names if name in plain), None)


# Taxis of Porto (ECML/PKDD 2015): one row per trip, with all its points in one field.

COLUMNS = ("TRIP_ID", "TAXI_ID", "TIMESTAMP", "MISSING_DATA", "POLYLINE")
SECONDS_A_POINT = 15
# As JSON writes them, and none beyond what a number of the machine holds.
_NUMBER = r"-?(0|[1-9]\d{0,15})(\.\d{1,100})?([eE][+-]?\d{1,2})?"
_PAIR = rf"\[\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\]"
_POLYLINE = rf"^\s*\[\s*({_PAIR}\s*(,\s*{_PAIR}\s*)*)?\]\s*$"


def read_porto_trips(path: str | PathLike[str], report: Report) -> pl.DataFrame:
    """Return one row per point, numbered by its trip."""
    frame = read_named_columns(path, lambda _: list(COLUMNS), report).rename({ROW: "row"})
    frame = frame.with_columns(pl.col(COLUMNS).cast(pl.String))
    line, missing = pl.col("POLYLINE"), pl.col("MISSING_DATA").str.to_lowercase()
    start = pl.col("TIMESTAMP").str.strip_chars().cast(pl.Float64, strict=False)
    rules = [
        DropRule(reason="missing data", bad=missing.is_in(["true", "1"]), column="MISSING_DATA"),
        DropRule(reason="no points", bad=line.str.contains(r"^\s*\[\s*\]\s*$"), column="POLYLINE"),
        DropRule(
            reason="not a list of [longitude,latitude]",
            bad=~line.str.contains(_POLYLINE).fill_null(False),
            column="POLYLINE",
        ),
        DropRule(
            reason="not seconds since 1970", bad=~start.is_finite().fill_null(False), column="TIMESTAMP"
        ),
    ]
    kept = report.sift(frame, rules)
    report.refuse_if_nothing_is_left(kept.height)
    trips = kept.select(
        pl.col("row").alias(ROW),
        pl.col("TAXI_ID").alias("user"),
        pl.col("TRIP_ID").alias("traj"),
        start.alias("time"),
        line.str.json_decode(pl.List(pl.List(pl.Float64))).alias("position"),
    )
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
