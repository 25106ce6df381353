"""``tracearena score`` and ``tracearena check``: official files checked and scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tracearena.cli._output import ClusterOption, JsonOption, print_result
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
    Path, typer.Option("--original", help="Original traces of any format (orgtraces_*.csv, a table).")
]


class GeneralisationRule(StrEnum):
    """How a generalised cell is scored."""

    paper = "paper"
    official_2019 = "2019"


RuleOption = Annotated[
    GeneralisationRule,
    typer.Option("--rule", help="paper: mean distance, then 2 km at most; 2019: 2 km at most, then mean."),
]


def register_score(app: typer.Typer) -> None:
    """Add the commands."""
    scores = typer.Typer(help="Score utility, re-identification or trace inference.", no_args_is_help=True)
    scores.command()(utility)
    scores.command()(reidentification)
    scores.command("trace-inference")(trace_inference)
    app.add_typer(scores, name="score")


@reads_traces(limits=LIMITS)
def utility(
    context: typer.Context,
    reading: ReadingOptions,
    original: OriginalOption,
    obfuscated: Annotated[
        Path,
        typer.Option(
            "--obfuscated", help="Obfuscated traces (anotraces_*.csv, a table, what protect writes)."
        ),
    ],
    id_table: Annotated[
        Path | None,
        typer.Option("--id-table", help="Who is who (pse_id,user_id), where the release has pseudonyms."),
    ] = None,
    rule: RuleOption = GeneralisationRule.paper,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="Utility from which a release is valid.")
    ] = 0.7,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score how near the released places are to the original ones (s_U, 1 is untouched)."""
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
    id_table: Annotated[Path, typer.Option("--id-table", help="The secret ID table (ptable_*.csv).")],
    inferred: Annotated[
        Path, typer.Option("--inferred", help="Inferred ID table (etable_*.csv, or pse_id,user_id).")
    ],
    max_bytes: MaxBytesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against re-identification (s_R, 1 is nobody identified)."""
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
        float, typer.Option("--sensitive-weight", help="Weight of a cell whose original place is sensitive.")
    ] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """Score privacy against trace inference (s_T, 1 is no place found)."""
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
                f"{there.count(False):,} of {len(there):,} users of {original} are not in {inferred}: they "
                "are not scored"
            )
            traces = traces.take_users(there)
    score = trace_inference_score(traces, guess, sensitive_weight=sensitive_weight)
    result |= report_sensitive_places(traces.places, sensitive_weight)
    print_result(score.to_dict() | result, as_json)


# ``tracearena check``: does a submission follow the rules of its file?


_Given = TypeVar("_Given")

FileArgument = Annotated[Path, typer.Argument(help="The submission: .csv, .csv.gz, or a table.")]
ReferenceOption = Annotated[
    Path | None, typer.Option("--reference", help="Reference traces of the team that is attacked.")
]
AnonymizedOption = Annotated[
    Path | None, typer.Option("--anonymized", help="The public traces that are attacked (pubtraces_*.csv).")
]
TruthOption = Annotated[
    Path | None, typer.Option("--original", help="The judge's way: the original traces instead of both.")
]


def register_check(app: typer.Typer) -> None:
    """Add the command and its three kinds of file."""
    group = typer.Typer(no_args_is_help=True, help="Check a submission: exit 0 if it is good, 2 if not.")
    group.command("obfuscated")(check_obfuscated)
    group.command("inferred-table")(check_inferred_table)
    group.command("inferred-traces")(check_inferred_traces)
    app.add_typer(group, name="check")


@reads_traces(limits=LIMITS)
def check_obfuscated(
    reading: ReadingOptions, file: FileArgument, original: OriginalOption, as_json: JsonOption = False
) -> None:
    """Check obfuscated traces: one cell for each row of the original."""

    def check(truth: Reading[Traces]) -> dict[str, int]:
        from tracearena.io.pwscup import read_obfuscated

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
    """Check an inferred ID table: one user of the reference traces for each pseudonym.

    It takes what an attacker has, --reference and --anonymized; the judge may name --original instead.
    """

    def check(known: _AnswerReference) -> dict[str, int]:
        import numpy as np

        from tracearena.io.pwscup import read_inferred_table
        from tracearena.jobs.outputs import is_id_table_file

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
    """Check inferred traces: exactly one region for each user and time.

    It takes what an attacker has, --reference and --anonymized; the judge may name --original instead.
    """

    def check(known: _AnswerReference) -> dict[str, int]:
        import numpy as np

        from tracearena.io.inputs import OBFUSCATED
        from tracearena.io.pwscup import read_inferred_traces
        from tracearena.jobs.pairs import align_files
        from tracearena.metrics.contest_scores import places_at

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


@dataclass(frozen=True)
class _AnswerReference:
    """What an answer is checked against.

    Attributes
    ----------
    reading
        Of the file that names the users.
    frame
        The users whom an answer may name, with the events that it must have.
    pseudonyms
        Whom it must be about; None where only their number is known.
    """

    path: Path
    reading: Reading[Traces]
    frame: Traces
    pseudonyms: NDArray[Any] | None = None

    def rows(self) -> NDArray[Any]:
        """Return the pseudonyms, those that a judge gives if they are not known."""
        import numpy as np

        users = self.frame.n_users
        return np.arange(users) + users + 1 if self.pseudonyms is None else self.pseudonyms


def _read_answer_reference(
    reading: ReadingOptions, reference: Path | None, anonymized: Path | None, original: Path | None
) -> _AnswerReference:
    """Read what an attacker has, or the original traces."""
    if original is not None:
        refuse_options("an answer that is checked by --original", reference=reference, anonymized=anonymized)
        truth = reading.read_events(original)
        return _AnswerReference(original, truth, truth.traces)
    if reference is None or anonymized is None:
        raise ParameterError(
            "an answer is checked by what an attacker has: name the public traces with --anonymized and the "
            "reference traces with --reference (or, as the judge, the original traces with --original)"
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
    """Read a guess that names its pseudonyms; refuse users and pseudonyms that there are not."""
    from tracearena.errors import Fault
    from tracearena.io.places import read_id_pairs

    table = read_id_pairs(file, one_to_one=False)
    users = set(map(str, known.frame.user_ids.tolist()))
    problem = f"there is no such user; it must be one of the {len(users):,} of {known.path.name}"
    faults = [
        Fault(None, "user_id", user, problem, "unknown-user")
        for user in map(str, table.user_ids.tolist())
        if user not in users
    ]
    if known.pseudonyms is not None:
        answered, asked = (set(map(str, ids.tolist())) for ids in (table.pseudonyms, known.pseudonyms))
        strange = f"there is no such pseudonym; it must be one of the {len(asked):,} of the public traces"
        missing = f"it has no row; there must be one for each of the {len(asked):,} pseudonyms"
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
