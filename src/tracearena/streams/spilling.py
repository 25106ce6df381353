"""Points on their way through the disk: rows of any order, put together portion by portion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True)
class Spill:
    """Files of points, one for each chunk that was read, in each of which a portion's points are together.

    Attributes
    ----------
    folder
        Where the files are.
    offsets
        Where the points of each portion begin in each file, with the end as last value.
    """

    folder: Path
    offsets: tuple[NDArray[np.int64], ...]

    @staticmethod
    def write(
        folder: Path, number: int, frame: pl.DataFrame, owner: pl.Series, portions: int
    ) -> NDArray[np.int64]:
        """Write the points of a chunk, by the portions they belong to; return where these begin."""
        number_of = owner.to_numpy().astype(np.int64)
        order = np.argsort(number_of, kind="stable")
        frame[order].write_ipc(_name(folder, number), compression="uncompressed")
        counts = np.bincount(number_of, minlength=portions)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def sorted(self, portion: int) -> pl.DataFrame:
        """Return the points of a portion by user and time; those of one time in the order of the files."""
        parts = [
            pl.scan_ipc(_name(self.folder, number)).slice(int(begin), int(end - begin))
            for number, (begin, end) in enumerate(own[portion : portion + 2] for own in self.offsets)
            if end > begin
        ]
        return pl.concat(parts).collect().sort("user", "at", maintain_order=True)


def _name(folder: Path, number: int) -> Path:
    return folder / f"points-{number:06}.arrow"
