"""``tracearena protect``: find a defence that holds, apply it, and show the proof."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
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
from tracearena.cli._measuring import CsvOption, FileArgument, MeasuringOptions, OutOption, order_of, run
from tracearena.cli._percent import share_of
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions, say
from tracearena.cli._stopping import say_outcome, unhurried

if TYPE_CHECKING:
    from tracearena.audit import Audit, Protection, Settings
    from tracearena.intake import Reading
    from tracearena.traces import IdTable

NOTHING_HOLDS = 3
"""Exit status where no defence keeps the limits."""


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
            "--defences",
            help="A defence to try, such as 'PL(1,1)+SwapTimes(1km,month)'; repeat for more. "
            "[default: those that suit the file]",
        ),
    ] = None,
    id_table: Annotated[
        Path | None, typer.Option("--id-table", help="Where the secret table of who is who goes.")
    ] = None,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the most useful defence that keeps the limits, apply it to the traces, and prove the release.

    Defences are chosen on one half of the people; the proof is an audit of the released file on the other
    half. The release is drawn from the system's secret source, whatever --seed says: that is for the
    measurement. Exit status 0: a release was written and keeps all limits. 3: none does; the page says the
    least risk that was reached and by what, and SAFER is not written.
    """
    from tracearena.audit.page import PAGE, outcome
    from tracearena.errors import ParameterError
    from tracearena.intake.positions import local_time
    from tracearena.traces import GpsTraces

    check_outputs(safer, id_table, inputs=(file, *reading.files))
    check_outputs(out, inputs=(file, safer), folders=True)
    if any(one.startswith("found-again") for one in measuring.limit or ()):
        raise ParameterError("--limit found-again is for audit; protect takes it as --target-risk")
    target = share_of("--target-risk", target_risk)
    settings = replace(measuring.settings(), found_again=target)
    used = chosen_seed(seed)
    with shown(f"reading {file.name}"):
        original = reading.read(file)
    say(original)
    traces = original.traces
    zone = local_time(traces, original.report) if isinstance(traces, GpsTraces) else None
    release = _Release(reading, original, safer, id_table)
    given: dict[str, Any] = {"traces": traces, "source": file, "timezone": zone}
    asked = {"target": target, "defences": defences, "attacks": measuring.attack or ()}
    try:
        found = _search(given, asked, settings, used, out, tables, release)
        command = None
        if found.chosen is not None:
            said = [*reading.words, *measuring.words, "--target-risk", target_risk]
            command = _command(found, file, safer, out, said)
        audit = found.proof
        if audit is None:
            audit = run(given, settings, used, out, tables=tables, protection=found)
        else:
            _write_page(audit, out, tables=tables, protection=found, command=command)
            release.keep()
    finally:
        release.discard()
    result = {
        "verdict": outcome(found),
        "defence": found.chosen,
        "file": str(safer) if found.chosen else None,
        "command": command,
    }
    if as_json:
        print_result(result | {"protection": found.to_dict(), "audit": audit.to_dict()}, True)
    else:
        known = {name: value for name, value in result.items() if value is not None}
        print_result({**known, **_useful(found), "page": str(out / PAGE)}, False)
    if found.chosen is None:
        raise typer.Exit(NOTHING_HOLDS)


