"""Rows on their way through the disk: in any order, put together portion by portion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracearena.files.atomic import naming


@dataclass(frozen=True)
class Spill:
    """Files of rows, one for each chunk that was read, in each of which a portion's rows are together.

    Attributes
    ----------
    folder
        Where the files are.
    offsets
        Where the rows of each portion begin in each file, with the end as last value.
    """

    folder: Path
    offsets: tuple[NDArray[np.int64], ...]

    @staticmethod
    def write(
        folder: Path, number: int, frame: pl.DataFrame, owner: pl.Series, portions: int
    ) -> NDArray[np.int64]:
        """Write the rows of a chunk, by the portions they belong to; return where these begin."""
        number_of = owner.to_numpy().astype(np.int64)
        order = np.argsort(number_of, kind="stable")
        file = _name(folder, number)
        with naming(file):
            frame[order].write_ipc(file, compression="uncompressed")
        counts = np.bincount(number_of, minlength=portions)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def sorted(self, portion: int, order: Sequence[str | pl.Expr]) -> pl.DataFrame:
        """Return the rows of a portion, sorted; equal ones in the order of the files."""
        parts = [
            pl.scan_ipc(_name(self.folder, number)).slice(int(begin), int(end - begin))
            for number, (begin, end) in enumerate(own[portion : portion + 2] for own in self.offsets)
            if end > begin
        ]
        return pl.concat(parts).collect().sort(*order, maintain_order=True)


def folder_in(scratch: Path) -> Path:
    """Return a new folder below another, which is made if need be: what two tables hold there stays apart."""
    scratch.mkdir(parents=True, exist_ok=True)
    return Path(mkdtemp(prefix="rows-", dir=scratch))


def _name(folder: Path, number: int) -> Path:
    return folder / f"rows-{number:06}.arrow"
