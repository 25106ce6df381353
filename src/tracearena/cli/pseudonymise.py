"""``tracearena pseudonymise``: the judge's shuffle, for files of every format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracearena import arena
from tracearena.cli import _large
from tracearena.cli._large import ResumeOption
from tracearena.cli._output import (
    ClusterOption,
    JsonOption,
    ReleaseSeedOption,
    check_outputs,
    form_of,
    joined,
    note,
    print_result,
    refuse,
    release_seed,
    write_anonymized,
)
from tracearena.cli._reading import LIMITS, ReadingOptions, reads_traces, say

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracearena.contest import Commitment
    from tracearena.io.large import Table
    from tracearena.io.large.first_pass import Survey
    from tracearena.traces import IdTable, ObfuscatedTraces


_OBFUSCATED, _GPS, _EVENTS = "obfuscated traces", "GPS traces", "events"
_ALLOWED = {
    _OBFUSCATED: {"original", "places", "times", *LIMITS},
    _GPS: {"timezone"},
    _EVENTS: {"places", "times"},
}


def register_pseudonymise(app: typer.Typer) -> None:
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
        typer.Option("--to", help="partitions, a folder of parts; by the name of OUT if omitted."),
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
    if to not in (None, _large.PARTS):
        raise ParameterError.of("--to", to, f"{_large.PARTS}; other forms are told by the name of OUT")
    if original is not None:
        refuse("what is scored beside --original", to=to, cluster=cluster, resume=resume)
    asked = Asked(out, id_table, again, seed, to, cluster, resume)
    _check_outputs(asked, kind, (file, original, *reading.files))
    there = secrets_at(id_table)
    if not (again or resume):  # a run that goes on knows its own ID table
        refuse_to_replace(id_table)
    if kind == _OBFUSCATED:
        result = _obfuscated(context, reading, file, asked, original)
    elif kind == _GPS:
        result = _points(context, reading, file, asked)
    else:
        result = _events(context, reading, file, asked)
    if again and there:
        note(
            f"warning: {' and '.join(map(str, there))} replaced: the commitment that was published for it "
            "is void, and from the release before there is no way back; publish the new commitment"
        )
    print_result(result, as_json)


def _kind(file: Path, reading: ReadingOptions, original: Path | None) -> str:
    """Tell obfuscated traces from GPS traces and from events; beside an original, --from is its format."""
    from tracearena.io.released import is_released

    if (reading.format is None or original is not None) and is_released(file):
        return _OBFUSCATED
    return _GPS if reading.is_gps(file) else _EVENTS


def _obfuscated(
    context: typer.Context, reading: ReadingOptions, file: Path, asked: Asked, original: Path | None
) -> dict[str, Any]:
    from tracearena.files.atomic import replacing_all
    from tracearena.io import read_released
    from tracearena.io.id_mapping import carrying, refuse_stale_key
    from tracearena.io.released import contest_header

    out, id_table, contest = asked.out, asked.id_table, contest_header(file) is not None
    result: dict[str, Any] = {}
    if original is None:
        reading.refuse_layout("released traces without --original")
        reading.refuse_limits()
        if _large.release_goes_through(
            reading, file, out, asked.to, cluster=asked.cluster, resume=asked.resume
        ):
            return pseudonymise_in_chunks(context, reading, file, asked, _large.write_release_renamed)
    form = form_of(out, None, contest=contest)
    if original is None:
        alone = read_released(file, places=reading.places, times=reading.times)
        say(alone)
        traces = alone.traces
    else:
        refuse_stale_key(original, id_table)
        traces, result = _scored(reading, file, original, contest)
    release = arena.pseudonymise(traces, seed=release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = keep(stack, release.id_table, id_table)
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
    from tracearena.io import pwscup
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


def _points(context: typer.Context, reading: ReadingOptions, file: Path, asked: Asked) -> dict[str, Any]:
    from tracearena.files.atomic import replacing_all

    out = asked.out
    if _large.is_processed_in_chunks(
        reading, file, out, asked.to, cluster=asked.cluster, resume=asked.resume
    ):
        return pseudonymise_in_chunks(context, reading, file, asked, _large.write_pseudonymised_points)
    traces = _large.read_traces(reading, file)
    reading.say_unread_columns(file, "points")
    released, table = arena.pseudonymise_users(traces, seed=release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = keep(stack, table, asked.id_table)
        _large.write_traces(released, out)
    return {"file": str(out), **kept}


def _events(context: typer.Context, reading: ReadingOptions, file: Path, asked: Asked) -> dict[str, Any]:
    from tracearena.errors import ParameterError
    from tracearena.files.atomic import replacing_all
    from tracearena.io import pwscup, write
    from tracearena.io.formats import checkins
    from tracearena.io.writers import format_of_name
    from tracearena.traces import ObfuscatedTraces

    out = asked.out
    if _large.are_events_processed_in_chunks(
        reading, file, out, asked.to, cluster=asked.cluster, resume=asked.resume
    ):
        users = 1 if asked.to is None else _large.USERS_PER_PART
        return pseudonymise_in_chunks(
            context, reading, file, asked, _large.write_pseudonymised_events, users=users
        )
    traces, report = reading.read_events(file)
    reading.say_unread_columns(file, report.format)
    to = format_of_name(out, like=report.format)
    venues = out.parent / checkins.POI_NAME
    if to == "foursquare" and venues.exists():
        raise ParameterError(f"{venues}: exists, and the venues would go there; write to another folder")
    released, secret = arena.pseudonymise_users(traces, seed=release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = keep(stack, secret, asked.id_table)
        if to == "pwscup":
            pwscup.write_anonymized(ObfuscatedTraces.unchanged(released), out)
        else:
            write(released, out, to=to)
    return {"file": str(out), **kept}


def _check_outputs(asked: Asked, kind: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse outputs that cannot both be written; OUT may be a new folder where the format is one."""
    from tracearena.errors import ParameterError
    from tracearena.io.writers import format_of_name

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


