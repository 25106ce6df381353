"""How commands read and write GPS traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracearena.cli._console import chosen_seed, note, print_result

if TYPE_CHECKING:
    from tracearena.formats.gps_reading import GpsReading
    from tracearena.traces import GpsTraces

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


def obfuscate(
    defence: str, original: Path, out: Path, seed: int | None, timezone: str, as_json: bool
) -> None:
    """Run a defence of GPS traces from file to file."""
    from tracearena import registry
    from tracearena.formats import gps
    from tracearena.obfuscation import GpsObfuscator

    obfuscator: GpsObfuscator = registry.create(defence, "gps-obfuscator")
    traces = read_traces(original, timezone)
    released = obfuscator.transform(traces, seed=chosen_seed(seed))
    gps.write(released, out)
    result = {"defence": str(obfuscator), "file": str(out), "users": released.n_users}
    print_result(result | {"points": released.n_points, "left_out": len(traces) - len(released)}, as_json)


def attack(name: str, out: Path, anonymized: Path, timezone: str, as_json: bool) -> None:
    """Run an attack on GPS traces from file to file."""
    from tracearena import registry
    from tracearena.attacks import GpsAttack
    from tracearena.formats import gps

    attacker: GpsAttack = registry.create(name, "gps-attack")
    recovered = attacker.recover(read_traces(anonymized, timezone))
    gps.write(recovered, out)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
