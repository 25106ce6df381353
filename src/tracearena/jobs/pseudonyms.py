"""Put a file of traces under pseudonyms, and keep the secret table of true identities.

The digest of table and salt is a commitment: published before the attacks, it can be checked after them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tracearena import arena
from tracearena.arena.pseudonyms import shuffle_ids
from tracearena.checks import accepts
from tracearena.contest import Commitment, Rules, commit, id_table_text
from tracearena.engine import block_ranges, run_blocks, seed_sequence
from tracearena.errors import ParameterError
from tracearena.files.atomic import replacing_all
from tracearena.files.io import is_stream, read_bytes, replacing
from tracearena.io import Input, pwscup, read_released, write
from tracearena.io.formats import checkins
from tracearena.io.id_mapping import check_no_stale_key, copy_key_beside
from tracearena.io.large import UserChunkTable, shuffle_users
from tracearena.io.large.first_pass import FirstPass
from tracearena.io.places import read_places
from tracearena.io.writers import guess_format_by_name
from tracearena.jobs import chunking
from tracearena.jobs.chunking import (
    EVENTS,
    PARTS,
    POINTS,
    RELEASED_ROWS,
    Change,
    TableKind,
    TableOutput,
    Transformation,
    is_processed_in_chunks,
    transform_table,
)
from tracearena.jobs.comparison import open_release_chunks
from tracearena.jobs.feedback import note
from tracearena.jobs.outputs import (
    File,
    OutputOptions,
    as_path,
    check_outputs,
    choose_output_form,
    choose_release_seed,
    refuse_options,
    write_anonymized,
)
from tracearena.jobs.reading import LIMITS, ReadingOptions, note_problems, note_unread_columns
from tracearena.metrics import utility_score
from tracearena.traces import GpsTraces, IdTable, ObfuscatedTraces
from tracearena.traces.row_table import RowTable

_OBFUSCATED, _GPS, _EVENTS = "obfuscated traces", "GPS traces", "events"
_ALLOWED = {
    _OBFUSCATED: {"original", "places", "times", *LIMITS},
    _GPS: {"timezone"},
    _EVENTS: {"places", "times"},
}


@accepts(OutputOptions)
def pseudonymise(
    file: File | Input,
    out: File,
    id_table: File,
    *,
    reading: ReadingOptions = ReadingOptions(),  # noqa: B008
    original: File | None = None,
    again: bool = False,
    seed: int | None = None,
    **options: Unpack[OutputOptions],
) -> dict[str, Any]:
    """Give every trace a random pseudonym, and write the release and the secret table of true identities.

    Parameters
    ----------
    file, out, id_table
        Input, file for the release, and file for the table; the salt is written next to the table.
    reading
        Options for reading the file, or the original if there is one.
    original
        For obfuscated traces: the original traces, to compute the utility.
    again
        Replace an existing table, whose commitment is then no longer valid.
    seed
        For experiments only: anyone who guesses it can undo the release. Secret randomness if omitted.
    **options
        Keywords of `OutputOptions`: ``to`` (``partitions``, or by the name of `out`), ``cluster`` and
        ``resume``.
    """
    out, id_table, original = Path(out), Path(id_table), as_path(original)
    output = TableOutput(out, **options)
    source = file if isinstance(file, Input) else Input(file)
    # With an original, --from and the layout are its own.
    format = reading.format or source.asked_format
    if (format is None or original is not None) and source.is_release:
        kind = _OBFUSCATED
    else:
        source = reading.open(source)
        kind = _GPS if source.holds_points else _EVENTS
    given = {"original": original} | {
        name: getattr(reading, name) for name in ("places", "times", "timezone", *LIMITS)
    }
    for name, value in given.items():
        if value is not None and name not in _ALLOWED[kind]:
            raise ParameterError(f"{source}: --{name.replace('_', '-')} does not apply to {kind}")
    if output.to not in (None, PARTS):
        raise ParameterError.of("--to", output.to, f"{PARTS}; other formats follow from the name of OUT")
    if original is not None:
        refuse_options(
            "a release compared with --original",
            to=output.to,
            cluster=output.cluster,
            resume=output.resume,
        )
    asked = PseudonymOutput(output, id_table, again, seed)
    _check_outputs(asked, kind, (source.path, original, *reading.files))
    there = find_secrets(id_table)
    if not (again or output.resume):  # a run that continues knows its own ID table
        check_no_secrets(id_table)
    if kind == _OBFUSCATED:
        result = _pseudonymise_obfuscated(reading, source, asked, original)
    elif kind == _GPS:
        result = _pseudonymise_points(reading, source, asked)
    else:
        result = _pseudonymise_events(reading, source, asked)
    if again and there:
        note(
            f"warning: {' and '.join(map(str, there))} replaced: its published commitment is no "
            "longer valid, and earlier releases can no longer be reversed; publish the new commitment"
        )
    return result


def _pseudonymise_obfuscated(
    reading: ReadingOptions,
    file: Input,
    asked: PseudonymOutput,
    original: Path | None,
) -> dict[str, Any]:
    out, id_table, contest = asked.out, asked.id_table, file.contest_header is not None
    result: dict[str, Any] = {}
    rules = Rules()
    if original is None:
        reading.refuse_layout("released traces without --original")
        reading.refuse_limits()
        if is_processed_in_chunks(RELEASES, reading, file, asked.output):
            return pseudonymise_in_chunks(RELEASES, reading, file, asked)
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
            f"{rules.utility_threshold:g}: a contest would refuse this release"
        )
    return {"file": str(out), **kept} | result


def _pseudonymise_points(reading: ReadingOptions, file: Input, asked: PseudonymOutput) -> dict[str, Any]:
    out = asked.out
    if is_processed_in_chunks(POINTS, reading, file, asked.output):
        return pseudonymise_in_chunks(POINTS, reading, file, asked, rename=build_renaming)
    traces = chunking.read_gps_traces(reading, file)
    note_unread_columns(file, "points")
    release = arena.pseudonymise(traces, seed=choose_release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = write_secrets(stack, release.id_table, asked.id_table)
        chunking.write_gps_traces(release.anonymized, out)
    return {"file": str(out), **kept}


def _pseudonymise_events(reading: ReadingOptions, file: Input, asked: PseudonymOutput) -> dict[str, Any]:
    out = asked.out
    if is_processed_in_chunks(EVENTS, reading, file, asked.output):
        users = chunking.USERS_PER_PART if asked.output.in_parts else 1
        return pseudonymise_in_chunks(EVENTS, reading, file, asked, users=users)
    traces, report = reading.read_events(file)
    note_unread_columns(file, report.format)
    to = guess_format_by_name(out, like=report.format)
    venues = out.parent / checkins.FOURSQUARE_POI_NAME
    if to == "foursquare" and venues.exists():
        raise ParameterError(
            f"{venues}: exists already, and the venues would overwrite it; write to another folder"
        )
    release = arena.pseudonymise(traces, seed=choose_release_seed(asked.seed))
    with replacing_all(), ExitStack() as stack:
        kept = write_secrets(stack, release.id_table, asked.id_table)
        if to == "pwscup":
            pwscup.write_anonymized(ObfuscatedTraces.from_traces(release.anonymized), out)
        else:
            write(release.anonymized, out, to=to)
    return {"file": str(out), **kept}


def _check_outputs(asked: PseudonymOutput, kind: str, inputs: tuple[Path | None, ...]) -> None:
    """Refuse outputs that cannot both be written; OUT may be a new folder where the format is one."""
    out, id_table = asked.out, asked.id_table
    is_folder = inputs[0] is not None and inputs[0].is_dir() and not out.suffix
    if asked.output.in_parts:
        check_outputs(out, inputs=inputs, folders=True)
        is_folder = True
    elif kind == _GPS:
        is_folder = guess_format_by_name(out, "points") == "geolife"
    if not is_folder:
        check_outputs(out, id_table, find_salt_path(id_table), inputs=inputs)
        return
    check_outputs(id_table, find_salt_path(id_table), inputs=inputs)
    if out.resolve() == id_table.resolve():
        raise ParameterError(f"{out}: two outputs cannot be written to the same file")
    if not out.parent.is_dir():
        raise ParameterError(f"{out}: the folder {out.parent} does not exist")


def find_salt_path(id_table: Path) -> Path:
    """Return where the salt of the commitment to an ID table stands.

    >>> str(find_salt_path(Path("ptable.csv")))
    'ptable.csv.salt'
    """
    return Path(f"{id_table}.salt")


def find_secrets(id_table: Path) -> list[Path]:
    """Return which of the two files exist: an ID table and its salt."""
    return [path for path in (id_table, find_salt_path(id_table)) if path.is_file()]


def check_no_secrets(id_table: Path) -> None:
    """Refuse to write if an ID table or its salt already exists."""
    there = find_secrets(id_table)
    if there:
        raise ParameterError(
            f"{there[0]}: exists already, and may be the only way to reverse another release; "
            "nothing was changed. Name another file, or replace this one with --again, which "
            "invalidates its commitment"
        )


def write_secrets(stack: ExitStack, table: IdTable, path: Path) -> dict[str, Any]:
    """Write the ID table and the salt for their owner alone, if all else is written too; say where.

    The digest is that of the two files one after the other. Where the table goes to a pipe there is
    no file next to which the salt could go, and it is printed.
    """
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
    if len(find_secrets(path)) < 2 or read_bytes(path) != id_table_text(table).encode():
        return {}
    try:
        commitment = commit(table, salt=find_salt_path(path).read_text(errors="replace").rstrip("\n"))
    except ParameterError:  # the salt of something else
        return {}
    return _describe_secrets(table, path, commitment)


def _describe_secrets(table: IdTable, path: Path, commitment: Commitment) -> dict[str, Any]:
    secrets = {"id_table": str(path), "pseudonyms": len(table), "commitment": commitment.digest}
    if is_stream(path):
        return secrets | {"commitment_salt": commitment.salt}
    return secrets | {"commitment_salt_file": str(find_salt_path(path))}


@dataclass(frozen=True)
class PseudonymOutput:
    """How the release is written, where the ID table goes, and what is drawn."""

    output: TableOutput
    id_table: Path
    again: bool
    seed: int | None

    @property
    def out(self) -> Path:
        """Where the release goes."""
        return self.output.path


def build_pseudonym_change(table: UserChunkTable[Any], pseudonyms: NDArray[Any]) -> Change[Any]:
    """Return the change of a chunk of a shuffled table: the same events under pseudonyms."""

    def change(part: RowTable, number: int) -> RowTable:
        return part.with_user_ids(pseudonyms[part.user_ids])

    return change


def build_renaming(table: UserChunkTable[GpsTraces], pseudonyms: NDArray[Any]) -> Change[GpsTraces]:
    """Return the change of a chunk of a shuffled table: users under pseudonyms, trajectories by number."""

    def work(block: int, first: int, stop: int) -> int:
        return table.traces(block).n_trajectories

    counts = run_blocks(work, block_ranges(len(table.portions), 1), anywhere=True, report=True)
    before = np.concatenate([[0], np.cumsum(counts)])

    def change(part: GpsTraces, number: int) -> GpsTraces:
        named = part.with_user_ids(pseudonyms[part.user_ids])
        return named.with_trajectory_ids(np.arange(before[number], before[number + 1]))

    return change


def pseudonymise_in_chunks(
    kind: TableKind[Any],
    reading: ReadingOptions,
    file: Input,
    asked: PseudonymOutput,
    *,
    rename: Callable[[UserChunkTable[Any], NDArray[Any]], Change[Any]] = build_pseudonym_change,
    users: int = 1,
) -> dict[str, Any]:
    """Shuffle the users of a table through the disk, with the values of all at once; say what was written.

    Parts hold users in the order of their pseudonyms, so that neither their names nor the times at which they
    were written tell how users stood before. The ID table is there before the release gets its name; one that
    a run killed in between has left stays as it is, with its salt.

    Parameters
    ----------
    rename
        Gives, from a shuffled table and the pseudonyms of its users, the change of a chunk.
    users
        Every part but the last has a multiple of this many users.
    """
    drawn: list[IdTable] = []
    kept: dict[str, Any] = {}

    def arrange(
        table: UserChunkTable[Any], found: FirstPass, scratch: Path, root: Any
    ) -> UserChunkTable[Any]:
        order, secret = shuffle_ids(found.user_ids, seed=root)
        if asked.output.resume:
            kept.update(find_written_secrets(secret, asked.id_table))
        if not (kept or asked.again):
            check_no_secrets(asked.id_table)
        drawn.append(secret)
        return shuffle_users(table, found, order, scratch, users=users)

    def sealed() -> None:
        if kept:
            return
        with replacing_all(), ExitStack() as stack:
            kept.update(write_secrets(stack, drawn[-1], asked.id_table))

    if isinstance(asked.output.cluster, str) and asked.output.cluster.startswith("tcp://"):
        note("warning: true identities are sent to the workers unencrypted; use tls:// to encrypt them")
    job = Transformation(
        build_change=lambda table, root: rename(table, drawn[-1].pseudonyms),
        depends_on=("pseudonymise", asked.seed),
        root=seed_sequence(choose_release_seed(asked.seed)),
        arrange=arrange,
        sealed=sealed,
    )
    with ExitStack() if asked.output.in_parts else replacing_all():
        note_unread_columns(file, "points" if kind is POINTS else "table")
        transform_table(kind, reading, file, asked.output, job)
    return {"file": str(asked.out), **kept}


def _find_release_problem(reading: ReadingOptions, source: Input) -> str | None:
    if reading.times is not None:
        return "is read with a table of times (--times)"
    return None if source.is_chunked_release else "is not a Parquet table of released traces"


def _open_release_table(
    reading: ReadingOptions, source: Input, scratch: Path, **how: Any
) -> tuple[UserChunkTable[ObfuscatedTraces], FirstPass]:
    """Look at all rows of a table of released traces, whose users get another order anyway."""
    places = None if reading.places is None else read_places(reading.places)
    return open_release_chunks(source.path, places=places)


RELEASES = TableKind(
    "events",
    "a Parquet file of released traces",
    _find_release_problem,
    _open_release_table,
    RELEASED_ROWS,
)
