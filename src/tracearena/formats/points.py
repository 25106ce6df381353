"""Tables of GPS points: CSV or Parquet, one row a point."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tracearena.files.whole import replacing
from tracearena.intake.columns import POINTS
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.report import Reading, Report
from tracearena.traces import GpsTraces

if TYPE_CHECKING:
    import polars as pl


def read(
    path: str | PathLike[str],
    *,
    timezone: str | None = None,
    strict: bool = False,
    layout: Layout = AS_NAMED,
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
    """
    from tracearena.intake.gps_points import points_of
    from tracearena.intake.tables import rows_of_file

    report = Report(str(path), "points", strict=strict, timezone=timezone)
    return Reading(points_of(rows_of_file(path, report, POINTS, layout), report, layout), report)


def to_frame(traces: GpsTraces) -> pl.DataFrame:
    """Return the points as a Polars frame: user_id, time (UTC), latitude, longitude, traj."""
    import polars as pl

    return pl.DataFrame(
        {
            "user_id": pl.Series(traces.user_ids.tolist()).gather(traces.user_index),
            "time": pl.Series(traces.time_ms).cast(pl.Datetime("ms", "UTC")),
            "latitude": traces.latitude,
            "longitude": traces.longitude,
            "traj": pl.Series(traces.trajectory_ids.tolist()).gather(traces.trajectory),
        }
    )


def write(traces: GpsTraces, path: str | PathLike[str]) -> None:
    """Write the points as CSV (``.csv``, ``.csv.gz``) or Parquet (``.parquet``)."""
    import polars as pl

    frame = to_frame(traces)
    with replacing(path) as out:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(out)
            return
        whole = bool((traces.time_ms % 1000 == 0).all())
        layout = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.3fZ"
        frame.with_columns(pl.col("time").dt.to_string(layout)).write_csv(out)
