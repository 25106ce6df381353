"""Read traces in any format: events and GPS points, from files, folders, archives and data frames.

`read` finds out the format and reads a path or a data frame; below are the readers of one file, of rows
of a table, and of a folder.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.errors import FileError, ParameterError
from tracearena.files import archives
from tracearena.files.io import refuse_pipe
from tracearena.io import places as place_table
from tracearena.io import points, pwscup, recognition
from tracearena.io.dataframes import FRAME, select_event_rows
from tracearena.io.discretisation import regrid_traces, report_oddities
from tracearena.io.formats import archives as bundles
from tracearena.io.formats import checkins, geo_tables, geolife, gpx, released_table, trips
from tracearena.io.options import Choices, Layout
from tracearena.io.places import read_places, read_places_beside
from tracearena.io.points import build_gps_traces, convert_points_to_events
from tracearena.io.recognition import EITHER, GPS_FORMATS, READABLE, FormatGuess
from tracearena.io.report import Reading, Report
from tracearena.io.tables import find_file_owners, read_role_rows, select_by_role
from tracearena.traces import GpsTraces, Places, Traces

if TYPE_CHECKING:
    import polars as pl

    from tracearena.io.suggestions import Sample


def read(
    path_or_frame: Any,
    format: str | None = None,
    *,
    places: Any = None,
    times: File | None = None,
    choices: Choices | None = None,
    resample: str | None = None,
    strict: bool = False,
    columns: str | Mapping[str, Any] | None = None,
    header: bool = True,
    delimiter: str | None = None,
    decimal: str = ".",
    time_format: str | None = None,
    one_user: str | None = None,
    sample: Sample | None = None,
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
        One of `FORMATS` for events, of `GPS_FORMATS` for points, or ``released``: what was released of
        events, if each has one place (`read_released` reads the others too). Recognised if omitted.
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
        there is a header, and so on (`options.Layout`). `one_user` names the one person of
        a table, of GPX files and of others that name nobody.
    sample
        Read some people alone, drawn at random, for a first look at a large file (`suggestions.Sample`). Of
        tables in CSV and Parquet no other rows are kept in memory. The report says how many people of
        how many were read.
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
    known = list(inspect.signature(Choices.parse).parameters)
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, known, 1)
            advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ParameterError(f"read has no option {option!r}{advice}")
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
    request = Request(places, times, chosen, resample, strict, layout, sample=sample)
    if isinstance(path_or_frame, (str, PathLike)):
        reading = _read_path(Path(path_or_frame), format, request)
        if sample is None:
            return reading
        from tracearena.io.suggestions import sample_users

        return sample_users(reading, sample)
    frame = select_event_rows(path_or_frame, layout)
    if format is not None:
        _check_known_format(format)
        if format not in ("table", "points"):
            raise ParameterError.of("format", format, "table or points for a data frame")
    name = format or recognition.guess_frame_format(frame, layout)
    check_no_times(Path(FRAME), name, times)
    report = Report(FRAME, name, header_lines=None, strict=strict, timezone=chosen.timezone)
    if format is None and recognition.is_trips_frame(frame.columns, layout):
        rows = trips.split_trips(frame, report, layout)
        by_name = replace(layout, columns={}, one_user=None)
        return read_rows(rows, "points", report, replace(request, layout=by_name))
    return read_rows(frame, name, report, request)


def _read_path(path: Path, format: str | None, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file, a folder or an archive."""
    if format is not None:
        _check_known_format(format)
    refuse_pipe(path)
    name = format or recognition.recognise(path, request.layout)
    if format is not None:
        recognition.check_format(path, format, request.layout)
    if name != "geolife" and archives.is_archive(path):
        with bundles.open_archive(path) as (folder, inside):
            reading = _read_path(inside, format, request)
            bundles.rename_report_paths(reading.report, inside, path)
            if inside != folder:
                _notice_hidden(folder, reading.report, request.layout)
        return reading
    if not path.is_dir():
        return read_file(path, name, request)
    with bundles.explain_skipping(path):
        if recognition.is_read_whole(path, name, request.layout):
            reading = read_whole_folder(path, name, request)
        else:
            reading = read_folder(path, name, format, request)
    _notice_hidden(path, reading.report, request.layout)
    return reading


def _notice_hidden(folder: Path, report: Report, layout: Layout) -> None:
    """Report files that hold traces and are passed over for their names."""
    for file in bundles.find_hidden_traces(
        folder, lambda file: recognition.guess_file_format(file, layout)[0]
    ):
        path = f"{report.path}: {file}" if archives.is_archive(report.path) else str(folder / file)
        report.notice_fault(bundles.HIDDEN, path=path)


def _check_known_format(format: str) -> None:
    if format not in READABLE:
        raise ParameterError.of("format", format, f"one of {', '.join(READABLE)}")


# Files whose format is known, and rows of a table.

File = str | PathLike[str]

