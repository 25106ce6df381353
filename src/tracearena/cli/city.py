"""``tracearena city``: simulate people in the embedded city."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracearena.cli._output import JsonOption, SeedOption, print_result
from tracearena.jobs.feedback import note, show_progress
from tracearena.jobs.outputs import check_outputs, choose_seed


class Mode(StrEnum):
    """Ways in which people are observed."""

    regular = "regular"
    checkins = "checkins"
    gps = "gps"
    fleet = "fleet"


def city(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File for the traces.")],
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
            help="Observations: an event at every instant, sparse check-ins, GPS points of people (gps), or "
            "of vehicles (fleet).",
        ),
    ] = Mode.regular,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="Format of OUT. [default: pwscup for regular .csv files, a table otherwise]"
        ),
    ] = None,
    places_out: Annotated[
        Path | None, typer.Option("--places-out", help="Also write the places to this file.")
    ] = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate people in the embedded city, with homes, work, routines, trips and weekends.

    Files in pwscup format have the 20 half-hours per day of the contest, from 8:00; other regular files have
    all 48.

    Example:
      tracearena city traces.csv --users 200 --days 14 --seed 1
    """
    from tracearena import cities, io
    from tracearena.errors import ParameterError
    from tracearena.io.pwscup import PWS_CLOCK
    from tracearena.io.writers import guess_format_by_name

    users = users or (500 if mode is Mode.fleet else 4_000)
    days = days or (14 if mode is Mode.fleet else 40)
    if mode in (Mode.gps, Mode.fleet):
        used = choose_seed(seed)
        with show_progress("people" if mode is Mode.gps else "vehicles"):
            simulate = cities.simulate_gps if mode is Mode.gps else cities.simulate_fleet
            points = simulate(users, days, seed=used)
        io.write(points, out, to=to)
        print_result(
            {
                "mode": mode.value,
                "format": to or guess_format_by_name(out, "points"),
                "users": users,
                "days": days,
                "points": points.n_points,
                "trajectories": points.n_trajectories,
                "seed": used,
                "written": [str(out)],
            },
            as_json,
        )
        return
    check_outputs(out, places_out)
    target = to or guess_format_by_name(out, like="pwscup" if mode is Mode.regular else "table")
    if target not in io.FORMATS:
        raise ParameterError.of("to", target, f"one of {', '.join(io.FORMATS)}")
    if target in ("pwscup", "peopleflow") and mode is Mode.checkins:
        raise ParameterError(f"{target} files have one event per instant; write check-ins in another format")
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
        note("other commands also need the regions: write them with --places-out info_region.csv")
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
