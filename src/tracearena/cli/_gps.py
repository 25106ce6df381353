"""What commands do with GPS traces alone: defences and attacks that know coordinates and no places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracearena.cli._console import check_outputs, note, print_result, release_seed
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions, refuse
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.traces import GpsTraces

EVENTS_ONLY = ("places", "times", "grid", "top", "interval", "slot", "resample", "utc_hours")
"""Options of reading that make events of points, which no application wants."""


def read_traces(reading: ReadingOptions, path: Path, what: str = "GPS points") -> GpsTraces:
    """Read GPS traces, and the coordinates of events too; refuse to put them at places."""
    refuse(
        f"{what}, which stay at no places",
        **{name: getattr(reading, name) for name in ("grid", "places", "times", "top", "interval", "slot")},
        resample=reading.resample,
        utc_hours=reading.utc_hours,
    )
    with shown(f"reading {path.name}"):
        return reading.read_points(path).traces


def write_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    from tracearena.formats import write
    from tracearena.formats.writing import format_of_name

    write(traces, out, to=to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or format_of_name(out, "points")) == "points":
        note(f"{out}: {silent:,} users without points have no row in a table")


def obfuscate(
    reading: ReadingOptions,
    defence: str,
    original: Path,
    out: Path,
    to: str | None,
    seed: int | None,
    digits: int | None,
    as_json: bool,
) -> None:
    """Run a defence of GPS traces from file to file."""
    from tracearena.algorithms import GpsObfuscator, answers, catalogue
    from tracearena.obfuscation.rounding import DIGITS, rounded

    check_outputs(out, inputs=(original,), folders=True)
    options = {} if digits is None else {"digits": digits}
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} says {kept}; leave one of them out")
    traces = read_traces(reading, original, defence)
    reading.say_unread_columns(original, "points")
    with shown("users"):
        moved = answers.gps_transformed(obfuscator, traces, seed=release_seed(seed))
    # Our own defences round already; a class from elsewhere need not know that it should.
    released = rounded(moved, kept)
    write_traces(released, out, "points" if to == "table" else to)
    note(f"{out}: user ids are as in {original}; tracearena pseudonymise replaces them")
    result: dict[str, Any] = {"defence": str(obfuscator), "file": str(out), "users": released.n_users}
    withheld = {"points": released.n_points, "points_withheld": len(traces) - len(released)}
    result |= withheld
    print_result(result, as_json)


def attack(
    reading: ReadingOptions, name: str, out: Path, anonymized: Path, to: str | None, as_json: bool
) -> None:
    """Run an attack on GPS traces from file to file."""
    from tracearena.algorithms import GpsAttack, answers, catalogue

    check_outputs(out, inputs=(anonymized,), folders=True)
    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = answers.recovered(attacker, read_traces(reading, anonymized, name))
    write_traces(recovered, out, "points" if to == "table" else to)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
