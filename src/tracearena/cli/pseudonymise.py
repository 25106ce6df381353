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
    choose_output_form,
    choose_release_seed,
    join_cluster,
    note,
    print_result,
    refuse_options,
    write_anonymized,
)
from tracearena.cli._reading import LIMITS, ReadingOptions, note_problems, note_unread_columns, reads_traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracearena.contest import Commitment
    from tracearena.io import Input
    from tracearena.io.large import UserChunkTable
    from tracearena.io.large.first_pass import FirstPass
    from tracearena.traces import IdTable


_OBFUSCATED, _GPS, _EVENTS = "obfuscated traces", "GPS traces", "events"
_ALLOWED = {
    _OBFUSCATED: {"original", "places", "times", *LIMITS},
    _GPS: {"timezone"},
    _EVENTS: {"places", "times"},
}


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
    from tracearena.io import Input

    source = Input(file)
    # With an original, --from and the layout are its own.
    if (reading.format is None or original is not None) and source.is_release:
        kind = _OBFUSCATED
    else:
        source = source.read_as(reading.format, reading.parse_layout())
        kind = _GPS if source.holds_points else _EVENTS
    options = {"original": original} | {
        name: getattr(reading, name) for name in ("places", "times", "timezone", *LIMITS)
    }
    for name, value in options.items():
        if value is not None and name not in _ALLOWED[kind]:
            raise ParameterError(f"{file}: --{name.replace('_', '-')} has no meaning for {kind}")
    if to not in (None, _large.PARTS):
        raise ParameterError.of("--to", to, f"{_large.PARTS}; other forms are told by the name of OUT")
    if original is not None:
        refuse_options("what is scored beside --original", to=to, cluster=cluster, resume=resume)
    asked = PseudonymOutput(out, id_table, again, seed, to, cluster, resume)
    _check_outputs(asked, kind, (file, original, *reading.files))
    there = find_secrets(id_table)
    if not (again or resume):  # a run that goes on knows its own ID table
        check_no_secrets(id_table)
    if kind == _OBFUSCATED:
        result = _pseudonymise_obfuscated(context, reading, source, asked, original)
    elif kind == _GPS:
        result = _pseudonymise_points(context, reading, source, asked)
    else:
        result = _pseudonymise_events(context, reading, source, asked)
    if again and there:
        note(
            f"warning: {' and '.join(map(str, there))} replaced: the commitment that was published for it "
            "is void, and from the release before there is no way back; publish the new commitment"
        )
    print_result(result, as_json)


