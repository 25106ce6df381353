"""``tracearena score`` and ``tracearena check``, for files of a contest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tracearena.cli._output import ClusterOption, JsonOption, add_group, print_result
from tracearena.cli._reading import MaxBytesOption, reads_traces
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.jobs.feedback import note
from tracearena.jobs.outputs import refuse_options
from tracearena.jobs.reading import LIMITS, ReadingOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracearena.io import Reading
    from tracearena.traces import IdTable, Traces


OriginalOption = Annotated[
    Path, typer.Option("--original", help="Original traces in any format (such as orgtraces_*.csv).")
]


class GeneralisationRule(StrEnum):
    """Rules for scoring a generalised event."""

    paper = "paper"
    official_2019 = "2019"


RuleOption = Annotated[
    GeneralisationRule,
    typer.Option(
        "--rule",
        help="Score of a set of places. paper: mean distance, cut at 2 km; 2019: "
        "mean of distances cut at 2 km.",
    ),
]


def register_score(app: typer.Typer) -> None:
    """Add the commands."""
    commands = {
        "utility": utility, "reidentification": reidentification, "trace-inference": trace_inference
    }  # fmt: skip
    about = "Score the utility of a release, or the result of an attack on it."
    example = "tracearena score utility --original org.csv --obfuscated released.csv"
    add_group(app, "score", about, example, commands)


@reads_traces(limits=LIMITS)
def utility(
    context: typer.Context,
    reading: ReadingOptions,
    original: OriginalOption,
    obfuscated: Annotated[
        Path,
        typer.Option(
            "--obfuscated", help="Obfuscated traces (anotraces_*.csv, a table, or a file from `protect`)."
        ),
    ],
    id_table: Annotated[
        Path | None,
        typer.Option(
            "--id-table", help="Table of true identities (pse_id,user_id), if the release has pseudonyms."
        ),
    ] = None,
    rule: RuleOption = GeneralisationRule.paper,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="Smallest utility of a valid release.")
    ] = 0.7,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score how close the released places are to the original ones (s_U; 1 means unchanged).

    Example:
      tracearena score utility --original orgtraces.csv --obfuscated obftraces.csv
    """
    from tracearena import jobs

    score = jobs.score_utility(
        original, obfuscated, reading=reading, id_table=id_table, rule=rule.value, cluster=cluster
    )
    result = score.to_dict()
    utility = result.pop("utility")
    print_result(
        {"utility": utility, "valid": utility >= threshold, "threshold": threshold, **result}, as_json
    )


def reidentification(
    id_table: Annotated[Path, typer.Option("--id-table", help="Secret ID table (ptable_*.csv).")],
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred ID table (etable_*.csv, or a table pse_id,user_id).")
    ],
    max_bytes: MaxBytesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against re-identification (s_R; 1 means that no user was identified).

    Example:
      tracearena score reidentification --id-table ptable.csv --inferred etable.csv
    """
    from tracearena.io import pwscup
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.io.places import read_id_pairs
    from tracearena.jobs.outputs import is_id_table_file
    from tracearena.metrics import reidentification_score

    check_same_numbers(id_table, inferred)
    if is_id_table_file(inferred):
        refuse_options("a table that names pseudonyms", max_bytes=max_bytes)
        truth, guess = read_id_pairs(id_table), read_id_pairs(inferred, one_to_one=False)
    else:
        truth = pwscup.read_id_table(id_table)
        guess = pwscup.read_inferred_table(inferred, truth.pseudonyms, max_bytes=max_bytes)
    print_result(reidentification_score(truth, guess).to_dict(), as_json)


@reads_traces(limits=("max_bytes",))
def trace_inference(
    reading: ReadingOptions,
    original: OriginalOption,
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred traces (etraces_*.csv, or a table).")
    ],
    sensitive_weight: Annotated[
        float, typer.Option("--sensitive-weight", help="Weight of an event at a sensitive place.")
    ] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against trace inference (s_T; 1 means that no place was found).

    Example:
      tracearena score trace-inference --original org.csv --inferred etraces.csv
    """
    from tracearena.cli._output import report_sensitive_places
    from tracearena.io import pwscup
    from tracearena.io.id_mapping import check_same_numbers
    from tracearena.io.inputs import OBFUSCATED
    from tracearena.jobs.pairs import align_files
    from tracearena.metrics import trace_inference_score

    check_same_numbers(original, inferred, same_users=True)
    truth = reading.read_events(original)
    traces, result = truth.traces, dict[str, Any]()
    source = reading.open(inferred)
    if source.contest_header == OBFUSCATED:
        guess = pwscup.read_inferred_traces(inferred, traces, max_bytes=reading.max_bytes)
    else:
        reading.refuse_limits()
        made = reading.read_alike(source, truth)
        traces, guess = align_files((original, traces), (inferred, made.traces))
        known = {str(user) for user in guess.user_ids.tolist()}
        there = [str(user) in known for user in traces.user_ids.tolist()]
        if not all(there):
            result = {"users_not_scored": there.count(False)}
            note(
                f"{there.count(False):,} of {len(there):,} users of {original} are not in {inferred} and are "
                "not scored"
            )
            traces = traces.take_users(there)
    score = trace_inference_score(traces, guess, sensitive_weight=sensitive_weight)
    result |= report_sensitive_places(traces.places, sensitive_weight)
    print_result(score.to_dict() | result, as_json)


