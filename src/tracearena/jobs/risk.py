"""Audit a file of traces, and find the defence that keeps limits of risk: from files to a page."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

from tracearena.audit import (
    Audit,
    AuditInput,
    Protection,
    Settings,
    assess_in_stages,
    protect_in_stages,
    write_audit,
)
from tracearena.audit.settings import AuditChoice
from tracearena.audit.texts import format_risk
from tracearena.checks import accepts
from tracearena.files import csv_text, replacing
from tracearena.io import Input, Reading
from tracearena.io.fields.coordinates import find_local_time
from tracearena.io.places import HEADER, read_id_pairs
from tracearena.io.suggestions import Sample, SampleSize
from tracearena.io.tables import read_column_values
from tracearena.jobs import chunking
from tracearena.jobs.feedback import delay_stop, note, show_progress, show_unsaved_progress, tell_outcome
from tracearena.jobs.outputs import (
    File,
    as_path,
    check_outputs,
    choose_output_form,
    choose_seed,
    refuse_options,
    write_anonymized,
)
from tracearena.jobs.reading import ReadingOptions, note_problems
from tracearena.traces import GpsTraces, IdTable, Traces

_SAMPLED = "a random sample of a large file; in the complete file each person has more others to hide among"
_LARGE_BYTES = 300 << 20
"""A file up to this size is read as a whole."""
_MOST_PEOPLE, _MOST_ROWS = 1_000_000, 20_000_000
"""Of a larger file, a random sample of people with about this many rows in total is read."""


class AuditOptions(TypedDict, total=False):
    """Options of `audit` and `protect`; all may be omitted.

    Attributes
    ----------
    reading
        Options for reading the files.
    settings
        Limits and sizes of the audit; for `protect`, `Settings.found_again` is the target risk.
    attacks
        Further attacks to try.
    tables
        Also write tables of all shares next to the page.
    seed
        Seed of the measurement; drawn and recorded if omitted.
    """

    reading: ReadingOptions
    settings: Settings
    attacks: Sequence[str]
    tables: bool
    seed: int | None


@accepts(AuditOptions)
def audit(
    file: File | Input,
    out: File,
    *,
    released: File | None = None,
    id_table: File | None = None,
    mechanism: str | None = None,
    synthetic: bool = False,
    others: File | None = None,
    **options: Unpack[AuditOptions],
) -> Audit:
    """Audit a file of traces, or a release of it, and write the page and its numbers to a folder.

    Parameters
    ----------
    file, out
        The file to audit, and a new folder for ``audit.html`` and ``audit.json``.
    released
        The version to be published; it is audited against the file.
    id_table
        Table of true identities, if the release has pseudonyms.
    mechanism
        The defence that made the release, which attackers know.
    synthetic, others
        Whether nobody in the release is a person of the original; traces of people who were not used for it.
    **options
        Keywords of `AuditOptions`: ``reading``, ``settings``, ``attacks``, ``tables``, ``seed``.
    """
    reading, settings = options.get("reading", ReadingOptions()), options.get("settings", Settings())
    source, out = reading.open(file), Path(out)
    released, id_table, others = map(as_path, (released, id_table, others))
    inputs = (source.path, released, id_table, others, *reading.files)
    check_outputs(out, inputs=inputs, folders=True)
    if released is None or synthetic:
        refuse_options("a file without a release of real people", mechanism=mechanism)
    used = choose_seed(options.get("seed"))
    with show_unsaved_progress(f"reading {source.path.name}"):
        # People of a release, or those who were left out of it, cannot be drawn alike by their ids.
        sample = choose_sample(source.path, used, quick=settings.quick) if released is None else None
        given, read = _read_inputs(reading, source, released, id_table, synthetic, others, sample)
        given |= {"mechanism": mechanism, "attacks": options.get("attacks", ())}
    tables = options.get("tables", False)
    return run_audit(given, settings, used, out, tables=tables, read=read, reading=reading.words)


class Protected(NamedTuple):
    """The result of a search: the trials, an audit of the release or the file, the command to repeat it."""

    protection: Protection
    audit: Audit
    command: str | None


@accepts(AuditOptions)
def protect(
    file: File | Input,
    safer: File,
    out: File,
    *,
    defences: Sequence[str] | None = None,
    id_table: File | None = None,
    more_options: Sequence[str] = (),
    **options: Unpack[AuditOptions],
) -> Protected:
    """Find the most useful defence that keeps the limits, apply it, and prove the release by an audit.

    The release always uses the secret random source of the system; the seed is for the measurement. If no
    defence keeps the limits, only the page is written.

    Parameters
    ----------
    file, safer, out
        Input, file for the release with pseudonyms, and a new folder for the page.
    defences
        Defences to try; those that suit the file if omitted.
    id_table
        File for the secret table of true identities.
    more_options
        Further options of the command line, for the command that is printed.
    **options
        Keywords of `AuditOptions`: ``reading``, ``settings``, ``attacks``, ``tables``, ``seed``.
    """
    reading, settings = options.get("reading", ReadingOptions()), options.get("settings", Settings())
    tables = options.get("tables", False)
    source, safer, out, id_table = reading.open(file), Path(safer), Path(out), as_path(id_table)
    check_outputs(safer, id_table, inputs=(source.path, *reading.files))
    check_outputs(out, inputs=(source.path, safer), folders=True)
    used = choose_seed(options.get("seed"))
    with show_unsaved_progress(f"reading {source.path.name}"):
        original = reading.read(source)
    note_problems(original)
    traces = original.traces
    zone = find_local_time(traces, original.report) if isinstance(traces, GpsTraces) else None
    release = _ReleaseDraft(reading, original, safer, id_table)
    given: dict[str, Any] = {"traces": traces, "source": source.path, "timezone": zone}
    try:
        tried = given | {"attacks": options.get("attacks", ())}
        found = _search(tried, defences, settings, used, out, tables, release)
        command = None
        if found.chosen is not None:  # the command that makes such a release again
            words = ["tracearena", "protect", str(source), str(safer), *reading.words, *more_options]
            command = shlex.join([*words, "--out", str(out), "--defences", str(found.chosen)])
        proof = found.proof
        if proof is None:
            proof = run_audit(given, settings, used, out, tables=tables, protection=found)
        else:
            write_audit(proof, out, tables=tables, protection=found, command=command)
            release.keep()
    finally:
        release.discard()
    return Protected(found, proof, command)


def choose_sample(file: Path, seed: int, *, quick: bool) -> Sample | None:
    """Return how many people are read of a large file, or for a quick look; None for all of them."""
    if quick:
        return Sample(seed=seed)
    files = file.rglob("*") if file.is_dir() else [file]
    is_large = sum(one.stat().st_size for one in files if one.is_file()) > _LARGE_BYTES
    return Sample(users=_MOST_PEOPLE, rows=_MOST_ROWS, seed=seed) if is_large else None


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
    """Run an audit and write its folder; after Ctrl-C, write the parts that are finished.

    Parameters
    ----------
    read
        How many people of the file were read, if not all.
    """

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
                for last in map(with_sample, assess_in_stages(AuditInput(**given), settings, seed=seed)):
                    for choice in last.choices[said:]:
                        note(f"{choice.name}: {choice.value} ({choice.reason})")
                    said = len(last.choices)
        except KeyboardInterrupt:
            if last is not None:
                write_audit(last, out, tables=tables, **shown)
                tell_outcome(f"{out} has the results so far, marked as incomplete")
            raise
    assert last is not None
    write_audit(last, out, tables=tables, **shown)
    return last


def _read_inputs(
    reading: ReadingOptions,
    source: Input,
    released: Path | None,
    id_table: Path | None,
    synthetic: bool,
    others: Path | None,
    sample: Sample | None,
) -> tuple[dict[str, Any], SampleSize | None]:
    """Read all files; return the arguments of `assess_in_stages`, and how many people were read."""
    if released is None:
        refuse_options("a file without --released", id_table=id_table, synthetic=synthetic, others=others)
    if not synthetic:
        refuse_options("a release of real people; add --synthetic if it is synthetic", others=others)
    original: Reading[Any] = reading.read(source, sample)
    note_problems(original)
    given: dict[str, Any] = {"traces": original.traces, "source": source.path, "synthetic": synthetic}
    if isinstance(original.traces, GpsTraces):
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
    return read_column_values(source, source.list_unread_columns(format), source.layout, sample)


def _read_alike(reading: ReadingOptions, source: Input, original: Reading[Any]) -> Reading[Any]:
    is_events = isinstance(original.traces, Traces)
    return reading.read_alike(source, original) if is_events else reading.read_points(source)


def find_user_order(reading: Reading[Any]) -> Any:
    """Return the users of a file by their first rows, where it has rows."""
    order = reading.report.user_order
    return None if order is None else order.to_numpy()


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
        self._who = who
        self._folder.mkdir(exist_ok=True)
        if isinstance(released, GpsTraces):
            chunking.write_gps_traces(released, self.draft)
            given: Reading[Any] = self._reading.read_points(self._reading.open_second(self.draft))
            return given.traces, find_user_order(given)
        contest = self._original.report.format == "pwscup"
        write_anonymized(released, self.draft, choose_output_form(self.draft, None, contest=contest))
        given = self._reading.read_anonymized(self.draft, self._original)
        return given.traces, find_user_order(given)

    def keep(self) -> None:
        """Move the release to its place, and write the table of true identities if it is wanted."""
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
    defences: Sequence[str] | None,
    settings: Settings,
    seed: int,
    out: Path,
    tables: bool,
    release: _ReleaseDraft,
) -> Protection:
    """Try the defences, and say of each what became of it; after Ctrl-C a page holds what is known."""
    last: Protection | None = None
    said: set[str] = set()
    with delay_stop():
        try:
            with show_progress("defences"):
                orders = (release.original_order, None)
                asked = AuditInput(**given, orders=orders, release_source=release.draft)
                for last in protect_in_stages(
                    asked, settings, defences=defences, seed=seed, publish=release.publish
                ):
                    _note_trials(last, said)
        except KeyboardInterrupt:
            if last is not None:
                begun = next(assess_in_stages(AuditInput(**given), settings, seed=seed))
                write_audit(begun, out, tables=tables, protection=last)
                tell_outcome(f"{out} has the results so far, marked as incomplete")
            raise
    assert last is not None
    return last


def _note_trials(found: Protection, said: set[str]) -> None:
    """Print what became of the defences tried since."""
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
