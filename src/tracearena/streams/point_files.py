"""Tables of GPS points on disk, read a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.intake.columns import MAPS, POINTS, plain_name
from tracearena.intake.gps_points import utc_of
from tracearena.intake.ids import LONGEST_ID, NUL, identifiers
from tracearena.intake.layout import ONE_USER, Layout
from tracearena.intake.positions import OLDEST_MS, oddly_dated
from tracearena.intake.report import Report
from tracearena.intake.rows import Rows, parsed_rows
from tracearena.intake.tables import ROW, broken, by_role
from tracearena.traces import Box
from tracearena.traces.time import LATEST_S

ROWS_PER_CHUNK = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """Rows `first` up to but not including `stop` of a file, by its number."""

    file: int
    first: int
    stop: int


@dataclass(frozen=True)
class PointFiles:
    """Parquet files that are one table of points, in the order of their names.

    Attributes
    ----------
    path
        What the user named: a file or a folder.
    files, rows
        The files, and how many rows each has.
    schema
        The columns that are read, and their types.
    said
        What the names of a file's folders say (``day=2024-01-31``), for each file.
    first_times
        The first times of the table, which tell how all are written.
    box
        Points outside of it are left out.
    """

    path: str
    files: tuple[Path, ...]
    rows: tuple[int, ...]
    schema: Mapping[str, pl.DataType]
    said: tuple[Mapping[str, str | None], ...]
    layout: Layout
    timezone: str | None
    first_times: pl.Series
    box: Box | None = None

    def chunks(self, size: int | None = None) -> list[Chunk]:
        """Cut every file into consecutive chunks of rows."""
        step = size or ROWS_PER_CHUNK
        return [
            Chunk(number, first, min(first + step, count))
            for number, count in enumerate(self.rows)
            for first in range(0, count, step)
        ]

    def report(self, path: str | None = None) -> Report:
        """Return an empty report of the table, or of one of its files."""
        return Report(path or self.path, "points", timezone=self.timezone)

    @property
    def _is_zoned(self) -> bool:
        kind = self.schema[self._roles["time"]]
        return isinstance(kind, pl.Datetime) and kind.time_zone is not None

    def read(self, chunk: Chunk, wanted: list[pl.Expr] | None = None) -> pl.DataFrame:
        """Return rows as they stand in their file, with their numbers; or what is `wanted` of them."""
        path = self.files[chunk.file]
        said = self.said[chunk.file]
        own = [name for name in self.schema if name not in said]
        try:
            rows = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(own)
            frame = rows.slice(chunk.first, chunk.stop - chunk.first).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise broken(path, error) from None
        added = [pl.lit(said[name], pl.String).alias(name) for name in self.schema if name in said]
        if wanted is not None:
            return frame.with_columns(*added).select(wanted)
        number = pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True).alias(ROW)
        return frame.with_columns(*added, number)

    def points(self, chunk: Chunk) -> tuple[pl.DataFrame, Report]:
        """Return the points of a chunk that can be used, and the report of the others.

        Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
        ``trajectory``, and ``row``.
        """
        clean = self._clean(chunk)
        if clean is not None:
            report = self.report(str(self.files[chunk.file]))
            report.rows = clean.height
            report.unzoned = 0 if self._is_zoned else clean.height
            return clean, report
        rows, report = self._parsed(chunk)
        frame = report.sift(rows.frame, [*rows.who(), *rows.when(), *rows.where()])
        oddly_dated(
            report.path, frame["_at"].to_numpy(), frame["row"].to_numpy(), report, report.header_lines
        )
        return self._inside(_columns(frame), report), report

    def good_points(self, chunk: Chunk, kinds: tuple[Any, Any]) -> pl.DataFrame:
        """Return the points of rows that are known to be good, with ids of known types."""
        plain = self._plain(chunk) if self._types() == kinds else None
        return _columns(self._parsed(chunk)[0].frame).drop("row") if plain is None else plain

    def _types(self) -> tuple[Any, Any] | None:
        """Return the types of ids where all columns can be taken as they are; None where they cannot."""
        found = self._roles
        types = {role: self.schema.get(name) for role, name in found.items()}
        time, ids = types["time"], (types["user"], types.get("trajectory"))
        as_it_is = (
            found["user"] != ONE_USER
            and self.layout.time_format is None
            and self.layout.decimal == "."
            and isinstance(time, pl.Datetime)
            and (time.time_zone is not None or self.timezone in (None, "UTC"))
            and types["lat"] == types["lon"] == pl.Float64
            and not {plain_name(found[role]) for role in ("lat", "lon")} & set(MAPS)
        )
        return ids if as_it_is and all(kind in (None, pl.Int64, pl.String) for kind in ids) else None

    @cached_property
    def _roles(self) -> dict[str, str]:
        return self.layout.roles(list(self.schema), POINTS)

    def _plain(self, chunk: Chunk) -> pl.DataFrame:
        """Return columns that need no more than their names."""
        found = self._roles
        wanted = [
            pl.col(found["user"]).alias("user"),
            pl.col(found["time"]).dt.epoch("ms").alias("at"),
            pl.col(found["lat"]).alias("lat"),
            pl.col(found["lon"]).alias("lon"),
        ]
        if "trajectory" in found:
            name = pl.col(found["trajectory"])
            is_text = self.schema[found["trajectory"]] == pl.String
            wanted.append(
                (name.str.slice(0, LONGEST_ID).fill_null("") if is_text else name.fill_null(-1)).alias(
                    "trajectory"
                )
            )
        return self.read(chunk, wanted)

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

    def _parsed(self, chunk: Chunk) -> tuple[Rows, Report]:
        report = self.report(str(self.files[chunk.file]))
        given, names = by_role(self.read(chunk), report, POINTS, self.layout)
        report.rows = given.height
        rows = parsed_rows(
            given, report, unit="ms", layout=self.layout, names=names, first_times=self.first_times
        )
        return replace(rows, frame=rows.frame.with_columns(_at=utc_of(rows, report))), report

    def _inside(self, frame: pl.DataFrame, report: Report) -> pl.DataFrame:
        if self.box is None:
            return frame
        south, west, north, east = self.box
        inside = frame.filter(pl.col("lat").is_between(south, north) & pl.col("lon").is_between(west, east))
        if inside.height < frame.height:
            report.drop("outside the bounds", frame.height - inside.height)
        return inside


def _is_plain_text(ids: pl.Series) -> bool:
    """Whether ids are text that is no number, and good; each run of one id is looked at once."""
    runs = ids.filter(ids.ne_missing(ids.shift()))
    longest: Any = runs.str.len_chars().max()
    return (
        identifiers(runs).dtype == pl.String
        and longest <= LONGEST_ID
        and not runs.str.contains(NUL, literal=True).any()
    )


def _columns(frame: pl.DataFrame) -> pl.DataFrame:
    wanted = {"user": frame["user"], "at": frame["_at"], "lat": frame["_lat"], "lon": frame["_lon"]}
    if "trajectory" in frame.columns:
        ids = identifiers(frame["trajectory"])
        is_text = ids.dtype == pl.String
        wanted["trajectory"] = ids.fill_null("").str.slice(0, LONGEST_ID) if is_text else ids.fill_null(-1)
    return pl.DataFrame({**wanted, "row": frame["row"]})
