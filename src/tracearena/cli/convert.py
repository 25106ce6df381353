"""``tracearena convert``: traces from any format into any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, SeedOption, check_outputs, chosen_seed, note, print_result
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
    refuse,
)

if TYPE_CHECKING:
    from tracearena.traces import Traces


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(convert)


def convert(
    file: Annotated[Path, typer.Argument(metavar="IN", help="File of traces, of any format.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the traces go.")],
    format: FromOption = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="Format of OUT; a table if left out and the name ends .csv or .parquet."),
    ] = None,
    places: PlacesFileOption = None,
    places_out: Annotated[
        Path | None, typer.Option("--places-out", help="Write the places too, as OUT's format has them.")
    ] = None,
    grid: GridOption = None,
    bounds: BoundsOption = None,
    top: TopOption = None,
    interval: IntervalOption = None,
    slot: SlotOption = None,
    timezone: TimezoneOption = None,
    utc_hours: UtcHoursOption = False,
    test_share: Annotated[
        float | None,
        typer.Option("--test-share", help="Share of the users to set aside for testing, such as 0.2."),
    ] = None,
    resample: Annotated[
        str | None,
        typer.Option(
            "--resample", help="GPS on a grid: one event an instant by last, nearest or interpolate."
        ),
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Where the testing users go.")] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Convert traces, put them on a grid, choose places and instants, set testing users aside."""
    from tracearena.cli import _gps
    from tracearena.errors import ParameterError
    from tracearena.formats import Choices, fitted, read, write

    check_outputs(out, test, places_out, inputs=(file, places))
    if (test is None) != (test_share is None):
        raise ParameterError("--test-share and --test belong together: how many users, and where they go")
    choices = Choices.parse(
        grid=grid,
        bounds=bounds,
        top=top,
        interval=interval,
        slot=slot,
        timezone=timezone,
        utc_hours=utc_hours,
    )
    if test is None:
        refuse("a conversion that sets no users aside (--test)", seed=seed)
    if _gps.is_gps(file, format):
        refuse("GPS points", places=places, top=top, utc_hours=utc_hours, test_share=test_share, test=test)
        if grid is None:
            refuse(
                "GPS points without --grid",
                interval=interval,
                slot=slot,
                resample=resample,
                places_out=places_out,
            )
        _gps.convert(file, format, out, to, choices, resample, places_out, as_json)
        return
    refuse("events, which GPS points are not", resample=resample)
    traces, report = read(file, format, places=places, choices=choices)
    traces = fitted(traces, to or "table", report)
    result: dict[str, Any] = report.to_dict()
    if test is not None and test_share is not None:
        used = chosen_seed(seed)
        traces, aside = set_aside(traces, test_share, used)
        if to == "ppmtf":
            aside = _numbered(aside, traces.n_users)
        write(test, aside, to=to)
        result |= {"test_users": aside.n_users, "test_events": aside.n_events, "seed": used}
    if to == "ppmtf":
        traces = _numbered(traces, 0)
    written = write(out, traces, to=to, places_out=places_out)
    result |= {
        "to": to or "table",
        "users": traces.n_users,
        "events": traces.n_events,
        "places": len(traces.places),
        "written": [str(path) for path in (*written, *([test] if test is not None else []))],
    }
    print_result(result if as_json else _for_people(result), as_json)
    for line in [] if as_json else report.lines():
        note(line)


def set_aside(traces: Traces, share: float, seed: int) -> tuple[Traces, Traces]:
    """Draw floor(share × users) testing users; both sides keep the users' order ([ppmtf])."""
    from tracearena.engine import generator
    from tracearena.errors import ParameterError

    count = int(share * traces.n_users) if 0 < share < 1 else 0
    if count == 0:
        raise ParameterError.of(
            "test-share", share, f"between 0 and 1, enough for one of {traces.n_users:,} users"
        )
    import numpy as np

    chosen = np.zeros(traces.n_users, bool)
    chosen[generator(seed).choice(traces.n_users, count, replace=False)] = True
    return traces.take_users(~chosen), traces.take_users(chosen)


def _numbered(traces: Traces, first: int) -> Traces:
    """Number users as the PPMTF tools do: training users from 0, testing users after them."""
    return traces.with_user_ids(range(first, first + traces.n_users))


def _for_people(result: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "read": f"{result['rows']} rows of {result['file']} as {result['format']}",
        "dropped": f"{result['dropped_rows']} rows",
        "users": result["users"],
        "events": result["events"],
        "places": result["places"],
    }
    if "test_users" in result:
        shown["set aside"] = f"{result['test_users']} users with {result['test_events']} events"
    return shown | {"written": ", ".join(result["written"])}
