"""Events in a folder of Parquet files, with the users of one range each: what clusters read and write."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

import polars as pl

from tracearena.errors import FileError
from tracearena.files.folders import replacing_folder
from tracearena.formats import table
from tracearena.intake.choices import Choices
from tracearena.intake.columns import read_parquet
from tracearena.intake.discretise import traces_of
from tracearena.intake.report import Report
from tracearena.traces import Places, Traces

USERS_PER_FILE = 16_384
"""A multiple of every block of users, so that a worker can read the files of its own blocks."""


def files_of(folder: str | PathLike[str]) -> list[Path]:
    """Return the Parquet files of a folder by name, without those that begin with ``.`` or ``_``."""
    found = Path(folder).glob("*.parquet")
    return sorted(path for path in found if path.name[0] not in "._" and path.is_file())


def read(
    path: str | PathLike[str], *, choices: Choices | None = None, places: Places | None = None
) -> tuple[Traces, Report]:
    """Read a folder of Parquet files with the same columns as one table; rows are counted through."""
    report = Report(str(path), "partitions")
    chosen = choices or Choices()
    checkins = table.check_ins_of(rows_of(Path(path), table.wanted), report, chosen, places)
    return traces_of(checkins, report, chosen, places=places), report


def rows_of(folder: Path, wanted: Callable[[list[str]], list[str]]) -> pl.DataFrame:
    """Return some columns, chosen by their names, of all files; their types must be the same."""
    files = files_of(folder)
    if not files:
        raise FileError.whole(folder, "holds no .parquet files", "empty")
    frames = [read_parquet(file, wanted) for file in files]
    for file, frame in zip(files, frames, strict=True):
        if frame.schema != frames[0].schema:
            differ = f"{_columns(frame)}, not {_columns(frames[0])}"
            problem = f"has other columns or types than {files[0].name}: {differ}"
            raise FileError.whole(file, problem, "columns")
    return pl.concat(frames)


def _columns(frame: pl.DataFrame) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in frame.schema.items())


def write(traces: Traces, path: str | PathLike[str]) -> None:
    """Write a folder of files ``part-00000.parquet``, …, each with the next 16,384 users.

    The folder appears when all of it is written; one that has something in it is never replaced.
    """
    with replacing_folder(path) as folder:
        for number, first in enumerate(range(0, max(traces.n_users, 1), USERS_PER_FILE)):
            part = traces.take_users(slice(first, first + USERS_PER_FILE))
            table.write(part, folder / f"part-{number:05}.parquet")
