"""Read several files of one data set, with the same places, instants and users.

Small files are read completely; large tables are read a few users at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tracearena.engine import Cluster
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files.atomic import scratch_folder
from tracearena.io import Input, Reading
from tracearena.io.alignment import align_tables, move_to_common_places
from tracearena.io.id_mapping import check_same_numbers
from tracearena.io.large import EventFirstPass, UserChunkTable
from tracearena.io.large.first_pass import FirstPass
from tracearena.io.places import read_pseudonyms
from tracearena.jobs import chunking
from tracearena.jobs.chunking import (
    EVENTS,
    POINTS,
    can_be_processed_in_chunks,
    is_processed_in_chunks,
)
from tracearena.jobs.comparison import TablePair, pair_tables
from tracearena.jobs.description import TableCounter, align_counted_tables
from tracearena.jobs.feedback import join_cluster, note, show_progress, show_unsaved_progress
from tracearena.jobs.outputs import refuse_options
from tracearena.jobs.reading import ReadingOptions, note_problems
from tracearena.metrics.applications.paired import ComparisonChunks, WholeComparison, with_true_ids
from tracearena.synthesis import sglt
from tracearena.traces import GpsTraces, Traces
from tracearena.traces.row_table import EventTable

_Other = TypeVar("_Other", bound="EventTable")


def read_halves(reading: ReadingOptions, reference: Path | None, original: Path) -> tuple[Traces, Traces]:
    """Read reference and original traces, from two files or from the two halves of one.

    Files of two clocks, or whose users were numbered apart, are refused.
    """
    if reference is None:
        if not reading.is_split:
            raise ParameterError(
                "name reference traces with --reference, or split the original with "
                "--split-at or --reference-days"
            )
        whole = reading.read(original)
        note_problems(whole)
        first, second = reading.halves(whole)
        return first.as_events().traces, second.as_events().traces
    refuse_options(
        "two files, which are not split", split_at=reading.split_at, reference_days=reading.reference_days
    )
    truth = reading.read_events(original)
    known = reading.read_alike(reference, truth)
    later, earlier = align_files((original, truth.traces), (reference, known.traces))
    check_same_numbers(reference, original, users=(earlier.user_ids.tolist(), later.user_ids.tolist()))
    return earlier, later


def align_files(first: tuple[Path, Traces], second: tuple[Path, _Other]) -> tuple[Traces, _Other]:
    """Return both with the same places and instants; where they cannot have them, name the files."""
    with prefix_file_names(first[0], second[0]):
        return align_tables(first[1], second[1])


def compare_users(reference: Path, users: int, anonymized: Path, pseudonyms: int, *, strictly: bool) -> None:
    """Refuse reference traces of another team; say where those of a table are of fewer or more people."""
    if users == pseudonyms:
        return
    said = f"{reference} has {users:,} users but {anonymized} {pseudonyms:,} pseudonyms"
    if strictly:
        raise DataError(f"{said}: they are not files of the same team")
    note(f"{said}: users that are missing in one file cannot be found in the other")


def use_common_places(files: list[tuple[Path, Reading[Traces]]]) -> list[Traces]:
    """Return the traces of several files at the same places."""
    with prefix_file_names(*(path for path, _ in files)):
        return move_to_common_places([reading.traces for _, reading in files])


@contextmanager
def prefix_file_names(*paths: Path) -> Iterator[None]:
    """Put the names of files before what contradicts itself between them."""
    try:
        yield
    except DataError as error:
        if isinstance(error, FileError):
            raise
        raise DataError(f"{', '.join(map(str, paths[:-1]))} and {paths[-1]}: {error}") from None


@dataclass(frozen=True)
class ReleasePair:
    """Files to compare: an original, a release, and the table of true identities."""

    original: Path
    released: Path
    id_table: Path | None

    def read_user_mapping(self) -> dict[str, str] | None:
        """Read the table of true identities, if there is one."""
        if self.id_table is None:
            return None
        return read_pseudonyms(self.id_table)

    def read(self, reading: ReadingOptions) -> tuple[GpsTraces, GpsTraces]:
        """Read both files completely."""
        released = reading.open_second(self.released)
        return chunking.read_gps_traces(reading, self.original), chunking.read_gps_traces(reading, released)


@contextmanager
def open_release_pair(
    reading: ReadingOptions,
    files: ReleasePair,
    what: str,
    *,
    cluster: Cluster | str | None = None,
    by_id: bool = True,
) -> Iterator[ComparisonChunks]:
    """Open both files, completely or in chunks; `what` names the work in the progress display.

    Parameters
    ----------
    by_id
        Raise an error if released ids are not those of the original.
    """
    who = files.read_user_mapping()
    pair = reading.open(files.original), reading.open_second(files.released)
    asked = [is_processed_in_chunks(POINTS, reading, one, cluster=cluster) for one in pair]
    # Both go in chunks if one of them is large and both can.
    if any(asked) and all(can_be_processed_in_chunks(POINTS, reading, one) for one in pair):
        with join_cluster(cluster) as workers, scratch_folder() as folder:
            walk = _pair_release_tables(reading, pair, who, folder, workers, by_id)
            with show_unsaved_progress(what, workers):
                yield walk
        return
    before, after = (chunking.read_gps_traces(reading, one) for one in pair)
    with show_unsaved_progress(what):
        yield WholeComparison(before, with_true_ids(before, after, who) if by_id else after)


def _pair_release_tables(
    reading: ReadingOptions,
    pair: tuple[Input, Input],
    who: dict[str, str] | None,
    scratch: Path,
    cluster: Cluster | None,
    by_id: bool,
) -> TablePair:
    """Look at all rows of both tables, and bring their users together."""
    is_shared = cluster is None or cluster.can_reach(scratch)
    before = _open_and_report(reading, pair[0], scratch / "original", cluster)
    after = _open_and_report(reading, pair[1], scratch / "released", cluster)
    with show_unsaved_progress("users", cluster):
        walk = pair_tables(before, after, scratch, id_table=who, by_id=by_id, is_shared=is_shared)
    if not walk.can_travel:
        note(
            f"the workers cannot read {scratch.parent}, where points are sorted, so the work is done "
            "on this machine; set TMPDIR to a folder that they can read"
        )
    return walk


def _open_and_report(
    reading: ReadingOptions, source: Input, scratch: Path, cluster: Cluster | None
) -> tuple[UserChunkTable[GpsTraces], FirstPass]:
    """Look at all rows of a table, and say what was wrong with them."""
    scratch.mkdir()
    with show_unsaved_progress(f"reading {source.path.name}", cluster):
        found_by = source if cluster is None else source.resolve()
        table, found = chunking.open_point_table(reading, found_by, scratch, sort=False)
    note_problems(found)
    return table, found


def are_tables_counted_in_chunks(
    reading: ReadingOptions, sources: Sequence[Input], *, cluster: Cluster | str | None = None
) -> bool:
    """Whether tables are counted a few users at a time: all can be, and one is large or a cluster is named.

    With a cluster, a table that cannot be is refused.
    """
    if cluster is None and not all(can_be_processed_in_chunks(EVENTS, reading, one) for one in sources):
        return False
    through = [is_processed_in_chunks(EVENTS, reading, one, cluster=cluster) for one in sources]
    return any(through)


@contextmanager
def open_table_counters(
    reading: ReadingOptions,
    sources: Sequence[Input],
    slots: str | None,
    cluster: Cluster | None,
) -> Iterator[tuple[TableCounter, TableCounter, list[TableCounter]]]:
    """Look at all rows of training, testing and synthetic tables, to count them in the block."""
    options = reading
    known: list[tuple[UserChunkTable[Traces], EventFirstPass]] = []
    with scratch_folder() as scratch:
        for source in sources:
            if known:
                first = known[0][1]
                options = reading.like(first.places, first.clock, first.report)
            below = scratch / str(len(known))
            below.mkdir()
            with show_progress(f"reading {source.path.name}", cluster):
                found_by = source if cluster is None else source.resolve()  # workers may be elsewhere
                known.append(chunking.open_event_table(options, found_by, below, is_shared=False))
            note_problems(known[-1][1])
        with prefix_file_names(*(source.path for source in sources)):
            counters = align_counted_tables(known[0], known[1], known[2:], slots)
        yield counters


def prepare_for_sglt(
    reading: Reading[Traces], *, fill_gaps: bool, merge_places: int | None
) -> Reading[Traces]:
    """Fill gaps first, then merge places, as [sglt] section 5.1 does; say what was done."""
    if not fill_gaps and merge_places is None:
        return reading
    traces, report = reading
    if fill_gaps:
        filled = sglt.fill_gaps(traces)
        note(f"{filled.n_events - traces.n_events:,} events were added in gaps")
        traces = filled
    if merge_places is not None:
        merged = sglt.merge_places(traces, merge_places).traces
        note(f"{len(traces.places):,} places were merged into {len(merged.places):,}")
        traces = merged
    return Reading(traces, report)
