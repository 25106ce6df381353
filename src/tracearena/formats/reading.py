"""One door to read all formats: events and GPS points alike, of files, folders, archives and data frames."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tracearena.errors import FileError, ParameterError
from tracearena.files import archives
from tracearena.files.whole import require_lasting
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
    table,
    tsmc,
)
from tracearena.formats.look import Look
from tracearena.formats.place_files import places_beside, read_places
from tracearena.formats.recognition import EITHER, FORMATS, GPS_FORMATS
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import notice_oddities
from tracearena.intake.frames import FRAME, event_rows
from tracearena.intake.gps_events import events_of
from tracearena.intake.gps_points import points_of
from tracearena.intake.layout import Layout
from tracearena.intake.regrid import regridded
from tracearena.intake.report import Reading, Report
from tracearena.intake.tables import by_role, rows_of_file
from tracearena.traces import GpsTraces, Places, Traces

if TYPE_CHECKING:
    import polars as pl

_File = str | PathLike[str]

_CHECK_INS: Mapping[str, ModuleType] = {
    "table": table,
    "partitions": partitions,
    "gowalla": gowalla,
    "tsmc": tsmc,
}
_NAMED = ("columns", "decimal", "time_format", "one_user")
_ALL = (*_NAMED, "header", "delimiter")
_LAYOUTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("table", "partitions", "points"), _ALL),
    **dict.fromkeys((*EITHER, "trips"), _NAMED),
    **dict.fromkeys(("gpx", "google-records", "google-timeline", "owntracks"), ("one_user",)),
}
"""What of a layout each format has a use for; the others have none."""


def read(
    path_or_frame: Any,
    format: str | None = None,
    *,
    places: Any = None,
    times: _File | None = None,
    choices: Choices | None = None,
    resample: str | None = None,
    strict: bool = False,
    columns: str | Mapping[str, Any] | None = None,
    header: bool = True,
    delimiter: str | None = None,
    decimal: str = ".",
    time_format: str | None = None,
    one_user: str | None = None,
    **options: Any,
) -> Reading[Traces | GpsTraces]:
    """Read traces and report what their file got wrong.

    Coordinates without place ids are GPS points: they are read as `GpsTraces`, or with a grid as
    events at its cells. All else is events at places, `Traces`.

    Parameters
    ----------
    path_or_frame
        A file or folder, or a pandas, Polars or Arrow table.
    format
        One of `FORMATS` for events, of `GPS_FORMATS` for points. Recognised from the file if omitted.
    places
        The places, their file, or a data frame of them. Formats that have a file of their own for
        them find it beside the file: ``info_region.csv``, ``regions_*.csv``, ``POI_*.csv``, ``raw_POIs.txt``.
    times
        Of a pwscup file, what its time ids mean; by default the ``info_time.csv`` beside it, or beside
        the file of its places.
    choices
        Which places and instants to make of raw events (`Choices`).
    resample
        Of points on a grid, one event per instant: ``last``, ``nearest`` or ``interpolate``.
    strict
        Refuse a file of which a row must be left out, instead of reporting it.
    columns, header, delimiter, decimal, time_format, one_user
        How a table is laid out, where its header does not say it: which column has which role
        (``{"user": "MMSI", "time": "BaseDateTime"}`` or ``"user=MMSI,time=BaseDateTime"``), whether
        there is a header, and so on (`intake.layout.Layout`). `one_user` names the one person of
        a table, of GPX files and of others that name nobody.
    **options
        The choices as the command line writes them: ``grid="32x32"``, ``bounds``, ``top=1000``,
        ``interval="20min"``, ``slot="2h"``, ``timezone``, ``utc_hours``.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"uid": [7, 7], "datetime": ["2012-04-03 18:00", "2012-04-03 19:31"],
    ...                       "lat": [40.7, 40.8], "lng": [-74.0, -73.9]})
    >>> read(frame).traces
    <GpsTraces: 1 users, 2 points, 1 trajectories, 2012-04-03 18:00:00 to 2012-04-03 19:31:00 UTC>
    >>> traces, report = read(frame.with_columns(venue=pl.Series(["a", "b"])))
    >>> traces, traces.clock.label(18)
    (<Traces: 1 users, 2 events, 2 places, instants 18 to 19>, '18:00')
    """
    _require_options(options)
    if choices is not None and options:
        raise ParameterError("give choices or single options, not both")
    chosen = Choices.parse(**options) if choices is None else choices
    layout = Layout.parse(
        columns=columns,
        header=header,
        delimiter=delimiter,
        decimal=decimal,
        time_format=time_format,
        one_user=one_user,
    )
    request = Request(places, times, chosen, resample, strict, layout)
    if isinstance(path_or_frame, (str, PathLike)):
        return _read_path(Path(path_or_frame), format, request)
    frame = event_rows(path_or_frame, layout)
    name = _settled_frame(frame, format, layout)
    _refuse_times(Path(FRAME), name, times)
    report = Report(FRAME, name, strict=strict, timezone=chosen.timezone)
    if format is None and recognition.are_trips(frame.columns, layout):
        from tracearena.formats import trips

        told = replace(layout, columns={}, one_user=None)
        return _read_rows(
            trips.unfolded(frame, report, layout), "points", report, replace(request, layout=told)
        )
    return _read_rows(frame, name, report, request)


def _require_options(options: Mapping[str, Any]) -> None:
    """Refuse what is no choice, with the one that may be meant."""
    known = list(inspect.signature(Choices.parse).parameters)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ParameterError(f"read has no option {name!r}{advice}")


@dataclass(frozen=True)
class Request:
    """What a caller of `read` asks for, beside the file and its format."""

    places: Any
    times: _File | None
    choices: Choices
    resample: str | None
    strict: bool
    layout: Layout
    owner: str | None = None
    """Whose file it is, if the file does not say."""


def _read_path(path: Path, format: str | None, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file, a folder or an archive."""
    name = _settled(path, format, request.layout)
    from tracearena.formats import bundles

    if name != "geolife" and archives.is_archive(path):
        with bundles.opened(path) as (folder, inside):
            reading = _read_path(inside, format, request)
            bundles.rename(reading.report, inside, path)
            if inside != folder:
                _notice_hidden(folder, reading.report, request.layout)
        return reading
    if not path.is_dir():
        return _read_file(path, name, request)
    with bundles.saying_how_to_go_on(path):
        if recognition.is_read_whole(path, name, request.layout):
            reading = _read_whole(path, name, request)
        else:
            reading = _read_folder(path, name, format, request)
    _notice_hidden(path, reading.report, request.layout)
    return reading


