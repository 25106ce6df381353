"""Raw events as files hold them: users, times, coordinates, venues. Not yet places and instants."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from tracearena.errors import ParameterError
from tracearena.intake import times, zones
from tracearena.intake.choices import Choices
from tracearena.intake.ids import LONGEST_ID
from tracearena.intake.layout import AS_NAMED, Layout
from tracearena.intake.local_time import (
    AS_WRITTEN,
    BY_OFFSETS,
    IN_UTC,
    UNKNOWN,
    LocalTime,
    asked_for,
    guessed,
)
from tracearena.intake.report import Report, Rule
from tracearena.intake.rows import Rows, parsed_rows, sifted
from tracearena.traces import Places
from tracearena.traces.clock import DAY_S

FIRST_PLAUSIBLE_S = 1_041_379_200
"""2003-01-01: no check-in or phone trace is older; what is, has a clock that was never set."""

_FARTHEST_OFFSET_MIN = 18 * 60


@dataclass(frozen=True)
class CheckIns:
    """Events with good times and coordinates, in file order.

    Attributes
    ----------
    frame
        Columns ``row``; ``user`` (whole numbers or text); ``utc`` and ``local``, seconds since
        1970, or else ``instant``, a number; ``lat`` and ``lon`` in degrees, ``venue``,
        ``category``, each where the file has it.
    times_are_local
        Whether the file names no zone, so that ``utc`` is known only if a time zone was chosen.
    """

    frame: pl.DataFrame
    times_are_local: bool = False

    @property
    def are_numbered(self) -> bool:
        """Whether instants are numbers without a date."""
        return "instant" in self.frame.columns


def check_ins(
    raw: pl.DataFrame,
    report: Report,
    choices: Choices,
    places: Places | None = None,
    *,
    layout: Layout = AS_NAMED,
    names: Mapping[str, str] | None = None,
) -> CheckIns:
    """Turn columns as they stand in a file into check-ins, dropping and counting what is wrong.

    Parameters
    ----------
    raw
        Columns ``row``, ``user``, ``time``, and of ``lat``, ``lon``, ``venue``, ``category``,
        ``offset_min`` those that the file has, of any type.
    places
        Where events can be, if that is known. All files of a data set have the same, so that the
        zone is guessed from them and not from the events of one file.
    layout, names
        How numbers and times are written, and what the file calls its columns.
    """
    rows = parsed_rows(raw, report, unit="s", layout=layout, names=names)
    local, utc, is_local = _local_and_utc(rows, choices, report, places)
    rules = [*rows.who(), *rows.when(), *_date_rules(rows)]
    if report.clock is BY_OFFSETS and "offset_min" in raw.columns:
        rules.append(_offset_rule())
    rules += rows.where()
    if "lat" in raw.columns:
        nowhere = (pl.col("_lat") == 0) & (pl.col("_lon") == 0)
        rules.append(rows.rule("coordinates 0, 0", nowhere, "lat"))
    timed = replace(rows, frame=rows.frame.with_columns(_utc=utc, _local=local))
    return CheckIns(_named(sifted(timed, report, rules), rows.are_instants), times_are_local=is_local)


def _local_and_utc(
    rows: Rows, choices: Choices, report: Report, places: Places | None
) -> tuple[pl.Series, pl.Series, bool]:
    raw, utc, offset = rows.frame, rows.frame["_at"], rows.frame["_offset"]
    known = offset.filter(utc.is_not_null())
    is_local = not rows.are_instants and known.null_count() == len(known)
    if (rows.are_instants or is_local) and choices.utc_hours:
        raise ParameterError(f"{report.path}: its times name no zone, so that hours of UTC are not known")
    if rows.are_instants:
        if choices.timezone is not None:
            raise ParameterError(f"{report.path}: has numbers for times, which have no time zone")
        return utc, utc, True
    if choices.utc_hours:
        report.clock = IN_UTC
        return utc, utc, False
    if choices.timezone is None and "offset_min" in raw.columns:
        report.clock = BY_OFFSETS
        report.notice("times without an offset, taken as UTC", raw["offset_min"].null_count())
        minutes = raw["offset_min"].cast(pl.Float64, strict=False).clip(-DAY_S, DAY_S)
        offset = (minutes * 60).cast(pl.Int64, strict=False)
        return utc + offset.fill_null(0), utc, is_local
    if choices.timezone is None and is_local:
        report.clock = AS_WRITTEN
        return utc, utc, True
    if choices.timezone is None:
        report.notice("times without a zone, taken as local", known.null_count())
        report.clock = BY_OFFSETS if bool((known != 0).any()) else _guessed(raw, places)
        if report.clock is BY_OFFSETS:
            return utc + offset.fill_null(0), utc, False
    else:
        report.clock = asked_for(choices.timezone)
    return *_zoned(utc, offset, report.clock.zone or "UTC", report), False


def _zoned(utc: pl.Series, offset: pl.Series, zone: str, report: Report) -> tuple[pl.Series, pl.Series]:
    """Local and UTC seconds where all times are of one zone, those that name none among them."""
    zoned = zones.in_zone(utc, zone)
    if offset.null_count() == 0:
        return zoned, utc
    skipped, repeated = zones.unclear(utc.filter(offset.is_null()), zone)
    report.notice("local times that the clocks skip, read as if they had not been set yet", skipped)
    report.notice("local times that the clocks show twice, read as the first", repeated)
    parts = pl.DataFrame(
        {"bare": offset.is_null(), "as_is": utc, "zoned": zoned, "placed": zones.from_zone(utc, zone)}
    )
    return (
        parts.select(pl.when("bare").then("as_is").otherwise("zoned")).to_series(),
        parts.select(pl.when("bare").then("placed").otherwise("as_is")).to_series(),
    )


def _guessed(raw: pl.DataFrame, places: Places | None) -> LocalTime:
    if places is not None:
        return guessed(places.latitude, places.longitude, "places")
    if "_lat" not in raw.columns:
        return UNKNOWN
    degrees = raw.select("_lat", "_lon").drop_nulls()
    return guessed(degrees["_lat"].to_numpy(), degrees["_lon"].to_numpy(), "events")


def _offset_rule() -> Rule:
    minutes = pl.col("offset_min").cast(pl.Float64, strict=False)
    bad = pl.col("offset_min").is_not_null() & ~(minutes.abs() <= _FARTHEST_OFFSET_MIN).fill_null(False)
    return Rule(reason="implausible offset from UTC", bad=bad, column="offset_min")


def _date_rules(rows: Rows) -> list[Rule]:
    if rows.are_instants:
        return [
            rows.rule("negative time number", pl.col("_utc") < 0, "time"),
            rows.rule("implausible time number", pl.col("_utc") > times.LARGEST_INSTANT, "time"),
        ]
    latest = int(time.time()) + DAY_S
    return [rows.rule("implausible date", ~pl.col("_utc").is_between(FIRST_PLAUSIBLE_S, latest), "time")]


def _named(frame: pl.DataFrame, are_instants: bool) -> pl.DataFrame:
    columns = [pl.col("row"), pl.col("user")]
    if are_instants:
        columns.append(pl.col("_utc").alias("instant"))
    else:
        columns += [pl.col("_utc").alias("utc"), pl.col("_local").alias("local")]
    if "_lat" in frame.columns:
        columns += [pl.col("_lat").alias("lat"), pl.col("_lon").alias("lon")]
    if "venue" in frame.columns:
        columns.append(pl.col("venue"))
    if "category" in frame.columns:
        columns.append(pl.col("category").cast(pl.String).str.slice(0, LONGEST_ID))
    return frame.select(columns)
