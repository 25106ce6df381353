"""Tables of GPS points and of events on disk, read a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.files import digest_values
from tracearena.io.discretisation import find_places, keep_inside_box
from tracearena.io.large.table_files import RowChunk, TableFiles
from tracearena.io.options import Choices
from tracearena.io.points import convert_to_utc, name_point_columns, select_points
from tracearena.io.report import Report
from tracearena.io.rows import Rows, TimeConversion, select_check_ins
from tracearena.traces import Box, Places


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

    def points(self, chunk: RowChunk) -> tuple[pl.DataFrame, Report, pl.Series]:
        """Return the points of a chunk that can be used, the report of the others, and who is outside."""
        rows, report = self._parse(chunk)
        points, outside = select_points(rows, report, self.box)
        return points, report, outside

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return the points of a chunk that can be used, without the numbers of their rows."""
        return self.points(chunk)[0].drop("row")

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the points of rows that are known to be good, with ids of known types."""
        frame = convert_to_utc(*self._parse(chunk)).frame
        return name_point_columns(frame, kinds.get("trajectory") == pl.String).drop("row")

    def _parse(self, chunk: RowChunk) -> tuple[Rows, Report]:
        report = self.table.empty_report(chunk, "points")
        report.timezone = self.timezone
        return self.table.parse(chunk, report), report


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
    return digest_values(places.latitude, places.longitude, places.ids, places.sensitive)
