"""A file whose format is known, or rows of a table, become traces as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tracearena.errors import FileError, ParameterError
from tracearena.formats import (
    foursquare,
    geolife,
    gowalla,
    gpx,
    partitions,
    peopleflow,
    place_table,
    points,
    pwscup,
    recognition,
    released_table,
    table,
    tsmc,
)
from tracearena.formats.place_files import places_beside, read_places
from tracearena.formats.recognition import EITHER, GPS_FORMATS
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import notice_oddities
from tracearena.intake.gps_events import events_of
from tracearena.intake.gps_points import points_of
from tracearena.intake.layout import Layout
from tracearena.intake.regrid import regridded
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces, Places, Traces

if TYPE_CHECKING:
    import polars as pl

    from tracearena.intake.sampling import Sample

File = str | PathLike[str]

_CHECK_INS: Mapping[str, ModuleType] = {
    "table": table,
    "partitions": partitions,
    "gowalla": gowalla,
    "tsmc": tsmc,
}
_NAMED = ("columns", "decimal", "time_format", "one_user")
_ALL = (*_NAMED, "header", "delimiter")
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("table", "partitions", "points"), _ALL),
    **dict.fromkeys((*EITHER, "trips"), _NAMED),
    **dict.fromkeys(("gpx", "google-records", "google-timeline", "owntracks"), ("one_user",)),
}
"""What of a layout each format has a use for; the others have none."""


@dataclass(frozen=True)
class Request:
    """What a caller of `read` asks for, beside the file and its format."""

    places: Any
    times: File | None
    choices: Choices
    resample: str | None
    strict: bool
    layout: Layout
    owner: str | None = None
    """Whose file it is, if the file does not say."""
    sample: Sample | None = None
    """How many people are read of more, if not all."""


def read_file(path: Path, name: str, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file, or a folder of a format that has folders, whose format is known."""
    request.layout.refuse_all_but(LAYOUTS.get(name, ()), path, f"files of format {name}")
    refuse_times(path, name, request.times)
    if name in GPS_FORMATS and name not in recognition.ROW_FORMATS:
        made = _points(path, name, request)
        return as_chosen(made, request.choices, request.resample, known_places(request.places))
    if name in recognition.ROW_FORMATS:
        from tracearena.formats import row_formats

        report = Report(str(path), name, strict=request.strict, timezone=request.choices.timezone)
        frame, layout = row_formats.rows(path, name, report, request.layout, request.owner)
        kind = recognition.look_at_frame(frame, layout) if name in EITHER else "points"
        return read_rows(frame, kind, report, replace(request, layout=layout))
    _refuse_resample(path, request.resample)
    reading = _events(path, name, request)
    if request.strict:
        reading.report.refuse_losses()
    return reading


def read_rows(
    frame: pl.DataFrame, name: str, report: Report, request: Request
) -> Reading[Traces | GpsTraces]:
    """Make points or events of rows."""
    report.rows = frame.height + report.dropped_rows
    if name == "points":
        made = Reading(points_of(frame, report, request.layout), report)
        return as_chosen(made, request.choices, request.resample, known_places(request.places))
    _refuse_resample(Path(report.path), request.resample)
    reading = table.events_of(frame, report, request.choices, known_places(request.places), request.layout)
    if request.strict:
        reading.report.refuse_losses()
    return reading


def _points(path: Path, format: str, request: Request) -> Reading[GpsTraces]:
    timezone, strict, layout = request.choices.timezone, request.strict, request.layout
    if format == "points":
        return points.read(path, timezone=timezone, strict=strict, layout=layout, sample=request.sample)
    if format == "geolife":
        reading = geolife.read(path, strict=strict)
    else:
        reading = gpx.read(path, strict=strict, one_user=layout.one_user or request.owner)
    reading.report.timezone = timezone
    return reading


def as_chosen(
    reading: Reading[GpsTraces], choices: Choices, resample: str | None, places: Places | None
) -> Reading[Traces | GpsTraces]:
    """Put points on a grid if one is named, and otherwise keep those within the bounds."""
    chosen: Reading[Traces | GpsTraces]
    if choices.grid is not None or (places is not None and places.grid is not None):
        chosen = events_of(reading, choices, resample=resample, places=places)
    else:
        chosen = _within_bounds(reading, choices, resample, places)
    if reading.report.strict:
        chosen.report.refuse_losses()
    return chosen


