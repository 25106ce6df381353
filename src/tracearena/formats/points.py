"""Tables of GPS points: CSV or Parquet, one row a point."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.files.io import replacing
from tracearena.intake.columns import POINTS
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces

if TYPE_CHECKING:
    from tracearena.intake.sampling import Sample


def read(
    path: str | PathLike[str],
    *,
    timezone: str | None = None,
    strict: bool = False,
    layout: Layout = AS_NAMED,
    sample: Sample | None = None,
) -> Reading[GpsTraces]:
    """Read a CSV file (comma, semicolon or tab; packed or not), a Parquet file, or a folder of them.

    Columns are known by the names in `intake.columns`, whatever their case and order; others are ignored.

    Parameters
    ----------
    timezone
        Zone of times that name none, UTC if omitted. Numbers are seconds since 1970, or
        milliseconds or finer if they are as large as that.
    strict
        Refuse a file with a row that cannot be used, instead of leaving it out and reporting it.
    layout
        What its header does not say.
    sample
        Read some people alone, drawn at random.
    """
    from tracearena.intake.gps_points import points_of
    from tracearena.intake.tables import rows_of_file

    report = Report(str(path), "points", strict=strict, timezone=timezone)
    return Reading(points_of(rows_of_file(path, report, POINTS, layout, sample), report, layout), report)


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write the points as CSV (``.csv``, ``.csv.gz``) or Parquet (``.parquet``)."""
    import polars as pl

    frame = traces.to_frame()
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
            return
        whole = bool((traces.time_ms % 1000 == 0).all())
        layout = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.3fZ"
        frame.with_columns(pl.col("time").dt.to_string(layout)).write_csv(out)
