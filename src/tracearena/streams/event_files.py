"""Tables of events at places on disk, read a chunk of rows at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.intake.checkins import Hours, named, timed_rows
from tracearena.intake.choices import Choices
from tracearena.intake.columns import EVENTS
from tracearena.intake.discretise import at_known_places, in_cells, inside, with_venues
from tracearena.intake.ids import identifiers
from tracearena.intake.layout import ONE_USER
from tracearena.intake.report import Report
from tracearena.intake.rows import Rows, parsed_rows
from tracearena.intake.tables import by_role
from tracearena.streams.table_files import Chunk, TableFiles
from tracearena.traces import Places

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
    hours: Hours
    choices: Choices
    places: Places | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the user named."""
        return self.table.files

    @property
    def options(self) -> tuple[object, ...]:
        """How they are read."""
        return self.table.layout, self.choices, None if self.places is None else digest_of(self.places)

    def events(self, chunk: Chunk) -> tuple[pl.DataFrame, Report]:
        """Return the events of a chunk that can be used, and the report of the others.

        Columns are ``row``, ``user``; ``at``, seconds of UTC or numbers of instants; ``local``, seconds, of
        times; ``lat``, ``lon`` and ``category`` where there are some; and ``place`` where places are known,
        ``venue`` otherwise.
        """
        report = self.table.empty_report(chunk, FORMAT)
        rows, rules = timed_rows(parsed(self.table, chunk, report), self.hours, report)
        frame = self._named(report.sift(rows.frame, rules))
        if self.choices.bounds is not None:
            frame = inside(frame, self.choices.bounds, report)
        return self._placed(frame, report), report

    def kept_rows(self, chunk: Chunk) -> pl.DataFrame:
        """Return whose, when and where the events of a chunk are that can be used."""
        return _slender(self.events(chunk)[0])

    def good_rows(self, chunk: Chunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same of rows that are known to be good; no more columns are read than that takes."""
        report = self.table.empty_report(chunk, FORMAT)
        rows, _ = timed_rows(parsed(self.table, chunk, report, self._needed), self.hours, report)
        return _slender(self._placed(self._named(rows.frame), report))

    @property
    def _needed(self) -> list[str] | None:
        """The columns without which nothing is known of a good row; None for all."""
        roles = self.table.roles
        if self.table.layout.columns:  # all that were named are asked for
            return None
        by_position = self.choices.grid is not None or "venue" not in roles
        wanted = ("user", "time", "offset_min", *(("lat", "lon") if by_position else ("venue",)))
        return [roles[role] for role in wanted if roles.get(role, ONE_USER) != ONE_USER]

    def _named(self, frame: pl.DataFrame) -> pl.DataFrame:
        return named(frame, self.hours).rename({"utc": "at", "instant": "at"}, strict=False)

    def _placed(self, frame: pl.DataFrame, report: Report) -> pl.DataFrame:
        if self.places is None:
            named_places = with_venues(frame, report)
            return named_places.with_columns(venue=identifiers(named_places["venue"]))
        if self.choices.grid is not None and self.places.grid is not None:
            return in_cells(frame, self.places.grid, report)
        return at_known_places(frame, self.places, report)


def parsed(table: TableFiles, chunk: Chunk, report: Report, columns: list[str] | None = None) -> Rows:
    """Return rows of a chunk with what was read of their ids, times and coordinates."""
    given, names = by_role(table.read(chunk, columns), report, EVENTS, table.layout)
    report.rows = given.height
    return parsed_rows(
        given, report, unit="s", layout=table.layout, names=names, first_times=table.first_times
    )


def _slender(frame: pl.DataFrame) -> pl.DataFrame:
    where = "place" if "place" in frame.columns else "venue"
    return frame.select([name for name in ("user", "at", "local", where) if name in frame.columns])


def digest_of(places: Places) -> str:
    """Return a digest of what places are and where they lie."""
    arrays = (places.latitude, places.longitude, places.ids, places.sensitive)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