def _read_whole(folder: Path, name: str, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a folder of a format that has folders; traces beside it are left out by name."""
    from tracearena.formats import bundles

    others = [
        (file, bundles.left_out(look))
        for file, look in recognition.traces_beside(folder, name, request.layout)
    ]
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    reading = _read_file(folder, name, request)
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading


def _notice_hidden(folder: Path, report: Report, layout: Layout) -> None:
    """Report files that hold traces and are passed over for their names."""
    from tracearena.formats import bundles

    for file in bundles.hidden_traces(folder, lambda file: recognition.look_at_one(file, layout)[0]):
        path = f"{report.path}: {file}" if archives.is_archive(report.path) else str(folder / file)
        report.notice_fault(bundles.HIDDEN, path=path)


def _read_file(path: Path, name: str, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file, or a folder of a format that has folders, whose format is known."""
    request.layout.refuse_all_but(_LAYOUTS.get(name, ()), path, f"files of format {name}")
    _refuse_times(path, name, request.times)
    if name in GPS_FORMATS and name not in recognition.ROW_FORMATS:
        made = _points(path, name, request)
        return _as_chosen(made, request.choices, request.resample, _known(request.places))
    if name in recognition.ROW_FORMATS:
        from tracearena.formats import row_formats

        report = Report(str(path), name, strict=request.strict, timezone=request.choices.timezone)
        frame, layout = row_formats.rows(path, name, report, request.layout, request.owner)
        kind = recognition.look_at_frame(frame, layout) if name in EITHER else "points"
        return _read_rows(frame, kind, report, replace(request, layout=layout))
    _refuse_resample(path, request.resample)
    reading = _events(path, name, request.places, request.choices, request.times, request.layout)
    if request.strict:
        reading.report.refuse_losses()
    return reading


def _read_rows(
    frame: pl.DataFrame, name: str, report: Report, request: Request
) -> Reading[Traces | GpsTraces]:
    """Make points or events of rows."""
    report.rows = frame.height + report.dropped_rows
    if name == "points":
        made = Reading(points_of(frame, report, request.layout), report)
        return _as_chosen(made, request.choices, request.resample, _known(request.places))
    _refuse_resample(Path(report.path), request.resample)
    reading = table.events_of(frame, report, request.choices, _known(request.places), request.layout)
    if request.strict:
        reading.report.refuse_losses()
    return reading


def _read_folder(
    folder: Path, name: str, format: str | None, request: Request
) -> Reading[Traces | GpsTraces]:
    """Read the files of a folder: those of the format if one is named, or else all that hold GPS points."""
    from tracearena.formats import bundles
    from tracearena.formats.folder_files import owners_of

    are_points = recognition.is_gps(folder, format, request.layout)

    def fits(look: Look) -> bool:
        return recognition.holds_points(look) if are_points and format is None else name in look.formats

    files, others = bundles.sorted_out(
        folder, fits, lambda file: recognition.look_at_one(file, request.layout)
    )
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    owners = owners_of(list(files))

    def laid_out(file: Path) -> Layout:
        layout = files[file][1]
        is_told = layout.one_user == request.layout.one_user
        return layout if is_told else replace(layout, one_user=owners[file])

    def read_one(file: Path, wanted: Request) -> Reading[Traces | GpsTraces]:
        known = replace(wanted, layout=laid_out(file), owner=owners[file])
        return _read_file(file, format or files[file][0].formats[0], known)

    if len(files) == 1:
        reading = read_one(next(iter(files)), request)
    elif are_points:
        choices = Choices(timezone=request.choices.timezone)
        plain = replace(request, choices=choices, resample=None, places=None)
        made = bundles.joined(folder, list(files), name, lambda file: read_one(file, plain).as_points())
        made.report.strict = request.strict
        reading = _as_chosen(made, request.choices, request.resample, _known(request.places))
    elif name in ("table", *EITHER):
        report = Report(str(folder), name, header_lines=None)
        parts = [_rows_of_events(file, name, report, laid_out(file), owners[file]) for file in files]
        plain = replace(request, layout=replace(request.layout, columns={}, header=True, one_user=None))
        reading = _read_rows(bundles.one_table(parts), "table", report, plain)
    else:
        shown = ", ".join(str(file.relative_to(folder)) for file in list(files)[:5])
        problem = f"holds {len(files):,} files of format {name}, of which one can be read at a time: {shown}"
        raise FileError.whole(folder, problem, "several-files")
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading


def _rows_of_events(file: Path, name: str, report: Report, layout: Layout, owner: str) -> pl.DataFrame:
    """Return the rows of one of several tables of events, under the names of their roles."""
    from tracearena.formats import row_formats

    layout.refuse_all_but(_LAYOUTS[name], file, f"files of format {name}")
    found = Report(str(file), name)
    if name == "table":
        rows = rows_of_file(file, found, layout=layout)
    else:
        rows, layout = row_formats.rows(file, name, found, layout, owner)
    given = by_role(rows, found, layout=layout)[0]
    report.add(found)
    return given


def _refuse_times(path: Path, name: str, times: _File | None) -> None:
    if times is not None and name != "pwscup":
        raise ParameterError(f"{path}: is read as {name}; only files of format pwscup have a table of times")


def _refuse_resample(path: Path, resample: str | None) -> None:
    if resample is not None:
        raise ParameterError(f"{path}: resample is for GPS points, and this holds events")


def _settled(path: Path, format: str | None, layout: Layout) -> str:
    if format is not None:
        _require_known(format)
    require_lasting(path)
    if format is None:
        return recognition.recognise(path, layout)
    recognition.require(path, format, layout)
    return format


def _settled_frame(frame: pl.DataFrame, format: str | None, layout: Layout) -> str:
    if format is None:
        return recognition.look_at_frame(frame, layout)
    _require_known(format)
    if format not in ("table", "points"):
        raise ParameterError.of("format", format, "table or points for a data frame")
    return format


def _require_known(format: str) -> None:
    known = (*FORMATS, *GPS_FORMATS)
    if format not in known:
        raise ParameterError.of("format", format, f"one of {', '.join(known)}")


def _known(places: Any) -> Places | None:
    return None if places is None else _read_if_file(places)


def _read_if_file(places: Any) -> Places:
    if isinstance(places, Places):
        return places
    return read_places(places) if isinstance(places, (str, PathLike)) else place_table.of_frame(places)


def _points(path: Path, format: str, request: Request) -> Reading[GpsTraces]:
    timezone, strict, layout = request.choices.timezone, request.strict, request.layout
    if format == "points":
        return points.read(path, timezone=timezone, strict=strict, layout=layout)
    if format == "geolife":
        reading = geolife.read(path, strict=strict)
    else:
        reading = gpx.read(path, strict=strict, one_user=layout.one_user or request.owner)
    reading.report.timezone = timezone
    return reading


def _as_chosen(
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


def _events(
    path: Path,
    format: str,
    places: Any,
    choices: Choices,
    times: _File | None,
    layout: Layout,
) -> Reading[Traces]:
    if format in ("pwscup", "ppmtf") or (format == "peopleflow" and recognition.is_prepared(path)):
        return _prepared(path, format, places, choices, times)
    if format == "peopleflow":
        return peopleflow.read(path, choices=choices)
    if format == "foursquare":
        if places is not None and not isinstance(places, (str, PathLike)):
            raise ParameterError("the places of a foursquare file are read from its file of venues")
        return foursquare.read(path, choices=choices, pois=places)
    laid_out = {"layout": layout} if format in _LAYOUTS else {}
    reading: Reading[Traces] = _CHECK_INS[format].read(
        path, choices=choices, places=_known(places), **laid_out
    )
    return reading


def _prepared(path: Path, format: str, places: Any, choices: Choices, times: _File | None) -> Reading[Traces]:
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
