"""Tables of GPS points on disk, read a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.intake.columns import MAPS, POINTS, names_utc, plain_name
from tracearena.intake.degrees import Doubts
from tracearena.intake.ids import LONGEST_ID, NUL, identifiers
from tracearena.intake.layout import AS_NAMED, ONE_USER, Layout
from tracearena.intake.positions import OLDEST_MS
from tracearena.intake.report import Report
from tracearena.streams.point_rows import columns, parsed_points, usable_points
from tracearena.streams.table_files import Chunk, TableFiles, open_table
from tracearena.traces import Box
from tracearena.traces.time import LATEST_S, require_zone


@dataclass(frozen=True)
class PointFiles:
    """Parquet files that are one table of points.

    Attributes
    ----------
    table
        The files.
    timezone
        The zone of times that name none.
    box
        Points outside of it are left out.
    """

    table: TableFiles
    timezone: str | None
    box: Box | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return self.table.files

    @property
    def options(self) -> tuple[object, ...]:
        """How they are read."""
        return self.table.layout, self.timezone, self.box

    def report(self, chunk: Chunk) -> Report:
        """Return an empty report of the file of a chunk."""
        report = self.table.empty_report(chunk, "points")
        report.timezone = self.timezone
        return report

    @property
    def _is_zoned(self) -> bool:
        kind = self.table.schema[self.table.roles["time"]]
        is_zoned = isinstance(kind, pl.Datetime) and kind.time_zone is not None
        return is_zoned or names_utc(self.table.roles["time"])

    def points(self, chunk: Chunk) -> tuple[pl.DataFrame, Report, pl.Series | None]:
        """Return the points of a chunk that can be used, the report of the others, and who is outside.

        Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
        ``trajectory``, and ``row``.
        """
        clean = self._clean(chunk)
        report = self.report(chunk)
        if clean is not None:
            report.rows = clean.height
            report.unzoned = 0 if self._is_zoned else clean.height
            report.doubts = Doubts(clean.height)
            return clean, report, None
        raw, like = self.table.read(chunk), self.table.first_times
        points, outside = usable_points(raw, report, self.table.layout, like, self.box)
        return points, report, outside

    def kept_rows(self, chunk: Chunk) -> pl.DataFrame:
        """Return the points of a chunk that can be used, without the numbers of their rows."""
        return self.points(chunk)[0].drop("row")

    def good_rows(self, chunk: Chunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the points of rows that are known to be good, with ids of known types."""
        if self._types() == (kinds["user"], kinds.get("trajectory")):
            return self._plain(chunk)
        raw, report = self.table.read(chunk), self.report(chunk)
        return columns(parsed_points(raw, report, self.table.layout, self.table.first_times)).drop("row")

    def _types(self) -> tuple[Any, Any] | None:
        """Return the types of ids where all columns can be taken as they are; None where they cannot."""
        found, layout = self.table.roles, self.table.layout
        types = {role: self.table.schema.get(name) for role, name in found.items()}
        time, ids = types["time"], (types["user"], types.get("trajectory"))
        as_it_is = (
            found["user"] != ONE_USER
            and layout.time_format is None
            and layout.decimal == "."
            and isinstance(time, pl.Datetime)
            and (self._is_zoned or self.timezone in (None, "UTC"))
            and types["lat"] == types["lon"] == pl.Float64
            and not {plain_name(found[role]) for role in ("lat", "lon")} & set(MAPS)
        )
        return ids if as_it_is and all(kind in (None, pl.Int64, pl.String) for kind in ids) else None

    def _plain(self, chunk: Chunk) -> pl.DataFrame:
        """Return columns that need no more than their names."""
        found = self.table.roles
        wanted = [
            pl.col(found["user"]).alias("user"),
            pl.col(found["time"]).dt.epoch("ms").alias("at"),
            pl.col(found["lat"]).alias("lat"),
            pl.col(found["lon"]).alias("lon"),
        ]
        if "trajectory" in found:
            name = pl.col(found["trajectory"])
            is_text = self.table.schema[found["trajectory"]] == pl.String
            wanted.append(
                (name.str.slice(0, LONGEST_ID).fill_null("") if is_text else name.fill_null(-1)).alias(
                    "trajectory"
                )
            )
        return self.table.read(chunk).select(wanted)

    def _clean(self, chunk: Chunk) -> pl.DataFrame | None:
        """Return the points of a chunk of which nothing needs to be said; None of any other."""
        types = self._types()
        if types is None or self.box is not None:
            return None
        frame = self._plain(chunk)
        if not frame.height or any(frame[name].null_count() for name in ("user", "at", "lat", "lon")):
            return None
        least: Any = frame["at"].min()
        latest: Any = frame["at"].max()
        if least < OLDEST_MS or latest > LATEST_S * 1000:
            return None
        for name, most in (("lat", 90), ("lon", 180)):
            if not frame[name].is_between(-most, most).all():
                return None
        texts = [name for name, kind in zip(("user", "trajectory"), types, strict=True) if kind == pl.String]
        if not all(_is_plain_text(frame[name]) for name in texts):
            return None
        if "trajectory" in texts and (frame["trajectory"] == "").any():
            return None  # a missing name among numbers is a number too
        return frame.with_columns(
            row=pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True)
        )


def _is_plain_text(ids: pl.Series) -> bool:
    """Whether ids are text that is no number, and good; each run of one id is looked at once."""
    runs = ids.filter(ids.ne_missing(ids.shift()))
    longest: Any = runs.str.len_chars().max()
    return (
        identifiers(runs).dtype == pl.String
        and longest <= LONGEST_ID
        and not runs.str.contains(NUL, literal=True).any()
    )


def open_points(
    path: str | PathLike[str],
    report: Report,
    *,
    layout: Layout = AS_NAMED,
    timezone: str | None = None,
    box: Box | None = None,
) -> PointFiles:
    """Look at the files of a table of points, without reading its rows; refuse those that are none."""
    if timezone is not None:
        require_zone(timezone)
    table = open_table(path, report, POINTS, layout, nothing=("holds no point", "no-points"))
    return PointFiles(table, timezone, box)
