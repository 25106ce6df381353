"""``tracearena convert``: traces from any format into any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, SeedOption, check_outputs, chosen_seed, note, print_result
from tracearena.cli._contest_files import TimesOption, say_keys, say_lost_dates, user_numbers
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
        typer.Option("--to", help="Format of OUT; a table if omitted and the name ends .csv or .parquet."),
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
            "--resample", help="GPS on a grid: one event per instant by last, nearest or interpolate."
        ),
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Where the testing users go.")] = None,
    times: TimesOption = None,
    user_key: Annotated[
        Path | None,
        typer.Option(
            "--user-key",
            help="pwscup, peopleflow, ppmtf: table of users and their numbers, to number several files "
            "alike; made if it does not exist, and new users are added.",
        ),
    ] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Convert traces, put them on a grid, choose places and instants, set testing users aside."""
    from tracearena.cli import _gps
    from tracearena.errors import ParameterError
    from tracearena.files.staging import replacing_all
    from tracearena.formats import read, write
    from tracearena.intake import Choices, fitted
    from tracearena.intake.user_key import LOWEST, keeping

    is_folder = to in ("partitions", "geolife", "gpx")
    check_outputs(out, test, places_out, user_key, inputs=(file, places, times), folders=is_folder)
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
        refuse("GPS points", places=places, times=times, top=top, utc_hours=utc_hours, test=test)
        if grid is None:
            refuse(
                "GPS points without --grid",
                interval=interval,
                slot=slot,
                resample=resample,
                places_out=places_out,
            )
        _gps.convert(file, format, out, to, choices, resample, places_out, user_key, as_json)
        return
    refuse("events, which GPS points are not", resample=resample)
    key = user_numbers(user_key, to)
    traces, report = read(file, format, places=places, choices=choices, times=times)
    traces = fitted(key.restored(traces, file, to or "table"), to or "table", report, key)
    result: dict[str, Any] = report.to_dict()
    outputs = {out: traces}
    if test is not None and test_share is not None:
        used = chosen_seed(seed)
        traces, aside = set_aside(traces, test_share, used)
        outputs = {out: traces, test: aside}
        result |= {"test_users": aside.n_users, "test_events": aside.n_events, "seed": used}
    if to == "ppmtf":
        # Training users first, testing users after them, as the PPMTF tools number them.
        outputs = {path: key.numbered(side, to) for path, side in outputs.items()}
    numbers = {path: side.user_ids.tolist() for path, side in outputs.items()} if to in LOWEST else {}
    with replacing_all(), keeping(key, numbers, user_key) as keys:
        if test is not None:
            write(test, outputs[test], to=to)
        written = write(out, outputs[out], to=to, places_out=places_out)
    result |= {
        "to": to or "table",
        "users": traces.n_users,
        "events": traces.n_events,
        "places": len(traces.places),
        "written": [str(path) for path in (*written, *([test] if test is not None else []), *keys)],
    }
    print_result(result if as_json else _for_people(result), as_json)
    for line in [] if as_json else report.lines():
        note(line)
    say_keys(keys)
    say_lost_dates(to, traces)


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