# ``tracearena check``: does a submission follow the rules for its kind of file?


_Given = TypeVar("_Given")

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Submission: .csv, .csv.gz, or a table.")]
ReferenceOption = Annotated[
    Path | None, typer.Option("--reference", help="Reference traces of the attacked team.")
]
AnonymizedOption = Annotated[
    Path | None, typer.Option("--anonymized", help="Public traces of the attacked team (pubtraces_*.csv).")
]
TruthOption = Annotated[
    Path | None,
    typer.Option("--original", help="For the judge: original traces, instead of the two options above."),
]


def register_check(app: typer.Typer) -> None:
    """Add the commands."""
    commands = {
        "obfuscated": check_obfuscated,
        "inferred-table": check_inferred_table,
        "inferred-traces": check_inferred_traces,
    }
    about = "Check a submission to a contest: the exit status is 0 if it is valid, 2 if not."
    example = "tracearena check obfuscated obftraces.csv --original orgtraces.csv"
    add_group(app, "check", about, example, commands)


@reads_traces(limits=LIMITS)
def check_obfuscated(
    reading: ReadingOptions, file: FileArgument, original: OriginalOption, as_json: JsonOption = False
) -> None:
    """Check obfuscated traces: they must have one row per row of the original.

    Example:
      tracearena check obfuscated obftraces.csv --original orgtraces.csv
    """

    def check(truth: Reading[Traces]) -> dict[str, int]:
        from tracearena.io.pwscup import read_obfuscated

        _require_same_team(file, "anotraces", original)

        if reading.format == "pwscup":
            most_bytes, most_ids = reading.max_bytes, reading.max_listed_ids
            released = read_obfuscated(file, truth.traces, max_bytes=most_bytes, max_listed_ids=most_ids)
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

    _run_check(lambda: reading.read_events(original), check, file, as_json)


