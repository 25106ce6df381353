"""``tracearena pseudonymise``: the judge's shuffle, for files of every format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena import arena
from tracearena.cli import _event_streams, _streams
from tracearena.cli._cluster import ClusterOption, joined
from tracearena.cli._console import (
    JsonOption,
    ReleaseSeedOption,
    check_outputs,
    note,
    print_result,
    release_seed,
)
from tracearena.cli._declaring import LIMITS, reads_traces
from tracearena.cli._forms import form_of, write_anonymized
from tracearena.cli._reading import ReadingOptions, say
from tracearena.cli._refusing import refuse
from tracearena.cli._streams import ResumeOption

if TYPE_CHECKING:
    from tracearena.streams import Table
    from tracearena.streams.survey import Survey
    from tracearena.traces import IdTable, ObfuscatedTraces

_OBFUSCATED, _GPS, _EVENTS = "obfuscated traces", "GPS traces", "events"
_ALLOWED = {
    _OBFUSCATED: {"original", "places", "times", *LIMITS},
    _GPS: {"timezone"},
    _EVENTS: {"places", "times"},
}


@dataclass(frozen=True)
class _Asked:
    """Where release and ID table go, and how the release is written."""

    out: Path
    id_table: Path
    to: str | None
    cluster: str | None
    resume: bool


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(pseudonymise)


@reads_traces(
    without=("grid", "bounds", "top", "interval", "slot", "resample", "utc_hours", "hours"),
    limits=LIMITS,
)
def pseudonymise(
    context: typer.Context,
    reading: ReadingOptions,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="Obfuscated traces (anotraces_*.csv, a table), GPS traces, or events of any format.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            help="Where the anonymized traces go (pubtraces_*.csv, a table; by its name, or as IN)."
        ),
    ],
    id_table: Annotated[
        Path, typer.Option("--id-table", help="Where the secret ID table goes (ptable_*.csv).")
    ],
    original: Annotated[
        Path | None,
        typer.Option("--original", help="Obfuscated traces only: the original traces they were made from."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Draw anew over an ID table that is there; its commitment is void then."
        ),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option("--to", help="GPS: partitions, a folder of parts; by the name of OUT if omitted."),
    ] = None,
    seed: ReleaseSeedOption = None,
    cluster: ClusterOption = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Give every trace a pseudonym at random and write the secret table of who is who.

    Publish the printed commitment before the attacks. Its salt is kept beside the ID table
    (NAME.salt), as secret as that; publish both afterwards, so that nobody can doubt the judge.
    """
    from tracearena.errors import ParameterError

    kind = _kind(file, reading, original)
    options = {"original": original} | {
        name: getattr(reading, name) for name in ("places", "times", "timezone", *LIMITS)
    }
    for name, value in options.items():
        if value is not None and name not in _ALLOWED[kind]:
            raise ParameterError(f"{file}: --{name.replace('_', '-')} has no meaning for {kind}")
    if kind != _GPS:
        refuse(kind, to=to, cluster=cluster, resume=resume)
    elif to not in (None, _streams.PARTS):
        raise ParameterError.of("--to", to, f"{_streams.PARTS}; other forms are told by the name of OUT")
    replaced = _replaced(id_table, again)
    asked = _Asked(out, id_table, to, cluster, resume)
    _check_outputs(asked, kind, (file, original, *reading.files))
    if kind == _OBFUSCATED:
        result = _obfuscated(reading, file, out, original, id_table, seed)
    elif kind == _GPS:
        result = _gps(context, reading, file, asked, seed)
    else:
        result = _events(reading, file, out, id_table, seed)
    if replaced:
        note(
            f"warning: {' and '.join(map(str, replaced))} replaced: the commitment that was published for it "
            "is void, and from the release before there is no way back; publish the new commitment"
        )
    print_result(result, as_json)


def _replaced(id_table: Path, again: bool) -> list[Path]:
    """Return the secrets that --again replaces; without it none may be there."""
    from tracearena.errors import ParameterError

    there = [path for path in (id_table, salt_of(id_table)) if path.is_file()]
    if there and not again:
        raise ParameterError(
            f"{there[0]}: exists, and may be the only way back from another release; nothing was drawn and "
            "nothing changed. Name another file, or draw anew with --again, which makes the commitment to "
            "this one void"
        )
    return there


def salt_of(id_table: Path) -> Path:
    """Return where the salt of the commitment to an ID table stands.

    >>> str(salt_of(Path("ptable.csv")))
    'ptable.csv.salt'
    """
    return Path(f"{id_table}.salt")


