"""``tracearena check``: does a submission follow the rules of its file?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption
from tracearena.cli._reading import ReadingOptions, reads_traces
from tracearena.cli.score import OriginalOption
from tracearena.errors import DataError, FileError

if TYPE_CHECKING:
    from tracearena.intake import Reading
    from tracearena.traces import Traces

FileArgument = Annotated[Path, typer.Argument(help="The submission: .csv, .csv.gz, or a table.")]


def register(app: typer.Typer) -> None:
    """Add the command and its three kinds of file."""
    group = typer.Typer(no_args_is_help=True, help="Check a submission: exit 0 if it is good, 2 if not.")
    group.command("obfuscated")(obfuscated)
    group.command("inferred-table")(inferred_table)
    group.command("inferred-traces")(inferred_traces)
    app.add_typer(group, name="check")


@reads_traces()
def obfuscated(
    reading: ReadingOptions, file: FileArgument, original: OriginalOption, as_json: JsonOption = False
) -> None:
    """Check obfuscated traces: one cell for each row of the original."""

    def check(truth: Reading[Traces]) -> dict[str, int]:
        released, _ = reading.read_obfuscated(file, truth)
        kept = int((released.codes == truth.traces.place_index).sum())
        return {
            "rows": released.n_events,
            "kept": kept,
            "perturbed": int(released.is_single.sum()) - kept,
            "generalised": int(released.is_set.sum()),
            "deleted": int(released.is_deleted.sum()),
        }

    _run(reading, check, file, original, as_json)


@reads_traces()
def inferred_table(
    reading: ReadingOptions, file: FileArgument, original: OriginalOption, as_json: JsonOption = False
) -> None:
    """Check an inferred ID table: one user of the original for each pseudonym."""

    def check(truth: Reading[Traces]) -> dict[str, int]:
        import numpy as np

        from tracearena.cli._forms import is_who_is_who
        from tracearena.formats.pwscup import read_inferred_table

        traces = truth.traces
        if is_who_is_who(file):
            table = _who_is_who(file, traces)
        else:
            pseudonyms = np.arange(traces.n_users) + traces.n_users + 1
            table = read_inferred_table(file, pseudonyms, users=traces.user_ids)
        return {"rows": len(table), "different_users": len(np.unique(table.user_ids))}

    _run(reading, check, file, original, as_json)


@reads_traces()
def inferred_traces(
    reading: ReadingOptions, file: FileArgument, original: OriginalOption, as_json: JsonOption = False
) -> None:
    """Check inferred traces: exactly one region for each row of the original."""

    def check(truth: Reading[Traces]) -> dict[str, int]:
        import numpy as np

        from tracearena.formats.pwscup import read_inferred_traces
        from tracearena.formats.released import OBFUSCATED, contest_header

        if contest_header(file) == OBFUSCATED:
            inferred = read_inferred_traces(file, truth.traces)
        else:
            inferred = _covering(file, reading.read_alike(file, truth).traces, original, truth.traces)
        return {"rows": inferred.n_events, "different_regions": len(np.unique(inferred.place_index))}

    _run(reading, check, file, original, as_json)


def _who_is_who(file: Path, traces: Traces) -> Any:
    """Read a guess that names its pseudonyms; refuse users whom the original has not."""
    from tracearena.errors import Fault
    from tracearena.formats.pseudonyms import read_who_is_who

    table = read_who_is_who(file, one_to_one=False)
    known = set(map(str, traces.user_ids.tolist()))
    strange = [str(user) for user in table.user_ids.tolist() if str(user) not in known]
    if strange:
        problem = f"there is no such user; it must be one of the {len(known):,} of the original"
        raise FileError(file, [Fault(None, "user_id", user, problem, "unknown-user") for user in strange])
    return table


def _covering(file: Path, inferred: Traces, original: Path, traces: Traces) -> Traces:
    """Return inferred traces that have a place for every event of the original; refuse others."""
    from tracearena.cli._together import on_common_ground
    from tracearena.metrics.trace_inference import places_at

    truth, guess = on_common_ground((original, traces), (file, inferred))
    try:
        places_at(guess, truth)
    except DataError as error:
        raise FileError.whole(file, str(error), "other-events") from None
    return guess


def _run(
    reading: ReadingOptions,
    check: Callable[[Reading[Traces]], dict[str, int]],
    file: Path,
    original: Path,
    as_json: bool,
) -> None:
    file.stat()
    truth = reading.read_events(original)
    try:
        counts = check(truth)
    except FileError as error:
        if as_json:
            typer.echo(json.dumps({"valid": False, **error.to_dict()}))
        raise
    result: dict[str, Any] = {"valid": True, "file": str(file), **counts}
    if as_json:
        typer.echo(json.dumps(result))
        return
    said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    typer.echo(f"OK {file}: {said}")