@reads_traces(limits=("max_bytes",))
def check_inferred_table(
    reading: ReadingOptions,
    file: FileArgument,
    reference: ReferenceOption = None,
    anonymized: AnonymizedOption = None,
    original: TruthOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check an inferred ID table: it must name one user of the reference traces per pseudonym.

    An attacker uses --reference and --anonymized; the judge can use --original instead.

    Example:
      tracearena check inferred-table etable.csv --reference reftraces.csv \\
          --anonymized pubtraces.csv
    """

    def check(known: _AnswerReference) -> dict[str, int]:
        import numpy as np

        from tracearena.io.pwscup import read_inferred_table
        from tracearena.jobs.outputs import is_id_table_file

        _require_same_team(file, "etable", known.path)
        if reading.format != "pwscup" and is_id_table_file(file):
            reading.refuse_limits()
            table = _read_id_guess(file, known)
        else:
            users, limit = known.frame.user_ids, reading.max_bytes
            table = read_inferred_table(file, known.rows(), users=users, max_bytes=limit)
        return {"rows": len(table), "different_users": len(np.unique(table.user_ids))}

    _run_check(lambda: _read_answer_reference(reading, reference, anonymized, original), check, file, as_json)


@reads_traces(limits=("max_bytes",))
def check_inferred_traces(
    reading: ReadingOptions,
    file: FileArgument,
    reference: ReferenceOption = None,
    anonymized: AnonymizedOption = None,
    original: TruthOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check inferred traces: they must have exactly one region per user and time.

    An attacker uses --reference and --anonymized; the judge can use --original instead.

    Example:
      tracearena check inferred-traces etraces.csv --reference reftraces.csv \\
          --anonymized pubtraces.csv
    """

    def check(known: _AnswerReference) -> dict[str, int]:
        import numpy as np

        from tracearena.io.inputs import OBFUSCATED
        from tracearena.io.pwscup import read_inferred_traces
        from tracearena.jobs.pairs import align_files
        from tracearena.metrics.contest_scores import places_at

        _require_same_team(file, "etraces", known.path)
        source = reading.open(file)
        if reading.format == "pwscup" or source.contest_header == OBFUSCATED:
            inferred = read_inferred_traces(file, known.frame, max_bytes=reading.max_bytes)
        else:
            reading.refuse_limits()
            answer = reading.read_alike(source, known.reading).traces
            truth, inferred = align_files((known.path, known.frame), (file, answer))
            try:
                places_at(inferred, truth)
            except DataError as error:
                raise FileError.whole(file, str(error), "other-events") from None
        return {"rows": inferred.n_events, "different_regions": len(np.unique(inferred.place_index))}

    _run_check(lambda: _read_answer_reference(reading, reference, anonymized, original), check, file, as_json)


def _require_same_team(file: Path, kind: str, traces: Path) -> None:
    """Refuse a file that by its name is about another team or data set than some traces."""
    from tracearena.contest.data import DATA_SETS, require_own_name
    from tracearena.io.pwscup import PwsName

    about = PwsName.recognise(traces)
    if about is not None:
        require_own_name(file, kind, about.team, DATA_SETS[about.purpose])


@dataclass(frozen=True)
class _AnswerReference:
    """Users, events and pseudonyms that an answer is compared with.

    Attributes
    ----------
    reading
        Reading of the file that names the users.
    frame
        Traces with the users that an answer may name and the events that it must have.
    pseudonyms
        Pseudonyms that it must name; None if only their number is known.
    """

    path: Path
    reading: Reading[Traces]
    frame: Traces
    pseudonyms: NDArray[Any] | None = None

    def rows(self) -> NDArray[Any]:
        """Return the pseudonyms; if they are not known, those that the judge would give."""
        import numpy as np

        users = self.frame.n_users
        return np.arange(users) + users + 1 if self.pseudonyms is None else self.pseudonyms


def _read_answer_reference(
    reading: ReadingOptions, reference: Path | None, anonymized: Path | None, original: Path | None
) -> _AnswerReference:
    """Read the public and reference traces, or the original ones."""
    if original is not None:
        refuse_options("an answer that is checked by --original", reference=reference, anonymized=anonymized)
        truth = reading.read_events(original)
        return _AnswerReference(original, truth, truth.traces)
    if reference is None or anonymized is None:
        raise ParameterError(
            "name the public traces with --anonymized and the reference traces with --reference (or, as the "
            "judge, the original traces with --original)"
        )
    import numpy as np

    from tracearena.jobs.pairs import align_files, compare_users
    from tracearena.traces import Traces

    before = reading.read_events(reference)
    after = reading.read_anonymized(anonymized, before)
    past, target = align_files((reference, before.traces), (anonymized, after.traces))
    strictly = after.report.format == "pwscup"
    compare_users(reference, past.n_users, anonymized, target.n_users, strictly=strictly)
    frame = Traces.from_dense(
        np.zeros((past.n_users, target.n_instants), np.int32),
        past.places,
        past.clock,
        user_ids=past.user_ids,
        first_instant=target.span[0],
    )
    return _AnswerReference(reference, before, frame, target.user_ids)


def _read_id_guess(file: Path, known: _AnswerReference) -> IdTable:
    """Read an ID table that names pseudonyms; refuse unknown users and pseudonyms."""
    from tracearena.errors import Fault
    from tracearena.io.places import read_id_pairs

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


def _run_check(
    read: Callable[[], _Given],
    check: Callable[[_Given], dict[str, int]],
    file: Path,
    as_json: bool,
) -> None:
    file.stat()
    known = read()
    try:
        counts = check(known)
    except FileError as error:
        if as_json:
            typer.echo(json.dumps({"valid": False, **error.to_dict()}))
        raise
    if as_json:
        typer.echo(json.dumps({"valid": True, "file": str(file), **counts}))
        return
    said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    typer.echo(f"OK {file}: {said}")
