"""``tracearena convert``: traces from any format into any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, SeedOption, check_outputs, chosen_seed, note, print_result
from tracearena.cli._contest_files import (
    TimesOption,
    regions_file,
    say_grid,
    say_keys,
    say_lost_dates,
    user_numbers,
)
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
    refuse_for_points,
)

if TYPE_CHECKING:
    from tracearena.intake import Reading
    from tracearena.traces import GpsTraces, Traces


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
    from tracearena.errors import ParameterError
    from tracearena.files.staging import replacing_all
    from tracearena.formats import read, recognition, write
    from tracearena.intake import Choices, fitted
    from tracearena.intake.user_key import LOWEST, keeping
    from tracearena.traces import GpsTraces

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
    is_gps = recognition.is_gps(file, format)
    if is_gps:
        refuse_for_points(
            grid=grid,
            needs_grid={
                "interval": interval,
                "slot": slot,
                "resample": resample,
                "places_out": places_out,
            },
            never={"places": places, "times": times, "top": top, "utc_hours": utc_hours, "test": test},
        )
    else:
        refuse("events, which GPS points are not", resample=resample)
    key = user_numbers(user_key, to)
    read_as = read(file, format, places=places, choices=choices, times=times, resample=resample)
    if isinstance(read_as.traces, GpsTraces):
        _convert_points(read_as.as_points(), out, to, timezone, as_json)
        return
    traces, report = read_as.as_events()
    traces = fitted(key.restored(traces, file, to or "table"), to or "table", report, key)
    result: dict[str, Any] = report.to_dict()
    if is_gps:
        result |= {"format": "gps", "points": report.rows}
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
    if choices.grid is not None:
        places_out = regions_file(out, to, places_out, traces)
        if choices.bounds is None:
            say_grid(traces)
    with replacing_all(), keeping(key, numbers, user_key) as keys:
        if test is not None:
            write(outputs[test], test, to=to)
        written = write(outputs[out], out, to=to, places_out=places_out)
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


def _convert_points(
    reading: Reading[GpsTraces], out: Path, to: str | None, timezone: str | None, as_json: bool
) -> None:
    """Write GPS points as other GPS points."""
    from tracearena.cli._gps import write_traces
    from tracearena.errors import ParameterError
    from tracearena.formats.dispatch import format_of_points

    traces, report = reading
    if timezone is not None and report.unzoned == 0:
        why = "without --grid there are no local hours, and all times of the file name their zone"
        raise ParameterError(f"--timezone does not apply: {why}")
    write_traces(traces, out, to)
    result = {"format": "gps", "users": traces.n_users, "points": traces.n_points}
    print_result(result | {"to": to or format_of_points(out), "written": [str(out)]}, as_json)
    for line in report.lines():
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
