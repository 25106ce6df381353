"""Events in a folder of Parquet files, with the users of one range each: what clusters read and write."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from tracearena.files.io import replacing_folder
from tracearena.formats import table
from tracearena.intake.choices import Choices
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.report import Reading
from tracearena.traces import Places, Traces

if TYPE_CHECKING:
    from tracearena.intake.sampling import Sample

USERS_PER_FILE = 16_384
"""A multiple of every block of users, so that a worker can read the files of its own blocks."""


def read(
    path: str | PathLike[str],
    *,
    choices: Choices | None = None,
    places: Places | None = None,
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> Reading[Traces]:
    """Read a folder of Parquet files with the same columns as one table; rows are counted through."""
    return table.read(path, choices=choices, places=places, format="partitions", layout=layout, sample=sample)


def write(traces: Traces, path: str | PathLike[str], *, users_per_file: int = USERS_PER_FILE) -> None:
    """Write a folder of files ``part-00000.parquet``, …, each with the next users.

    The folder appears when all of it is written; one that has something in it is never replaced.
    """
    with replacing_folder(path) as folder:
        for number, first in enumerate(range(0, max(traces.n_users, 1), users_per_file)):
            part = traces.take_users(slice(first, first + users_per_file))
            table.write(part, folder / f"part-{number:05}.parquet")
