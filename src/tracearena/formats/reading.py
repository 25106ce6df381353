"""One door to read all formats: events and GPS points alike, of files, folders, archives and data frames."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.errors import ParameterError
from tracearena.files import archives
from tracearena.files.io import require_lasting
from tracearena.formats import recognition
from tracearena.formats.one_file import File, Request, read_file, read_rows, refuse_times
from tracearena.formats.one_folder import read_folder, read_whole
from tracearena.formats.recognition import READABLE
from tracearena.intake.choices import Choices
from tracearena.intake.frames import FRAME, event_rows
from tracearena.intake.layout import Layout
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces, Traces

if TYPE_CHECKING:
    import polars as pl

    from tracearena.intake.sampling import Sample


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
        there is a header, and so on (`intake.layout.Layout`). `one_user` names the one person of
        a table, of GPX files and of others that name nobody.
    sample
        Read some people alone, drawn at random, for a first look at a large file (`intake.sampling`). Of
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
    request = Request(places, times, chosen, resample, strict, layout, sample=sample)
    if isinstance(path_or_frame, (str, PathLike)):
        reading = _read_path(Path(path_or_frame), format, request)
        if sample is None:
            return reading
        from tracearena.intake.sampling import sampled

        return sampled(reading, sample)
    frame = event_rows(path_or_frame, layout)
    name = _settled_frame(frame, format, layout)
    refuse_times(Path(FRAME), name, times)
    report = Report(FRAME, name, header_lines=None, strict=strict, timezone=chosen.timezone)
    if format is None and recognition.are_trips(frame.columns, layout):
        from tracearena.formats import trips

        told = replace(layout, columns={}, one_user=None)
        return read_rows(
            trips.unfolded(frame, report, layout), "points", report, replace(request, layout=told)
        )
    return read_rows(frame, name, report, request)


def _require_options(options: Mapping[str, Any]) -> None:
    """Refuse what is no choice, with the one that may be meant."""
    known = list(inspect.signature(Choices.parse).parameters)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ParameterError(f"read has no option {name!r}{advice}")


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
        return read_file(path, name, request)
    with bundles.saying_how_to_go_on(path):
        if recognition.is_read_whole(path, name, request.layout):
            reading = read_whole(path, name, request)
        else:
            reading = read_folder(path, name, format, request)
    _notice_hidden(path, reading.report, request.layout)
    return reading


def _notice_hidden(folder: Path, report: Report, layout: Layout) -> None:
    """Report files that hold traces and are passed over for their names."""
    from tracearena.formats import bundles

    for file in bundles.hidden_traces(folder, lambda file: recognition.look_at_one(file, layout)[0]):
        path = f"{report.path}: {file}" if archives.is_archive(report.path) else str(folder / file)
        report.notice_fault(bundles.HIDDEN, path=path)


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
    if format not in READABLE:
        raise ParameterError.of("format", format, f"one of {', '.join(READABLE)}")
