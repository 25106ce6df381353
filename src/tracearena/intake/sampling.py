"""A random sample of people of a table that is too large to be read for a first look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from tracearena.files.io import MAX_TABLE_EXPANSION, require_expansion
from tracearena.intake.layout import Layout
from tracearena.intake.report import Reading, Report
from tracearena.intake.tables import BYTES_A_VALUE, ROW, broken, parts_of
from tracearena.traces import GpsTraces, Traces

_BYTES_OF_TEXT = 64 << 20
_LEAST_USERS = 200


@dataclass(frozen=True)
class Sample:
    """How many people are read of a table of more.

    Attributes
    ----------
    users
        At most this many people.
    rows
        People are fewer, but at least 200, where so many have about more rows than this together.
    seed
        Who is drawn.
    """

    users: int = 2_000
    rows: int = 2_000_000
    seed: int = 0

    def drawn(self, counts: pl.DataFrame) -> pl.Series | None:
        """Return the ids of the people drawn; None if all people fit.

        Parameters
        ----------
        counts
            One row per person: ``user``, and how many rows the person has, ``len``.
        """
        mean = max(counts["len"].sum() / max(counts.height, 1), 1)
        wanted = min(self.users, max(int(self.rows / mean), _LEAST_USERS))
        if wanted >= counts.height:
            return None
        chosen = np.random.default_rng(self.seed).choice(counts.height, wanted, replace=False)
        return counts["user"].sort().gather(np.sort(chosen))


class Sampled(NamedTuple):
    """How many people of how many were read."""

    users: int
    of: int

    def __str__(self) -> str:
        return f"a random sample of {self.users:,} of {self.of:,} people was read"


def sampled(reading: Reading[Traces | GpsTraces], sample: Sample) -> Reading[Traces | GpsTraces]:
    """Draw people of traces that were read as a whole, unless their reader has drawn some."""
    traces, report = reading
    counts = pl.DataFrame({"user": np.arange(traces.n_users), "len": np.diff(traces.offsets)})
    drawn = None if report.sampled is not None else sample.drawn(counts)
    if drawn is None:
        return reading
    report.sampled = Sampled(len(drawn), traces.n_users)
    return Reading(traces.take_users(drawn.to_numpy()), report)


def sample_parquet(
    path: Path, report: Report, wanted: Callable[[list[str]], list[str]], user: Callable[[list[str]], str],
    sample: Sample,
) -> pl.DataFrame:  # fmt: skip
    """Return some columns of the rows of the people drawn, with the numbers of the rows in the file."""
    files = parts_of(path)
    try:
        lazy = pl.scan_parquet(files, glob=False, hive_partitioning=False)
        names = lazy.collect_schema().names()
        chosen, column = wanted(names), user(names)
        rows = int(lazy.select(pl.len()).collect().item())
        size = sum(file.stat().st_size for file in files)
        require_expansion(path, size, rows * len(chosen) * BYTES_A_VALUE, MAX_TABLE_EXPANSION)
        # First who there is, from one column; then the rows of those drawn alone.
        people = lazy.select(pl.col(column).alias("user")).drop_nulls().group_by("user").len()
        counts = people.collect(engine="streaming")
        drawn = sample.drawn(counts)
        numbered = lazy.select(chosen).with_row_index(ROW, 1).with_columns(pl.col(ROW).cast(pl.Int64))
        if drawn is None:
            return numbered.collect()
        report.sampled = Sampled(len(drawn), counts.height)
        return numbered.filter(pl.col(column).is_in(drawn.implode())).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise broken(path, error) from None


def sample_text(
    path: str | PathLike[str], report: Report, wanted: Sequence[str], layout: Layout, sample: Sample
) -> pl.DataFrame:
    """Return the rows of the people drawn of a text file, which is read twice, a piece at a time."""
    from tracearena.intake.text_rows import Manner, Otherwise, Text, rows_of

    text, manner = Text(Path(path), layout), Manner()

    def pieces(own: Report) -> Iterator[tuple[pl.DataFrame, str]]:
        for raw, table, _ in rows_of(text, tuple(wanted), own, _BYTES_OF_TEXT, manner):
            yield raw, table.found["user"]

    while True:
        lost = Report(str(path), report.format, strict=report.strict)
        try:
            parts = [
                raw.select(pl.col(user).cast(pl.String).alias("user")).drop_nulls().group_by("user").len()
                for raw, user in pieces(Report(str(path), report.format))
            ]
            counts = pl.concat(parts).group_by("user").agg(pl.col("len").sum())
            drawn = sample.drawn(counts)
            kept = [
                raw if drawn is None else raw.filter(pl.col(user).cast(pl.String).is_in(drawn.implode()))
                for raw, user in pieces(lost)
            ]
            break
        except Otherwise as other:
            manner = other.manner
    report.header_lines = lost.header_lines
    report.add(lost)
    whole = pl.concat(kept)
    report.rows = whole.height + report.dropped_rows
    if drawn is not None:
        report.sampled = Sampled(len(drawn), counts.height)
    report.refuse_if_nothing_is_left(whole.height)
    return whole
