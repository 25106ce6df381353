"""Foursquare's global check-ins (WWW 2019), the data of both PPMTF papers.

Two files, tab separated, no header. ``raw_Checkins_anonymized.txt``: user, venue, UTC time
``Tue Apr 03 18:00:06 +0000 2012``, offset in minutes. ``raw_POIs.txt``: venue, latitude, longitude,
category, country code. Some categories hold broken UTF-8.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import polars as pl

from tracearena.errors import FileError
from tracearena.files.atomic import replacing_all
from tracearena.formats.tsmc import TIME
from tracearena.intake.checkins import check_ins
from tracearena.intake.choices import Choices
from tracearena.intake.delimited import read_headless, write_tabs
from tracearena.intake.discretise import traces_of
from tracearena.intake.report import Reading, Report, Rule
from tracearena.traces import Traces
from tracearena.traces.time import offset_minutes, utc_text

COLUMNS = ("user", "venue", "time", "offset_min")
POI_COLUMNS = ("venue", "lat", "lon", "category", "country")
POI_NAME = "raw_POIs.txt"


def read(
    path: str | PathLike[str], *, choices: Choices | None = None, pois: str | PathLike[str] | None = None
) -> Reading[Traces]:
    """Read the check-ins and their venues, packed or not.

    Parameters
    ----------
    pois
        The file of venues; by default ``raw_POIs.txt`` (or ``raw_POIs.txt.gz``) beside `path`.

    Notes
    -----
    The PPMTF authors' program takes hours of UTC; ``Choices(utc_hours=True)`` does the same.
    With `bounds` and `top` this is their preparation of the data: venues inside the box, then the
    most visited ones, ties in file order.
    """
    chosen = choices or Choices()
    report = Report(str(path), "foursquare", header_lines=0)
    venues = _venues(pois_beside(path) if pois is None else Path(pois), report)
    raw = read_headless(path, COLUMNS, COLUMNS, report)
    raw = raw.join(venues, on="venue", how="left", maintain_order="left")
    rule = Rule(reason="not in the file of venues", bad=pl.col("lat").is_null(), column="venue")
    raw = report.sift(raw, [rule])
    report.refuse_if_nothing_is_left(raw.height)
    return Reading(traces_of(check_ins(raw, report, chosen), report, chosen), report)


def write(traces: Traces, path: str | PathLike[str], *, pois: str | PathLike[str] | None = None) -> Path:
    """Write check-ins and venues; return where the venues went (``raw_POIs.txt`` beside, by default)."""
    places, at = traces.places, traces.place_index
    target = Path(path).parent / POI_NAME if pois is None else Path(pois)
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
        "time": utc_text(traces, TIME),
        "offset_min": offset_minutes(traces),
    }
    with replacing_all():
        write_tabs(pl.DataFrame(about), target)
        write_tabs(pl.DataFrame(events), path)
    return target


def pois_beside(path: str | PathLike[str]) -> Path:
    """Return the file of venues in the folder of the check-ins."""
    folder = Path(path).parent
    for name in (POI_NAME, f"{POI_NAME}.gz"):
        if (folder / name).is_file():
            return folder / name
    raise FileError.whole(
        path, f"needs its file of venues: give it with --places or put {POI_NAME} beside it", "no-places"
    )


def _venues(path: Path, report: Report) -> pl.DataFrame:
    """Venues with good coordinates, once each; the faults of this file are counted with the others."""
    own = Report(str(path), "foursquare", header_lines=0)
    raw = read_headless(path, POI_COLUMNS, POI_COLUMNS[:3], own).unique(
        "venue", keep="first", maintain_order=True
    )
    number = raw.select(pl.col("lat", "lon").cast(pl.Float64, strict=False))
    good = number["lat"].is_between(-90, 90) & number["lon"].is_between(-180, 180)
    good = good.fill_null(False)
    report.notice("venues with bad coordinates", int((~good).sum()))
    report.notice("lines of the file of venues that cannot be read", own.dropped_rows)
    return raw.filter(good).select("venue", "lat", "lon", "category")
