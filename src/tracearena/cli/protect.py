"""``tracearena protect``: find a defence that holds, apply it, and show the proof."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import (
    JsonOption,
    SeedOption,
    check_outputs,
    chosen_seed,
    note,
    print_result,
    working,
)
from tracearena.cli._declaring import reads_traces
from tracearena.cli._measuring import CsvOption, FileArgument, MeasuringOptions, OutOption, run
from tracearena.cli._percent import share_of
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions, say
from tracearena.cli._stopping import say_outcome, unhurried

if TYPE_CHECKING:
    from tracearena.audit import Protection, Settings
    from tracearena.intake import Report
    from tracearena.intake.local_time import LocalTime
    from tracearena.traces import IdTable


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(protect)


@reads_traces(beside={"measuring": MeasuringOptions})
def protect(
    reading: ReadingOptions,
    measuring: MeasuringOptions,
    file: FileArgument,
    safer: Annotated[
        Path,
        typer.Argument(metavar="SAFER", help="Where the release goes, under pseudonyms (.csv, .parquet)."),
    ],
    out: OutOption,
    target_risk: Annotated[
        str,
        typer.Option(
            "--target-risk",
            help="Of so many people at most may be found again, by the upper end of the 95 % interval.",
        ),
    ] = "5%",
    defences: Annotated[
        list[str] | None,
        typer.Option(
            "--defences", help="A defence to try; repeat for more. [default: a ladder that suits the file]"
        ),
    ] = None,
    id_table: Annotated[
        Path | None, typer.Option("--id-table", help="Where the secret table of who is who goes.")
    ] = None,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the cheapest defence that holds, apply it to the traces, and show the proof.

    Defences are chosen on one half of the people and proved on the other. The release is drawn from
    the system's secret source, whatever --seed says: that is for the measurement. Where nothing holds,
    it is said, and SAFER is not written.
    """
    from tracearena.algorithms import catalogue
    from tracearena.intake.positions import local_time
    from tracearena.traces import GpsTraces

    check_outputs(safer, id_table, inputs=(file, *reading.files))
    check_outputs(out, inputs=(file, safer), folders=True)
    target = share_of("--target-risk", target_risk)
    settings = measuring.settings()
    used = chosen_seed(seed)
    with shown(f"reading {file.name}"):
        original = reading.read(file)
    say(original)
    traces = original.traces
    zone = local_time(traces, original.report) if isinstance(traces, GpsTraces) else None
    given: dict[str, Any] = {"traces": traces, "source": file, "timezone": zone}
    found = _search(given, target, settings, defences, used, out, tables)
    command = None
    if found.chosen is not None:
        released, at_own_places = _release(found.chosen, traces, settings, zone)
        _write(released, safer, id_table, original.report)
        given |= {"released": released, "release_source": safer}
        if not catalogue.is_kind(found.chosen, "synthesizer"):
            given["mechanism"] = found.chosen
        days = 1
        if not isinstance(traces, GpsTraces):
            days = -(-traces.n_instants // traces.clock.instants_per_day)
        command = (
            _command(found.chosen, file, safer, original.report, days, reading.words)
            if at_own_places
            else _again(found.chosen, file, safer, out, reading.words)
        )
    audit = run(given, settings, used, out, tables=tables, protection=found, command=command)
    result = {"defence": found.chosen, "file": str(safer) if found.chosen else None, "command": command}
    if as_json:
        print_result(result | {"protection": found.to_dict(), "audit": audit.to_dict()}, True)
        return
    known = {name: value for name, value in result.items() if value is not None}
    print_result({**known, **_for_people(found, out)}, False)


def _search(
    given: dict[str, Any],
    target: float,
    settings: Settings,
    defences: list[str] | None,
    seed: int,
    out: Path,
    tables: bool,
) -> Protection:
    """Try the defences, and say of each what became of it; after Ctrl-C a page holds what is known."""
    from tracearena.audit import searching, stages, write_audit

    last: Protection | None = None
    said = 0
    traces, zone = given["traces"], given["timezone"]
    with unhurried():
        try:
            with working("defences"):
                for last in searching(
                    traces, target=target, settings=settings, defences=defences, timezone=zone, seed=seed
                ):
                    said = _say(last, said)
        except KeyboardInterrupt:
            if last is not None:
                begun = next(stages(**given, settings=settings, seed=seed))
                write_audit(begun, out, tables=tables, protection=last)
                say_outcome(f"{out} holds what was finished, marked as incomplete")
            raise
    assert last is not None
    return last


def _say(found: Protection, said: int) -> int:
    """Say what became of the defences tried since; returns how many were."""
    from tracearena.audit.phrases import share_words

    tried = (*found.trials, *found.proofs)
    for one in tried[said:]:
        risk = one.error if one.risk is None else f"{share_words(one.risk)} found by {one.attack}"
        kept = "" if one.kept is None else f", {one.kept:.0%} kept"
        note(f"{'proof of ' if one in found.proofs else ''}{one.defence}: {risk}{kept}")
    return len(tried)


def _command(defence: str, file: Path, safer: Path, report: Report, days: int, reading: list[str]) -> str:
    """Return the commands that do the same step by step."""
    from tracearena.algorithms import catalogue

    is_synthetic = catalogue.is_kind(defence, "synthesizer")
    between = "synthetic.csv" if is_synthetic else "obfuscated.csv"
    makes = ["synthesize" if is_synthetic else "obfuscate", defence, str(file), between, *reading]
    if is_synthetic:
        makes += ["--traces-per-user", str(days)]
    original = []
    if report.format == "pwscup" and not is_synthetic:
        original = ["--original", str(file), *reading]
    names = ["pseudonymise", between, str(safer), *original, "--id-table", "secret.csv"]
    return f"{shlex.join(['tracearena', *makes])} && {shlex.join(['tracearena', *names])}"


def _again(defence: str, file: Path, safer: Path, out: Path, reading: list[str]) -> str:
    """Return the command for a release at cells, which only this command makes."""
    words = ["tracearena", "protect", str(file), str(safer), *reading, "--out", str(out)]
    return shlex.join([*words, "--defences", defence])


def _release(defence: str, traces: Any, settings: Settings, zone: LocalTime | None) -> tuple[Any, bool]:
    """Apply a defence to all of the traces, with secret randomness.

    Returns
    -------
    released, at_own_places
        The release, and whether it lies at the file's own places, not at cells that were made of them.
    """
    from tracearena.algorithms import catalogue
    from tracearena.audit.material import Material
    from tracearena.audit.trials import protected
    from tracearena.engine import seed_sequence

    made = catalogue.create(defence, ("obfuscator", "gps-obfuscator", "synthesizer"))
    with shown("users"):
        material = Material.of(traces, settings, zone)
        _, published = protected(made, material.on_coarse_ground(), seed_sequence(None), all_days=True)
    released = published.points if published.points is not None else published.exact
    return released, material.cell is None


def _write(released: Any, safer: Path, id_table: Path | None, report: Report) -> None:
    """Write the release under pseudonyms, and the table of who is who if it is asked for."""
    from tracearena.arena import pseudonymise, pseudonymise_users
    from tracearena.cli import _gps
    from tracearena.cli._forms import form_of, write_anonymized
    from tracearena.traces import GpsTraces

    if isinstance(released, GpsTraces):
        public, who = pseudonymise_users(released)
        _gps.write_traces(public, safer)
    else:
        release = pseudonymise(released)
        who = release.id_table
        write_anonymized(release.anonymized, safer, form_of(safer, None, contest=report.format == "pwscup"))
    if id_table is not None:
        _write_secret(who, id_table)


def _write_secret(who: IdTable, path: Path) -> None:
    from tracearena.files import csv_text, replacing
    from tracearena.formats.pseudonyms import HEADER

    rows = zip(who.pseudonyms.tolist(), who.user_ids.tolist(), strict=True)
    with replacing(path, private=True) as out:
        out.write(csv_text(HEADER, rows).encode())


def _for_people(found: Protection, out: Path) -> dict[str, Any]:
    from tracearena.audit.protection_page import outcome
    from tracearena.audit.writing import PAGE

    return {"outcome": outcome(found), "page": str(out / PAGE)}
