"""One door to all formats."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.errors import ParameterError
from tracearena.files.staging import replacing_all
from tracearena.files.whole import require_lasting
from tracearena.formats import (
    foursquare,
    gowalla,
    gps_events,
    partitions,
    peopleflow,
    pwscup,
    recognition,
    table,
    tsmc,
)
from tracearena.formats.place_files import places_beside, read_places, write_places
from tracearena.intake.choices import Choices
from tracearena.intake.discretise import notice_oddities
from tracearena.intake.regrid import regridded
from tracearena.intake.report import Report, report_of
from tracearena.traces import Places, Traces

FORMATS = ("pwscup", "ppmtf", "peopleflow", "foursquare", "tsmc", "gowalla", "table", "partitions")
"""Names of the formats that hold traces."""

_CHECK_INS = {"table": table, "partitions": partitions, "gowalla": gowalla, "tsmc": tsmc}
_TABLE_NAMES = (".csv", ".csv.gz", ".parquet")


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    places: str | PathLike[str] | Places | None = None,
    choices: Choices | None = None,
    times: str | PathLike[str] | None = None,
    **options: Any,
) -> tuple[Traces, Report]:
    """Read the traces of a file and report what it got wrong.

    Parameters
    ----------
    format
        One of `FORMATS`, or ``points``: GPS points, which need a grid (`formats.gps.read` reads
        them as they are). Recognised from the file if left out.
    places
        The places, or their file. Formats that have a file of their own for them find it beside
        `path`: ``info_region.csv``, ``regions_*.csv``, ``POI_*.csv``, ``raw_POIs.txt``.
    choices
        Which places and instants to make of raw events (`Choices`).
    times
        Of a pwscup file, what its time ids mean; by default the ``info_time.csv`` beside it.
    **options
        The same as the command line writes them: ``grid="32x32"``, ``top=1000``, ``slot="2h"``, …
    """
    if choices is not None and options:
        raise ParameterError("give choices or single options, not both")
    chosen = Choices.parse(**options) if choices is None else choices
    require_lasting(path)
    name = _settled(path, format)
    if times is not None and name != "pwscup":
        raise ParameterError(f"{path}: is read as {name}; only files of format pwscup have a table of times")
    if name in ("pwscup", "ppmtf") or (name == "peopleflow" and recognition.is_prepared(path)):
        return _prepared(Path(path), name, places, chosen, times)
    if name == "peopleflow":
        return peopleflow.read(path, choices=chosen)
    if name == "foursquare":
        if isinstance(places, Places):
            raise ParameterError("the places of a foursquare file are read from its file of venues")
        return foursquare.read(path, choices=chosen, pois=places)
    known = places if places is None or isinstance(places, Places) else read_places(places)
    if name == "points":
        return gps_events.read(path, choices=chosen, places=known)
    traces, report = _CHECK_INS[name].read(path, choices=chosen, places=known)
    return traces, report


def write(
    traces: Traces,
    path: str | PathLike[str],
    *,
    to: str | None = None,
    places_out: str | PathLike[str] | None = None,
) -> list[Path]:
    """Write traces, and their places if `places_out` is given; return the files written.

    Both appear together, or neither.

    Parameters
    ----------
    to
        One of `FORMATS`; by default a table, for names that end in .csv, .csv.gz or .parquet.
    """
    target = to or _format_of_name(path)
    if target not in FORMATS:
        raise ParameterError.of("to", target, f"one of {', '.join(FORMATS)}")
    if target == "foursquare":
        return [Path(path), foursquare.write(traces, path, pois=places_out)]
    beside: list[Path] = []
    with replacing_all():
        if target == "pwscup":
            times = pwscup.write_traces(traces, path)
            beside = [] if times is None else [times]
        elif target == "peopleflow":
            peopleflow.write(traces, path)
        elif target == "ppmtf":
            from tracearena.formats import ppmtf

            ppmtf.write_traces(traces, path)
        else:
            _CHECK_INS[target].write(traces, path)
        if places_out is not None:
            write_places(traces.places, places_out, to=target)
            beside.append(Path(places_out))
    return [Path(path), *beside]


def _settled(path: str | PathLike[str], format: str | None) -> str:
    if format is None:
        return recognition.recognise(path)
    if format not in (*FORMATS, "points"):
        raise ParameterError.of("format", format, f"one of {', '.join(FORMATS)}")
    recognition.require(path, format)
    return format


def _format_of_name(path: str | PathLike[str]) -> str:
    if not str(path).endswith(_TABLE_NAMES):
        raise ParameterError(
            f"{path}: name a format (one of {', '.join(FORMATS)}) or a file that ends in "
            f"{', '.join(_TABLE_NAMES)}"
        )
    return "table"


def _prepared(
    path: Path,
    format: str,
    places: str | PathLike[str] | Places | None,
    choices: Choices,
    times: str | PathLike[str] | None,
) -> tuple[Traces, Report]:
    """Read a format whose files already have places and instants."""
    if places is None:
        known = places_beside(path, format)
    else:
        known = places if isinstance(places, Places) else read_places(places)
    if format == "ppmtf":
        traces = _ppmtf(path, known, choices)
    elif not choices.times_are_as_in_file:
        raise ParameterError(f"a {format} file has instants and no times: no interval, slot or time zone")
    elif format == "peopleflow":
        traces = peopleflow.read(path, places=known)[0]
    else:
        traces = pwscup.read_traces(path, known, None if times is None else pwscup.read_times(times))
    report = report_of(path, format, traces.n_events)
    notice_oddities(traces, report)
    return (traces if choices.places_are_as_in_file else regridded(traces, choices, report)), report


def _ppmtf(path: Path, places: Places, choices: Choices) -> Traces:
    from tracearena.formats import ppmtf

    if choices.timezone is not None or choices.utc_hours:
        raise ParameterError("a ppmtf file has local hours already: no time zone")
    if recognition.is_synthetic(path):
        return ppmtf.read_synthetic(path, places).traces
    return ppmtf.read_traces(path, places, interval_s=choices.interval_s, slot_s=choices.slot_s)
