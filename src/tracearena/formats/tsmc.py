"""Foursquare check-ins of New York and Tokyo (TSMC 2014).

Tab separated, no header: user, venue, category id, category, latitude, longitude, offset in
minutes, UTC time ``Tue Apr 03 18:00:06 +0000 2012``. Local time is UTC plus the offset.
"""

from __future__ import annotations

from os import PathLike

import numpy as np
import polars as pl

from tracearena.intake.checkins import check_ins
from tracearena.intake.choices import Choices
from tracearena.intake.delimited import read_headless, write_tabs
from tracearena.intake.discretise import traces_of
from tracearena.intake.report import Reading, Report
from tracearena.traces import Places, Traces
from tracearena.traces.time import offset_minutes, utc_text

COLUMNS = ("user", "venue", "category_id", "category", "lat", "lon", "offset_min", "time")
TIME = "%a %b %d %H:%M:%S +0000 %Y"


def read(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> Reading[Traces]:
    """Read a file of check-ins, packed or not; broken letters in categories survive as �."""
    chosen = choices or Choices()
    report = Report(str(path), "tsmc", header_lines=0)
    raw = read_headless(path, COLUMNS, ("user", "venue", "lat", "lon", "offset_min", "time"), report)
    return Reading(traces_of(check_ins(raw, report, chosen), report, chosen, places=places), report)


def write(traces: Traces, path: str | PathLike[str]) -> None:
    """Write the events by user and time; the category stands in for the category id, which we lack."""
    places, at = traces.places, traces.place_index
    category = np.full(len(places), "") if places.categories is None else places.categories
    write_tabs(
        pl.DataFrame(
            {
                "user": traces.user_ids[traces.user_index],
                "venue": places.ids[at],
                "category_id": category[at],
                "category": category[at],
                "lat": places.latitude[at],
                "lon": places.longitude[at],
                "offset_min": offset_minutes(traces),
                "time": utc_text(traces, TIME),
            }
        ),
        path,
    )
