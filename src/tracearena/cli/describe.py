"""``tracearena describe``: what is in a file of traces, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracearena.cli._console import JsonOption, check_outputs, note, print_result
from tracearena.cli._contest_files import TimesOption
from tracearena.cli._reading import (
    BoundsOption,
    FromOption,
    GridOption,
    IntervalOption,
    PlacesFileOption,
    SlotOption,
    TimezoneOption,
    TopOption,
    UtcHoursOption,
    refuse_for_points,
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(describe)


def describe(
    file: Annotated[Path, typer.Argument(metavar="IN", help="File of traces, of any format.")],
    format: FromOption = None,
    places: PlacesFileOption = None,
    grid: GridOption = None,
    bounds: BoundsOption = None,
    top: TopOption = None,
    interval: IntervalOption = None,
    slot: SlotOption = None,
    timezone: TimezoneOption = None,
    utc_hours: UtcHoursOption = False,
    times: TimesOption = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with a map and plots.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Describe traces: users, events, places, span, gaps, duplicates, what was dropped and why."""
    from tracearena.formats import read, recognition
    from tracearena.intake import Choices
    from tracearena.pages.summary import summarise

    check_outputs(html, inputs=(file, places, times))
    choices = Choices.parse(
        grid=grid,
        bounds=bounds,
        top=top,
        interval=interval,
        slot=slot,
        timezone=timezone,
        utc_hours=utc_hours,
    )
    if recognition.is_gps(file, format):
        refuse_for_points(
            grid=grid,
            needs_grid={"interval": interval, "slot": slot},
            never={"places": places, "times": times, "top": top, "utc_hours": utc_hours},
        )
    traces, report = read(file, format, places=places, choices=choices, times=times)
    if html is not None:
        from tracearena.pages.description import description_page

        description_page(traces, report).write(html)
        note(f"wrote {html}")
    result = summarise(traces, report).to_dict()
    print_result(result if as_json else _for_people(result), as_json)
    if not as_json:
        for line in report.lines():
            typer.echo(line)


def _for_people(result: dict[str, Any]) -> dict[str, Any]:
    names = ["format", "users", "events", "trajectories", "places", "visited_places", "first", "last", "days"]
    names += ["bounds", "interval_s", "gaps_over_4h"]
    shown = {name: result[name] for name in names if result[name] is not None}
    spread, gaps = result["events_per_user"], result["gap_h"]
    shown["events_per_user"] = f"{spread['least']} to {spread['most']}, median {spread['median']}"
    shown["hours_between_events"] = f"median {gaps['median']:g}, longest {gaps['longest']:g}"
    shown["rows"] = f"{result['rows']}, {result['dropped_rows']} dropped"
    if result["trajectories"] is not None:
        shown["times"] = result["times"]
    return shown