def _pseudonymise_obfuscated(
    context: typer.Context,
    reading: ReadingOptions,
    file: Input,
    asked: PseudonymOutput,
    original: Path | None,
) -> dict[str, Any]:
    from tracearena.contest import Rules
    from tracearena.files.atomic import replacing_all
    from tracearena.io import pwscup, read_released
    from tracearena.io.id_mapping import check_no_stale_key, copy_key_beside
    from tracearena.metrics import utility_score

    out, id_table, contest = asked.out, asked.id_table, file.contest_header is not None
    result: dict[str, Any] = {}
    rules = Rules()
    if original is None:
        reading.refuse_layout("released traces without --original")
        reading.refuse_limits()
        if _large.is_release_processed_in_chunks(
            reading, file, out, asked.to, cluster=asked.cluster, resume=asked.resume
        ):
            return pseudonymise_in_chunks(context, reading, file, asked, _large.write_pseudonymised_release)
    form = choose_output_form(out, None, contest=contest)
    if original is None:
        alone = read_released(file, places=reading.places, times=reading.times)
        note_problems(alone)
        traces = alone.traces
    else:
        check_no_stale_key(original, id_table)
        known: Any = reading.places
        if contest and known is None and not original.with_name("info_region.csv").is_file():
            known = pwscup.contest_regions()
        truth = replace(reading, places=known).read_events(original)
        traces, _ = reading.read_obfuscated(file, truth)
        utility = utility_score(truth.traces, traces, limit_km=rules.utility_limit_km).utility
        result = {"utility": utility, "valid": rules.is_valid(utility)}
    release = arena.pseudonymise(traces, seed=choose_release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = write_secrets(stack, release.id_table, id_table)
        if original is not None:
            stack.enter_context(copy_key_beside(original, id_table))
        write_anonymized(release.anonymized, out, form)
    if not result.get("valid", True):
        note(
            f"warning: utility {result['utility']:.6g} is below the contest's threshold "
            f"{rules.utility_threshold:g}: a contest would not accept this release"
        )
    return {"file": str(out), **kept} | result


def _pseudonymise_points(
    context: typer.Context, reading: ReadingOptions, file: Input, asked: PseudonymOutput
) -> dict[str, Any]:
    from tracearena.files.atomic import replacing_all

    out = asked.out
    if _large.is_processed_in_chunks(
        reading, file, out, asked.to, cluster=asked.cluster, resume=asked.resume
    ):
        return pseudonymise_in_chunks(context, reading, file, asked, _large.write_pseudonymised_points)
    traces = _large.read_gps_traces(reading, file)
    note_unread_columns(file, "points")
    released, table = arena.pseudonymise_users(traces, seed=choose_release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = write_secrets(stack, table, asked.id_table)
        _large.write_gps_traces(released, out)
    return {"file": str(out), **kept}


def _pseudonymise_events(
    context: typer.Context, reading: ReadingOptions, file: Input, asked: PseudonymOutput
) -> dict[str, Any]:
    from tracearena.errors import ParameterError
    from tracearena.files.atomic import replacing_all
    from tracearena.io import pwscup, write
    from tracearena.io.formats import checkins
    from tracearena.io.writers import guess_format_by_name
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
    note_unread_columns(file, report.format)
    to = guess_format_by_name(out, like=report.format)
    venues = out.parent / checkins.FOURSQUARE_POI_NAME
    if to == "foursquare" and venues.exists():
        raise ParameterError(f"{venues}: exists, and the venues would go there; write to another folder")
    released, secret = arena.pseudonymise_users(traces, seed=choose_release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = write_secrets(stack, secret, asked.id_table)
        if to == "pwscup":
            pwscup.write_anonymized(ObfuscatedTraces.from_traces(released), out)
        else:
            write(released, out, to=to)
    return {"file": str(out), **kept}


def _check_outputs(asked: PseudonymOutput, kind: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse outputs that cannot both be written; OUT may be a new folder where the format is one."""
    from tracearena.errors import ParameterError
    from tracearena.io.writers import guess_format_by_name

    out, id_table = asked.out, asked.id_table
    is_folder = inputs[0] is not None and inputs[0].is_dir() and not out.suffix
    if asked.to is not None:
        check_outputs(out, inputs=inputs, folders=True)
        is_folder = True
    elif kind == _GPS:
        is_folder = guess_format_by_name(out, "points") == "geolife"
    if not is_folder:
        check_outputs(out, id_table, find_salt_path(id_table), inputs=inputs)
        return
    check_outputs(id_table, find_salt_path(id_table), inputs=inputs)
    if out.resolve() == id_table.resolve():
        raise ParameterError(f"{out}: two outputs cannot go to one file")
    if not out.parent.is_dir():
        raise ParameterError(f"{out}: there is no folder {out.parent}")


def find_salt_path(id_table: Path) -> Path:
    """Return where the salt of the commitment to an ID table stands.

    >>> str(find_salt_path(Path("ptable.csv")))
    'ptable.csv.salt'
    """
    return Path(f"{id_table}.salt")


def find_secrets(id_table: Path) -> list[Path]:
    """Return which of an ID table and its salt are there."""
    return [path for path in (id_table, find_salt_path(id_table)) if path.is_file()]


def check_no_secrets(id_table: Path) -> None:
    """Refuse to write where an ID table or its salt is there."""
    from tracearena.errors import ParameterError

    there = find_secrets(id_table)
    if there:
        raise ParameterError(
            f"{there[0]}: exists, and may be the only way back from another release; nothing was drawn and "
            "nothing changed. Name another file, or draw anew with --again, which makes the commitment to "
            "this one void"
        )


def write_secrets(stack: ExitStack, table: IdTable, path: Path) -> dict[str, Any]:
    """Write the ID table and the salt for their owner alone, if all else is written too; say where.

    The digest is that of the two files one after the other. Where the table goes to a pipe there is
    no file next to which the salt could go, and it is printed.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.files.io import is_stream, replacing

    commitment = commit(table)
    stack.enter_context(replacing(path, private=True)).write(id_table_text(table).encode())
    if not is_stream(path):
        salt = stack.enter_context(replacing(find_salt_path(path), private=True))
        salt.write(f"{commitment.salt}\n".encode())
    return _describe_secrets(table, path, commitment)


def find_written_secrets(table: IdTable, path: Path) -> dict[str, Any]:
    """Return what is printed of an ID table that is there with its salt; nothing if it is not, or another is.

    So a run leaves it that was killed before its release got its name.
    """
    from tracearena.contest import commit, id_table_text
    from tracearena.errors import ParameterError
    from tracearena.files.io import read_bytes

    if len(find_secrets(path)) < 2 or read_bytes(path) != id_table_text(table).encode():
        return {}
    try:
        commitment = commit(table, salt=find_salt_path(path).read_text(errors="replace").rstrip("\n"))
    except ParameterError:  # the salt of something else
        return {}
    return _describe_secrets(table, path, commitment)


def _describe_secrets(table: IdTable, path: Path, commitment: Commitment) -> dict[str, Any]:
    from tracearena.files.io import is_stream

    secrets = {"id_table": str(path), "pseudonyms": len(table), "commitment": commitment.digest}
    if is_stream(path):
        return secrets | {"commitment_salt": commitment.salt}
    return secrets | {"commitment_salt_file": str(find_salt_path(path))}


Pseudonyms = Callable[[], "NDArray[Any]"]
"""Returns the pseudonyms, ascending, once the order of users is drawn."""


@dataclass(frozen=True)
class PseudonymOutput:
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
    file: Input,
    asked: PseudonymOutput,
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
        of `_large.transform_table`.
    users
        Every part but the last has a multiple of this many users.
    """
    from tracearena.arena.pseudonyms import shuffle_ids
    from tracearena.engine import seed_sequence
    from tracearena.files.atomic import replacing_all
    from tracearena.io import large

    drawn: list[IdTable] = []
    kept: dict[str, Any] = {}

    def arrange(
        table: UserChunkTable[Any], found: FirstPass, scratch: Path, root: Any
    ) -> UserChunkTable[Any]:
        order, secret = shuffle_ids(found.user_ids, seed=root)
        if asked.resume:
            kept.update(find_written_secrets(secret, asked.id_table))
        if not (kept or asked.again):
            check_no_secrets(asked.id_table)
        drawn.append(secret)
        return large.shuffle_users(table, found, order, scratch, users=users)

    def sealed() -> None:
        if kept:
            return
        with replacing_all(), ExitStack() as stack:
            kept.update(write_secrets(stack, drawn[-1], asked.id_table))

    workers = join_cluster(context, asked.cluster)
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
            root=seed_sequence(choose_release_seed(asked.seed)),
            arrange=arrange,
            sealed=sealed,
        )
    return {"file": str(asked.out), **kept}
