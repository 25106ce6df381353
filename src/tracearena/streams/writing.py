"""Traces on their way out: one file, of frames in their order, or a folder of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any

import polars as pl

from tracearena.files.io import replacing
from tracearena.traces import GpsTraces

COMPRESSION: Any = "lz4"
"""Of what is too large to wait for: a third of the time of Polars' own choice, and 1.6 times the room."""


Text = Callable[[Any, bool], str]
"""Makes CSV of some users, with a header or without."""


def write_part(traces: Any, path: str | PathLike[str]) -> None:
    """Write one of several parts."""
    with replacing(path) as out:
        traces.to_frame().write_parquet(out, compression=COMPRESSION)


def write_in_order(parts: Iterator[Any], path: Path, text: Text) -> None:
    """Write parts that come one after the other into one file: Parquet where the name ends so, or CSV."""
    with replacing(path) as out:
        if path.suffix == ".parquet":
            _sink(parts, out)
        else:
            for number, part in enumerate(parts):
                out.write(text(part, number == 0).encode())


def _sink(parts: Iterator[Any], out: IO[bytes]) -> None:
    from polars.io.plugins import register_io_source

    first = next(parts).to_frame()
    raised: list[BaseException] = []

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        yield first
        try:
            for part in parts:
                yield part.to_frame()
        except BaseException as error:
            raised.append(error)
            raise

    try:
        register_io_source(frames, schema=first.schema).sink_parquet(out, compression=COMPRESSION)
    except pl.exceptions.PolarsError:
        # Polars tells of an error in its own words; the one that was raised says what happened.
        if raised:
            raise raised[0] from None
        raise
    if raised:
        raise raised[0]


def points_text(*, whole_seconds: bool) -> Text:
    """Return what makes CSV of points."""
    layout = "%Y-%m-%dT%H:%M:%SZ" if whole_seconds else "%Y-%m-%dT%H:%M:%S%.3fZ"

    def text(part: GpsTraces, has_header: bool) -> str:
        frame = part.to_frame().with_columns(pl.col("time").dt.to_string(layout))
        made: str = frame.write_csv(include_header=has_header)
        return made

    return text
