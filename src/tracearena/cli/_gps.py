"""What commands do with GPS traces alone: defences and attacks that know coordinates and no places."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import check_outputs, note, print_result, release_seed
from tracearena.cli._reading import say_unread_columns
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.traces import GpsTraces

TimezoneOption = Annotated[
    str, typer.Option("--timezone", help="Zone of times in a table that name none, such as Asia/Shanghai.")
]


def read_traces(path: Path, timezone: str = "UTC") -> GpsTraces:
    """Read GPS traces, and the coordinates of events too; say on stderr what was wrong with them."""
    from tracearena.formats import read, recognition

    format = "points" if "points" in recognition.look_at(path).formats else None
    traces, report = read(path, format, timezone=timezone).as_points()
    for line in report.lines():
        note(line)
    return traces


def write_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    from tracearena.formats import write
    from tracearena.formats.dispatch import format_of_points

    write(traces, out, to=to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or format_of_points(out)) == "points":
        note(f"{out}: {silent:,} users without points have no row in a table")


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
    from tracearena.obfuscation.rounding import DIGITS, rounded

    check_outputs(out, inputs=(original,), folders=True)
    options = {} if digits is None else {"digits": digits}
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} says {kept}; leave one of them out")
    traces = read_traces(original, timezone)
    say_unread_columns(original, "points")
    # Our own defences round already; a class from elsewhere need not know that it should.
    released = rounded(answers.gps_transformed(obfuscator, traces, seed=release_seed(seed)), kept)
    write_traces(released, out)
    note(f"{out}: user ids are as in {original}; tracearena pseudonymise replaces them")
    result = {"defence": str(obfuscator), "file": str(out), "users": released.n_users}
    withheld = {"points": released.n_points, "points_withheld": len(traces) - len(released)}
    print_result(result | withheld, as_json)


def attack(name: str, out: Path, anonymized: Path, timezone: str, as_json: bool) -> None:
    """Run an attack on GPS traces from file to file."""
    from tracearena.algorithms import GpsAttack, answers, catalogue

    check_outputs(out, inputs=(anonymized,), folders=True)
    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = answers.recovered(attacker, read_traces(anonymized, timezone))
    write_traces(recovered, out)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
