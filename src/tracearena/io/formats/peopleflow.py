"""People flow: Tokyo's traces by region and number of instant, and the cleaning of raw traces.

A prepared file has the header ``user_id,time_id,reg_id`` and 35 instants a user, without clock or
day; ``regions_TK.csv`` has the regions, ``POI_TK.csv`` what stands in them. A file of raw points
(any that `table` reads, or ``traces_<city>.csv`` of the PPMTF tools) is cleaned as the PPMTF authors
do: see `clean`.
"""

from __future__ import annotations

from os import PathLike

import numpy as np
import polars as pl

from tracearena.errors import DataError, FileError
from tracearena.io import pwscup
from tracearena.io.fields.columns import convert_ids
from tracearena.io.formats import checkins as table
from tracearena.io.options import Choices
from tracearena.io.report import DropRule, Reading, Report
from tracearena.io.rows import CheckIns
from tracearena.io.tables import is_parquet, read_role_rows, read_rows, read_utf8_bytes, split_header
from tracearena.traces import Box, Clock, Grid, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

CLOCK = Clock(instants_per_day=35, interval_s=1200)
"""35 instants in order. The files say neither their hours nor their interval; 20 minutes is a guess."""

CLEANED_CLOCK = Clock(instants_per_day=30, start_s=9 * 3600, interval_s=1200)
TOKYO = Box(35.65, 139.68, 35.75, 139.80)
HOSPITAL = "building/Hospital/7"
_CLEANED_GRID = (20, 20)
_POIS = ("poi_id", "y", "x", "category", "y_id", "x_id", "2D_id", "count")
_RAW = (
    "user_id",
    "y",
    "x",
    "y_id",
    "x_id",
    "2D_id",
    "unixtime",
    "year",
    "month",
    "day",
    "hour",
    "min",
    "sec",
)


