"""The options of reading traces: `reads_traces` gives them to a command as one `ReadingOptions`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

import typer

from tracearena.jobs.reading import LIMITS, ReadingOptions

PANEL = "Reading"

_HELP = {
    "format": "Format; recognised if omitted. Events: pwscup, ppmtf, peopleflow, foursquare, tsmc, gowalla, "
    "table, partitions, released. GPS: points, geolife, gpx, google-records, google-timeline, "
    "owntracks, trips, porto. Either: geojson, jsonl, gpkg, geoparquet.",
    "columns": "Which column is which, such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON.",
    "no_header": "The table has no header; --columns then gives numbers from 1.",
    "delimiter": "What stands between fields, such as ';' or tab; found if omitted.",
    "decimal": "Decimal sign of numbers: . or ,",
    "time_format": "How times are written, such as '%d.%m.%Y %H:%M:%S'.",
    "one_user": "All rows, or all files of a folder, are of one person of this name.",
    "places": "File of places: regions, POIs, venues or a table; found beside IN.",
    "times": "pwscup: what the time ids mean (info_time.csv); found beside the traces or places if omitted.",
    "grid": "Put events or GPS points on a grid of rows x columns, such as 32x32.",
    "bounds": "Keep this box only: south,west,north,east in degrees.",
    "top": "Keep the N most visited places only.",
    "interval": "Time between instants, such as 20min; 1h, or what all times lie on.",
    "slot": "Length of a slot, such as 2h; one instant if omitted.",
    "resample": "GPS on a grid: one event per instant by last, nearest or interpolate.",
    "timezone": "Local time, such as America/New_York; by the coordinates if omitted.",
    "utc_hours": "Ignore the file's offsets from UTC, as the PPMTF authors' program.",
    "hours": "Keep these local hours of every day only, such as 8-18.",
    "from_date": "Keep this local date and later ones only, such as 2008-11-01.",
    "to_date": "Keep this local date and earlier ones only, such as 2008-12-31.",
    "split_at": "Cut one file before this date, such as 2012-06-01: reference, then original.",
    "reference_days": "Cut one file after its first N days: reference, then original.",
    "max_bytes": "Largest submission, unpacked. [default: 67108864, in proportion more beyond 800,000 rows]",
    "max_listed_ids": "Most ids in all sets of a submission. [default: 16000000, more as above]",
}
"""Help of the options of reading, by the fields of `ReadingOptions`."""

SlotsOption = Annotated[
    str | None,
    typer.Option(
        "--slots",
        help="Slots of a model as any sets of instants: '0-6,6-9,9-24' hours, "
        "'weekday 0-12,12-24; weekend 0-24', or instants as '{1,2,25,26},{3,4,27,28}'.",
    ),
]


def build_reading_option(field: str) -> Any:
    """Return the option that fills a field of `ReadingOptions`."""
    flags = ["--from", "--format"] if field == "format" else [f"--{field.replace('_', '-')}"]
    return typer.Option(*flags, help=_HELP[field], rich_help_panel="Limits" if field in LIMITS else PANEL)


MaxBytesOption = Annotated[int | None, build_reading_option("max_bytes")]


def reads_traces(
    *,
    without: Iterable[str] = (),
    halves: bool = False,
    limits: Iterable[str] = (),
    beside: Mapping[str, type] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of reading; it gets them as the record `reading`.

    Parameters
    ----------
    without
        Options that the command has no use for, or has under the same name for something else.
    halves
        Whether it can cut one file into reference and original traces.
    limits
        Which limits of submissions it sets, of `LIMITS`.
    beside
        Further records of options, by the parameter that gets them.
    """
    records = {**beside, "reading": ReadingOptions}
    left_out = {*without} | (set() if halves else {"split_at", "reference_days"}) | {*LIMITS} - {*limits}

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def reading(**given: Any) -> Any:
            for parameter, record in records.items():
                known = [one.name for one in fields(record) if one.name in given]
                if parameter == "reading":
                    known = [name for name in known if name not in left_out]
                given[parameter] = record(**{name: given.pop(name) for name in known})
            return command(**given)

        def declare() -> None:
            own = inspect.signature(command, eval_str=True)
            kept = [
                one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
                for one in own.parameters.values()
                if one.name not in records
            ]
            for parameter, record in records.items():
                hidden = left_out if parameter == "reading" else ()
                kept += [one for name, one in build_parameters(record).items() if name not in hidden]
            reading.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
            hints = {one.name: one.annotation for one in kept}
            reading.__annotations__ = hints | {"return": own.return_annotation}

        _undeclared.append(declare)
        return reading

    return with_options


_undeclared: list[Callable[[], None]] = []


def declare_options() -> None:
    """Let Typer see the options of all commands that have been imported; a list of commands needs none."""
    while _undeclared:
        _undeclared.pop()()


@functools.cache
def build_parameters(record: type) -> dict[str, inspect.Parameter]:
    """Return the fields of a record of options as parameters of a command."""
    hints = get_type_hints(record, include_extras=True)
    if record is ReadingOptions:
        hints = {name: Annotated[hint, build_reading_option(name)] for name, hint in hints.items()}
    return {
        one.name: inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name]
        )
        for one in fields(record)
    }
