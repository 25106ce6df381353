"""Read traces in any format: events and GPS points, from files, folders, archives and data frames.

`read` determines the format and reads a path or a data frame. The other functions read one file, rows of a
table, or a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Unpack

from tracearena.checks import accepts
from tracearena.errors import FileError, ParameterError
from tracearena.files import archives
from tracearena.io import places as place_table
from tracearena.io import points, pwscup
from tracearena.io.dataframes import FRAME, select_event_rows
from tracearena.io.discretisation import regrid_traces, report_oddities
from tracearena.io.formats import archives as bundles
from tracearena.io.formats import checkins, geo_tables, geolife, gpx, recognition, released_table, trips
from tracearena.io.formats.recognition import EITHER, FORMAT_TABLE, FormatGuess, check_known_format
from tracearena.io.inputs import Input
from tracearena.io.options import (
    ChoiceOptions,
    Choices,
    Layout,
    LayoutOptions,
    ReadOptions,
    select_options,
)
from tracearena.io.places import read_places, read_places_beside
from tracearena.io.points import build_gps_traces, convert_points_to_events
from tracearena.io.report import Reading, Report
from tracearena.io.tables import find_file_owners, read_role_rows, select_by_role
from tracearena.traces import GpsTraces, Places, Traces

if TYPE_CHECKING:
    import polars as pl

    from tracearena.io.suggestions import Sample


@accepts(ReadOptions)
def read(
    path_or_frame: Any,
    format: str | None = None,
    *,
    places: Any = None,
    sample: Sample | None = None,
    **options: Unpack[ReadOptions],
) -> Reading[Traces | GpsTraces]:
    """Read traces, and report the problems of their file.

    Coordinates without place ids are GPS points: they are read as `GpsTraces`, or with a grid as events at
    its cells. All other files contain events at places, and are read as `Traces`.

    Parameters
    ----------
    path_or_frame
        A file or folder, an `Input`, or a pandas, Polars or Arrow table. An `Input` keeps its format and
        layout unless you give others here.
    format
        One of `FORMATS` for events, one of `GPS_FORMATS` for points, or ``released`` for released events with
        one place each (`read_released` reads all releases). Recognised if omitted.
    places
        The places, their file, or a data frame of them. Some formats have a file of places, which is found in
        the same folder: ``info_region.csv``, ``regions_*.csv``, ``POI_*.csv``, ``raw_POIs.txt``.
    sample
        Read only a random sample of people, for a first look at a large file (`suggestions.Sample`). For
        tables in CSV and Parquet, no other rows are kept in memory. The report gives the size of the sample.
    **options
        Keywords of `ReadOptions`. How a table is laid out: ``columns``, ``header``, ``delimiter``,
        ``decimal``, ``time_format``, ``one_user``. Which places and instants to make: ``grid="32x32"``,
        ``bounds``, ``top=1000``, ``interval="20min"``, ``slot="2h"``, ``timezone``, ``utc_hours``, or all of
        them as ``choices``. And ``times``, ``resample``, ``strict``.

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
    chosen, single = options.get("choices"), select_options(options, ChoiceOptions)
    if chosen is not None and single:
        raise ParameterError("give choices or single options, not both")
    request = Request(
        places,
        Choices.parse(**single) if chosen is None else chosen,
        Layout.parse(**select_options(options, LayoutOptions)),
        times=options.get("times"),
        resample=options.get("resample"),
        strict=options.get("strict", False),
        sample=sample,
    )
    layout = request.layout
    if isinstance(path_or_frame, (str, PathLike)):
        source = path_or_frame if isinstance(path_or_frame, Input) else Input(path_or_frame, layout, format)
        if source is path_or_frame and (format is not None or layout.option_names):
            laid_out = layout if layout.option_names else source.layout
            source = source.read_as(format or source.asked_format, laid_out)
        reading = _read_path(source, replace(request, layout=source.layout))
        if sample is None:
            return reading
        from tracearena.io.suggestions import sample_users

        return sample_users(reading, sample)
    frame = select_event_rows(path_or_frame, layout)
    if format not in (None, "table", "points"):
        check_known_format(format)
        raise ParameterError.of("format", format, "table or points for a data frame")
    name = format or recognition.guess_frame_format(frame, layout)
    if request.times is not None:
        problem = f"is read as {name}; only files of format pwscup have a table of times"
        raise ParameterError(f"{FRAME}: {problem}")
    zone = request.choices.timezone
    report = Report(FRAME, name, header_lines=None, strict=request.strict, timezone=zone)
    if format is None and recognition.is_trips_frame(frame.columns, layout):
        rows = trips.split_trips(frame, report, layout)
        by_name = replace(layout, columns={}, one_user=None)
        return read_rows(rows, "points", report, replace(request, layout=by_name))
    return read_rows(frame, name, report, request)


