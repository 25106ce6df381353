"""Times as people write them, to seconds since 1970."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tracearena.errors import ParameterError
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EARLIEST_S, LATEST_S, require_zone

ACCEPTED = "ISO 8601 (2012-04-03T18:00:06Z), 2012/04/03 18:00, Tue Apr 03 18:00:06 +0000 2012 or unix time"
_FORMATS = (
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
    "%Y/%m/%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d %H:%M",
    "%Y-%m-%d",
)
_LARGEST_SECOND = 10**11
LARGEST_INSTANT = 10**7


@dataclass(frozen=True)
class Times:
    """One column of times.

    Attributes
    ----------
    second
        Seconds since 1970-01-01, of UTC where the zone is known and otherwise of a local time;
        null where there is no time.
    offset_s
        Seconds to add to UTC for local time; null where no zone is named.
    are_instants
        Whether the column numbers instants: `second` holds those numbers.
    """

    second: pl.Series
    offset_s: pl.Series
    are_instants: bool = False


def parse(column: pl.Series) -> Times:
    """Read a column of any type; its style is that of most of its first values.

    >>> times = parse(pl.Series(["2012-04-03T18:00:06Z", "2012-04-03T14:00:06-04:00", "soon"]))
    >>> times.second.to_list(), times.offset_s.to_list()
    ([1333476006, 1333476006, None], [0, -14400, None])
    """
    read = _parsed(column)
    # What lies beyond every calendar stays, at its end, to be counted as no date of a trace.
    return Times(read.second.clip(EARLIEST_S, LATEST_S), read.offset_s, read.are_instants)


def _parsed(column: pl.Series) -> Times:
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        return Times(column.dt.epoch("s"), _constant(column, None if column.dtype.time_zone is None else 0))
    if column.dtype.is_numeric():
        return _numbers(column)
    text = column.cast(pl.String).str.strip_chars()
    sample = text.drop_nulls().head(100)
    if _mostly(sample, r"^-?\d+(\.\d+)?$"):
        return _numbers(text.cast(pl.Float64, strict=False))
    if _mostly(sample, r"^[A-Za-z]{3} "):
        return Times(twitter_seconds(text), _constant(text, 0))
    return _iso(text)


def twitter_seconds(text: pl.Series) -> pl.Series:
    """Read ``Tue Apr 03 18:00:06 +0000 2012``, always UTC, by its fixed columns.

    The days repeat, so they are parsed once each: quicker than parsing each time as a whole, and
    Foursquare's files hold tens of millions of them.

    >>> twitter_seconds(pl.Series(["Tue Apr 03 18:00:06 +0000 2012", "Tue Feb 31"])).to_list()
    [1333476006, None]
    """
    t = pl.col("t")
    day = pl.concat_str(t.str.slice(26, 4), t.str.slice(4, 6)).str.to_date("%Y%b %d", strict=False)
    hour, minute, second = (t.str.slice(at, 2).cast(pl.UInt8, strict=False) for at in (11, 14, 17))
    whole = (
        (t.str.slice(19, 7) == " +0000 ")
        & (t.str.len_bytes() == 30)
        & (hour < 24)
        & (minute < 60)
        & (second < 61)
    )
    days = day.cast(pl.Int32).cast(pl.Int64)
    seconds = days * DAY_S + hour.cast(pl.Int64) * 3600 + minute.cast(pl.Int64) * 60 + second
    return pl.DataFrame({"t": text}).select(pl.when(whole).then(seconds)).to_series()


def in_zone(second: pl.Series, zone: str) -> pl.Series:
    """Return local seconds of UTC seconds.

    >>> in_zone(pl.Series([1333476006]), "America/New_York").to_list()
    [1333461606]
    """
    moments = _moments(second).dt.replace_time_zone("UTC")
    return _zoned(lambda: moments.dt.convert_time_zone(zone), zone).dt.replace_time_zone(None).dt.epoch("s")


def from_zone(second: pl.Series, zone: str) -> pl.Series:
    """Return UTC seconds of local seconds.

    Of an hour that a clock shows twice the first is meant; an hour that it skips is read as if
    the clock had not been set yet.
    """
    local = _moments(second)
    exact = _zoned(lambda: _placed(local, zone), zone)
    if exact.null_count() > second.null_count():
        exact = exact.fill_null(_placed(local.dt.offset_by("-1h"), zone) + 3600)
    return exact


def unclear(second: pl.Series, zone: str) -> tuple[int, int]:
    """Return how many local seconds the clocks of a zone skip, and how many they show twice."""
    local = _moments(second)
    early, late = (
        local.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
        for which in ("earliest", "latest")
    )
    return early.null_count() - second.null_count(), int((early != late).sum())


def _placed(local: pl.Series, zone: str) -> pl.Series:
    return local.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("s")


def _zoned(convert: Callable[[], pl.Series], zone: str) -> pl.Series:
    try:
        return convert()
    except pl.exceptions.PolarsError:
        require_zone(zone)
        raise ParameterError.of("timezone", zone, "a name such as America/New_York or Asia/Tokyo") from None


def _numbers(column: pl.Series) -> Times:
    """Unix time in seconds up to the year 5138, beyond that milliseconds or finer; tiny ones are instants."""
    number = column.cast(pl.Float64, strict=False)
    number = number.set(number.is_not_null() & ~number.is_finite(), None)
    middle = float(number.abs().median() or 0)  # type: ignore[arg-type]
    scale = 1
    while middle / scale > _LARGEST_SECOND:
        scale *= 1000
    whole = number.floor() if scale == 1 else (number / scale).floor()
    fits = whole.abs() < 2**53
    second = whole.set(~fits.fill_null(False), None).cast(pl.Int64)
    are_instants = 0 <= middle < LARGEST_INSTANT
    return Times(second, _constant(column, 0), are_instants)


def _iso(text: pl.Series) -> Times:
    """The style of the first value for all rows at once; the rest, if any, one pattern after the other."""
    style, zone = _style_of(text.drop_nulls().head(1))
    second = text.str.to_datetime(style, strict=False, time_unit="us").dt.epoch("s")
    offset = _constant(text, zone)
    left = (second.is_null() & text.is_not_null()).arg_true()
    if len(left) == 0:
        return Times(second, offset)
    others = _any_iso(text.gather(left))
    return Times(second.scatter(left, others.second), offset.scatter(left, others.offset_s))


def _style_of(first: pl.Series) -> tuple[str, int | None]:
    for style, zone in [(style + "Z", 0) for style in _FORMATS[:2]] + [(style, None) for style in _FORMATS]:
        if first.str.to_datetime(style, strict=False, time_unit="us").null_count() == 0:
            return style, zone
    return _FORMATS[0], None


def _any_iso(text: pl.Series) -> Times:
    zone = text.str.extract(r"(Z|z|[+-]\d\d:?\d\d|UTC)$")
    base = text.str.replace(r"(Z|z|[+-]\d\d:?\d\d| ?UTC)$", "").str.replace(r"[.,]\d+$", "")
    second = _constant(text, None)
    for style in _FORMATS:
        second = second.fill_null(base.str.to_datetime(style, strict=False, time_unit="us").dt.epoch("s"))
    offset = _offset_s(zone)
    return Times(second - offset.fill_null(0), offset)


def _offset_s(zone: pl.Series) -> pl.Series:
    z = pl.col("z")
    sign = pl.when(z.str.starts_with("-")).then(-1).otherwise(1)
    hours, minutes = (
        z.str.slice(1, 2).cast(pl.Int64, strict=False),
        z.str.slice(-2).cast(pl.Int64, strict=False),
    )
    given = pl.when(z.str.contains(r"\d")).then(sign * (hours * 3600 + minutes * 60)).otherwise(0)
    return pl.DataFrame({"z": zone}).select(pl.when(z.is_not_null()).then(given)).to_series()


def _moments(second: pl.Series) -> pl.Series:
    return (second * 1_000_000).cast(pl.Datetime("us"))


def _constant(like: pl.Series, value: int | None) -> pl.Series:
    return pl.select(pl.repeat(value, len(like), dtype=pl.Int64)).to_series()


def _mostly(sample: pl.Series, pattern: str) -> bool:
    return len(sample) > 0 and 2 * int(sample.str.contains(pattern).sum()) > len(sample)
