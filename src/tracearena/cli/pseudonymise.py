"""``tracearena pseudonymise``: the judge's shuffle, for files of every format."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena import arena
from tracearena.cli._console import (
    JsonOption,
    ReleaseSeedOption,
    check_outputs,
    note,
    print_result,
    release_seed,
)
from tracearena.cli._contest_files import TimesOption, given_times
from tracearena.cli._reading import say_unread_columns

if TYPE_CHECKING:
    from tracearena.traces import IdTable

_OBFUSCATED = "reg_id"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(pseudonymise)


def pseudonymise(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="Obfuscated traces (anotraces_*.csv), GPS traces, or events of any format."
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="Where the anonymized traces go (pubtraces_*.csv; GPS by OUT's name; events as in IN)."
        ),
    ],
    id_table: Annotated[
        Path, typer.Option("--id-table", help="Where the secret ID table goes (ptable_*.csv).")
    ],
    original: Annotated[
        Path | None,
        typer.Option("--original", help="Obfuscated traces only: the original traces they were made from."),
    ] = None,
    format: Annotated[
        str | None, typer.Option("--from", help="Format of IN, as for convert; recognised if omitted.")
    ] = None,
    places: Annotated[
        Path | None,
        typer.Option("--places", help="The places; of obfuscated traces the contest's 1,024 if omitted."),
    ] = None,
    times: TimesOption = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="GPS: zone of times in a table that name none.")
    ] = None,
    seed: ReleaseSeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give every trace a pseudonym at random and write the secret table of who is who.

    Publish the printed commitment before the attacks; keep its salt as secret as the ID table, and
    publish both afterwards, so that nobody can doubt the judge.
    """
    from tracearena.errors import ParameterError

    kind = _kind(file, format)
    options = {"original": original, "places": places, "times": times, "timezone": timezone}
    allowed = {
        "obfuscated traces": {"original", "places", "times"},
        "GPS traces": {"timezone"},
        "events": {"places", "times"},
    }[kind]
    for name, value in options.items():
        if value is not None and name not in allowed:
            raise ParameterError(f"{file}: --{name} has no meaning for {kind}")
    if id_table.is_file():
        raise ParameterError(
            f"{id_table}: exists, and may be the only way back from another release; name another file, or "
            "remove it yourself"
        )
    _check_outputs(out, id_table, kind, (file, original, places, times))
    if kind == "obfuscated traces":
        result = _obfuscated(file, out, original, id_table, places, times, seed)
    elif kind == "GPS traces":
        result = _gps(file, out, id_table, timezone or "UTC", seed)
    else:
        result = _events(file, out, id_table, format, places, times, seed)
    print_result(result, as_json)


def _kind(file: Path, format: str | None) -> str:
    """Tell obfuscated traces, whose users are in another file, from GPS traces and from events."""
    from tracearena.formats import recognition
    from tracearena.intake.tables import is_parquet

    if recognition.is_gps(file, format):
        return "GPS traces"
    is_text = format is None and not file.is_dir() and not is_parquet(file)
    return "obfuscated traces" if is_text and recognition.first_line(file) == _OBFUSCATED else "events"


def _obfuscated(
    file: Path,
    out: Path,
    original: Path | None,
    id_table: Path,
    places: Path | None,
    times: Path | None,
    seed: int | None,
) -> dict[str, Any]:
    from tracearena import contest
    from tracearena.errors import ParameterError
    from tracearena.files.staging import replacing_all
    from tracearena.formats import pwscup
    from tracearena.intake.user_key import carrying, refuse_stale_key
    from tracearena.metrics import utility_score

    if original is None:
        raise ParameterError(f"{file}: holds no users: name the traces it was made from with --original")
    refuse_stale_key(original, id_table)
    regions = pwscup.contest_regions() if places is None else pwscup.read_places(places)
    truth = pwscup.read_traces(original, regions, given_times(times))
    traces = pwscup.read_obfuscated(file, truth)
    rules = contest.Rules()
    utility = utility_score(truth, traces, limit_km=rules.utility_limit_km).utility
    valid = rules.is_valid(utility)
    release = arena.pseudonymise(traces, seed=release_seed(seed))
    with replacing_all(), ExitStack() as stack:
        _keep(stack, release.id_table, id_table)
        stack.enter_context(carrying(original, id_table))
        pwscup.write_anonymized(release.anonymized, out)
    if not valid:
        note(
            f"warning: utility {utility:.6g} is below the contest's threshold {rules.utility_threshold:g}: "
            "a contest would not accept this release"
        )
    return _told(out, id_table, release.id_table) | {"utility": utility, "valid": valid}


def _gps(file: Path, out: Path, id_table: Path, timezone: str, seed: int | None) -> dict[str, Any]:
    from tracearena.cli import _gps
    from tracearena.files.staging import replacing_all

    traces = _gps.read_traces(file, timezone)
    say_unread_columns(file, "points")
    released, table = arena.pseudonymise_users(traces, seed=release_seed(seed))
    with replacing_all(), ExitStack() as stack:
        _keep(stack, table, id_table)
        _gps.write_traces(released, out)
    return _told(out, id_table, table)


def _events(
    file: Path,
    out: Path,
    id_table: Path,
    format: str | None,
    places: Path | None,
    times: Path | None,
    seed: int | None,
) -> dict[str, Any]:
    from tracearena.errors import ParameterError
    from tracearena.files.staging import replacing_all
    from tracearena.formats import foursquare, pwscup, read, write
    from tracearena.traces import ObfuscatedTraces

    traces, report = read(file, format, places=places, times=times).as_events()
    for line in report.lines():
        note(line)
    say_unread_columns(file, report.format)
    venues = out.parent / foursquare.POI_NAME
    if report.format == "foursquare" and venues.exists():
        raise ParameterError(f"{venues}: exists, and the venues would go there; write to another folder")
    released, secret = arena.pseudonymise_users(traces, seed=release_seed(seed))
    with replacing_all(), ExitStack() as stack:
        _keep(stack, secret, id_table)
        if report.format == "pwscup":
            pwscup.write_anonymized(ObfuscatedTraces.unchanged(released), out)
        else:
            write(released, out, to=report.format)
    return _told(out, id_table, secret)


def _check_outputs(out: Path, id_table: Path, kind: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse outputs that cannot both be written; OUT may be a new folder where the format is one."""
    from tracearena.errors import ParameterError
    from tracearena.formats.dispatch import format_of_points

    is_folder = inputs[0] is not None and inputs[0].is_dir()
    if kind == "GPS traces":
        is_folder = format_of_points(out) == "geolife"
    if not is_folder:
        check_outputs(out, id_table, inputs=inputs)
        return
    check_outputs(id_table, inputs=inputs)
    if out.resolve() == id_table.resolve():
        raise ParameterError(f"{out}: two outputs cannot go to one file")
    if not out.parent.is_dir():
        raise ParameterError(f"{out}: there is no folder {out.parent}")


def _keep(stack: ExitStack, table: IdTable, path: Path) -> None:
    """Write the ID table for its owner alone, if all else is written too."""
    from tracearena.contest import id_table_text
    from tracearena.files.whole import replacing

    stack.enter_context(replacing(path, private=True)).write(id_table_text(table).encode())


def _told(out: Path, path: Path, table: IdTable) -> dict[str, Any]:
    from tracearena.contest import commit

    commitment = commit(table)
    return {
        "file": str(out),
        "id_table": str(path),
        "pseudonyms": len(table),
        "commitment": commitment.digest,
        "commitment_salt": commitment.salt,
    }