def _read_path(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file, a folder or an archive."""
    path = source.path
    if source.format != "geolife" and source.is_archive:
        with bundles.open_archive(path) as (folder, inside):
            reading = _read_path(Input(inside, source.layout, source.asked_format), request)
            bundles.rename_report_paths(reading.report, inside, path)
            if inside != folder:
                _notice_hidden(Input(folder, source.layout), reading.report)
        return reading
    if not source.is_folder:
        return read_file(source, request)
    with bundles.explain_skipping(path):
        reading = read_whole_folder(source, request) if source.is_read_whole else read_folder(source, request)
    _notice_hidden(source, reading.report)
    return reading


def _notice_hidden(source: Input, report: Report) -> None:
    """Report files that hold traces and are passed over for their names."""
    for file in bundles.find_hidden_traces(source):
        path = f"{report.path}: {file}" if archives.is_archive(report.path) else str(source.path / file)
        report.notice_fault(bundles.HIDDEN, path=path)


# Files whose format is known, and rows of a table.

File = str | PathLike[str]

_NO_RESAMPLING = "resample is only for GPS points, and this file has events"


@dataclass(frozen=True)
class Request:
    """What a caller of `read` asks for, in addition to the file and its format."""

    places: Any
    choices: Choices
    layout: Layout
    times: File | None = None
    resample: str | None = None
    strict: bool = False
    owner: str | None = None
    """Whose file it is, if the file does not say."""
    sample: Sample | None = None
    """How many people are read of more, if not all."""

    @property
    def known_places(self) -> Places | None:
        """The places: as they are, read from their file, or built from a data frame."""
        if self.places is None or isinstance(self.places, Places):
            return self.places
        is_file = isinstance(self.places, (str, PathLike))
        return read_places(self.places) if is_file else place_table.build_places(self.places)


def read_file(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file, or a folder of a format that has folders."""
    path, row = source.path, FORMAT_TABLE[source.format]
    request.layout.refuse_all_but(row.layout, path, f"files of format {row.name}")
    if request.times is not None and row.name != "pwscup":
        problem = f"is read as {row.name}; only files of format pwscup have a table of times"
        raise ParameterError.about(path, problem)
    if row.holds == "events" and request.resample is not None:
        raise ParameterError.about(path, _NO_RESAMPLING)
    reading: Reading[Any] = resolve_name(f"tracearena.io.{row.reader}")(source, request)
    if row.holds == "events" and request.strict:
        reading.report.refuse_losses()
    return reading


# One reader for each kind of file, by the table of formats.


def read_row_format(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a file that comes down to rows of a table."""
    path, name = source.path, source.format
    report = Report(str(path), name, strict=request.strict, timezone=request.choices.timezone)
    frame, layout = geo_tables.read_format_rows(path, name, report, request.layout, request.owner)
    kind = recognition.guess_frame_format(frame, layout) if name in EITHER else "points"
    return read_rows(frame, kind, report, replace(request, layout=layout))


def read_point_table(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a table of GPS points."""
    zone, strict = request.choices.timezone, request.strict
    made = points.read(
        source.path, timezone=zone, strict=strict, layout=request.layout, sample=request.sample
    )
    return apply_choices(made, request)


def read_geolife(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read files of GeoLife."""
    return apply_choices(geolife.read(source.path, strict=request.strict), request)


def read_gpx(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read GPX files; one that names nobody belongs to its owner."""
    owner = request.layout.one_user or request.owner
    return apply_choices(gpx.read(source.path, strict=request.strict, one_user=owner), request)


def read_check_ins(source: Input, request: Request) -> Reading[Traces]:
    """Read a table of events, or check-ins as they were published."""
    reader: Callable[..., Reading[Traces]] = {
        "table": checkins.read_event_table,
        "partitions": checkins.read_partitions,
        "gowalla": checkins.read_gowalla,
        "tsmc": checkins.read_tsmc,
    }[source.format]
    is_table = source.format in ("table", "partitions")
    laid_out = {"layout": request.layout, "sample": request.sample} if is_table else {}
    known = request.known_places
    return reader(source.path, choices=request.choices, places=known, **laid_out)


def read_foursquare(source: Input, request: Request) -> Reading[Traces]:
    """Read check-ins of WWW 2019, whose venues are a file of their own."""
    if request.places is not None and not isinstance(request.places, (str, PathLike)):
        raise ParameterError("a foursquare file needs its own file of venues, not other places")
    return checkins.read_foursquare(source.path, choices=request.choices, pois=request.places)


def read_people_flow(source: Input, request: Request) -> Reading[Traces]:
    """Read people flow: raw, or with instants already."""
    if source.has_instants:
        return read_prepared(source, request)
    return checkins.read_people_flow(source.path, choices=request.choices)


def read_released_events(source: Input, request: Request) -> Reading[Traces]:
    """Read a table of released traces whose events have one place each."""
    path, choices = source.path, request.choices
    known = request.known_places
    released, report = released_table.read_released_table(path)
    several, deleted = int(released.is_set.sum()), int(released.is_deleted.sum())
    if several or deleted:
        problem = (
            f"has obfuscated or anonymized traces with {several:,} events at several places and "
            f"{deleted:,} deleted ones; only releases with one place per event can be read as traces "
            "(describe and score utility read the others)"
        )
        raise FileError.whole(path, problem, "no-single-places")
    frame = released.to_frame()
    lists = [name for name in ("places", "lat", "lng", "category") if name in frame.columns]
    frame = frame.explode(lists).rename({"places": "place"})
    interval_s = choices.interval_s or released.clock.interval_s
    return checkins.build_table_events(frame, report, replace(choices, interval_s=interval_s), known)


def read_rows(
    frame: pl.DataFrame, name: str, report: Report, request: Request
) -> Reading[Traces | GpsTraces]:
    """Make points or events of rows."""
    report.rows = frame.height + report.dropped_rows
    if name == "points":
        return apply_choices(Reading(build_gps_traces(frame, report, request.layout), report), request)
    if request.resample is not None:
        raise ParameterError.about(report.path, _NO_RESAMPLING)
    reading = checkins.build_table_events(
        frame, report, request.choices, request.known_places, request.layout
    )
    if request.strict:
        reading.report.refuse_losses()
    return reading


def apply_choices(reading: Reading[GpsTraces], request: Request) -> Reading[Traces | GpsTraces]:
    """Put points on a grid if one is named; otherwise keep those within the bounds, and refuse the rest."""
    (traces, report), choices, places = reading, request.choices, request.known_places
    report.timezone = choices.timezone
    chosen: Reading[Traces | GpsTraces] = reading
    if choices.grid is not None or (places is not None and places.grid is not None):
        chosen = convert_points_to_events(reading, choices, resample=request.resample, places=places)
    else:
        settings = {
            "places": places,
            "top": choices.top,
            "interval": choices.interval_s,
            "slot": choices.slot_s,
            "utc_hours": choices.utc_hours or None,
            "resample": request.resample,
        }
        if given := [name for name, value in settings.items() if value is not None]:
            raise ParameterError.about(
                report.path,
                f"has GPS points, which have no places and no instants: {', '.join(given)} needs a grid, "
                "such as --grid 32x32 (grid='32x32')",
            )
        if choices.bounds is not None:
            inside = traces.take_box(choices.bounds)
            if not len(inside):
                raise ParameterError.about(report.path, f"no point is within the bounds {choices.bounds}")
            if len(inside) < len(traces):
                report.drop("outside the bounds", len(traces) - len(inside))
            chosen = Reading(inside, report)
    if report.strict:
        chosen.report.refuse_losses()
    return chosen


def read_prepared(source: Input, request: Request) -> Reading[Traces]:
    """Read a format whose files already have places and instants."""
    path, format = source.path, source.format
    places, choices, times = request.places, request.choices, request.times
    known = request.known_places
    known = read_places_beside(path, format) if known is None else known
    assumed = ""
    if format == "ppmtf":
        from tracearena.io import ppmtf

        if choices.timezone is not None or choices.utc_hours:
            raise ParameterError("a ppmtf file already has local hours, so it takes no time zone")
        if source.is_synthetic:
            traces = ppmtf.read_synthetic(path, known).traces
        else:
            traces = ppmtf.read_traces(path, known, interval_s=choices.interval_s, slot_s=choices.slot_s)
    elif choices.utc_hours or (choices.interval_s, choices.slot_s, choices.timezone) != (None, None, None):
        raise ParameterError(
            f"a {format} file has instants instead of times, so it takes no interval, slot or time zone"
        )
    elif format == "peopleflow":
        traces = checkins.read_people_flow(path, places=known).traces
    else:
        named = times or pwscup.find_times_file(path, places)
        traces = pwscup.read_traces(path, known, None if named is None else pwscup.read_times(named))
        assumed = pwscup.DEFAULT_TIMES if named is None else ""
    report = Report(str(path), format, traces.n_events, assumed=assumed)
    report_oddities(traces, report)
    if (choices.grid, choices.bounds, choices.top) != (None, None, None):
        traces = regrid_traces(traces, choices, report)
    return Reading(traces, report)


# Folders: of a format that has folders, or of files that are read one by one.


def read_folder(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read the files of a folder: those of the format if one is named, or else all that hold GPS points."""
    folder, name, are_points = source.path, source.format, source.holds_points

    def fits(look: FormatGuess) -> bool:
        return look.holds_points if are_points and source.asked_format is None else name in look.formats

    files, others = bundles.sort_folder_files(source, fits)
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    owners = find_file_owners(list(files))

    def laid_out(file: Path) -> Layout:
        layout = files[file].layout
        is_named = layout.one_user == request.layout.one_user
        return layout if is_named else replace(layout, one_user=owners[file])

    def read_one(file: Path, wanted: Request) -> Reading[Traces | GpsTraces]:
        one = files[file].read_as(source.asked_format)
        return read_file(one, replace(wanted, layout=laid_out(file), owner=owners[file]))

    if len(files) == 1:
        reading = read_one(next(iter(files)), request)
    elif are_points:
        choices = Choices(timezone=request.choices.timezone)
        plain = replace(request, choices=choices, resample=None, places=None)
        made = bundles.read_and_join_points(
            folder, list(files), name, lambda file: read_one(file, plain).as_points()
        )
        made.report.strict = request.strict
        reading = apply_choices(made, request)
    elif name in ("table", *EITHER):
        report = Report(str(folder), name, header_lines=None)
        parts = []
        for file in files:
            layout = laid_out(file)
            layout.refuse_all_but(FORMAT_TABLE[name].layout, file, f"files of format {name}")
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
        problem = f"has {len(files):,} files of format {name}, but only one can be read at a time: {shown}"
        raise FileError.whole(folder, problem, "several-files")
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading


def read_whole_folder(source: Input, request: Request) -> Reading[Traces | GpsTraces]:
    """Read a folder of a format that has folders; traces next to it are left out by name."""
    others = [(file, bundles.build_skip_fault(look)) for file, look in source.find_unread(source.format)]
    if others and request.strict:
        raise FileError(others[0][0], [others[0][1]])
    reading = read_file(source, request)
    for path, fault in others:
        reading.report.notice_fault(fault, path=str(path))
    return reading
