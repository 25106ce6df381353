"""Events at places: Foursquare, Gowalla and TSMC check-ins, CSV and Parquet tables, people flow.

`read_event_table` reads any table with columns for user, time and position or place; it is the default
reader for CSV and Parquet. The other readers are for one published layout each.

Foursquare's global check-ins (WWW 2019), the data of both PPMTF papers.

Two files, tab separated, no header. ``raw_Checkins_anonymized.txt``: user, venue, UTC time
``Tue Apr 03 18:00:06 +0000 2012``, offset in minutes. ``raw_POIs.txt``: venue, latitude, longitude,
category, country code. Some categories hold broken UTF-8.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tracearena.errors import DataError, FileError
from tracearena.files.atomic import replacing_all
from tracearena.files.io import replacing_folder
from tracearena.io import pwscup
from tracearena.io.discretisation import build_traces
from tracearena.io.fields.columns import EVENTS, convert_ids
from tracearena.io.options import AS_NAMED, Choices, Layout
from tracearena.io.report import DropRule, Reading, Report
from tracearena.io.rows import CheckIns, parse_check_ins, parse_rows, parse_table_rows
from tracearena.io.tables import (
    is_parquet,
    read_headless,
    read_role_rows,
    read_rows,
    read_utf8_bytes,
    split_header,
    write_frame,
    write_tabs,
)
from tracearena.traces import Box, Clock, Grid, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE
from tracearena.traces.time import offset_minutes, utc_text

if TYPE_CHECKING:
    from tracearena.io.suggestions import Sample


FOURSQUARE_COLUMNS = ("user", "venue", "time", "offset_min")
FOURSQUARE_POI_COLUMNS = ("venue", "lat", "lon", "category", "country")
FOURSQUARE_POI_NAME = "raw_POIs.txt"


def read_foursquare(
    path: str | PathLike[str], *, choices: Choices | None = None, pois: str | PathLike[str] | None = None
) -> Reading[Traces]:
    """Read the check-ins and their venues, packed or not.

    Parameters
    ----------
    pois
        The file of venues; by default ``raw_POIs.txt`` (or ``raw_POIs.txt.gz``) next to `path`.

    Notes
    -----
    The PPMTF authors' program takes hours of UTC; ``Choices(utc_hours=True)`` does the same.
    With `bounds` and `top` this is their preparation of the data: venues inside the box, then the
    most visited ones, ties in file order.
    """
    chosen = choices or Choices()
    report = Report(str(path), "foursquare", header_lines=0)
    # Venues with good coordinates, once each; the faults of their file are counted with the others.
    place = find_venue_file(path) if pois is None else Path(pois)
    own = Report(str(place), "foursquare", header_lines=0)
    venues = read_headless(place, FOURSQUARE_POI_COLUMNS, FOURSQUARE_POI_COLUMNS[:3], own)
    venues = venues.unique("venue", keep="first", maintain_order=True)
    number = venues.select(pl.col("lat", "lon").cast(pl.Float64, strict=False))
    good = number["lat"].is_between(-90, 90) & number["lon"].is_between(-180, 180)
    good = good.fill_null(False)
    report.notice("venues with bad coordinates", int((~good).sum()))
    report.notice("lines of the file of venues that cannot be read", own.dropped_rows)
    venues = venues.filter(good).select("venue", "lat", "lon", "category")
    raw = read_headless(path, FOURSQUARE_COLUMNS, FOURSQUARE_COLUMNS, report)
    raw = raw.join(venues, on="venue", how="left", maintain_order="left")
    rule = DropRule(reason="not in the file of venues", bad=pl.col("lat").is_null(), column="venue")
    raw = report.sift(raw, [rule])
    report.refuse_if_nothing_is_left(raw.height)
    events = parse_check_ins(parse_rows(raw, report, unit="s"), report, chosen)
    return Reading(build_traces(events, report, chosen), report)


def write_foursquare(
    traces: Traces, path: str | PathLike[str], *, pois: str | PathLike[str] | None = None
) -> Path:
    """Write check-ins and venues; return where the venues went (by default ``raw_POIs.txt`` next to them)."""
    places, at = traces.places, traces.place_index
    target = Path(path).parent / FOURSQUARE_POI_NAME if pois is None else Path(pois)
    category = np.full(len(places), "") if places.categories is None else places.categories
    about = {
        "venue": places.ids,
        "lat": places.latitude,
        "lon": places.longitude,
        "category": category,
        "country": np.full(len(places), "-"),
    }
    events = {
        "user": traces.user_ids[traces.user_index],
        "venue": places.ids[at],
        "time": utc_text(traces, TSMC_TIME_FORMAT),
        "offset_min": offset_minutes(traces),
    }
    with replacing_all():
        write_tabs(pl.DataFrame(about), target)
        write_tabs(pl.DataFrame(events), path)
    return target


def find_venue_file(path: str | PathLike[str]) -> Path:
    """Return the file of venues in the folder of the check-ins."""
    folder = Path(path).parent
    for name in (FOURSQUARE_POI_NAME, f"{FOURSQUARE_POI_NAME}.gz"):
        if (folder / name).is_file():
            return folder / name
    raise FileError.whole(
        path,
        f"needs its file of venues: give it with --places, or put {FOURSQUARE_POI_NAME} next to it",
        "no-places",
    )


# Check-ins of Gowalla and Brightkite as SNAP publishes them.

GOWALLA_COLUMNS = ("user", "time", "lat", "lon", "venue")
_GOWALLA_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def read_gowalla(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> Reading[Traces]:
    """Read a file of check-ins, packed or not."""
    chosen = choices or Choices()
    report = Report(str(path), "gowalla", header_lines=0)
    raw = read_headless(path, GOWALLA_COLUMNS, GOWALLA_COLUMNS[:4], report)
    events = parse_check_ins(parse_rows(raw, report, unit="s"), report, chosen, places)
    return Reading(build_traces(events, report, chosen, places=places), report)


def write_gowalla(traces: Traces, path: str | PathLike[str]) -> None:
    """Write the events with the coordinates of their places, by user and time."""
    places = traces.places
    columns = {
        "user": traces.user_ids[traces.user_index],
        "time": utc_text(traces, _GOWALLA_TIME_FORMAT),
        "lat": places.latitude[traces.place_index],
        "lon": places.longitude[traces.place_index],
        "venue": places.ids[traces.place_index],
    }
    write_tabs(pl.DataFrame(columns), path)


# Foursquare check-ins of New York and Tokyo (TSMC 2014).

TSMC_COLUMNS = ("user", "venue", "category_id", "category", "lat", "lon", "offset_min", "time")
TSMC_TIME_FORMAT = "%a %b %d %H:%M:%S +0000 %Y"


def read_tsmc(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> Reading[Traces]:
    """Read a file of check-ins, packed or not; broken letters in categories survive as �."""
    chosen = choices or Choices()
    report = Report(str(path), "tsmc", header_lines=0)
    raw = read_headless(path, TSMC_COLUMNS, ("user", "venue", "lat", "lon", "offset_min", "time"), report)
    events = parse_check_ins(parse_rows(raw, report, unit="s"), report, chosen)
    return Reading(build_traces(events, report, chosen, places=places), report)


def write_tsmc(traces: Traces, path: str | PathLike[str]) -> None:
    """Write the events by user and time; the category stands in for the category id, which we lack."""
    places, at = traces.places, traces.place_index
    category = np.full(len(places), "") if places.categories is None else places.categories
    columns = {
        "user": traces.user_ids[traces.user_index],
        "venue": places.ids[at],
        "category_id": category[at],
        "category": category[at],
        "lat": places.latitude[at],
        "lon": places.longitude[at],
        "offset_min": offset_minutes(traces),
        "time": utc_text(traces, TSMC_TIME_FORMAT),
    }
    write_tabs(pl.DataFrame(columns), path)


# Events in a CSV or Parquet file, under the column names people use.


def read_event_table(
    path: str | PathLike[str],
    *,
    choices: Choices | None = None,
    places: Places | None = None,
    format: str = "table",
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> Reading[Traces]:
    """Read a Parquet file or a folder of them, or a CSV file (comma, semicolon or tab; packed or not)."""
    report = Report(str(path), format)
    raw = read_role_rows(path, report, layout=layout, sample=sample)
    return build_table_events(raw, report, choices or Choices(), places, layout)


def build_table_events(
    raw: pl.DataFrame,
    report: Report,
    choices: Choices,
    places: Places | None = None,
    layout: Layout = AS_NAMED,
) -> Reading[Traces]:
    """Make traces of rows."""
    events = parse_check_ins(parse_table_rows(raw, report, EVENTS, layout), report, choices, places)
    return Reading(build_traces(events, report, choices, places=places), report)


def write_event_table(traces: Traces, path: str | PathLike[str]) -> None:
    """Write Parquet where the name ends so, and CSV (packed with ``.gz``) otherwise."""
    write_frame(traces.to_frame(), path, lambda: format_events(traces))


def format_events(traces: Traces) -> pl.DataFrame:
    """Return the rows of CSV."""
    style = "%Y-%m-%dT%H:%M:%S" if traces.timestamps is None else "%Y-%m-%dT%H:%M:%SZ"
    rows: pl.DataFrame = traces.to_frame().with_columns(pl.col(pl.Datetime).dt.to_string(style))
    return rows


# Events in a folder of Parquet files, with the users of one range each: what clusters read and write.

USERS_PER_FILE = 16_384
"""A multiple of every block of users, so that a worker can read the files of its own blocks."""


def read_partitions(
    path: str | PathLike[str],
    *,
    choices: Choices | None = None,
    places: Places | None = None,
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> Reading[Traces]:
    """Read a folder of Parquet files with the same columns as one table; rows are counted through."""
    return read_event_table(
        path, choices=choices, places=places, format="partitions", layout=layout, sample=sample
    )


def write_partitions(
    traces: Traces, path: str | PathLike[str], *, users_per_file: int = USERS_PER_FILE
) -> None:
    """Write a folder of files ``part-00000.parquet``, …, each with the next users.

    The folder appears when all of it is written; one that has something in it is never replaced.
    """
    with replacing_folder(path) as folder:
        for number, first in enumerate(range(0, max(traces.n_users, 1), users_per_file)):
            part = traces.take_users(slice(first, first + users_per_file))
            write_event_table(part, folder / f"part-{number:05}.parquet")


# People flow: Tokyo's traces by region and number of instant, and the cleaning of raw traces.

CLOCK = Clock(instants_per_day=35, interval_s=1200)
"""35 instants in order. The files say neither their hours nor their interval; 20 minutes is a guess."""

CLEANED_CLOCK = Clock(instants_per_day=30, start_s=9 * 3600, interval_s=1200)
TOKYO = Box(35.65, 139.68, 35.75, 139.80)
HOSPITAL = "building/Hospital/7"
_CLEANED_GRID = (20, 20)
_DATE_AND_TIME = ("year", "month", "day", "hour", "min", "sec")
_POIS = ("poi_id", "y", "x", "category", "y_id", "x_id", "2D_id", "count")
_RAW = ("user_id", "y", "x", "y_id", "x_id", "2D_id", "unixtime", *_DATE_AND_TIME)


def read_people_flow(
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
        traces = pwscup.read_traces(path, tokyo_regions() if places is None else places, CLOCK)
        return Reading(traces, Report(str(path), "peopleflow", traces.n_events))
    report = Report(str(path), "peopleflow")
    if header == ",".join(_RAW):
        checkins = _parse_raw_points(path, rest, report)
    else:
        zone = Choices(timezone=(choices or Choices()).timezone)
        checkins = parse_check_ins(
            parse_table_rows(read_role_rows(path, report), report, EVENTS), report, zone
        )
        if missing := {"lat", "lon", "local"} - set(checkins.frame.columns):
            needed = "raw people flow needs a user, a time and coordinates"
            raise FileError.whole(
                path, f"{needed}; {', '.join(sorted(missing))} cannot be read", "columns", header
            )
    return Reading(clean_people_flow(checkins, report, choices), report)


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
        raise FileError.whole(path, f"does not have the header {','.join(_POIS)}", "columns", header)
    frame = read_rows(path, rest, _POIS, ",")
    number = frame.select(pl.col("y", "x").cast(pl.Float64, strict=False))
    bad = number.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if bad.any():
        row = int(bad.arg_true()[0])
        raise FileError.whole(path, f"row {row + 1} has no coordinates", "coordinates", frame["y"][row])
    categories = frame["category"].fill_null("").to_list()
    ids = frame["poi_id"].to_list()
    return Places(number["y"].to_numpy(), number["x"].to_numpy(), ids=ids, categories=categories)


def clean_people_flow(checkins: CheckIns, report: Report, choices: Choices | None = None) -> Traces:
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
    frame = frame.sort("user", "at", maintain_order=True)
    length = CLEANED_CLOCK.instants_per_day
    rank = pl.int_range(pl.len()).over("user")
    first = frame.with_columns(rank=rank).filter(pl.col("rank") < length)
    good = (pl.len() == length) & (pl.col("step") == pl.col("rank")).all()
    kept = first.filter(good.over("user"))
    report.notice("users without a whole day", frame["user"].n_unique() - kept["user"].n_unique())
    if kept.height < frame.height:
        report.drop("of users without a whole day, or after it", frame.height - kept.height)
    report.refuse_if_nothing_is_left(kept.height)
    users = kept["user"].unique(maintain_order=True)
    dense = kept["place"].to_numpy().reshape(len(users), length)
    places = Places.of_grid(grid, first_id=0, km_per_degree=CONTEST_KM_PER_DEGREE)
    return Traces.from_dense(dense, places, CLEANED_CLOCK, user_ids=np.asarray(users.to_list()))


def write_people_flow(traces: Traces, path: str | PathLike[str]) -> None:
    """Write a prepared file: 35 instants at most, whose hours the format does not tell."""
    if len(traces) and int(traces.instants.max()) >= CLOCK.instants_per_day:
        raise DataError(
            f"files of format peopleflow have {CLOCK.instants_per_day} instants and no days, but "
            f"these traces have {int(traces.instants.max()) + 1} instants; use format pwscup"
        )
    pwscup.write_traces(traces, path, with_times=False)


def _parse_raw_points(path: str | PathLike[str], rows: bytes, report: Report) -> CheckIns:
    """``traces_<city>.csv``: the clock time stands in columns of its own."""
    raw = read_rows(path, rows, _RAW, ",")
    report.rows = raw.height
    parts = [pl.col(name).cast(pl.Int32, strict=False) for name in _DATE_AND_TIME]
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
    return CheckIns(frame.select("row", user.alias("user"), "lat", "lon", "local", at="local"), True)