def _within_bounds(
    reading: Reading[GpsTraces], choices: Choices, resample: str | None, places: Places | None
) -> Reading[Traces | GpsTraces]:
    """Keep the points within the bounds; refuse what needs a grid."""
    settings = {
        "places": places,
        "top": choices.top,
        "interval": choices.interval_s,
        "slot": choices.slot_s,
        "utc_hours": choices.utc_hours or None,
        "resample": resample,
    }
    path = reading.report.path
    if given := [name for name, value in settings.items() if value is not None]:
        raise ParameterError(
            f"{path}: holds GPS points, which lie at no places and no instants: {', '.join(given)} needs a "
            "grid for them, such as --grid 32x32 (grid='32x32')"
        )
    if choices.bounds is None:
        return reading
    inside = reading.traces.take_box(choices.bounds)
    if not len(inside):
        raise ParameterError(f"{path}: no point lies within the bounds {choices.bounds}")
    if len(inside) < len(reading.traces):
        reading.report.drop("outside the bounds", len(reading.traces) - len(inside))
    return Reading(inside, reading.report)


def _events(path: Path, format: str, request: Request) -> Reading[Traces]:
    places, choices, times = request.places, request.choices, request.times
    if format in ("pwscup", "ppmtf") or (format == "peopleflow" and recognition.is_prepared(path)):
        return _prepared(path, format, places, choices, times)
    if format == "peopleflow":
        return peopleflow.read(path, choices=choices)
    if format == "foursquare":
        if places is not None and not isinstance(places, (str, PathLike)):
            raise ParameterError("the places of a foursquare file are read from its file of venues")
        return foursquare.read(path, choices=choices, pois=places)
    if format == released_table.FORMAT:
        return _released(path, choices, known_places(places))
    laid_out = {"layout": request.layout, "sample": request.sample} if format in LAYOUTS else {}
    reading: Reading[Traces] = _CHECK_INS[format].read(
        path, choices=choices, places=known_places(places), **laid_out
    )
    return reading


def _released(path: Path, choices: Choices, places: Places | None) -> Reading[Traces]:
    """Read what was released of events, which have one place each, as a table of events is read."""
    released, report = released_table.read(path)
    several, deleted = int(released.is_set.sum()), int(released.is_deleted.sum())
    if several or deleted:
        problem = (
            f"holds obfuscated or anonymized traces, {several:,} events with several places and {deleted:,} "
            "deleted ones; only releases whose events have one place each can be read as traces (describe "
            "and score utility read the others)"
        )
        raise FileError.whole(path, problem, "no-single-places")
    frame = released.to_frame()
    lists = [name for name in ("places", "lat", "lng", "category") if name in frame.columns]
    frame = frame.explode(lists).rename({"places": "place"})
    interval_s = choices.interval_s or released.clock.interval_s
    return table.events_of(frame, report, replace(choices, interval_s=interval_s), places)


def _prepared(path: Path, format: str, places: Any, choices: Choices, times: File | None) -> Reading[Traces]:
    """Read a format whose files already have places and instants."""
    known = places_beside(path, format) if places is None else _read_if_file(places)
    assumed = ""
    if format == "ppmtf":
        traces = _ppmtf(path, known, choices)
    elif not choices.times_are_as_in_file:
        raise ParameterError(f"a {format} file has instants and no times: no interval, slot or time zone")
    elif format == "peopleflow":
        traces = peopleflow.read(path, places=known).traces
    else:
        named = times or pwscup.found_times(path, places)
        traces = pwscup.read_traces(path, known, None if named is None else pwscup.read_times(named))
        assumed = pwscup.assumed_times() if named is None else ""
    report = Report(str(path), format, traces.n_events, assumed=assumed)
    notice_oddities(traces, report)
    return Reading(traces if choices.places_are_as_in_file else regridded(traces, choices, report), report)


def _ppmtf(path: Path, places: Places, choices: Choices) -> Traces:
    from tracearena.formats import ppmtf

    if choices.timezone is not None or choices.utc_hours:
        raise ParameterError("a ppmtf file has local hours already: no time zone")
    if recognition.is_synthetic(path):
        return ppmtf.read_synthetic(path, places).traces
    return ppmtf.read_traces(path, places, interval_s=choices.interval_s, slot_s=choices.slot_s)


def refuse_times(path: Path, name: str, times: File | None) -> None:
    if times is not None and name != "pwscup":
        raise ParameterError(f"{path}: is read as {name}; only files of format pwscup have a table of times")


def _refuse_resample(path: Path, resample: str | None) -> None:
    if resample is not None:
        raise ParameterError(f"{path}: resample is for GPS points, and this holds events")


def known_places(places: Any) -> Places | None:
    return None if places is None else _read_if_file(places)


def _read_if_file(places: Any) -> Places:
    if isinstance(places, Places):
        return places
    return read_places(places) if isinstance(places, (str, PathLike)) else place_table.of_frame(places)
