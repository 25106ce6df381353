"""Options that every command shares which reads traces of any format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._console import note


def refuse(what: str, **options: object) -> None:
    """Refuse options that are given and do not apply to `what`, instead of ignoring them."""
    from tracearena.errors import ParameterError

    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, False)]
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise ParameterError(f"{', '.join(given)} {verb} not apply to {what}")


def refuse_for_points(*, grid: str | None, needs_grid: dict[str, object], never: dict[str, object]) -> None:
    """Refuse options that GPS points have no use for, or only on a grid."""
    refuse("GPS points", **never)
    if grid is None:
        refuse("GPS points without --grid", **needs_grid)


def say_unread_columns(path: Path, format: str) -> None:
    """Say which columns of a table of events or points are left out."""
    from tracearena.formats.recognition import unread_columns

    others = unread_columns(path, format)
    if others:
        note(f"{path}: columns left out: {', '.join(others)}")


FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Format: pwscup, ppmtf, peopleflow, foursquare, tsmc, gowalla or table; for GPS geolife, gpx or "
        "points; recognised if omitted.",
    ),
]
PlacesFileOption = Annotated[
    Path | None,
    typer.Option("--places", help="File of places: regions, POIs, venues or a table; found beside IN."),
]
GridOption = Annotated[
    str | None, typer.Option("--grid", help="Put events on a grid of rows x columns, such as 32x32.")
]
BoundsOption = Annotated[
    str | None, typer.Option("--bounds", help="Keep this box only: south,west,north,east in degrees.")
]
TopOption = Annotated[int | None, typer.Option("--top", help="Keep the N most visited places only.")]
IntervalOption = Annotated[
    str | None,
    typer.Option("--interval", help="Time between instants, such as 20min; 1h, or what all times lie on."),
]
SlotOption = Annotated[
    str | None, typer.Option("--slot", help="Length of a slot, such as 2h; one instant if omitted.")
]
TimezoneOption = Annotated[
    str | None, typer.Option("--timezone", help="Local time, such as America/New_York.")
]
UtcHoursOption = Annotated[
    bool,
    typer.Option("--utc-hours", help="Ignore the file's offsets from UTC, as the PPMTF authors' program."),
]
