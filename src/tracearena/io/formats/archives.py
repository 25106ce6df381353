"""Folders and archives of files: many files, read as one.

The first file that is recognised says whether they hold GPS points or events; files that hold something
else are left out, and the report names them. A file that names nobody holds one person, called like the
file, or like the folder that it is in if there are several folders. GPS points of all files are joined, and
tables of events too, whose rows are counted through in the order of the names. Of the other formats of
events there can be one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.engine import track_progress
from tracearena.errors import Fault, FileError, TracearenaError
from tracearena.files import archives
from tracearena.io.formats.recognition import FormatGuess
from tracearena.io.report import Reading, Report
from tracearena.io.tables import ROW, is_hidden, list_hidden_files, list_visible_files
from tracearena.traces import GpsTraces

if TYPE_CHECKING:
    import polars as pl

    from tracearena.io.inputs import Input
    from tracearena.io.suggestions import Proposal

HIDDEN = Fault(
    None, None, None,
    "the file is ignored, because its name or that of its folder begins with _ or .; rename it to read it",
    "hidden-files",
)  # fmt: skip
"""What is said of a file that holds traces and is not read for its name."""

_MAX_GUESSES = 100
_MOST_PROPOSALS = 10
_NAMES = {"venue": "place", "offset_min": "utc_offset_min"}


def guess_folder_format(source: Input, files: Iterable[Path], what: str) -> FormatGuess:
    """Look at the files of a folder or an archive until one is recognised, as what is asked if possible."""
    first, seen = None, 0
    for file in files:
        look = FormatGuess((), "") if is_hidden(file.parts[-1:]) else source.open_file(file).guess
        if look.formats and source.asked_format in (None, *look.formats):
            return _describe_inside(what, look)
        first, seen = first or (look if look.formats else None), seen + 1
        if seen == _MAX_GUESSES:
            break
    if first is not None:
        return _describe_inside(what, first)
    return FormatGuess(
        (),
        f"{what} of files, the first {seen:,} of which are not traces" if seen else f"{what} without files",
    )


def propose_folder_layout(path: Path) -> Proposal | None:
    """Return a layout by which a table, or the tables of a folder, may be read; None if none is found."""
    from tracearena.io import suggestions

    if path.is_file():
        return suggestions.propose_layout(path)
    for file in list_visible_files(path)[:_MOST_PROPOSALS] if path.is_dir() else ():
        found = suggestions.propose_layout(file)
        if found is not None and found.layout.one_user is None:
            return found
        if found is not None:
            whose = "each file is then one person, named like the file"
            return replace(found, layout=replace(found.layout, one_user=None), whose=whose)
    return None


def _describe_inside(what: str, look: FormatGuess) -> FormatGuess:
    return replace(look, words=f"{what} of files, one of them {look.words}")


@contextmanager
def open_archive(path: Path) -> Iterator[tuple[Path, Path]]:
    """Give the folder that an archive unpacks to, and what to read: it, or its one file.

    Errors name the archive.
    """
    with archives.unpack_archive(path) as folder:
        files = list_visible_files(folder)
        if not files:
            raise FileError.whole(path, "is an empty archive", "empty")
        inside = files[0] if len(files) == 1 else folder
        try:
            yield folder, inside
        except TracearenaError as error:
            if error.path is None:
                raise
            # What does not go with the whole of one file is said of the archive; a fault is in the file.
            within = folder if isinstance(error, FileError) else inside
            raise error.with_path(_rename_path(error.path, within, path)) from None


@contextmanager
def explain_skipping(folder: Path) -> Iterator[None]:
    """Say of a file that stops its whole folder how the others can be read without it."""
    try:
        yield
    except FileError as error:
        stops = Path(error.path)
        whole = all(fault.row is None for fault in error.faults)
        if (
            not whole
            or stops == folder
            or folder not in stops.parents
            or len(list_visible_files(folder)) == 1
        ):
            raise
        advice = f"to read the others without it, move it away or rename it to _{stops.name}"
        faults = [replace(fault, problem=f"{fault.problem}; {advice}") for fault in error.faults]
        raise FileError(error.path, faults, error.total) from None


def rename_report_paths(report: Report, folder: Path, path: Path) -> None:
    """Let a report of what an archive unpacked to name the archive."""
    report.path = str(path)
    report.examples[:] = [
        replace(example, path=_rename_path(example.path, folder, path)) for example in report.examples
    ]


def _rename_path(name: str, folder: Path, path: Path) -> str:
    inside = name.removeprefix(str(folder)).lstrip("/")
    return f"{path}: {inside}" if name.startswith(str(folder)) and inside else str(path)


def sort_folder_files(
    source: Input, fits: Callable[[FormatGuess], bool]
) -> tuple[dict[Path, Input], list[tuple[Path, Fault]]]:
    """Return the files that fit, and of the others what is to be said of them."""
    every = {file: source.open_file(file) for file in source.files}
    files = {file: one for file, one in every.items() if fits(one.guess)}
    return files, [(file, build_skip_fault(one.guess)) for file, one in every.items() if file not in files]


def build_skip_fault(look: FormatGuess) -> Fault:
    """Say of a file that it is left out, and what it looks like."""
    return Fault(None, None, None, f"the file is ignored: it looks like {look.words}", "other-files")


def find_hidden_traces(source: Input) -> Iterator[Path]:
    """Give, by their paths inside, those of the first hidden files of a folder that hold traces."""
    for file in list_hidden_files(source.path)[:_MAX_GUESSES]:
        try:
            look = source.open_file(file).guess
        except FileError:
            continue
        if look.formats:
            yield file.relative_to(source.path)


def read_and_join_points(
    folder: Path, files: Sequence[Path], format: str, read: Callable[[Path], Reading[GpsTraces]]
) -> Reading[GpsTraces]:
    """Read GPS points of all files, and put them together with their reports."""
    import numpy as np

    report = Report(str(folder), format)
    parts = []
    for file in track_progress(files, len(files)):
        try:
            traces, found = read(file)
        except FileError as error:
            if error.faults[0].code not in ("empty", "no-points") or len(files) == 1:
                raise
            report.notice_fault(
                Fault(None, None, None, error.faults[0].problem, "empty-file"), path=str(file)
            )
            continue
        if found.format == "gpx":
            # The tracks of a file are its own, though a file elsewhere may have the same name.
            name = str(file.relative_to(folder))
            own = np.array([f"{name}-{i}" for i in range(traces.n_trajectories)], np.str_)
            traces = traces.with_trajectory_ids(own)
        else:
            # Trajectories that are only the points of a user are one through all files.
            ids, owners = traces.trajectory_ids, traces.trajectory_user
            if len(np.unique(owners)) == len(owners) and ids.tolist() == list(range(len(ids))):
                traces = traces.with_trajectory_ids(np.zeros(len(ids), np.int64))
        parts.append(traces)
        report.header_lines, report.strict, report.timezone = found.header_lines, found.strict, found.timezone
        report.unzoned += found.unzoned
        report.all_unzoned = found.all_unzoned and (report.all_unzoned or len(parts) == 1)
        report.add(found)
    report.refuse_if_nothing_is_left(len(parts), "holds no points", "no-points")
    traces = parts[0] if len(parts) == 1 else GpsTraces.concat(parts)
    report.rows = traces.n_points + report.dropped_rows
    return Reading(traces, report)


def concat_role_tables(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put together rows by role as one table, whose rows are counted through all parts."""
    import polars as pl

    kinds: dict[str, set[pl.DataType]] = {}
    for part in parts:
        for name, kind in part.schema.items():
            kinds.setdefault(name, set()).add(kind)
    mixed = [name for name, found in kinds.items() if len(found) > 1]
    whole = pl.concat([part.with_columns(pl.col(mixed).cast(pl.String)) if mixed else part for part in parts],
                      how="diagonal")  # fmt: skip
    number = pl.int_range(1, whole.height + 1, eager=True)
    return whole.drop("row").rename(_NAMES, strict=False).with_columns(number.alias(ROW))
