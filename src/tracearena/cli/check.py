"""``tracearena check``: does a submission follow the rules of its file?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena.cli._console import JsonOption, PlacesOption
from tracearena.cli._contest_files import TimesOption, given_times
from tracearena.errors import FileError

if TYPE_CHECKING:
    from tracearena.traces import Traces

FileArgument = Annotated[Path, typer.Argument(help="The submission, .csv or .csv.gz.")]
OriginalOption = Annotated[Path, typer.Option("--original", help="The original traces (orgtraces_*.csv).")]


def register(app: typer.Typer) -> None:
    """Add the command and its three kinds of file."""
    group = typer.Typer(no_args_is_help=True, help="Check a submission: exit 0 if it is good, 2 if not.")
    group.command("obfuscated")(obfuscated)
    group.command("inferred-table")(inferred_table)
    group.command("inferred-traces")(inferred_traces)
    app.add_typer(group, name="check")


def obfuscated(
    file: FileArgument,
    places: PlacesOption,
    original: OriginalOption,
    times: TimesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check obfuscated traces: one cell for each row of the original."""

    def check(traces: Traces) -> dict[str, int]:
        from tracearena.formats.pwscup import read_obfuscated

        released = read_obfuscated(file, traces)
        kept = int((released.codes == traces.place_index).sum())
        return {
            "rows": released.n_events,
            "kept": kept,
            "perturbed": int(released.is_single.sum()) - kept,
            "generalised": int(released.is_set.sum()),
            "deleted": int(released.is_deleted.sum()),
        }

    _run(check, file, places, original, times, as_json)


def inferred_table(
    file: FileArgument,
    places: PlacesOption,
    original: OriginalOption,
    times: TimesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check an inferred ID table: one user of the original for each pseudonym."""

    def check(traces: Traces) -> dict[str, int]:
        import numpy as np

        from tracearena.formats.pwscup import read_inferred_table

        pseudonyms = np.arange(traces.n_users) + traces.n_users + 1
        table = read_inferred_table(file, pseudonyms, users=traces.user_ids)
        return {"rows": len(table), "different_users": len(np.unique(table.user_ids))}

    _run(check, file, places, original, times, as_json)


def inferred_traces(
    file: FileArgument,
    places: PlacesOption,
    original: OriginalOption,
    times: TimesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check inferred traces: exactly one region for each row of the original."""

    def check(traces: Traces) -> dict[str, int]:
        import numpy as np

        from tracearena.formats.pwscup import read_inferred_traces

        inferred = read_inferred_traces(file, traces)
        return {"rows": inferred.n_events, "different_regions": len(np.unique(inferred.place_index))}

    _run(check, file, places, original, times, as_json)


def _run(
    check: Callable[[Traces], dict[str, int]],
    file: Path,
    places: Path,
    original: Path,
    times: Path | None,
    as_json: bool,
) -> None:
    from tracearena.formats.pwscup import read_places, read_traces

    traces = read_traces(original, read_places(places), given_times(times))
    try:
        counts = check(traces)
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
