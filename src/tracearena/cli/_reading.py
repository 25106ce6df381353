"""The options of reading traces: `reads_traces` gives them to a command as one `ReadingOptions`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

import typer

from tracearena.jobs.reading import LIMITS, ReadingOptions

PANEL = "Reading"

_HELP = {
    "format": "Input format. By default it is recognised. Events: pwscup, ppmtf, "
    "peopleflow, foursquare, tsmc, gowalla, "
    "table, partitions, released. GPS: points, geolife, gpx, google-records, google-timeline, "
    "owntracks, trips, porto. Either: geojson, jsonl, gpkg, geoparquet.",
    "columns": "Names of the columns, such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON.",
    "no_header": "The table has no header; use numbers from 1 in --columns.",
    "delimiter": "Separator of fields, such as ';' or tab. By default it is recognised.",
    "decimal": "Decimal separator of numbers: . or ,",
    "time_format": "Format of times, such as '%d.%m.%Y %H:%M:%S'.",
    "one_user": "All rows, or all files of a folder, belong to one person with this name.",
    "places": "File of places: regions, POIs, venues or a table. By default it is looked for next to the "
    "traces.",
    "times": "pwscup: table of time ids (info_time.csv). By default it is looked for next to the traces.",
    "grid": "Put events or GPS points on a grid of rows x columns, such as 32x32.",
    "bounds": "Keep only this box: south,west,north,east in degrees.",
    "top": "Keep only the N most visited places.",
    "interval": "Time between instants, such as 20min. By default 1h, or the common step of all times.",
    "slot": "Length of a time slot, such as 2h. By default one instant.",
    "resample": "GPS on a grid: make one event per instant by last, nearest or interpolate.",
    "timezone": "Local time zone, such as America/New_York. By default that of the coordinates.",
    "utc_hours": "Ignore offsets from UTC, like the program of the PPMTF authors.",
    "hours": "Keep only these local hours of every day, such as 8-18.",
    "from_date": "Keep only this local date and later ones, such as 2008-11-01.",
    "to_date": "Keep only this local date and earlier ones, such as 2008-12-31.",
    "split_at": "Split one file at this date, such as 2012-06-01: reference before it, original from it on.",
    "reference_days": "Split one file after N days: reference first, then original.",
    "max_bytes": "Largest size of a submission, unpacked. [default: 67108864, in "
    "proportion more beyond 800,000 rows]",
    "max_listed_ids": "Largest number of ids in all sets of a submission. [default: 16000000, more as above]",
}
"""Help of the options of reading, by fields of `ReadingOptions`."""

SlotsOption = Annotated[
    str | None,
    typer.Option(
        "--slots",
        help="Time slots of a model: hours as '0-6,6-9,9-24' or 'weekday "
        "0-12,12-24; weekend 0-24', or sets of "
        "instants as '{1,2,25,26},{3,4,27,28}'.",
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
    others: Mapping[str, type] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of reading; it gets them as the record `reading`.

    Parameters
    ----------
    without
        Options that the command does not need, or uses for something else.
    halves
        Whether it can split one file into reference and original traces.
    limits
        Limits of submissions that it sets, from `LIMITS`.
    others
        Further records of options, by the parameters that get them; their options stand in the place of
        the parameter.
    """
    records = {**others, "reading": ReadingOptions}
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
            kept: list[inspect.Parameter] = []
            for one in own.parameters.values():
                if one.name in others:
                    kept += build_parameters(others[one.name]).values()
                elif one.name != "reading":
                    kept.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            options = build_parameters(ReadingOptions)
            kept += [option for name, option in options.items() if name not in left_out]
            reading.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
            hints = {one.name: one.annotation for one in kept}
            reading.__annotations__ = hints | {"return": own.return_annotation}

        _undeclared.append(declare)
        return reading

    return with_options


_undeclared: list[Callable[[], None]] = []


def declare_options() -> None:
    """Let Typer see the options of all imported commands; a list of commands does not need them."""
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
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(record)
    }