def _kind(file: Path, reading: ReadingOptions, original: Path | None) -> str:
    """Tell obfuscated traces from GPS traces and from events; beside an original, --from is its format."""
    from tracearena.formats.released import is_released

    if (reading.format is None or original is not None) and is_released(file):
        return _OBFUSCATED
    return _GPS if reading.is_gps(file) else _EVENTS


def _obfuscated(
    reading: ReadingOptions, file: Path, out: Path, original: Path | None, id_table: Path, seed: int | None
) -> dict[str, Any]:
    from tracearena.files.staging import replacing_all
    from tracearena.formats import read_released
    from tracearena.formats.released import contest_header
    from tracearena.intake.user_key import carrying, refuse_stale_key

    contest = contest_header(file) is not None
    form = form_of(out, None, contest=contest)
    result: dict[str, Any] = {}
    if original is None:
        reading.refuse_layout("released traces without --original")
        reading.refuse_limits()
        if form == "table" and reading.times is None and _event_streams.is_large_release(file):
            keeping = partial(_kept_together, path=id_table)
            kept = _event_streams.pseudonymise_release(reading, file, out, seed, keeping)
            return {"file": str(out), **kept}
        alone = read_released(file, places=reading.places, times=reading.times)
        say(alone)
        traces = alone.traces
    else:
        refuse_stale_key(original, id_table)
        traces, result = _scored(reading, file, original, contest)
    release = arena.pseudonymise(traces, seed=release_seed(seed))
    with replacing_all(), ExitStack() as stack:
        kept = _keep(stack, release.id_table, id_table)
        if original is not None:
            stack.enter_context(carrying(original, id_table))
        write_anonymized(release.anonymized, out, form)
    if not result.get("valid", True):
        _warn_of_utility(result["utility"])
    return {"file": str(out), **kept} | result


def _scored(
    reading: ReadingOptions, file: Path, original: Path, contest_file: bool
) -> tuple[ObfuscatedTraces, dict[str, Any]]:
    """Return obfuscated traces, and whether a contest would accept them."""
    from tracearena import contest
    from tracearena.formats import pwscup
    from tracearena.metrics import utility_score

    known: Any = reading.places
    if contest_file and known is None and not original.with_name("info_region.csv").is_file():
        known = pwscup.contest_regions()
    truth = replace(reading, places=known).read_events(original)
    traces, _ = reading.read_obfuscated(file, truth)
    rules = contest.Rules()
    utility = utility_score(truth.traces, traces, limit_km=rules.utility_limit_km).utility
    valid = rules.is_valid(utility)
    return traces, {"utility": utility, "valid": valid}


def _warn_of_utility(utility: float) -> None:
    from tracearena.contest import Rules

    note(
        f"warning: utility {utility:.6g} is below the contest's threshold {Rules().utility_threshold:g}: "
        "a contest would not accept this release"
    )


def _gps(
    context: typer.Context, reading: ReadingOptions, file: Path, asked: _Asked, seed: int | None
) -> dict[str, Any]:
    from tracearena.cli import _gps
    from tracearena.files.staging import replacing_all

    out, id_table = asked.out, asked.id_table
    if _streams.goes_through(reading, file, out, asked.to, cluster=asked.cluster, resume=asked.resume):
        return _gps_of_any_size(context, reading, file, asked, seed)
    traces = _gps.read_traces(reading, file)
    reading.say_unread_columns(file, "points")
    released, table = arena.pseudonymise_users(traces, seed=release_seed(seed))
    with replacing_all(), ExitStack() as stack:
        kept = _keep(stack, table, id_table)
        _gps.write_traces(released, out)
    return {"file": str(out), **kept}


