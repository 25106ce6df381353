"""Score releases and the answers of attackers, and check what is submitted to a contest.

A release and its original are read whole or in chunks of users. Answers are ID tables and traces that were
inferred: `attack_points` makes them of GPS traces, the functions with ``score`` and ``check`` read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import GpsAttack, catalogue, validation
from tracearena.checks import accepts
from tracearena.contest.data import DATA_SETS, require_own_name
from tracearena.engine import Cluster
from tracearena.errors import DataError, Fault, FileError, ParameterError
from tracearena.files.atomic import scratch_folder
from tracearena.io import Input, Reading, pwscup
from tracearena.io.id_mapping import check_same_numbers
from tracearena.io.inputs import OBFUSCATED
from tracearena.io.places import read_id_pairs
from tracearena.jobs import chunking
from tracearena.jobs.comparison import open_release_beside
from tracearena.jobs.feedback import join_cluster, note, show_progress
from tracearena.jobs.outputs import File, as_path, check_outputs, is_id_table_file, refuse_options
from tracearena.jobs.pairs import align_files, compare_users
from tracearena.jobs.reading import ReadingOptions, note_problems
from tracearena.metrics import (
    ReidentificationScore,
    UtilityScore,
    reidentification_score,
    trace_inference_score,
    utility_score,
)
from tracearena.metrics.contest_scores import UtilitySum, places_at
from tracearena.traces import IdTable, Places, Traces


def score_utility(
    original: File | Input,
    obfuscated: File | Input,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    id_table: File | None = None,
    rule: Literal["paper", "2019"] = "paper",
    cluster: Cluster | str | None = None,
) -> UtilityScore:
    """Score how near the released places are to the original ones (s_U, 1 is untouched).

    Parameters
    ----------
    id_table
        Who is who, where the release has pseudonyms.
    rule
        How a generalised cell is scored: ``paper`` or ``2019``.
    cluster
        A Dask cluster, or the address of one.
    """
    before, after = reading.open(original), reading.open(obfuscated)
    # Original and release are read together, a few users at a time, where both are tables.
    if (
        rule == "paper"
        and id_table is None
        and after.is_chunked_release
        and chunking.can_be_processed_in_chunks(chunking.EVENTS, reading, before)
        and chunking.is_processed_in_chunks(chunking.EVENTS, reading, before, cluster=cluster)
    ):
        reading.refuse_limits()
        with join_cluster(cluster) as workers:
            return score_event_utility(reading, before, after.path, workers)
    refuse_options(
        "files that are read at once: with the rule of 2019, with pseudonyms, and in "
        "formats other than Parquet tables",
        cluster=cluster,
    )
    truth = reading.read_events(before)
    released, _ = reading.read_obfuscated(
        after,
        truth,
        allow_repetition=rule == "2019",
        id_table=None if id_table is None else read_id_pairs(id_table),
    )
    return utility_score(truth.traces, released, rule=rule)


def score_event_utility(
    reading: ReadingOptions, original: Input, obfuscated: Path, cluster: Cluster | None
) -> UtilityScore:
    """Score the utility of a released table against the table it was made from."""
    if cluster is not None:  # workers may have been started elsewhere
        original, obfuscated = original.resolve(), obfuscated.resolve()
    with scratch_folder() as scratch:
        with show_progress(f"reading {original.path.name}", cluster):
            table, found = chunking.open_event_table(reading, original, scratch, is_shared=False)
        note_problems(found)
        below = scratch / "released"
        below.mkdir()
        with show_progress(f"reading {obfuscated.name}", cluster):
            both = open_release_beside(table, found, obfuscated, below)
        with show_progress("scoring", cluster):
            return both.fold(UtilitySum.of).score


def attack_points(
    reading: ReadingOptions, name: str, out: Path, anonymized: Path, to: str | None
) -> dict[str, Any]:
    """Run an attack on GPS traces from file to file."""
    check_outputs(out, inputs=(anonymized,), folders=True)
    attacker: GpsAttack = catalogue.create(name, "gps-attack")
    recovered = validation.run_recover(attacker, chunking.read_gps_traces(reading, anonymized, name))
    chunking.write_gps_traces(recovered, out, "points" if to == "table" else to)
    result = {"attack": str(attacker), "file": str(out), "kind": "GPS traces"}
    return result | {"users": recovered.n_users, "points": recovered.n_points}


# Answers: inferred ID tables and traces.


def score_reidentification(
    id_table: File, inferred: File, *, max_bytes: int | None = None
) -> ReidentificationScore:
    """Score an inferred ID table against the secret one (s_R, 1 means that no user was identified).

    Parameters
    ----------
    max_bytes
        Largest size of a submission.
    """
    truth_file, guess_file = Path(id_table), Path(inferred)
    check_same_numbers(truth_file, guess_file)
    if is_id_table_file(guess_file):
        refuse_options("a table that names pseudonyms", max_bytes=max_bytes)
        return reidentification_score(read_id_pairs(truth_file), read_id_pairs(guess_file, one_to_one=False))
    truth = pwscup.read_id_table(truth_file)
    guess = pwscup.read_inferred_table(guess_file, truth.pseudonyms, max_bytes=max_bytes)
    return reidentification_score(truth, guess)


def score_trace_inference(
    original: File,
    inferred: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    sensitive_weight: float = 10.0,
) -> dict[str, Any]:
    """Score inferred traces against the original ones (s_T, 1 means that no place was found).

    Parameters
    ----------
    sensitive_weight
        Weight of an event at a sensitive place.
    """
    before, after = Path(original), Path(inferred)
    check_same_numbers(before, after, same_users=True)
    truth = reading.read_events(before)
    traces, result = truth.traces, dict[str, Any]()
    source = reading.open(after)
    if source.contest_header == OBFUSCATED:
        guess = pwscup.read_inferred_traces(after, traces, max_bytes=reading.max_bytes)
    else:
        reading.refuse_limits()
        made = reading.read_alike(source, truth)
        traces, guess = align_files((before, traces), (after, made.traces))
        known = {str(user) for user in guess.user_ids.tolist()}
        there = [str(user) in known for user in traces.user_ids.tolist()]
        if not all(there):
            result = {"users_not_scored": there.count(False)}
            note(
                f"{there.count(False):,} of {len(there):,} users of {before} are not in {after} and are not "
                "scored"
            )
            traces = traces.take_users(there)
    score = trace_inference_score(traces, guess, sensitive_weight=sensitive_weight)
    return score.to_dict() | result | report_sensitive_places(traces.places, sensitive_weight)


def report_sensitive_places(places: Places, weight: float) -> dict[str, int]:
    """Return the number of sensitive places; warn if there are none and their weight has no effect."""
    count = int(places.sensitive.sum())
    if not count and weight != 1:
        note(
            f"warning: none of the {len(places):,} places is sensitive, so the "
            f"weight of {weight:g} for sensitive "
            "places has no effect and s_T counts all events alike. Mark sensitive places in the file of "
            "places: column hospital (regions) or sensitive (a table)"
        )
    return {"sensitive_places": count}


def check_obfuscated(
    file: File,
    original: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
) -> dict[str, int]:
    """Check obfuscated traces, which must have one row per row of the original; count what became of them."""
    file, original = Path(file), Path(original)
    truth = reading.read_events(original)
    _require_same_team(file, "anotraces", original)
    if reading.format == "pwscup":
        most_bytes, most_ids = reading.max_bytes, reading.max_listed_ids
        released = pwscup.read_obfuscated(file, truth.traces, max_bytes=most_bytes, max_listed_ids=most_ids)
    else:
        released, _ = reading.read_obfuscated(file, truth)
    kept = int((released.codes == truth.traces.place_index).sum())
    return {
        "rows": released.n_events,
        "kept": kept,
        "perturbed": int(released.is_single.sum()) - kept,
        "generalised": int(released.is_set.sum()),
        "deleted": int(released.is_deleted.sum()),
    }


class AnswerFiles(TypedDict, total=False):
    """What an answer is compared with.

    Attributes
    ----------
    reference, anonymized
        What the attacker had: reference traces and public ones.
    original
        For the judge: the original traces, instead of both.
    """

    reference: File | None
    anonymized: File | None
    original: File | None


@accepts(AnswerFiles)
def check_inferred_table(
    file: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    **known: Unpack[AnswerFiles],
) -> dict[str, int]:
    """Check an inferred ID table, which must name one user of the reference traces per pseudonym.

    Parameters
    ----------
    **known
        Keywords of `AnswerFiles`.
    """
    file = Path(file)
    against = _read_answer_reference(reading, **known)
    _require_same_team(file, "etable", against.path)
    if reading.format != "pwscup" and is_id_table_file(file):
        reading.refuse_limits()
        table = _read_id_guess(file, against)
    else:
        users = against.frame.user_ids
        # If the pseudonyms are not known, they are those that the judge would give.
        judged = np.arange(len(users)) + len(users) + 1
        rows = judged if against.pseudonyms is None else against.pseudonyms
        table = pwscup.read_inferred_table(file, rows, users=users, max_bytes=reading.max_bytes)
    return {"rows": len(table), "different_users": len(np.unique(table.user_ids))}


@accepts(AnswerFiles)
def check_inferred_traces(
    file: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    **known: Unpack[AnswerFiles],
) -> dict[str, int]:
    """Check inferred traces, which must have exactly one region per user and time.

    Parameters are those of `check_inferred_table`.
    """
    file = Path(file)
    against = _read_answer_reference(reading, **known)
    _require_same_team(file, "etraces", against.path)
    source = reading.open(file)
    if reading.format == "pwscup" or source.contest_header == OBFUSCATED:
        inferred = pwscup.read_inferred_traces(file, against.frame, max_bytes=reading.max_bytes)
    else:
        reading.refuse_limits()
        alike = reading.read_alike(source, against.reading).traces
        truth, inferred = align_files((against.path, against.frame), (file, alike))
        try:
            places_at(inferred, truth)
        except DataError as error:
            raise FileError.whole(file, str(error), "other-events") from None
    return {"rows": inferred.n_events, "different_regions": len(np.unique(inferred.place_index))}


def _require_same_team(file: Path, kind: str, traces: Path) -> None:
    """Refuse a file that by its name is about another team or data set than some traces."""
    about = pwscup.PwsName.recognise(traces)
    if about is not None:
        require_own_name(file, kind, about.team, DATA_SETS[about.purpose])


@dataclass(frozen=True)
class _AnswerReference:
    """Users, events and pseudonyms that an answer is compared with.

    Attributes
    ----------
    path, reading
        The file that names the users, and what it holds.
    frame
        Traces with the users that an answer may name and the events that it must have.
    pseudonyms
        Pseudonyms that it must name; None if only their number is known.
    """

    path: Path
    reading: Reading[Traces]
    frame: Traces
    pseudonyms: NDArray[Any] | None = None


def _read_answer_reference(reading: ReadingOptions, **known: Unpack[AnswerFiles]) -> _AnswerReference:
    """Read the public and reference traces, or the original ones."""
    before_file, after_file = as_path(known.get("reference")), as_path(known.get("anonymized"))
    truth_file = as_path(known.get("original"))
    if truth_file is not None:
        what = "an answer that is checked by --original"
        refuse_options(what, reference=before_file, anonymized=after_file)
        truth = reading.read_events(truth_file)
        return _AnswerReference(truth_file, truth, truth.traces)
    if before_file is None or after_file is None:
        raise ParameterError(
            "name the public traces with --anonymized and the reference traces with --reference (or, as the "
            "judge, the original traces with --original)"
        )
    before = reading.read_events(before_file)
    after = reading.read_anonymized(after_file, before)
    past, target = align_files((before_file, before.traces), (after_file, after.traces))
    strictly = after.report.format == "pwscup"
    compare_users(before_file, past.n_users, after_file, target.n_users, strictly=strictly)
    frame = Traces.from_dense(
        np.zeros((past.n_users, target.n_instants), np.int32),
        past.places,
        past.clock,
        user_ids=past.user_ids,
        first_instant=target.span[0],
    )
    return _AnswerReference(before_file, before, frame, target.user_ids)


def _read_id_guess(file: Path, known: _AnswerReference) -> IdTable:
    """Read an ID table that names pseudonyms; refuse unknown users and pseudonyms."""
    table = read_id_pairs(file, one_to_one=False)
    users = set(map(str, known.frame.user_ids.tolist()))
    problem = f"unknown user; it must be one of the {len(users):,} users of {known.path.name}"
    faults = [
        Fault(None, "user_id", user, problem, "unknown-user")
        for user in map(str, table.user_ids.tolist())
        if user not in users
    ]
    if known.pseudonyms is not None:
        answered, asked = (set(map(str, ids.tolist())) for ids in (table.pseudonyms, known.pseudonyms))
        strange = f"unknown pseudonym; it must be one of the {len(asked):,} of the public traces"
        missing = f"has no row; there must be one for each of the {len(asked):,} pseudonyms"
        for names, said in ((answered - asked, strange), (asked - answered, missing)):
            faults += [Fault(None, "pse_id", name, said, "other-pseudonyms") for name in sorted(names)]
    if faults:
        raise FileError(file, faults)
    return table
