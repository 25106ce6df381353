"""How commands read and write GPS traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import note, print_result, release_seed
from tracearena.cli._contest_files import say_keys, say_lost_dates, user_numbers
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.intake import Choices, Report
    from tracearena.intake.gps_reading import GpsReading
    from tracearena.traces import GpsTraces, Traces

TimezoneOption = Annotated[
    str, typer.Option("--timezone", help="Zone of times in a table that name none, such as Asia/Shanghai.")
]


def read_traces(path: Path, timezone: str = "UTC") -> GpsTraces:
    """Read GPS traces and say on stderr what was wrong with them."""
    return read(path, timezone).traces


def read(path: Path, timezone: str | None = None, format: str | None = None) -> GpsReading:
    """Read GPS traces with their report, and say on stderr what was wrong with them."""
    from tracearena.formats import gps

    reading = gps.read(path, format, timezone=timezone)
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
    """Whether a path holds GPS traces: by the format named, or else by its content."""
    from tracearena.formats import gps

    return gps.is_gps(path, format)


def describe(file: Path, format: str | None, choices: Choices, html: Path | None, as_json: bool) -> None:
    """Say what is in GPS traces, and draw them."""
    from tracearena.pages.gps_summary import summarise_gps

    reading = _boxed(read(file, choices.timezone, format), choices)
    if html is not None:
        from tracearena.pages.gps_description import gps_description_page

        gps_description_page(reading, file.name).write(html)
        note(f"wrote {html}")
    result = summarise_gps(reading).to_dict()
    # A table of points has no places, and much else is told of events alone.
    shown = result if as_json else {name: value for name, value in result.items() if value is not None}
    print_result(shown, as_json)


def events(
    file: Path, format: str | None, choices: Choices, resample: str | None = None
) -> tuple[Traces, Report]:
    """Read GPS traces as events at the cells of a grid."""
    from tracearena.formats import gps
    from tracearena.formats.gps_events import events_of

    return events_of(gps.read(file, format, timezone=choices.timezone), file, choices, resample=resample)


def convert(
    file: Path,
    format: str | None,
    out: Path,
    to: str | None,
    choices: Choices,
    resample: str | None,
    places_out: Path | None,
    user_key: Path | None,
    as_json: bool,
) -> None:
    """Convert GPS traces to other GPS traces, or with a grid to events at its cells."""
    from tracearena.files.staging import replacing_all
    from tracearena.formats import gps

    key = user_numbers(user_key, to)
    if choices.grid is None:
        reading = read(file, choices.timezone, format)
        if choices.timezone is not None and reading.unzoned == 0:
            why = "without --grid there are no local hours, and all times of the file name their zone"
            raise ParameterError(f"--timezone does not apply: {why}")
        traces = _boxed(reading, choices).traces
        write_traces(traces, out, to)
        result = {"format": "gps", "users": traces.n_users, "points": traces.n_points}
        print_result(result | {"to": to or gps.format_of(out), "written": [str(out)]}, as_json)
        return
    from tracearena.formats import write
    from tracearena.intake import fitted
    from tracearena.intake.user_key import LOWEST, keeping

    made, report = events(file, format, choices, resample)
    made = fitted(made, to or "table", report, key)
    made = key.numbered(made, to) if to == "ppmtf" else made
    for line in report.lines():
        note(line)
    numbers = {out: made.user_ids.tolist()} if to in LOWEST else {}
    with replacing_all(), keeping(key, numbers, user_key) as keys:
        written = [str(path) for path in (*write(made, out, to=to, places_out=places_out), *keys)]
    say_keys(keys)
    say_lost_dates(to, made)
    result = report.to_dict() | {"format": "gps", "users": made.n_users, "points": report.rows}
    result |= {"to": to or "table", "events": made.n_events, "places": len(made.places), "written": written}
    shown = ("format", "users", "points", "to", "events", "places", "written")
    print_result(result if as_json else {name: result[name] for name in shown}, as_json)


def _boxed(reading: GpsReading, choices: Choices) -> GpsReading:
    import dataclasses

    if choices.bounds is None:
        return reading
    traces = reading.traces.take_box(*choices.bounds)
    if not len(traces):
        raise ParameterError(f"no point lies within the bounds {choices.bounds}")
    return dataclasses.replace(reading, traces=traces)


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
    from tracearena.algorithms import GpsObfuscator, answers, catalogue
    from tracearena.algorithms.kinds import DIGITS, rounded
    from tracearena.errors import ParameterError

    options = {} if digits is None else {"digits": digits}
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
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
    from tracearena.algorithms import GpsAttack, answers, catalogue

    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = answers.recovered(attacker, read_traces(anonymized, timezone))
    write_traces(recovered, out)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