def _gps_of_any_size(
    context: typer.Context, reading: ReadingOptions, file: Path, asked: _Asked, seed: int | None
) -> dict[str, Any]:
    """Shuffle the users of a table through the disk, with the values of all at once.

    Parts hold users in the order of their pseudonyms, so that neither their names nor the times at which they
    were written tell how users stood before. The ID table is there before the release gets its name.
    """
    from tracearena import streams
    from tracearena.arena.pseudonyms import shuffled_ids
    from tracearena.engine import seed_sequence
    from tracearena.files.staging import replacing_all

    secrets: list[IdTable] = []
    kept: dict[str, Any] = {}

    def arrange(table: Table[Any], found: Survey, scratch: Path, root: Any) -> Table[Any]:
        order, secret = shuffled_ids(found.user_ids, seed=root)
        secrets.append(secret)
        return streams.shuffled(table, found, order, scratch)

    def sealed() -> None:
        with replacing_all(), ExitStack() as stack:
            kept.update(_keep(stack, secrets[-1], asked.id_table))

    reading.say_unread_columns(file, "points")
    workers = joined(context, asked.cluster)
    if asked.cluster is not None and asked.cluster.startswith("tcp://"):
        note("warning: who is who goes to the workers unencrypted; tls:// keeps it from those who listen")
    with replacing_all() if asked.to is None else ExitStack():
        written = _streams.write_changed(
            reading,
            file,
            asked.out,
            lambda table, root: streams.renaming(table, secrets[-1].pseudonyms),
            to=asked.to,
            cluster=workers,
            resume=asked.resume,
            depends_on=("pseudonymise", seed),
            root=seed_sequence(release_seed(seed)),
            arrange=arrange,
            sealed=sealed,
        )
    _streams.say_silent(written, asked.out)
    return {"file": str(asked.out), **kept}


def _events(
    reading: ReadingOptions, file: Path, out: Path, id_table: Path, seed: int | None
) -> dict[str, Any]:
    from tracearena.errors import ParameterError
    from tracearena.files.staging import replacing_all
    from tracearena.formats import foursquare, pwscup, write
    from tracearena.formats.writing import format_of_name
    from tracearena.traces import ObfuscatedTraces

    if _event_streams.are_events(reading, file) and _event_streams.goes_through(reading, file, out):
        keeping = partial(_kept_together, path=id_table)
        return {"file": str(out)} | _event_streams.pseudonymise(reading, file, out, seed, keeping)
    traces, report = reading.read_events(file)
    reading.say_unread_columns(file, report.format)
    to = format_of_name(out, like=report.format)
    venues = out.parent / foursquare.POI_NAME
    if to == "foursquare" and venues.exists():
        raise ParameterError(f"{venues}: exists, and the venues would go there; write to another folder")
    released, secret = arena.pseudonymise_users(traces, seed=release_seed(seed))
    with replacing_all(), ExitStack() as stack:
        kept = _keep(stack, secret, id_table)
        if to == "pwscup":
            pwscup.write_anonymized(ObfuscatedTraces.unchanged(released), out)
        else:
            write(released, out, to=to)
    return {"file": str(out), **kept}


@contextmanager
def _kept_together(table: IdTable, path: Path) -> Iterator[dict[str, Any]]:
    """Keep the ID table if all that is written inside is written too; say where."""
    from tracearena.files.staging import replacing_all

    with replacing_all(), ExitStack() as stack:
        yield _keep(stack, table, path)


def _check_outputs(asked: _Asked, kind: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse outputs that cannot both be written; OUT may be a new folder where the format is one."""
    from tracearena.errors import ParameterError
    from tracearena.formats.writing import format_of_name

    out, id_table = asked.out, asked.id_table
    is_folder = inputs[0] is not None and inputs[0].is_dir() and not out.suffix
    if asked.to is not None:
        check_outputs(out, inputs=inputs, folders=True)
        is_folder = True
    elif kind == _GPS:
        is_folder = format_of_name(out, "points") == "geolife"
    if not is_folder:
        check_outputs(out, id_table, salt_of(id_table), inputs=inputs)
        return
    check_outputs(id_table, salt_of(id_table), inputs=inputs)
    if out.resolve() == id_table.resolve():
        raise ParameterError(f"{out}: two outputs cannot go to one file")
    if not out.parent.is_dir():
        raise ParameterError(f"{out}: there is no folder {out.parent}")


def _keep(stack: ExitStack, table: IdTable, path: Path) -> dict[str, Any]:
    """Write the ID table and the salt for their owner alone, if all else is written too; say where.

    The digest is that of the two files one after the other. Where the table goes to a pipe there is
    nothing to put the salt beside, and it is told.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.files.whole import is_stream, replacing

    commitment = commit(table)
    stack.enter_context(replacing(path, private=True)).write(id_table_text(table).encode())
    told = {"id_table": str(path), "pseudonyms": len(table), "commitment": commitment.digest}
    if is_stream(path):
        return told | {"commitment_salt": commitment.salt}
    salt = salt_of(path)
    stack.enter_context(replacing(salt, private=True)).write(f"{commitment.salt}\n".encode())
    return told | {"commitment_salt_file": str(salt)}
