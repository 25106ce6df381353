"""Check-ins of Gowalla and Brightkite as SNAP publishes them.

Tab separated, no header: user, UTC time ``2010-10-19T23:55:27Z``, latitude, longitude, venue. The
files name no time zone, so local time needs one (``timezone="America/New_York"``).
"""

from __future__ import annotations

from os import PathLike

import polars as pl

from tracearena.intake.checkins import check_ins
from tracearena.intake.choices import Choices
from tracearena.intake.delimited import read_headless, write_tabs
from tracearena.intake.discretise import traces_of
from tracearena.intake.report import Reading, Report
from tracearena.traces import Places, Traces
from tracearena.traces.time import utc_text

COLUMNS = ("user", "time", "lat", "lon", "venue")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def read(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> Reading[Traces]:
    """Read a file of check-ins, packed or not."""
    chosen = choices or Choices()
    report = Report(str(path), "gowalla", header_lines=0)
    raw = read_headless(path, COLUMNS, COLUMNS[:4], report)
    return Reading(traces_of(check_ins(raw, report, chosen, places), report, chosen, places=places), report)


def write(traces: Traces, path: str | PathLike[str]) -> None:
    """Write the events with the coordinates of their places, by user and time."""
    places = traces.places
    write_tabs(
        pl.DataFrame(
            {
                "user": traces.user_ids[traces.user_index],
                "time": utc_text(traces, _TIME),
                "lat": places.latitude[traces.place_index],
                "lon": places.longitude[traces.place_index],
                "venue": places.ids[traces.place_index],
            }
        ),
        path,
    )
