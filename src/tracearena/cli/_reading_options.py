"""The options of reading, as commands show them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Reading"


def _option(name: str, help: str, **settings: Any) -> Any:
    return typer.Option(name, help=help, rich_help_panel=PANEL, **settings)


FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        "--format",
        rich_help_panel=PANEL,
        help="Format; recognised if omitted. Events: pwscup, ppmtf, peopleflow, foursquare, tsmc, gowalla, "
        "table, partitions, released. GPS: points, geolife, gpx, google-records, google-timeline, owntracks, "
        "trips, porto. Either: geojson, jsonl, gpkg, geoparquet.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    _option("--columns", "Which column is which, such as user=MMSI,time=BaseDateTime,lat=LAT,lng=LON."),
]
NoHeaderOption = Annotated[
    bool, _option("--no-header", "The table has no header; --columns then gives numbers from 1.")
]
DelimiterOption = Annotated[
    str | None, _option("--delimiter", "What stands between fields, such as ';' or tab; found if omitted.")
]
DecimalOption = Annotated[str | None, _option("--decimal", "Decimal sign of numbers: . or ,")]
TimeFormatOption = Annotated[
    str | None, _option("--time-format", "How times are written, such as '%d.%m.%Y %H:%M:%S'.")
]
OneUserOption = Annotated[
    str | None, _option("--one-user", "All rows, or all files of a folder, are of one person of this name.")
]
PlacesFileOption = Annotated[
    Path | None,
    _option("--places", "File of places: regions, POIs, venues or a table; found beside IN."),
]
GridOption = Annotated[
    str | None,
    _option("--grid", "Put events or GPS points on a grid of rows x columns, such as 32x32."),
]
BoundsOption = Annotated[
    str | None, _option("--bounds", "Keep this box only: south,west,north,east in degrees.")
]
TopOption = Annotated[int | None, _option("--top", "Keep the N most visited places only.")]
IntervalOption = Annotated[
    str | None,
    _option("--interval", "Time between instants, such as 20min; 1h, or what all times lie on."),
]
SlotOption = Annotated[str | None, _option("--slot", "Length of a slot, such as 2h; one instant if omitted.")]
SlotsOption = Annotated[
    str | None,
    typer.Option(
        "--slots",
        help="Slots of a model as any sets of instants: '0-6,6-9,9-24' hours, "
        "'weekday 0-12,12-24; weekend 0-24', or instants as '{1,2,25,26},{3,4,27,28}'.",
    ),
]
ResampleOption = Annotated[
    str | None,
    _option("--resample", "GPS on a grid: one event per instant by last, nearest or interpolate."),
]
TimezoneOption = Annotated[
    str | None,
    _option("--timezone", "Local time, such as America/New_York; by the coordinates if omitted."),
]
UtcHoursOption = Annotated[
    bool,
    _option("--utc-hours", "Ignore the file's offsets from UTC, as the PPMTF authors' program."),
]
HoursOption = Annotated[
    str | None, _option("--hours", "Keep these local hours of every day only, such as 8-18.")
]
FromDateOption = Annotated[
    str | None, _option("--from-date", "Keep this local date and later ones only, such as 2008-11-01.")
]
ToDateOption = Annotated[
    str | None, _option("--to-date", "Keep this local date and earlier ones only, such as 2008-12-31.")
]
SplitAtOption = Annotated[
    str | None,
    _option("--split-at", "Cut one file before this date, such as 2012-06-01: reference, then original."),
]
ReferenceDaysOption = Annotated[
    int | None, _option("--reference-days", "Cut one file after its first N days: reference, then original.")
]
