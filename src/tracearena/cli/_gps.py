"""What commands do with GPS traces alone: defences and attacks that know coordinates and no places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tracearena.cli import _streams
from tracearena.cli._cluster import joined
from tracearena.cli._console import check_outputs, note, print_result, release_seed
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._refusing import refuse
from tracearena.errors import ParameterError

if TYPE_CHECKING:
    from tracearena.algorithms import GpsObfuscator
    from tracearena.cli._shuffling import Pseudonyms
    from tracearena.engine import Cluster
    from tracearena.intake.report import Report
    from tracearena.traces import GpsTraces

EVENTS_ONLY = ("places", "times", "grid", "top", "interval", "slot", "resample", "utc_hours")
"""Options of reading that make events of points, which no application wants."""


def read_traces(reading: ReadingOptions, path: Path, what: str = "GPS points") -> GpsTraces:
    """Read GPS traces, and the coordinates of events too; refuse to put them at places."""
    refuse_places(reading, what)
    with shown(f"reading {path.name}"):
        return reading.read_points(path).traces


def refuse_places(reading: ReadingOptions, what: str) -> None:
    """Refuse options that would put points at places."""
    refuse(
        f"{what}, which stay at no places",
        **{name: getattr(reading, name) for name in ("grid", "places", "times", "top", "interval", "slot")},
        resample=reading.resample,
        utc_hours=reading.utc_hours,
    )


def write_traces(traces: GpsTraces, out: Path, to: str | None = None) -> None:
    """Write GPS traces, and say which users a table cannot hold."""
    from tracearena.formats import write
    from tracearena.formats.writing import format_of_name

    write(traces, out, to=to)
    silent = int((traces.offsets[1:] == traces.offsets[:-1]).sum())
    if silent and (to or format_of_name(out, "points")) == "points":
        note(f"{out}: {silent:,} users without points have no row in a table")


@dataclass(frozen=True)
class Asked:
    """What is to become of obfuscated points."""

    out: Path
    to: str | None
    seed: int | None
    digits: int | None
    cluster: str | None
    resume: bool


def obfuscate(
    context: typer.Context,
    reading: ReadingOptions,
    defence: str,
    original: Path,
    asked: Asked,
    as_json: bool,
) -> None:
    """Run a defence of GPS traces from file to file."""
    from tracearena.algorithms import catalogue
    from tracearena.formats.writing import form_of_points
    from tracearena.obfuscation.gps import DIGITS

    out, digits = asked.out, asked.digits
    check_outputs(out, inputs=(original,), folders=True)
    options: dict[str, Any] = {} if digits is None else {"digits": digits}
    if reading.timezone is not None:
        options["timezone"] = reading.timezone
    obfuscator: GpsObfuscator = catalogue.create(defence, "gps-obfuscator", **options)
    kept = getattr(obfuscator, "digits", DIGITS if digits is None else digits)
    if digits not in (None, kept):
        raise ParameterError(f"--digits {digits}: {defence} says {kept}; leave one of them out")
    refuse_places(reading, defence)
    if asked.to != _streams.PARTS:
        form_of_points(out, "points" if asked.to == "table" else asked.to)
    if obfuscator.by_user and _streams.goes_through(
        reading, original, out, asked.to, cluster=asked.cluster, resume=asked.resume
    ):
        counts = _obfuscate_any_size(context, reading, obfuscator, original, asked, kept)
    else:
        if asked.to == _streams.PARTS or asked.cluster is not None or asked.resume:
            raise ParameterError(
                f"{defence} needs all users at once: --to partitions, --cluster and --resume do not apply"
            )
        counts = _obfuscate_at_once(reading, obfuscator, original, asked, kept)
    note(f"{out}: user ids are as in {original}; tracearena pseudonymise replaces them")
    print_result({"defence": str(obfuscator), "file": str(out)} | counts, as_json)


def _obfuscate_at_once(
    reading: ReadingOptions, obfuscator: GpsObfuscator, original: Path, asked: Asked, digits: int
) -> dict[str, Any]:
    from tracearena.algorithms import validation
    from tracearena.obfuscation.gps import rounded

    traces = read_traces(reading, original, obfuscator.name)
    reading.say_unread_columns(original, "points")
    with shown("users"):
        moved = validation.gps_transformed(obfuscator, traces, seed=release_seed(asked.seed))
    # Our own defences round already; a class from elsewhere need not know that it should.
    released = rounded(moved, digits)
    write_traces(released, asked.out, "points" if asked.to == "table" else asked.to)
    withheld = len(traces) - len(released)
    return {"users": released.n_users, "points": released.n_points, "points_withheld": withheld}


def _obfuscate_any_size(
    context: typer.Context,
    reading: ReadingOptions,
    obfuscator: GpsObfuscator,
    original: Path,
    asked: Asked,
    digits: int,
) -> dict[str, Any]:
    """Obfuscate a few users at a time, with the bytes of all at once."""
    from tracearena.engine import seed_sequence
    from tracearena.streams import identity_of, obfuscation

    root = seed_sequence(release_seed(asked.seed))
    reading.say_unread_columns(original, "points")
    written = _streams.write_changed(
        reading,
        original,
        asked.out,
        lambda table, root: obfuscation(table, obfuscator, root, digits),
        to=asked.to,
        cluster=joined(context, asked.cluster),
        resume=asked.resume,
        depends_on=(*identity_of(obfuscator), digits, asked.seed),
        root=root,
    )
    _streams.say_silent(written, asked.out)
    return {"users": written.users, "points": written.points, "points_withheld": written.withheld}


def write_renamed(reading: ReadingOptions, file: Path, out: Path, pseudonyms: Pseudonyms, **how: Any) -> None:
    """Write a table of points under pseudonyms, a few users at a time."""
    from tracearena.streams import renaming

    reading.say_unread_columns(file, "points")
    written = _streams.write_changed(
        reading, file, out, lambda table, root: renaming(table, pseudonyms()), **how
    )
    _streams.say_silent(written, out)


def converts_any_size(reading: ReadingOptions, file: Path, out: Path, to: str | None) -> bool:
    """Whether a table of points can be converted to another a few users at a time."""
    return (
        not any(getattr(reading, name) for name in EVENTS_ONLY)
        and to in (None, "points", _streams.PARTS)
        and _streams.can_go_through(reading, file, out, to)
        and (reading.format is not None or _streams.are_points(reading, file))
    )


def convert_any_size(
    reading: ReadingOptions,
    file: Path,
    out: Path,
    to: str | None,
    cluster: Cluster | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Write a table of points as another."""
    from tracearena.streams import unchanged

    written = _streams.write_changed(
        reading,
        file,
        out,
        lambda table, root: unchanged,
        to=to,
        cluster=cluster,
        resume=resume,
        depends_on=("convert",),
        check=lambda found: refuse_useless_zone(reading, found.report),
    )
    _streams.say_silent(written, out)
    result = {"format": "gps", "users": written.users - written.silent, "points": written.points}
    print_result(result | {"to": to or "points", "written": [str(out)]}, as_json)


def refuse_useless_zone(reading: ReadingOptions, report: Report) -> None:
    """Refuse a zone where all times name theirs and nothing needs local ones."""
    if reading.timezone is not None and report.unzoned == 0:
        why = "without --grid there are no local hours, and all times of the file name their zone"
        raise ParameterError(f"--timezone does not apply: {why}")


def attack(
    reading: ReadingOptions, name: str, out: Path, anonymized: Path, to: str | None, as_json: bool
) -> None:
    """Run an attack on GPS traces from file to file."""
    from tracearena.algorithms import GpsAttack, catalogue, validation

    check_outputs(out, inputs=(anonymized,), folders=True)
    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = validation.recovered(attacker, read_traces(reading, anonymized, name))
    write_traces(recovered, out, "points" if to == "table" else to)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    print_result(result | {"users": recovered.n_users, "points": recovered.n_points}, as_json)
