"""Tables of GPS points and of events on disk, read a chunk of rows at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.io.discretisation import find_places, keep_inside_box
from tracearena.io.fields.columns import LONGEST_ID, MAPS, NUL, convert_ids, is_utc_name, simplify_name
from tracearena.io.fields.coordinates import OLDEST_MS
from tracearena.io.fields.degrees import CoordinateDoubts
from tracearena.io.large.table_files import RowChunk, TableFiles
from tracearena.io.options import ONE_USER, Choices
from tracearena.io.points import select_points
from tracearena.io.report import Report
from tracearena.io.rows import TimeConversion, select_check_ins
from tracearena.traces import Box, Places
from tracearena.traces.time import LATEST_S


@dataclass(frozen=True)
class PointFiles:
    """Files that are one table of points.

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

    def report(self, chunk: RowChunk) -> Report:
        """Return an empty report of the file of a chunk."""
        report = self.table.empty_report(chunk, "points")
        report.timezone = self.timezone
        return report

    @property
    def _is_zoned(self) -> bool:
        kind = self.table.schema[self.table.roles["time"]]
        is_zoned = isinstance(kind, pl.Datetime) and kind.time_zone is not None
        return is_zoned or is_utc_name(self.table.roles["time"])

    def points(self, chunk: RowChunk) -> tuple[pl.DataFrame, Report, pl.Series | None]:
        """Return the points of a chunk that can be used, the report of the others, and who is outside.

        Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
        ``trajectory``, and ``row``.
        """
        clean = self._read_clean_points(chunk)
        report = self.report(chunk)
        if clean is not None:
            report.rows = clean.height
            report.unzoned = 0 if self._is_zoned else clean.height
            report.doubts = CoordinateDoubts(clean.height)
            return clean, report, None
        points, outside = select_points(self.table.parse(chunk, report), report, self.box)
        return points, report, outside

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return the points of a chunk that can be used, without the numbers of their rows."""
        return self.points(chunk)[0].drop("row")

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the points of rows that are known to be good, with ids of known types."""
        if self._find_id_types() == (kinds["user"], kinds.get("trajectory")):
            return self._plain(chunk)
        return self.read_usable_rows(chunk)

    def _find_id_types(self) -> tuple[Any, Any] | None:
        """Return the types of ids where all columns can be taken as they are; None where they cannot."""
        found, layout = self.table.roles, self.table.layout
        types = {role: self.table.schema.get(name) for role, name in found.items()}
        if not isinstance(types["time"], pl.Datetime):
            return None
        ids = types["user"], types.get("trajectory")
        as_it_is = (
            found["user"] != ONE_USER
            and layout.time_format is None
            and layout.decimal == "."
            and (self._is_zoned or self.timezone in (None, "UTC"))
            and types["lat"] == types["lon"] == pl.Float64
            and not {simplify_name(found[role]) for role in ("lat", "lon")} & set(MAPS)
        )
        return ids if as_it_is and all(kind in (None, pl.Int64, pl.String) for kind in ids) else None

    def _plain(self, chunk: RowChunk) -> pl.DataFrame:
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

    def _read_clean_points(self, chunk: RowChunk) -> pl.DataFrame | None:
        """Return the points of a chunk of which nothing needs to be said; None of any other."""
        types = self._find_id_types()
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
        for name in texts:
            # Ids must be text that is no number, and good; each run of one id is looked at once.
            ids = frame[name]
            runs = ids.filter(ids.ne_missing(ids.shift()))
            longest: Any = runs.str.len_chars().max()
            if convert_ids(runs).dtype != pl.String or longest > LONGEST_ID:
                return None
            if runs.str.contains(NUL, literal=True).any():
                return None
        if "trajectory" in texts and (frame["trajectory"] == "").any():
            return None  # a missing name among numbers is a number too
        return frame.with_columns(
            row=pl.int_range(chunk.first + 1, chunk.first + frame.height + 1, eager=True)
        )


# Tables of events at places.

FORMAT = "table"


@dataclass(frozen=True)
class EventFiles:
    """Files that are one table of events.

    Attributes
    ----------
    table
        The files.
    hours
        How times become local ones.
    choices
        Which places and instants are made.
    places
        Where events can be, if that is known before they are read: the places of a file, or of a grid.
    """

    table: TableFiles
    hours: TimeConversion
    choices: Choices
    places: Places | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the user named."""
        return self.table.files

    @property
    def options(self) -> tuple[object, ...]:
        """How they are read."""
        return self.table.layout, self.choices, None if self.places is None else digest_places(self.places)

    def events(self, chunk: RowChunk, roles: Sequence[str] | None = None) -> tuple[pl.DataFrame, Report]:
        """Return the events of a chunk that can be used, and the report of the others.

        Columns are those of `CheckIns`, with ``place`` where places are known. Of rows that are known to be
        good, those of some roles can be read alone.
        """
        report = self.table.empty_report(chunk, FORMAT)
        frame = select_check_ins(self.table.parse(chunk, report, roles), self.hours, report)
        if self.choices.bounds is not None and roles is None:
            frame = keep_inside_box(frame, self.choices.bounds, report)
        return find_places(frame, self.places, self.choices, report), report

    def read_usable_rows(self, chunk: RowChunk, roles: Sequence[str] | None = None) -> pl.DataFrame:
        """Return whose, when and where the events of a chunk are that can be used."""
        frame, _ = self.events(chunk, roles)
        where = "place" if "place" in frame.columns else "venue"
        return frame.select([name for name in ("user", "at", "local", where) if name in frame.columns])

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same of rows that are known to be good; no more columns are read than that takes."""
        by_position = self.choices.grid is not None or "venue" not in self.table.roles
        where = ("lat", "lon") if by_position else ("venue",)
        return self.read_usable_rows(chunk, ("user", "time", "offset_min", *where))


def digest_places(places: Places) -> str:
    """Return a digest of what places are and where they lie."""
    arrays = (places.latitude, places.longitude, places.ids, places.sensitive)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
