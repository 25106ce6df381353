"""Tables of GPS points and of events on disk, read a chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from tracearena.files import digest_values
from tracearena.io.discretisation import (
    keep_inside_box,
    keep_named_venues,
    move_to_cells,
    move_to_known_places,
)
from tracearena.io.fields.columns import (
    EVENTS,
    LONGEST_ID,
    MAPS,
    NUL,
    POINTS,
    convert_ids,
    is_utc_name,
    simplify_name,
)
from tracearena.io.fields.coordinates import OLDEST_MS, report_old_times
from tracearena.io.fields.degrees import CoordinateDoubts
from tracearena.io.large.table_files import RowChunk, TableFiles, open_table
from tracearena.io.options import AS_NAMED, ONE_USER, Choices, Layout
from tracearena.io.points import convert_to_utc
from tracearena.io.report import Report
from tracearena.io.rows import Rows, TimeConversion, add_local_times, parse_rows, rename_check_in_columns
from tracearena.io.tables import select_by_role
from tracearena.traces import Box, Places
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
        raw, like = self.table.read(chunk), self.table.first_times
        points, outside = select_usable_points(raw, report, self.table.layout, like, self.box)
        return points, report, outside

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return the points of a chunk that can be used, without the numbers of their rows."""
        return self.points(chunk)[0].drop("row")

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the points of rows that are known to be good, with ids of known types."""
        if self._find_id_types() == (kinds["user"], kinds.get("trajectory")):
            return self._plain(chunk)
        raw, report = self.table.read(chunk), self.report(chunk)
        return select_point_columns(
            parse_points(raw, report, self.table.layout, self.table.first_times)
        ).drop("row")

    def _find_id_types(self) -> tuple[Any, Any] | None:
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


def select_usable_points(
    raw: pl.DataFrame, report: Report, layout: Layout, first_times: pl.Series, box: Box | None
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the points that can be used, and who has points outside the box; the report is told why.

    Columns are ``user``, ``at`` (milliseconds since 1970), ``lat``, ``lon``, where there are some
    ``trajectory``, and ``row``.

    Parameters
    ----------
    first_times
        The first times of the table, which tell how all are written.
    box
        Points outside of it are left out.
    """
    rows = _parse_point_rows(raw, report, layout, first_times)
    frame = report.sift(rows.frame, [*rows.who(), *rows.when(), *rows.where()])
    report_old_times(
        report.path, frame["_at"].to_numpy(), frame["row"].to_numpy(), report, report.header_lines
    )
    points = select_point_columns(frame)
    if box is None:
        return points, points["user"].clear()
    south, west, north, east = box
    inside = pl.col("lat").is_between(south, north) & pl.col("lon").is_between(west, east)
    outside = points.filter(~inside)["user"]
    if len(outside):
        report.drop("outside the bounds", len(outside))
    return points.filter(inside), outside.unique()


def parse_points(raw: pl.DataFrame, report: Report, layout: Layout, first_times: pl.Series) -> pl.DataFrame:
    """Return rows with what was read of them, whether they can be used or not."""
    return _parse_point_rows(raw, report, layout, first_times).frame


def select_point_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what was read of rows under the names of points."""
    wanted = {"user": frame["user"], "at": frame["_at"], "lat": frame["_lat"], "lon": frame["_lon"]}
    if "trajectory" in frame.columns:
        ids = convert_ids(frame["trajectory"])
        is_text = ids.dtype == pl.String
        wanted["trajectory"] = ids.fill_null("").str.slice(0, LONGEST_ID) if is_text else ids.fill_null(-1)
    return pl.DataFrame({**wanted, "row": frame["row"]})


def _parse_point_rows(raw: pl.DataFrame, report: Report, layout: Layout, first_times: pl.Series) -> Rows:
    given, names = select_by_role(raw, report, POINTS, layout)
    report.rows = given.height
    rows = parse_rows(given, report, unit="ms", layout=layout, names=names, first_times=first_times)
    return replace(rows, frame=rows.frame.with_columns(_at=convert_to_utc(rows, report)))


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

    def events(self, chunk: RowChunk) -> tuple[pl.DataFrame, Report]:
        """Return the events of a chunk that can be used, and the report of the others.

        Columns are ``row``, ``user``; ``at``, seconds of UTC or numbers of instants; ``local``, seconds, of
        times; ``lat``, ``lon`` and ``category`` where there are some; and ``place`` where places are known,
        ``venue`` otherwise.
        """
        report = self.table.empty_report(chunk, FORMAT)
        rows, rules = add_local_times(parse_event_rows(self.table, chunk, report), self.hours, report)
        frame = self._rename_columns(report.sift(rows.frame, rules))
        if self.choices.bounds is not None:
            frame = keep_inside_box(frame, self.choices.bounds, report)
        return self._find_places(frame, report), report

    def read_usable_rows(self, chunk: RowChunk) -> pl.DataFrame:
        """Return whose, when and where the events of a chunk are that can be used."""
        return _select_event_columns(self.events(chunk)[0])

    def read_checked_rows(self, chunk: RowChunk, kinds: Mapping[str, Any]) -> pl.DataFrame:
        """Return the same of rows that are known to be good; no more columns are read than that takes."""
        report, roles = self.table.empty_report(chunk, FORMAT), self.table.roles
        columns = None  # all that were named are asked for
        if not self.table.layout.columns:
            by_position = self.choices.grid is not None or "venue" not in roles
            wanted = ("user", "time", "offset_min", *(("lat", "lon") if by_position else ("venue",)))
            columns = [roles[role] for role in wanted if roles.get(role, ONE_USER) != ONE_USER]
        rows, _ = add_local_times(parse_event_rows(self.table, chunk, report, columns), self.hours, report)
        return _select_event_columns(self._find_places(self._rename_columns(rows.frame), report))

    def _rename_columns(self, frame: pl.DataFrame) -> pl.DataFrame:
        return rename_check_in_columns(frame, self.hours).rename({"utc": "at", "instant": "at"}, strict=False)

    def _find_places(self, frame: pl.DataFrame, report: Report) -> pl.DataFrame:
        if self.places is None:
            named = keep_named_venues(frame, report)
            return named.with_columns(venue=convert_ids(named["venue"]))
        if self.choices.grid is not None and self.places.grid is not None:
            return move_to_cells(frame, self.places.grid, report)
        return move_to_known_places(frame, self.places, report)


def parse_event_rows(
    table: TableFiles, chunk: RowChunk, report: Report, columns: list[str] | None = None
) -> Rows:
    """Return rows of a chunk with what was read of their ids, times and coordinates."""
    given, names = select_by_role(table.read(chunk, columns), report, EVENTS, table.layout)
    report.rows = given.height
    return parse_rows(
        given, report, unit="s", layout=table.layout, names=names, first_times=table.first_times
    )


def _select_event_columns(frame: pl.DataFrame) -> pl.DataFrame:
    where = "place" if "place" in frame.columns else "venue"
    return frame.select([name for name in ("user", "at", "local", where) if name in frame.columns])


def digest_places(places: Places) -> str:
    """Return a digest of what places are and where they lie."""
    return digest_values(places.latitude, places.longitude, places.ids, places.sensitive)