def read(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> Reading[Traces]:
    """Read a prepared file, or clean one of raw points.

    Parameters
    ----------
    choices
        For raw points only: grid and bounds in place of 20 × 20 cells of Tokyo.
    places
        The regions of a prepared file; by default 32 × 32 cells of Tokyo.
    """
    data = b"" if is_parquet(path) else read_utf8_bytes(path)
    header, rest = split_header(data)
    if header == "user_id,time_id,reg_id":
        return _read_prepared_file(path, tokyo_regions() if places is None else places)
    report = Report(str(path), "peopleflow")
    if header == ",".join(_RAW):
        checkins = _parse_raw_points(path, rest, report)
    else:
        zone = Choices(timezone=(choices or Choices()).timezone)
        checkins = table.build_table_check_ins(read_role_rows(path, report), report, zone)
        if missing := {"lat", "lon", "local"} - set(checkins.frame.columns):
            needed = "raw people flow needs a user, a time and coordinates"
            raise FileError.whole(
                path, f"{needed}; {', '.join(sorted(missing))} cannot be read", "columns", header
            )
    return Reading(clean(checkins, report, choices), report)


def tokyo_regions() -> Places:
    """Return the 1,024 regions of the prepared files, without hospitals.

    >>> tokyo_regions()
    <Places: 1,024, grid 32 × 32, 0 sensitive>
    """
    return Places.of_grid(Grid.over(TOKYO, 32, 32), km_per_degree=CONTEST_KM_PER_DEGREE)


def read_regions(path: str | PathLike[str], pois: str | PathLike[str] | None = None) -> Places:
    """Read ``regions_TK.csv``; with the file of POIs, regions with a hospital are sensitive."""
    places = pwscup.read_places(path)
    if pois is None or places.grid is None:
        return places
    points = read_pois(pois)
    cell = places.grid.cell_of(points.latitude, points.longitude)
    hospitals = cell[(points.categories == HOSPITAL) & (cell >= 0)]
    sensitive = np.isin(np.arange(len(places)), hospitals)
    return Places(
        places.latitude,
        places.longitude,
        ids=places.ids,
        sensitive=sensitive,
        grid=places.grid,
        km_per_degree=places.km_per_degree,
    )


def read_pois(path: str | PathLike[str]) -> Places:
    """Read ``POI_TK.csv``: 17,820 points with categories such as ``food/Japanese Restaurant/3``."""
    header, rest = split_header(read_utf8_bytes(path))
    if header != ",".join(_POIS):
        raise FileError.whole(path, f"has not the header {','.join(_POIS)}", "columns", header)
    frame = read_rows(path, rest, _POIS, ",")
    number = frame.select(pl.col("y", "x").cast(pl.Float64, strict=False))
    bad = number.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if bad.any():
        row = int(bad.arg_true()[0])
        raise FileError.whole(path, f"row {row + 1} has no coordinates", "coordinates", frame["y"][row])
    categories = frame["category"].fill_null("").to_list()
    ids = frame["poi_id"].to_list()
    return Places(number["y"].to_numpy(), number["x"].to_numpy(), ids=ids, categories=categories)


def clean(checkins: CheckIns, report: Report, choices: Choices | None = None) -> Traces:
    """Keep the people who are seen every 20 minutes from 9:00 to 18:40, on a grid ([ppmtf] data PF).

    Of a user the events from 9:00 to 18:59 at minutes 0, 20 and 40 inside the box are taken in
    order of time. The first 30 of them must run from 9:00 on in steps of 20 minutes; otherwise
    the user is dropped.

    Notes
    -----
    As in the authors' program only hours and minutes are compared, so the 30 events may stem from
    several days; instants carry no date.
    """
    chosen = choices or Choices()
    grid = Grid.over(chosen.bounds or TOKYO, *(chosen.grid or _CLEANED_GRID))
    frame = checkins.frame
    cell = grid.cell_of(frame["lat"].to_numpy(), frame["lon"].to_numpy())
    minute = pl.col("local") // 60 % 1440
    frame = report.sift(
        frame.with_columns(place=pl.Series(cell), step=(minute - 540) // 20),
        [
            DropRule(reason="outside the bounds", bad=pl.col("place") < 0, column="lat, lon"),
            DropRule(reason="not from 9:00 to 18:59", bad=~minute.is_between(540, 1139), column="row"),
            DropRule(reason="not at minute 0, 20 or 40", bad=minute % 20 != 0, column="row"),
        ],
    )
    report.refuse_if_nothing_is_left(frame.height)
    kept = _keep_whole_days(frame.sort("user", "utc", maintain_order=True), report)
    report.refuse_if_nothing_is_left(kept.height)
    users = kept["user"].unique(maintain_order=True)
    dense = kept["place"].to_numpy().reshape(len(users), CLEANED_CLOCK.instants_per_day)
    places = Places.of_grid(grid, first_id=0, km_per_degree=CONTEST_KM_PER_DEGREE)
    return Traces.from_dense(dense, places, CLEANED_CLOCK, user_ids=np.asarray(users.to_list()))


def write(traces: Traces, path: str | PathLike[str]) -> None:
    """Write a prepared file: 35 instants at most, whose hours the format does not tell."""
    if len(traces) and int(traces.instants.max()) >= CLOCK.instants_per_day:
        raise DataError(
            f"files of format peopleflow hold {CLOCK.instants_per_day} instants and no days, and these "
            f"reach instant {int(traces.instants.max()) + 1}; format pwscup holds them with their times"
        )
    pwscup.write_traces(traces, path, with_times=False)


def _keep_whole_days(frame: pl.DataFrame, report: Report) -> pl.DataFrame:
    length = CLEANED_CLOCK.instants_per_day
    rank = pl.int_range(pl.len()).over("user")
    first = frame.with_columns(rank=rank).filter(pl.col("rank") < length)
    good = (pl.len() == length) & (pl.col("step") == pl.col("rank")).all()
    kept = first.filter(good.over("user"))
    report.notice("users without a whole day", frame["user"].n_unique() - kept["user"].n_unique())
    if kept.height < frame.height:
        reason = "of users without a whole day, or after it"
        report.drop(reason, frame.height - kept.height)
    return kept


def _read_prepared_file(path: str | PathLike[str], places: Places) -> Reading[Traces]:
    traces = pwscup.read_traces(path, places, CLOCK)
    return Reading(traces, Report(str(path), "peopleflow", traces.n_events))


def _parse_raw_points(path: str | PathLike[str], rows: bytes, report: Report) -> CheckIns:
    """``traces_<city>.csv``: the clock time stands in columns of its own."""
    raw = read_rows(path, rows, _RAW, ",")
    report.rows = raw.height
    parts = [
        pl.col(name).cast(pl.Int32, strict=False) for name in ("year", "month", "day", "hour", "min", "sec")
    ]
    moment = pl.datetime(*parts).dt.epoch("s")
    frame = raw.select(
        "row",
        "user_id",
        pl.col("y").cast(pl.Float64, strict=False).alias("lat"),
        pl.col("x").cast(pl.Float64, strict=False).alias("lon"),
        moment.alias("local"),
    )
    bad = pl.any_horizontal(pl.all().is_null())
    frame = report.sift(frame, [DropRule(reason="missing fields", bad=bad, column="row")])
    report.refuse_if_nothing_is_left(frame.height)
    user = convert_ids(frame["user_id"])
    return CheckIns(frame.select("row", user.alias("user"), "lat", "lon", "local", utc="local"), True)
