"""How commands read and write GPS traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import note, print_result, release_seed
from tracearena.cli._contest_files import say_keys, say_lost_dates, user_numbers

if TYPE_CHECKING:
    from tracearena.formats import Choices
    from tracearena.formats.gps_reading import GpsReading
    from tracearena.traces import GpsTraces, Traces

FORMATS = ("geolife", "gpx", "points")

TimezoneOption = Annotated[
    str, typer.Option("--timezone", help="Zone of times in a table that name none, such as Asia/Shanghai.")
]


def read_traces(path: Path, timezone: str = "UTC") -> GpsTraces:
    """Read GPS traces and say on stderr what was wrong with them."""
    return read(path, timezone).traces


def read(path: Path, timezone: str = "UTC") -> GpsReading:
    """Read GPS traces with their report, and say on stderr what was wrong with them."""
    from tracearena.formats import gps

    reading = gps.read(path, timezone=timezone)
    for line in reading.lines():
        note(line)
    return reading


def write_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    from tracearena.formats import gps

    gps.write(traces, out, to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or gps.format_of(out)) == "points":
        note(f"{out}: {silent:,} users without points have no row in a table")


def say_unread_columns(path: Path) -> None:
    """Say which columns of a table of points are left out."""
    from tracearena.formats import points

    others = points.unread_columns(path) if points.looks_like_points(path) else []
    if others:
        note(f"{path}: columns left out: {', '.join(others)}")


def is_gps(path: Path, format: str | None) -> bool:
    """Whether a path holds GPS traces: by the format named, or a GeoLife or GPX folder or file."""
    from tracearena.formats import geolife, gpx

    if format is not None:
        return format in FORMATS
    return geolife.looks_like_geolife(path) or gpx.looks_like_gpx(path)


def describe(file: Path, timezone: str, html: Path | None, as_json: bool) -> None:
    """Say what is in GPS traces, and draw them."""
    from tracearena.pages.gps_summary import summarise_gps

    reading = read(file, timezone)
    if html is not None:
        from tracearena.pages.gps_description import gps_description

        gps_description(reading, file.name).write(html)
        note(f"wrote {html}")
    print_result(summarise_gps(reading).to_dict(), as_json)


def convert(
    file: Path,
    out: Path,
    to: str | None,
    choices: Choices,
    resample: str | None,
    places_out: Path | None,
    user_key: Path | None,
    as_json: bool,
) -> None:
    """Convert GPS traces to other GPS traces, or with a grid to events at its cells."""
    from tracearena.formats import gps

    traces = read_traces(file, choices.timezone or "UTC")
    if choices.bounds is not None:
        traces = traces.take_box(*choices.bounds)
    result = {"format": "gps", "users": traces.n_users, "points": traces.n_points}
    key = user_numbers(user_key, to)
    if choices.grid is None:
        write_traces(traces, out, to)
        print_result(result | {"to": to or gps.format_of(out), "written": [str(out)]}, as_json)
        return
    from tracearena.formats import fitted, write
    from tracearena.formats.report import report_of
    from tracearena.formats.user_key import LOWEST, keeping

    events = _events(traces, choices, resample)
    report = report_of(file, "gps", traces.n_points)
    events = fitted(events, to or "table", report, key)
    events = key.numbered(events, to) if to == "ppmtf" else events
    for line in report.lines():
        note(line)
    with keeping(key, {out: events.user_ids.tolist()} if to in LOWEST else {}, user_key) as keys:
        written = [str(path) for path in (*write(out, events, to=to, places_out=places_out), *keys)]
    say_keys(keys)
    say_lost_dates(to, events)
    result |= {"to": to or "table", "events": events.n_events, "places": len(events.places)}
    print_result(result | {"written": written}, as_json)


def _events(traces: GpsTraces, choices: Choices, resample: str | None) -> Traces:
    from tracearena.traces import Clock, Grid, Places
    from tracearena.traces.area import default_area
    from tracearena.traces.gridding import gridded, resampled

    south, west, north, east = choices.bounds or default_area(traces, 88.6)
    rows, columns = choices.grid or (1, 1)
    places = Places.of_grid(Grid(rows=rows, columns=columns, south=south, west=west, north=north, east=east))
    interval = choices.interval_s or 3600
    slots = choices.instants_per_slot(interval)
    clock = Clock(instants_per_day=86_400 // interval, interval_s=interval, instants_per_slot=slots)
    zone = choices.timezone or "UTC"
    if resample is None:
        return gridded(traces, places, clock, timezone=zone)
    return resampled(traces, places, clock, method=resample, timezone=zone)  # type: ignore[arg-type]


def obfuscate(
    defence: str,
    original: Path,
    out: Path,
    seed: int | None,
    timezone: str,
    digits: int | None,
    as_json: bool,
) -> None:
    """Run a defence of GPS traces from file to file."""
    from tracearena import answers, registry
    from tracearena.errors import ParameterError
    from tracearena.obfuscation import GpsObfuscator
    from tracearena.obfuscation.gps_base import DIGITS, rounded

    options = {} if digits is None else {"digits": digits}
    obfuscator: GpsObfuscator = registry.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} says {kept}; leave one of them out")
    traces = read_traces(original, timezone)
    say_unread_columns(original)
    # Our own defences round already; a class from elsewhere need not know that it should.
    released = rounded(answers.gps_transformed(obfuscator, traces, seed=release_seed(seed)), kept)
    write_traces(released, out)
    note(f"{out}: user ids are as in {original}; tracearena pseudonymise replaces them")
    result = {"defence": str(obfuscator), "file": str(out), "users": released.n_users}
    print_result(result | {"points": released.n_points, "left_out": len(traces) - len(released)}, as_json)


def attack(name: str, out: Path, anonymized: Path, timezone: str, as_json: bool) -> None:
    """Run an attack on GPS traces from file to file."""
    from tracearena import answers, registry
    from tracearena.attacks import GpsAttack

    attacker: GpsAttack = registry.create(name, "gps-attack")
    recovered = answers.recovered(attacker, read_traces(anonymized, timezone))
    write_traces(recovered, out)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
