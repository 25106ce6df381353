"""``tracearena audit``: how risky a file is, or how safe a release of it, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, SeedOption, check_outputs, chosen_seed, print_result
from tracearena.cli._declaring import reads_traces
from tracearena.cli._measuring import CsvOption, FileArgument, MeasuringOptions, OutOption, order_of, run
from tracearena.cli._progress import shown
from tracearena.cli._reading import ReadingOptions
from tracearena.cli._refusing import refuse

if TYPE_CHECKING:
    from tracearena.audit import Audit
    from tracearena.intake import Reading
    from tracearena.intake.sampling import Sample, Sampled
    from tracearena.traces import IdTable


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(audit)


@reads_traces(beside={"measuring": MeasuringOptions})
def audit(
    reading: ReadingOptions,
    measuring: MeasuringOptions,
    file: FileArgument,
    out: OutOption,
    released: Annotated[
        Path | None, typer.Option("--released", help="What is to be published of it: audit this version.")
    ] = None,
    id_table: Annotated[
        Path | None,
        typer.Option("--id-table", help="Who is who (pse_id,user_id), where the release has pseudonyms."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", help="The defence that made the release, which attackers know."),
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Nobody in the release is a person of the original.")
    ] = False,
    others: Annotated[
        Path | None,
        typer.Option("--others", help="People who were not used for a synthetic release, for membership."),
    ] = None,
    show_people: Annotated[
        bool,
        typer.Option("--show-people", help="Draw the weeks of three people, who should have agreed to it."),
    ] = False,
    tables: CsvOption = False,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Audit traces: can people be singled out, found again, and what can be learned about them.

    Attacks run on the file itself, each beside what guessing gives. With --released they run against
    that version of it. The page is OUT/audit.html; stopped by Ctrl-C, it holds what was finished.
    """
    check_outputs(out, inputs=(file, released, id_table, others, *reading.files), folders=True)
    settings = measuring.settings(show_people=show_people)
    if released is None or synthetic:
        refuse("a file without a release of real people", mechanism=mechanism)
    used = chosen_seed(seed)
    with shown(f"reading {file.name}"):
        # People of a release, or those who were left out of it, cannot be drawn alike by their ids.
        sample = measuring.sample(file, used) if released is None else None
        given, read = _read(reading, file, released, id_table, synthetic, others, sample)
        given |= {"mechanism": mechanism, "attacks": measuring.attack or ()}
    found = run(given, settings, used, out, tables=tables, read=read, reading=reading.words)
    print_result(found.to_dict() if as_json else _for_people(found, out), as_json)


def _read(
    reading: ReadingOptions,
    file: Path,
    released: Path | None,
    id_table: Path | None,
    synthetic: bool,
    others: Path | None,
    sample: Sample | None,
) -> tuple[dict[str, Any], Sampled | None]:
    """Read everything that is named; returns the arguments of `stages`, and how many people were read."""
    from tracearena.cli._reading import say
    from tracearena.traces import GpsTraces

    if released is None:
        refuse("a file without --released", id_table=id_table, synthetic=synthetic, others=others)
    if not synthetic:
        refuse("a release of real people; --synthetic says that it is none", others=others)
    original = reading.read(file, sample)
    say(original)
    given: dict[str, Any] = {"traces": original.traces, "source": file, "synthetic": synthetic}
    if isinstance(original.traces, GpsTraces):
        from tracearena.intake.positions import local_time

        given["timezone"] = local_time(original.traces, original.report)
    columns = reading.other_columns(file, original.report.format, sample)
    given["columns"] = (columns, {})
    if released is not None:
        release = _release(reading, released, original, id_table, synthetic)
        given |= {
            "released": release.traces,
            "release_source": released,
            "orders": tuple(order_of(one) for one in (original, release)),
            "columns": (
                columns,
                reading.for_another(released).other_columns(released, release.report.format),
            ),
        }
    if others is not None:
        given["others"] = _alike(reading, others, original).traces
    given["id_table"] = _who(id_table)
    return given, original.report.sampled


def _release(
    reading: ReadingOptions, path: Path, original: Reading[Any], id_table: Path | None, synthetic: bool
) -> Reading[Any]:
    from tracearena.traces import Traces

    if synthetic or not isinstance(original.traces, Traces):
        return _alike(reading, path, original)
    if original.report.format == "pwscup" and id_table is None:
        return reading.read_obfuscated(path, original)
    return reading.read_anonymized(path, original)


def _alike(reading: ReadingOptions, path: Path, original: Reading[Any]) -> Reading[Any]:
    from tracearena.traces import Traces

    if isinstance(original.traces, Traces):
        return reading.read_alike(path, original)
    return reading.for_another(path).read_points(path)


def _who(path: Path | None) -> IdTable | None:
    if path is None:
        return None
    from tracearena.formats.pseudonyms import read_who_is_who

    return read_who_is_who(path)


def _for_people(found: Audit, out: Path) -> dict[str, Any]:
    from tracearena.audit.page import PAGE
    from tracearena.audit.results import lines

    return {**lines(found), "page": str(out / PAGE)}
