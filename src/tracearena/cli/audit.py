"""``tracearena audit`` and ``tracearena protect``.

How risky a file is, or how safe a release of it, as one page; and the search for a defence that keeps the
limits, with an audit of what it releases.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._app import delay_stop, print_outcome
from tracearena.cli._output import (
    JsonOption,
    SeedOption,
    check_outputs,
    choose_seed,
    note,
    parse_proportion,
    print_result,
    refuse_options,
    show_progress,
    show_unsaved_progress,
)
from tracearena.cli._reading import ReadingOptions, note_problems, reads_traces

if TYPE_CHECKING:
    from tracearena.audit import Audit, Protection, Settings
    from tracearena.io import Input, Reading
    from tracearena.io.suggestions import Sample, SampleSize
    from tracearena.traces import IdTable


FileArgument = Annotated[
    Path, typer.Argument(metavar="IN", help="Original traces of any format: events at places, or GPS points.")
]
OutOption = Annotated[Path, typer.Option("--out", help="New folder for audit.html and audit.json.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="Write tables of all shares beside the page, too.")]


_SAMPLED = "a random sample of a large file; in the whole file people have more others to hide among"
_LARGE_BYTES = 300 << 20
"""A file up to this size is read as a whole."""
_MOST_PEOPLE, _MOST_ROWS = 1_000_000, 20_000_000
"""Of a larger file, a random sample of people with about this many rows in total is read."""


def _build_measuring_option(name: str, help: str) -> Any:
    return typer.Option(name, help=help, rich_help_panel="Measuring")


@dataclass(frozen=True, kw_only=True)
class MeasuringOptions:
    """What the command line says about measuring."""

    people: Annotated[
        int,
        _build_measuring_option(
            "--people", help="Try attacks for so many people; of more, for a random sample."
        ),
    ] = 1000
    draws: Annotated[
        int, _build_measuring_option("--draws", help="How often a person's known points are drawn.")
    ] = 20
    limit: Annotated[
        list[str] | None,
        _build_measuring_option(
            "--limit",
            help="What may be found: NAME=SHARE, of found-again, singling-out and inference; the last two "
            "above guessing. [default: found-again=5% singling-out=20% inference=20%]",
        ),
    ] = None
    attack: Annotated[
        list[str] | None,
        _build_measuring_option(
            "--attack", help="A further attack, such as my_module:MyLinker; repeat for more."
        ),
    ] = None
    within: Annotated[
        float,
        _build_measuring_option(
            "--within", help="Metres within which a home or a workplace counts as found."
        ),
    ] = 200.0
    cell: Annotated[
        float,
        _build_measuring_option(
            "--cell", help="GPS points: metres of the cells that attacks on places work on."
        ),
    ] = 500.0
    every: Annotated[
        float,
        _build_measuring_option(
            "--every", help="GPS points: minutes between the instants that they work on."
        ),
    ] = 30.0
    smallest_group: Annotated[
        int,
        _build_measuring_option("--smallest-group", help="Draw no place on a map where fewer people were."),
    ] = 10
    quick: Annotated[
        bool,
        _build_measuring_option(
            "--quick",
            help="A first page within a minute: at most 2,000 people are read and 200 "
            "tried, wider intervals.",
        ),
    ] = False

    def settings(self, *, show_people: bool = False) -> Settings:
        """Return them as the audit takes them."""
        from tracearena.audit import Settings

        limits: dict[str, Any] = parse_limits(self.limit or ())
        return Settings(
            people=self.people, draws=self.draws, within_m=self.within, cell_m=self.cell,
            interval_min=self.every, smallest_group=self.smallest_group, quick=self.quick,
            show_people=show_people, **limits,
        )  # fmt: skip

    @property
    def words(self) -> list[str]:
        """The limits and the further attacks as they were said, for a command that is printed."""
        said = (("--limit", self.limit), ("--attack", self.attack))
        return [word for name, values in said for value in values or () for word in (name, value)]

    def sample(self, file: Path, seed: int) -> Sample | None:
        """Return how many people are read of a large file; None for all of them."""
        from tracearena.io.suggestions import Sample

        if self.quick:
            return Sample(seed=seed)
        files = file.rglob("*") if file.is_dir() else [file]
        is_large = sum(one.stat().st_size for one in files if one.is_file()) > _LARGE_BYTES
        return Sample(users=_MOST_PEOPLE, rows=_MOST_ROWS, seed=seed) if is_large else None


def parse_limits(said: Sequence[str]) -> dict[str, float]:
    """Return what ``--limit`` says, by the settings of an audit."""
    from tracearena.audit.settings import LIMITS
    from tracearena.errors import ParameterError

    known = {name.replace("_", "-"): name for name in LIMITS.values()}
    found = {}
    for one in said:
        name, sign, share = one.partition("=")
        if name not in known or not sign:
            raise ParameterError.of("--limit", one, f"NAME=SHARE, the name one of {', '.join(known)}")
        found[known[name]] = parse_proportion(f"--limit {name}", share)
    return found


def find_user_order(reading: Reading[Any]) -> Any:
    """Return the users of a file by their first rows, where it has rows."""
    order = reading.report.user_order
    return None if order is None else order.to_numpy()


def run_audit(
    given: dict[str, Any],
    settings: Settings,
    seed: int,
    out: Path,
    *,
    tables: bool,
    read: SampleSize | None = None,
    **shown: Any,
) -> Audit:
    """Audit and write the folder; what was finished before Ctrl-C is written, too.

    Parameters
    ----------
    read
        How many people of the file were read, if not all.
    """
    from tracearena.audit import assess_in_stages, write_audit
    from tracearena.audit.settings import AuditChoice

    def with_sample(audit: Audit) -> Audit:
        if read is None:
            return audit
        people = AuditChoice("people read", f"{read.users:,} of {read.of:,}", _SAMPLED)
        return replace(audit, choices=(people, *audit.choices))

    last: Audit | None = None
    said = 0
    with delay_stop():
        try:
            with show_progress("attacks"):
                for last in map(with_sample, assess_in_stages(**given, settings=settings, seed=seed)):
                    for choice in last.choices[said:]:
                        note(f"{choice.name}: {choice.value} ({choice.reason})")
                    said = len(last.choices)
        except KeyboardInterrupt:
            if last is not None:
                write_audit(last, out, tables=tables, **shown)
                print_outcome(f"{out} holds what was finished, marked as incomplete")
            raise
    assert last is not None
    write_audit(last, out, tables=tables, **shown)
    return last


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
    from tracearena.audit.page import PAGE
    from tracearena.audit.results import summarise_lines

    check_outputs(out, inputs=(file, released, id_table, others, *reading.files), folders=True)
    settings = measuring.settings(show_people=show_people)
    if released is None or synthetic:
        refuse_options("a file without a release of real people", mechanism=mechanism)
    used = choose_seed(seed)
    with show_unsaved_progress(f"reading {file.name}"):
        # People of a release, or those who were left out of it, cannot be drawn alike by their ids.
        sample = measuring.sample(file, used) if released is None else None
        given, read = _read_inputs(reading, file, released, id_table, synthetic, others, sample)
        given |= {"mechanism": mechanism, "attacks": measuring.attack or ()}
    found = run_audit(given, settings, used, out, tables=tables, read=read, reading=reading.words)
    shown = found.to_dict() if as_json else {**summarise_lines(found), "page": str(out / PAGE)}
    print_result(shown, as_json)


def _read_inputs(
    reading: ReadingOptions,
    file: Path,
    released: Path | None,
    id_table: Path | None,
    synthetic: bool,
    others: Path | None,
    sample: Sample | None,
) -> tuple[dict[str, Any], SampleSize | None]:
    """Read all files; return the arguments of `assess_in_stages`, and how many people were read."""
    from tracearena.io.places import read_id_pairs
    from tracearena.traces import GpsTraces, Traces

    if released is None:
        refuse_options("a file without --released", id_table=id_table, synthetic=synthetic, others=others)
    if not synthetic:
        refuse_options("a release of real people; --synthetic says that it is none", others=others)
    source = reading.open(file)
    original: Reading[Any] = reading.read(source, sample)
    note_problems(original)
    given: dict[str, Any] = {"traces": original.traces, "source": file, "synthetic": synthetic}
    if isinstance(original.traces, GpsTraces):
        from tracearena.io.fields.coordinates import find_local_time

        given["timezone"] = find_local_time(original.traces, original.report)
    columns = read_unread_columns(source, original.report.format, sample)
    given["columns"] = (columns, {})
    if released is not None:
        after = reading.open_second(released)
        if synthetic or not isinstance(original.traces, Traces):
            release: Reading[Any] = _read_alike(reading, after, original)
        elif original.report.format == "pwscup" and id_table is None:
            release = reading.read_obfuscated(after, original)
        else:
            release = reading.read_anonymized(after, original)
        given |= {
            "released": release.traces,
            "release_source": released,
            "orders": tuple(find_user_order(one) for one in (original, release)),
            "columns": (columns, read_unread_columns(after, release.report.format)),
        }
    if others is not None:
        given["others"] = _read_alike(reading, reading.open_second(others), original).traces
    given["id_table"] = None if id_table is None else read_id_pairs(id_table)
    return given, original.report.sampled


def read_unread_columns(source: Input, format: str, sample: Sample | None = None) -> dict[str, Any]:
    """Return who has which value when in the columns of a table that are left out."""
    from tracearena.io.tables import read_column_values

    return read_column_values(source, source.list_unread_columns(format), source.layout, sample)


def _read_alike(reading: ReadingOptions, source: Input, original: Reading[Any]) -> Reading[Any]:
    from tracearena.traces import Traces

    is_events = isinstance(original.traces, Traces)
    return reading.read_alike(source, original) if is_events else reading.read_points(source)


NOTHING_HOLDS = 3
"""Exit status where no defence keeps the limits."""


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
    from tracearena.audit import write_audit
    from tracearena.audit.page import PAGE, describe_changes, describe_outcome
    from tracearena.errors import ParameterError
    from tracearena.io.fields.coordinates import find_local_time
    from tracearena.traces import GpsTraces

    check_outputs(safer, id_table, inputs=(file, *reading.files))
    check_outputs(out, inputs=(file, safer), folders=True)
    if any(one.startswith("found-again") for one in measuring.limit or ()):
        raise ParameterError("--limit found-again is for audit; protect takes it as --target-risk")
    target = parse_proportion("--target-risk", target_risk)
    settings = replace(measuring.settings(), found_again=target)
    used = choose_seed(seed)
    with show_unsaved_progress(f"reading {file.name}"):
        original = reading.read(file)
    note_problems(original)
    traces = original.traces
    zone = find_local_time(traces, original.report) if isinstance(traces, GpsTraces) else None
    release = _ReleaseDraft(reading, original, safer, id_table)
    given: dict[str, Any] = {"traces": traces, "source": file, "timezone": zone}
    asked = {"target": target, "defences": defences, "attacks": measuring.attack or ()}
    try:
        found = _search(given, asked, settings, used, out, tables, release)
        command = None
        if found.chosen is not None:  # the command that makes such a release again
            words = ["tracearena", "protect", str(file), str(safer), *reading.words, *measuring.words]
            words += ["--target-risk", target_risk, "--out", str(out), "--defences", str(found.chosen)]
            command = shlex.join(words)
        audit = found.proof
        if audit is None:
            audit = run_audit(given, settings, used, out, tables=tables, protection=found)
        else:
            write_audit(audit, out, tables=tables, protection=found, command=command)
            release.keep()
    finally:
        release.discard()
    result = {
        "verdict": describe_outcome(found),
        "defence": found.chosen,
        "file": str(safer) if found.chosen else None,
        "command": command,
    }
    if as_json:
        print_result(result | {"protection": found.to_dict(), "audit": audit.to_dict()}, True)
    else:
        shown = {name: value for name, value in result.items() if value is not None}
        usefulness = None if found.proof is None else found.proof.usefulness
        if usefulness is not None:
            kept, whole = usefulness.kept or 0.0, usefulness.kept_of_file or 0.0
            shown["usefulness"] = f"{kept:.0%} of six tasks is kept, {whole:.0%} against the original file"
            changes = describe_changes(found)
            if changes:
                shown["changed"] = " ".join(changes)
        print_result(shown | {"page": str(out / PAGE)}, False)
    if found.chosen is None:
        raise typer.Exit(NOTHING_HOLDS)


class _ReleaseDraft:
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
        return find_user_order(self._original)

    def publish(self, released: Any, who: IdTable) -> tuple[Any, Any]:
        """Write a release under pseudonyms, and read it as others will, with the order of its rows."""
        from tracearena.cli import _large
        from tracearena.cli._output import choose_output_form, write_anonymized
        from tracearena.traces import GpsTraces

        self._who = who
        self._folder.mkdir(exist_ok=True)
        if isinstance(released, GpsTraces):
            _large.write_gps_traces(released, self.draft)
            given: Reading[Any] = self._reading.read_points(self._reading.open_second(self.draft))
            return given.traces, find_user_order(given)
        contest = self._original.report.format == "pwscup"
        write_anonymized(released, self.draft, choose_output_form(self.draft, None, contest=contest))
        given = self._reading.read_anonymized(self.draft, self._original)
        return given.traces, find_user_order(given)

    def keep(self) -> None:
        """Move the release to its place, and write who is who if that is asked for."""
        from tracearena.files import csv_text, replacing
        from tracearena.io.places import HEADER

        assert self._who is not None
        if self._id_table is not None:
            rows = zip(self._who.pseudonyms.tolist(), self._who.user_ids.tolist(), strict=True)
            with replacing(self._id_table, private=True) as out:
                out.write(csv_text(HEADER, rows).encode())
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
    release: _ReleaseDraft,
) -> Protection:
    """Try the defences, and say of each what became of it; after Ctrl-C a page holds what is known."""
    from tracearena.audit import assess_in_stages, protect_in_stages, write_audit

    last: Protection | None = None
    said: set[str] = set()
    with delay_stop():
        try:
            with show_progress("defences"):
                for last in protect_in_stages(
                    **given, **asked, settings=settings, seed=seed, publish=release.publish,
                    release_source=release.draft, original_order=release.original_order,
                ):  # fmt: skip
                    _note_trials(last, said)
        except KeyboardInterrupt:
            if last is not None:
                begun = next(assess_in_stages(**given, settings=settings, seed=seed))
                write_audit(begun, out, tables=tables, protection=last)
                print_outcome(f"{out} holds what was finished, marked as incomplete")
            raise
    assert last is not None
    return last


def _note_trials(found: Protection, said: set[str]) -> None:
    """Say what became of the defences tried since."""
    from tracearena.audit.texts import format_risk

    for one in found.trials:
        if one.defence in said or (one.risk is None and one.error is None):
            continue
        said.add(one.defence)
        risk = one.error
        if one.risk is not None:
            risk = f"{format_risk(one.risk, one.at_least)} found by {one.attack}"
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
            risk = "nobody" if share is None else format_risk(share, False)
            note(f"proof of {name}: {risk} found again, {audit.verdict}")