class _Release:
    """The file that is being proved: written next to its place, and moved there when it is proved."""

    def __init__(
        self, reading: ReadingOptions, original: Reading[Any], safer: Path, id_table: Path | None
    ) -> None:
        self._reading, self._original = reading, original
        self._safer, self._id_table = safer, id_table
        self._folder = safer.with_name(f".unproved-{safer.name}")
        self._who: IdTable | None = None

    @property
    def draft(self) -> Path:
        """Where it is being proved, under the name that it will have."""
        return self._folder / self._safer.name

    @property
    def original_order(self) -> Any:
        """The users of the original by their first rows."""
        return order_of(self._original)

    def publish(self, released: Any, who: IdTable) -> tuple[Any, Any]:
        """Write a release under pseudonyms, and read it as others will, with the order of its rows."""
        from tracearena.cli import _gps
        from tracearena.cli._forms import form_of, write_anonymized
        from tracearena.traces import GpsTraces

        self._who = who
        self._folder.mkdir(exist_ok=True)
        if isinstance(released, GpsTraces):
            _gps.write_traces(released, self.draft)
            given: Reading[Any] = self._reading.for_another(self.draft).read_points(self.draft)
            return given.traces, order_of(given)
        contest = self._original.report.format == "pwscup"
        write_anonymized(released, self.draft, form_of(self.draft, None, contest=contest))
        given = self._reading.read_anonymized(self.draft, self._original)
        return given.traces, order_of(given)

    def keep(self) -> None:
        """Move the release to its place, and write who is who if that is asked for."""
        assert self._who is not None
        if self._id_table is not None:
            _write_secret(self._who, self._id_table)
        self.draft.replace(self._safer)

    def discard(self) -> None:
        """Remove what was not proved."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _search(
    given: dict[str, Any],
    asked: dict[str, Any],
    settings: Settings,
    seed: int,
    out: Path,
    tables: bool,
    release: _Release,
) -> Protection:
    """Try the defences, and say of each what became of it; after Ctrl-C a page holds what is known."""
    from tracearena.audit import searching, stages, write_audit

    last: Protection | None = None
    said: set[str] = set()
    with unhurried():
        try:
            with working("defences"):
                for last in searching(
                    **given, **asked, settings=settings, seed=seed, publish=release.publish,
                    release_source=release.draft, original_order=release.original_order,
                ):  # fmt: skip
                    _say(last, said)
        except KeyboardInterrupt:
            if last is not None:
                begun = next(stages(**given, settings=settings, seed=seed))
                write_audit(begun, out, tables=tables, protection=last)
                say_outcome(f"{out} holds what was finished, marked as incomplete")
            raise
    assert last is not None
    return last


def _write_page(audit: Audit, out: Path, **told: Any) -> None:
    from tracearena.audit import write_audit

    write_audit(audit, out, **told)


def _say(found: Protection, said: set[str]) -> None:
    """Say what became of the defences tried since."""
    from tracearena.audit.texts import risk_words

    for one in found.trials:
        if one.defence in said or (one.risk is None and one.error is None):
            continue
        said.add(one.defence)
        risk = one.error
        if one.risk is not None:
            risk = f"{risk_words(one.risk, one.at_least)} found by {one.attack}"
        kept = "" if one.kept is None else f", {one.kept:.0%} kept"
        over = [light.question for light in one.lights if light.colour not in ("green", "grey")]
        also = "".join(
            f"; {name.replace('_', ' ')} not within its limit" for name in over if name != "linkability"
        )
        note(f"{one.defence}: {risk}{kept}{also}")
    for name, audit in found.proofs.items():
        if f"proof of {name}" not in said:
            said.add(f"proof of {name}")
            linked = audit.risks.linkability
            share = None if linked is None else linked.headline
            risk = "nobody" if share is None else risk_words(share, False)
            note(f"proof of {name}: {risk} found again, {audit.verdict}")


def _command(found: Protection, file: Path, safer: Path, out: Path, said: list[str]) -> str:
    """Return the command that makes such a release again, with the options that were said."""
    words = ["tracearena", "protect", str(file), str(safer), *said, "--out", str(out)]
    return shlex.join([*words, "--defences", str(found.chosen)])


def _useful(found: Protection) -> dict[str, str]:
    """Say what is kept, and whether events were moved to cells or to other times."""
    from tracearena.audit.page import changes

    if found.proof is None or found.proof.usefulness is None:
        return {}
    kept, whole = found.proof.usefulness.kept or 0.0, found.proof.usefulness.kept_of_file or 0.0
    told = {"usefulness": f"{kept:.0%} of six tasks is kept, {whole:.0%} against the original file"}
    said = changes(found)
    return told | ({"changed": " ".join(said)} if said else {})


def _write_secret(who: IdTable, path: Path) -> None:
    from tracearena.files import csv_text, replacing
    from tracearena.formats.pseudonyms import HEADER

    rows = zip(who.pseudonyms.tolist(), who.user_ids.tolist(), strict=True)
    with replacing(path, private=True) as out:
        out.write(csv_text(HEADER, rows).encode())