# The secret table of who is who on disk, with the salt of the commitment to it beside it.


def salt_of(id_table: Path) -> Path:
    """Return where the salt of the commitment to an ID table stands.

    >>> str(salt_of(Path("ptable.csv")))
    'ptable.csv.salt'
    """
    return Path(f"{id_table}.salt")


def secrets_at(id_table: Path) -> list[Path]:
    """Return which of an ID table and its salt are there."""
    return [path for path in (id_table, salt_of(id_table)) if path.is_file()]


def refuse_to_replace(id_table: Path) -> None:
    """Refuse to write where an ID table or its salt is there."""
    from tracearena.errors import ParameterError

    there = secrets_at(id_table)
    if there:
        raise ParameterError(
            f"{there[0]}: exists, and may be the only way back from another release; nothing was drawn and "
            "nothing changed. Name another file, or draw anew with --again, which makes the commitment to "
            "this one void"
        )


def keep(stack: ExitStack, table: IdTable, path: Path) -> dict[str, Any]:
    """Write the ID table and the salt for their owner alone, if all else is written too; say where.

    The digest is that of the two files one after the other. Where the table goes to a pipe there is
    nothing to put the salt beside, and it is told.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.files.io import is_stream, replacing

    commitment = commit(table)
    stack.enter_context(replacing(path, private=True)).write(id_table_text(table).encode())
    if not is_stream(path):
        salt = stack.enter_context(replacing(salt_of(path), private=True))
        salt.write(f"{commitment.salt}\n".encode())
    return _told(table, path, commitment)


def kept_already(table: IdTable, path: Path) -> dict[str, Any]:
    """Return what is told of an ID table that is there with its salt; nothing if it is not, or another is.

    So a run leaves it that was killed before its release got its name.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.errors import ParameterError
    from tracearena.files.io import read_bytes

    if len(secrets_at(path)) < 2 or read_bytes(path) != id_table_text(table).encode():
        return {}
    try:
        commitment = commit(table, salt=salt_of(path).read_text(errors="replace").rstrip("\n"))
    except ParameterError:  # the salt of something else
        return {}
    return _told(table, path, commitment)


def _told(table: IdTable, path: Path, commitment: Commitment) -> dict[str, Any]:
    from tracearena.files.io import is_stream

    told = {"id_table": str(path), "pseudonyms": len(table), "commitment": commitment.digest}
    if is_stream(path):
        return told | {"commitment_salt": commitment.salt}
    return told | {"commitment_salt_file": str(salt_of(path))}


# How users of tables of any size get pseudonyms: they change places through the disk.


Pseudonyms = Callable[[], "NDArray[Any]"]
"""Tells the pseudonyms, ascending, once the order of users is drawn."""


@dataclass(frozen=True)
class Asked:
    """Where release and ID table go, what is drawn, and how the release is written."""

    out: Path
    id_table: Path
    again: bool
    seed: int | None
    to: str | None
    cluster: str | None
    resume: bool


def pseudonymise_in_chunks(
    context: typer.Context,
    reading: ReadingOptions,
    file: Path,
    asked: Asked,
    write: Callable[..., None],
    *,
    users: int = 1,
) -> dict[str, Any]:
    """Shuffle the users of a table through the disk, with the values of all at once; say what was written.

    Parts hold users in the order of their pseudonyms, so that neither their names nor the times at which they
    were written tell how users stood before. The ID table is there before the release gets its name; one that
    a run killed in between has left stays as it is, with its salt.

    Parameters
    ----------
    write
        Writes the release, from what is read, where it is and where it goes; its pseudonyms; and the options
        of `_streams.through`.
    users
        Every part but the last has a multiple of so many users.
    """
    from tracearena.arena.pseudonyms import shuffled_ids
    from tracearena.engine import seed_sequence
    from tracearena.files.atomic import replacing_all
    from tracearena.io import large

    drawn: list[IdTable] = []
    kept: dict[str, Any] = {}

    def arrange(table: Table[Any], found: Survey, scratch: Path, root: Any) -> Table[Any]:
        order, secret = shuffled_ids(found.user_ids, seed=root)
        if asked.resume:
            kept.update(kept_already(secret, asked.id_table))
        if not (kept or asked.again):
            refuse_to_replace(asked.id_table)
        drawn.append(secret)
        return large.shuffled(table, found, order, scratch, users=users)

    def sealed() -> None:
        if kept:
            return
        with replacing_all(), ExitStack() as stack:
            kept.update(keep(stack, drawn[-1], asked.id_table))

    workers = joined(context, asked.cluster)
    if asked.cluster is not None and asked.cluster.startswith("tcp://"):
        note("warning: who is who goes to the workers unencrypted; tls:// keeps it from those who listen")
    with replacing_all() if asked.to is None else ExitStack():
        write(
            reading,
            file,
            asked.out,
            lambda: drawn[-1].pseudonyms,
            to=asked.to,
            cluster=workers,
            resume=asked.resume,
            depends_on=("pseudonymise", asked.seed),
            root=seed_sequence(release_seed(asked.seed)),
            arrange=arrange,
            sealed=sealed,
        )
    return {"file": str(asked.out), **kept}
