"""``tracearena city``: simulate people in the embedded city."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._output import (
    JsonOption,
    SeedOption,
    check_outputs,
    choose_seed,
    note,
    print_result,
    show_progress,
)


class Mode(StrEnum):
    """How people are observed."""

    regular = "regular"
    checkins = "checkins"
    gps = "gps"
    fleet = "fleet"


def register_city(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(city)


def city(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the traces go.")],
    users: Annotated[
        int | None,
        typer.Option("--users", min=1, help="Number of people or vehicles. [default: 4000, fleet 500]"),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", min=1, help="Number of consecutive days. [default: 40, fleet 14]"),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="An event at every instant, sparse check-ins, GPS points of people, or of vehicles.",
        ),
    ] = Mode.regular,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="Format of OUT. [default: pwscup for regular .csv files, a table otherwise]"
        ),
    ] = None,
    places_out: Annotated[
        Path | None, typer.Option("--places-out", help="Write the places too, as OUT's format has them.")
    ] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate people in the embedded city: homes, work, routines, trips, nights and weekends.

    Files of the pwscup format hold the contest's 20 half-hours a day from 8:00 on; other regular
    files hold all 48.
    """
    from tracearena import cities, io
    from tracearena.errors import ParameterError
    from tracearena.io.pwscup import PWS_CLOCK

    users = users or (500 if mode is Mode.fleet else 4_000)
    days = days or (14 if mode is Mode.fleet else 40)
    if mode in (Mode.gps, Mode.fleet):
        _write_points(out, mode, users, days, to, seed, as_json)
        return
    check_outputs(out, places_out)
    target = to or _choose_format(out, mode)
    if target not in io.FORMATS:
        raise ParameterError.of("to", target, f"one of {', '.join(io.FORMATS)}")
    if target in ("pwscup", "peopleflow") and mode is Mode.checkins:
        raise ParameterError(f"{target} files hold one event per instant: check-ins need another format")
    used = choose_seed(seed)
    with show_progress("people"):
        traces = cities.simulate(
            users=users,
            days=days,
            mode="checkins" if mode is Mode.checkins else "regular",
            clock=PWS_CLOCK if target == "pwscup" else None,
            seed=used,
        )
    written = io.write(traces, out, to=target, places_out=places_out)
    if target == "pwscup" and places_out is None:
        note("other commands need the regions with it: --places-out info_region.csv writes them")
    print_result(
        {
            "mode": mode.value,
            "format": target,
            "users": traces.n_users,
            "days": days,
            "events": traces.n_events,
            "places": len(traces.places),
            "seed": used,
            "written": [str(path) for path in written],
        },
        as_json,
    )


def _write_points(
    out: Path, mode: Mode, users: int, days: int, to: str | None, seed: int | None, as_json: bool
) -> None:
    """Write points of receivers: a GeoLife folder, or a table or GPX by the name of `out`."""
    from tracearena.cities import simulate_fleet, simulate_gps
    from tracearena.io import write
    from tracearena.io.writers import guess_format_by_name

    used = choose_seed(seed)
    with show_progress("people" if mode is Mode.gps else "vehicles"):
        traces = (simulate_gps if mode is Mode.gps else simulate_fleet)(users, days, seed=used)
    write(traces, out, to=to)
    counts = {"users": users, "days": days, "points": traces.n_points, "trajectories": traces.n_trajectories}
    result = {"mode": mode.value, "format": to or guess_format_by_name(out, "points"), **counts}
    print_result(result | {"seed": used, "written": [str(out)]}, as_json)


def _choose_format(out: Path, mode: Mode) -> str:
    from tracearena.io.writers import guess_format_by_name

    return guess_format_by_name(out, like="pwscup" if mode is Mode.regular else "table")
