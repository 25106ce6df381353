"""Raw events as files hold them: users, times, coordinates, venues. Not yet places and instants."""

from __future__ import annotations

import time
from dataclasses import dataclass

import polars as pl

from tracearena.errors import FileError
from tracearena.formats import times
from tracearena.formats.choices import Choices
from tracearena.formats.report import Report, Rule

FIRST_PLAUSIBLE_S = 1_041_379_200
"""2003-01-01: no check-in or phone trace is older; what is, has a clock that was never set."""

LONGEST_ID = 256
"""Letters of an id or a category: arrays of text are as wide as their longest entry."""

_DAY_S = 86_400


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


def check_ins(raw: pl.DataFrame, report: Report, choices: Choices) -> CheckIns:
    """Turn columns as they stand in a file into check-ins, dropping and counting what is wrong.

    Parameters
    ----------
    raw
        Columns ``row``, ``user``, ``time``, and of ``lat``, ``lon``, ``venue``, ``category``,
        ``offset_min`` those that the file has, of any type.
    """
    read = times.parse(raw["time"])
    local, utc, is_local = _local_and_utc(raw, read, choices)
    frame = raw.with_columns(user=identifiers(raw["user"]), _utc=utc, _local=local)
    rules = [Rule(reason="missing fields", bad=pl.col("user").is_null(), column="user")]
    rules += [_length_rule(name) for name in ("user", "venue") if frame.schema.get(name) == pl.String]
    rules += _time_rules(read.are_instants)
    if "lat" in raw.columns:
        frame = frame.with_columns(
            _lat=raw["lat"].cast(pl.Float64, strict=False), _lon=raw["lon"].cast(pl.Float64, strict=False)
        )
        rules += _coordinate_rules()
    frame = report.sift(frame, rules)
    _refuse_if_no_time_is_read(report)
    report.refuse_if_nothing_is_left(frame)
    return CheckIns(_named(frame, read.are_instants), times_are_local=is_local)


def identifiers(column: pl.Series) -> pl.Series:
    """Return ids as whole numbers if all of them are, written the plain way, and as text otherwise.

    >>> identifiers(pl.Series(["7", "12"])).to_list(), identifiers(pl.Series(["007", "12"])).to_list()
    ([7, 12], ['007', '12'])
    """
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype.is_float():
        whole = column.drop_nulls()
        if bool((whole == whole.floor()).all()):
            return column.cast(pl.Int64, strict=False)
    text = column.cast(pl.String)
    number = text.cast(pl.Int64, strict=False)
    plain = number.null_count() == text.null_count() and not bool(text.str.contains(r"^(0.|\+|-0)").any())
    return number if plain else text


def _local_and_utc(
    raw: pl.DataFrame, read: times.Times, choices: Choices
) -> tuple[pl.Series, pl.Series, bool]:
    utc, offset = read.second, read.offset_s
    if read.are_instants:
        return utc, utc, True
    is_local = offset.null_count() == len(offset)
    if choices.utc_hours:
        return utc, utc, is_local
    if choices.timezone is not None:
        zoned = times.in_zone(utc, choices.timezone)
        if offset.null_count() == 0:
            return zoned, utc, False
        local = pl.select(pl.when(offset.is_null()).then(utc).otherwise(zoned)).to_series()
        known = times.from_zone(utc, choices.timezone)
        return local, pl.select(pl.when(offset.is_null()).then(known).otherwise(utc)).to_series(), False
    if "offset_min" in raw.columns:
        offset = (raw["offset_min"].cast(pl.Float64, strict=False) * 60).cast(pl.Int64, strict=False)
    return utc + offset.fill_null(0), utc, is_local


def _length_rule(name: str) -> Rule:
    return Rule(reason="overlong id", bad=pl.col(name).str.len_chars() > LONGEST_ID, column=name)


def _time_rules(are_instants: bool) -> list[Rule]:
    rules = [Rule(reason="unparsable time", bad=pl.col("_utc").is_null(), column="time")]
    if are_instants:
        return [*rules, Rule(reason="negative time number", bad=pl.col("_utc") < 0, column="time")]
    latest = int(time.time()) + _DAY_S
    implausible = ~pl.col("_utc").is_between(FIRST_PLAUSIBLE_S, latest)
    return [*rules, Rule(reason="implausible date", bad=implausible, column="time")]


def _coordinate_rules() -> list[Rule]:
    lat, lon = pl.col("_lat"), pl.col("_lon")
    return [
        Rule(reason="bad latitude", bad=~lat.is_between(-90, 90).fill_null(False), column="lat"),
        Rule(reason="bad longitude", bad=~lon.is_between(-180, 180).fill_null(False), column="lon"),
        Rule(reason="coordinates 0, 0", bad=(lat == 0) & (lon == 0), column="lat"),
    ]


def _refuse_if_no_time_is_read(report: Report) -> None:
    unread = sum(dropped.count for dropped in report.dropped if dropped.reason == "unparsable time")
    if unread and unread == report.rows:
        value = report.dropped[0].examples[0][2]
        raise FileError.whole(
            report.path, f"no time can be read; accepted are {times.ACCEPTED}", "time", value
        )


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