_CHECK_INS: Mapping[str, Callable[..., Reading[Traces]]] = {
    "table": checkins.read_event_table,
    "partitions": checkins.read_partitions,
    "gowalla": checkins.read_gowalla,
    "tsmc": checkins.read_tsmc,
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
    """What a caller of `read` asks for, in addition to the file and its format."""

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
    layout, strict, timezone = request.layout, request.strict, request.choices.timezone
    layout.refuse_all_but(LAYOUTS.get(name, ()), path, f"files of format {name}")
    check_no_times(path, name, request.times)
    if name in recognition.ROW_FORMATS:
        report = Report(str(path), name, strict=strict, timezone=timezone)
        frame, layout = geo_tables.read_format_rows(path, name, report, layout, request.owner)
        kind = recognition.guess_frame_format(frame, layout) if name in EITHER else "points"
        return read_rows(frame, kind, report, replace(request, layout=layout))
    if name in GPS_FORMATS:
        if name == "points":
            made = points.read(path, timezone=timezone, strict=strict, layout=layout, sample=request.sample)
        elif name == "geolife":
            made = geolife.read(path, strict=strict)
        else:
            made = gpx.read(path, strict=strict, one_user=layout.one_user or request.owner)
        made.report.timezone = timezone
        return apply_choices(made, request.choices, request.resample, read_known_places(request.places))
    _check_no_resample(path, request.resample)
    reading = _read_events(path, name, request)
    if request.strict:
        reading.report.refuse_losses()
    return reading


def read_rows(
    frame: pl.DataFrame, name: str, report: Report, request: Request
) -> Reading[Traces | GpsTraces]:
    """Make points or events of rows."""
    report.rows = frame.height + report.dropped_rows
    if name == "points":
        made = Reading(build_gps_traces(frame, report, request.layout), report)
        return apply_choices(made, request.choices, request.resample, read_known_places(request.places))
    _check_no_resample(Path(report.path), request.resample)
    reading = checkins.build_table_events(
        frame, report, request.choices, read_known_places(request.places), request.layout
    )
    if request.strict:
        reading.report.refuse_losses()
    return reading


def apply_choices(
    reading: Reading[GpsTraces], choices: Choices, resample: str | None, places: Places | None
) -> Reading[Traces | GpsTraces]:
    """Put points on a grid if one is named, and otherwise keep those within the bounds."""
    chosen: Reading[Traces | GpsTraces]
    if choices.grid is not None or (places is not None and places.grid is not None):
        chosen = convert_points_to_events(reading, choices, resample=resample, places=places)
    else:
        chosen = _keep_within_bounds(reading, choices, resample, places)
    if reading.report.strict:
        chosen.report.refuse_losses()
    return chosen


def _keep_within_bounds(
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
        raise ParameterError.about(
            path,
            f"holds GPS points, which lie at no places and no instants: {', '.join(given)} needs a "
            "grid for them, such as --grid 32x32 (grid='32x32')",
        )
    if choices.bounds is None:
        return reading
    inside = reading.traces.take_box(choices.bounds)
    if not len(inside):
        raise ParameterError.about(path, f"no point lies within the bounds {choices.bounds}")
    if len(inside) < len(reading.traces):
        reading.report.drop("outside the bounds", len(reading.traces) - len(inside))
    return Reading(inside, reading.report)


def _read_events(path: Path, format: str, request: Request) -> Reading[Traces]:
    places, choices, times = request.places, request.choices, request.times
    if format in ("pwscup", "ppmtf") or (format == "peopleflow" and recognition.is_prepared(path)):
        return _read_prepared(path, format, places, choices, times)
    if format == "peopleflow":
        return checkins.read_people_flow(path, choices=choices)
    if format == "foursquare":
        if places is not None and not isinstance(places, (str, PathLike)):
            raise ParameterError("the places of a foursquare file are read from its file of venues")
        return checkins.read_foursquare(path, choices=choices, pois=places)
    if format == released_table.FORMAT:
        known = read_known_places(places)
        released, report = released_table.read_released_table(path)
        several, deleted = int(released.is_set.sum()), int(released.is_deleted.sum())
        if several or deleted:
            problem = (
                f"holds obfuscated or anonymized traces, {several:,} events with several places and "
                f"{deleted:,} deleted ones; only releases whose events have one place each can be read as "
                "traces (describe and score utility read the others)"
            )
            raise FileError.whole(path, problem, "no-single-places")
        frame = released.to_frame()
        lists = [name for name in ("places", "lat", "lng", "category") if name in frame.columns]
        frame = frame.explode(lists).rename({"places": "place"})
        interval_s = choices.interval_s or released.clock.interval_s
        return checkins.build_table_events(frame, report, replace(choices, interval_s=interval_s), known)
    laid_out = {"layout": request.layout, "sample": request.sample} if format in LAYOUTS else {}
    reading: Reading[Traces] = _CHECK_INS[format](
        path, choices=choices, places=read_known_places(places), **laid_out
    )
    return reading


def _read_prepared(
    path: Path, format: str, places: Any, choices: Choices, times: File | None
) -> Reading[Traces]:
    """Read a format whose files already have places and instants."""
    known = read_places_beside(path, format) if places is None else _read_if_file(places)
    assumed = ""
    if format == "ppmtf":
        from tracearena.io import ppmtf

        if choices.timezone is not None or choices.utc_hours:
            raise ParameterError("a ppmtf file has local hours already: no time zone")
        if recognition.is_synthetic(path):
            traces = ppmtf.read_synthetic(path, known).traces
        else:
            traces = ppmtf.read_traces(path, known, interval_s=choices.interval_s, slot_s=choices.slot_s)
    elif not choices.times_are_as_in_file:
        raise ParameterError(f"a {format} file has instants and no times: no interval, slot or time zone")
    elif format == "peopleflow":
        traces = checkins.read_people_flow(path, places=known).traces
    else:
        named = times or pwscup.find_times_file(path, places)
        traces = pwscup.read_traces(path, known, None if named is None else pwscup.read_times(named))
        assumed = pwscup.explain_default_times() if named is None else ""
    report = Report(str(path), format, traces.n_events, assumed=assumed)
    report_oddities(traces, report)
    return Reading(
        traces if choices.places_are_as_in_file else regrid_traces(traces, choices, report), report
    )


def check_no_times(path: Path, name: str, times: File | None) -> None:
    if times is not None and name != "pwscup":
        raise ParameterError.about(
            path, f"is read as {name}; only files of format pwscup have a table of times"
        )


def _check_no_resample(path: Path, resample: str | None) -> None:
    if resample is not None:
        raise ParameterError.about(path, "resample is for GPS points, and this holds events")


def read_known_places(places: Any) -> Places | None:
    return None if places is None else _read_if_file(places)


def _read_if_file(places: Any) -> Places:
    if isinstance(places, Places):
        return places
    return read_places(places) if isinstance(places, (str, PathLike)) else place_table.build_places(places)


# Folders: of a format that has folders, or of files that are read one by one.


def read_folder(folder: Path, name: str, format: str | None, request: Request) -> Reading[Traces | GpsTraces]:
    """Read the files of a folder: those of the format if one is named, or else all that hold GPS points."""
    are_points = recognition.is_gps(folder, format, request.layout)

    def fits(look: FormatGuess) -> bool:
        return recognition.is_guess_of_points(look) if are_points and format is None else name in look.formats

    files, others = bundles.sort_folder_files(
        folder, fits, lambda file: recognition.guess_file_format(file, request.layout)
    )
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    owners = find_file_owners(list(files))

    def laid_out(file: Path) -> Layout:
        layout = files[file][1]
        is_named = layout.one_user == request.layout.one_user
        return layout if is_named else replace(layout, one_user=owners[file])

    def read_one(file: Path, wanted: Request) -> Reading[Traces | GpsTraces]:
        known = replace(wanted, layout=laid_out(file), owner=owners[file])
        return read_file(file, format or files[file][0].formats[0], known)

    if len(files) == 1:
        reading = read_one(next(iter(files)), request)
    elif are_points:
        choices = Choices(timezone=request.choices.timezone)
        plain = replace(request, choices=choices, resample=None, places=None)
        made = bundles.read_and_join_points(
            folder, list(files), name, lambda file: read_one(file, plain).as_points()
        )
        made.report.strict = request.strict
        reading = apply_choices(made, request.choices, request.resample, read_known_places(request.places))
    elif name in ("table", *EITHER):
        report = Report(str(folder), name, header_lines=None)
        parts = []
        for file in files:
            layout = laid_out(file)
            layout.refuse_all_but(LAYOUTS[name], file, f"files of format {name}")
            found = Report(str(file), name)
            if name == "table":
                rows = read_role_rows(file, found, layout=layout)
            else:
                rows, layout = geo_tables.read_format_rows(file, name, found, layout, owners[file])
            parts.append(select_by_role(rows, found, layout=layout)[0])
            report.add(found)
        plain = replace(request, layout=replace(request.layout, columns={}, header=True, one_user=None))
        reading = read_rows(bundles.concat_role_tables(parts), "table", report, plain)
    else:
        shown = ", ".join(str(file.relative_to(folder)) for file in list(files)[:5])
        problem = f"holds {len(files):,} files of format {name}, of which one can be read at a time: {shown}"
        raise FileError.whole(folder, problem, "several-files")
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading


def read_whole_folder(folder: Path, name: str, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a folder of a format that has folders; traces beside it are left out by name."""
    others = [
        (file, bundles.build_skip_fault(look))
        for file, look in recognition.find_unread_traces(folder, name, request.layout)
    ]
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    reading = read_file(folder, name, request)
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading
