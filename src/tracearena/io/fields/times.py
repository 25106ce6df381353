"""Times as people write them, to seconds or milliseconds since 1970."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracearena.errors import ParameterError
from tracearena.traces.clock import DAY_S
from tracearena.traces.time import EARLIEST_S, LATEST_S

Unit = Literal["s", "ms"]

ACCEPTED = (
    "ISO 8601 (2012-04-03T18:00:06Z), 2012/04/03 18:00, 03.04.2012 18:00, Tue Apr 03 18:00:06 +0000 2012 "
    "or unix time"
)
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%Y年%m月%d日")
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S%.f", "%H時%M分%S秒", "%H時%M分")
_ZONES = ("", "Z", "%#z")
_COMPACT = ("%Y%m%dT%H%M%S", "%Y%m%d %H%M%S", "%Y%m%d %H:%M:%S", "%Y%m%d %H:%M", "%Y%m%d %H%M")
_DIGIT_CLOCKS = ("%H%M%S", "%H%M")
_STYLES = (
    *(f"{day}{between}{clock}" for clock in _CLOCKS for day in _DAYS for between in "T "),
    *_DAYS,
    *_COMPACT,
    *(f"{day} {clock}" for clock in _DIGIT_CLOCKS for day in _DAYS),
)
_ZONE = r"[:T]\S* ?(Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)$"
_UNZONED = r" ?(Z|z|UTC|GMT|[+-]\d\d(:?\d\d)?)$"
_DIRECTIVE = re.compile(r"(%[^A-Za-z%]*[A-Za-z%])")
_NUMBER = r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$"
_STARTS_LIKE_A_DATE = r"^\d{1,4}[-/.年]?\d"
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_SAMPLE = 100
_MOST_CLOCKS = 0.75  # of minutes of the day 60 % look like hours and minutes, of seconds of the day 36 %
_LARGEST_SECOND = 10**11
_FIRST_YEAR_S = -30_610_224_000  # 1000-01-01: a year of fewer digits is a day or a month
LARGEST_INSTANT = 10**7
_PER_SECOND: dict[Unit, int] = {"s": 1, "ms": 1000}


@dataclass(frozen=True)
class ParsedTimes:
    """One column of times.

    Attributes
    ----------
    at
        Seconds or milliseconds since 1970-01-01, of UTC where the zone is known and otherwise of a
        local time; null where there is no time.
    offset_s
        Seconds to add to UTC for local time; null where no zone is named.
    are_instants
        Whether the column holds numbers so small that they count instants: `at` holds them then, if
        they are asked for in seconds.
    """

    at: pl.Series
    offset_s: pl.Series
    are_instants: bool = False


def parse_times(
    column: pl.Series,
    *,
    unit: Unit = "s",
    style: str | None = None,
    like: pl.Series | None = None,
    are_utc: bool = False,
) -> ParsedTimes:
    """Read a column of any type; its style is that of most of its first values, unless it is said.

    Of a column that is read in parts, `like` is its begin, by which all parts are read. Times that name no
    zone are UTC if `are_utc` says so.

    >>> times = parse_times(pl.Series(["2012-04-03T18:00:06Z", "2012-04-03T14:00:06-04:00", "soon"]))
    >>> times.at.to_list(), times.offset_s.to_list()
    ([1333476006, 1333476006, None], [0, -14400, None])
    """
    read = _parse_column(column, unit, like) if style is None else _parse_with_style(column, style, unit)
    if read.are_instants:
        return read
    per_second = _PER_SECOND[unit]
    offset = read.offset_s.fill_null(0) if are_utc else read.offset_s
    return ParsedTimes(_keep_range(read.at, EARLIEST_S * per_second, LATEST_S * per_second), offset)


def suggest_time_format(value: str) -> str:
    """Return what makes a time readable that is not: the order of its parts, or its date.

    >>> suggest_time_format("03/04/2012 18:00")
    "the order of day and month is ambiguous: set it, such as --time-format '%d/%m/%Y %H:%M' (time_format=)"
    """
    slashes = re.match(r"\d{1,2}([/-])\d{1,2}[/-](\d\d\d\d|\d\d)\b[ T]?", value)
    if slashes is not None:
        year = "%Y" if len(slashes[2]) == 4 else "%y"
        clock = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}[min(value.count(":"), 2)]
        style = f"%d{slashes[1]}%m{slashes[1]}{year}{clock}"
        return (
            f"the order of day and month is ambiguous: set it, such as --time-format '{style}' (time_format=)"
        )
    if re.fullmatch(r"\d{1,2}:\d\d(:\d\d(\.\d+)?)?", value):
        return "a time of day needs its date: name its column with --columns date=NAME (columns=)"
    return f"accepted are {ACCEPTED}; set another format with --time-format (time_format=)"


def looks_like_time_of_day(column: pl.Series) -> bool:
    """Whether a column has hours and minutes and no date."""
    if column.dtype == pl.Time:
        return True
    if column.dtype != pl.String:
        return False
    return _matches_mostly(column.drop_nulls().head(_SAMPLE), r"^ *\d{1,2}[:時]\d\d")


def goes_with_a_date(column: pl.Series) -> bool:
    """Whether a column next to one of dates has times of day, with or without signs between their parts."""
    return looks_like_time_of_day(column) or count_clock_digits(column) is not None


def count_clock_digits(column: pl.Series) -> int | None:
    """Return how many digits times of day have that are whole numbers; None if they are none.

    Hours and minutes have 4, with seconds 6; the longest tells, since numbers lose their first zeros.

    >>> count_clock_digits(pl.Series([93006, 174500])), count_clock_digits(pl.Series(["0930", "1745"]))
    (6, 4)
    >>> count_clock_digits(pl.Series([1, 2, 48])), count_clock_digits(pl.Series([1080, 1099]))
    (None, None)
    """
    text = _format_digits(column).drop_nulls()
    whole = text.filter(text.str.contains(r"^\d{1,6}$"))
    longest: Any = whole.str.len_bytes().max()
    if longest is None or longest < 3:
        return None
    digits = 4 if longest <= 4 else 6
    good = whole.str.zfill(digits).str.contains(r"^([01]\d|2[0-3])([0-5]\d)+$").sum()
    return digits if good >= _MOST_CLOCKS * len(text) else None


def _format_digits(column: pl.Series) -> pl.Series:
    """Return numbers as text; one without a fraction has none, though another row is empty."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.drop_nulls()
        if (whole == whole.floor()).all():
            column = column.cast(pl.Int64, strict=False)
    return column.cast(pl.String).str.strip_chars()


def join_date_and_time(date: pl.Series, time: pl.Series) -> pl.Series:
    """Return a date and a time of day as one column."""
    if isinstance(date.dtype, pl.Datetime):
        date = date.dt.date()
    if date.dtype == pl.Date and time.dtype == pl.Time:
        both = pl.DataFrame({"d": date, "t": time})
        return both.select(pl.col("d").dt.combine(pl.col("t"))).to_series().alias(time.name)
    both = pl.DataFrame({"d": _format_digits(date), "t": _format_digits(time)})
    d, t = pl.col("d"), pl.col("t")
    # 93006 is half past nine and six seconds, without the zero that a number loses.
    digits = count_clock_digits(time) or 6
    clock = pl.when(t.str.contains(r"^\d{1,6}$")).then(t.str.zfill(digits)).otherwise(t)
    name = f"{date.name}, {time.name}"
    return both.select(pl.concat_str(d, clock, separator=" ").alias(name)).to_series()


def has_instant_numbers(column: pl.Series) -> bool:
    """Whether a column has numbers too small to be seconds since 1970."""
    if column.count() == 0 or not (column.dtype == pl.String or column.dtype.is_numeric()):
        return False
    return _parse_column(column, "s").are_instants


def parse_twitter_times(text: pl.Series) -> pl.Series:
    """Read ``Tue Apr 03 18:00:06 +0000 2012``, always UTC, by its fixed columns.

    The days repeat, so they are parsed once each: quicker than parsing each time as a whole, and
    Foursquare's files hold tens of millions of them.

    >>> parse_twitter_times(pl.Series(["Tue Apr 03 18:00:06 +0000 2012", "Tue Feb 31"])).to_list()
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


def _parse_column(column: pl.Series, unit: Unit, like: pl.Series | None = None) -> ParsedTimes:
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("ms"))
    if isinstance(column.dtype, pl.Datetime):
        return ParsedTimes(
            column.dt.epoch(unit), _fill_constant(column, None if column.dtype.time_zone is None else 0)
        )
    if column.dtype.is_numeric():
        return _parse_unix_times(column, unit, like)
    text = column.cast(pl.String).str.strip_chars()
    begin = text if like is None else like.cast(pl.String).str.strip_chars()
    sample = begin.drop_nulls().head(_SAMPLE)
    if _matches_mostly(sample, _NUMBER):
        return _parse_unix_times(text.cast(pl.Float64, strict=False), unit, begin)
    if _matches_mostly(sample, r"^[A-Za-z]{3} "):
        return ParsedTimes(parse_twitter_times(text) * _PER_SECOND[unit], _fill_constant(text, 0))
    style, zone = _guess_style(sample)
    at = _parse_style(text, style + zone, unit)
    offset = _parse_offsets(text, _ZONE) if zone == "%#z" else _fill_constant(text, 0 if zone else None)
    left = (at.is_null() & text.is_not_null()).arg_true()
    if len(left) == 0:
        return ParsedTimes(at, offset)
    others = _parse_any_style(text.gather(left), unit)
    return ParsedTimes(at.scatter(left, others.at), offset.scatter(left, others.offset_s))


def _parse_unix_times(column: pl.Series, unit: Unit, like: pl.Series | None = None) -> ParsedTimes:
    """Unix time in seconds up to the year 5138, beyond that milliseconds or finer; tiny ones are instants.

    Numbers such as 20120403180006 are dates in digits.
    """
    number = _drop_infinite(column)
    middle = float((number if like is None else _drop_infinite(like)).abs().median() or 0)  # type: ignore[arg-type]
    for digits, style in _DIGITS.items():
        if 1900 <= middle // 10 ** (digits - 4) < 2100:
            text = number.cast(pl.Int64, strict=False).cast(pl.String)
            return ParsedTimes(_parse_style(text, style, unit), _fill_constant(column, None))
    scale = 1
    while middle / scale > _LARGEST_SECOND:
        scale *= 1000
    per_second = _PER_SECOND[unit]
    scaled = number * (per_second / scale) if per_second != scale else number
    whole = scaled.floor() if unit == "s" else scaled.round()
    fits = whole.abs() < 2**53
    at = whole.set(~fits.fill_null(False), None).cast(pl.Int64)
    return ParsedTimes(at, _fill_constant(column, 0), 0 <= middle < LARGEST_INSTANT)


def _drop_infinite(column: pl.Series) -> pl.Series:
    number = column.cast(pl.Float64, strict=False)
    return number.set(number.is_not_null() & ~number.is_finite(), None)


def _guess_style(sample: pl.Series) -> tuple[str, str]:
    """Return the style that most of the sample has, and how it names its zone."""
    most, best = 0, (_STYLES[0], "")
    for style in _STYLES:
        for zone in _ZONES if "%M" in style else ("",):
            fit = _parse_style(sample, style + zone, "s").count()
            if fit == len(sample):
                return style, zone
            if fit > most:
                most, best = fit, (style, zone)
    return best


def _parse_any_style(text: pl.Series, unit: Unit) -> ParsedTimes:
    """Read each time in the first style that fits it, its zone apart."""
    t, zone = pl.col("t"), pl.col("offset").is_not_null()
    frame = pl.DataFrame({"t": text, "offset": _parse_offsets(text, _ZONE)})
    bare = pl.when(zone).then(t.str.replace(_UNZONED, "")).otherwise(t).str.replace(r",(\d+)$", ".$1")
    dated = frame.select(pl.when(t.str.contains(_STARTS_LIKE_A_DATE)).then(bare)).to_series()
    at = _fill_constant(text, None)
    for style in _STYLES:
        left = (at.is_null() & dated.is_not_null()).arg_true()
        if len(left):
            at = at.scatter(left, _parse_style(dated.gather(left), style, unit))
    offset = frame["offset"]
    return ParsedTimes(at - offset.fill_null(0) * _PER_SECOND[unit], offset)


def _parse_with_style(column: pl.Series, style: str, unit: Unit) -> ParsedTimes:
    """Read all times as the caller says they are written."""
    if column.dtype.is_temporal():
        raise ParameterError(f"time_format: the column {column.name!r} already has times, not text")
    text = column.cast(pl.String).str.strip_chars()
    chrono = style.replace(".%f", "%.f").replace("%z", "%#z")
    try:
        at = _parse_style(text, chrono, unit)
    except pl.exceptions.PolarsError:
        raise ParameterError.of("time_format", style, "such as %d/%m/%Y %H:%M:%S") from None
    if "%z" not in style:
        return ParsedTimes(at, _fill_constant(text, 0 if "%s" in style or style.endswith("Z") else None))
    # The zone is taken from where the style has it, so that no year or month is taken for one.
    parts = []
    for number, part in enumerate(_DIRECTIVE.split(style)):
        if number % 2 == 0:
            parts.append(re.sub(r"(\\ |\s)+", r"\\s*", re.escape(part)))
        else:
            parts.append({"%z": r"(Z|z|[+-]\d\d(?::?\d\d)?)", "%%": "%"}.get(part, ".*?"))
    return ParsedTimes(at, _parse_offsets(text, f"^{''.join(parts)}$").fill_null(0))


def _parse_style(text: pl.Series, style: str, unit: Unit) -> pl.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.exceptions.ChronoFormatWarning)
        at = text.str.to_datetime(style, strict=False, time_unit="ms", cache=False).dt.epoch(unit)
    return _keep_range(at, _FIRST_YEAR_S * _PER_SECOND[unit], None)


def _parse_offsets(text: pl.Series, pattern: str) -> pl.Series:
    """Return seconds from UTC to local time where the group of a pattern names them."""
    z = pl.col("t").str.extract(pattern).alias("z")
    sign = pl.when(pl.col("z").str.starts_with("-")).then(-1).otherwise(1)
    hours = pl.col("z").str.slice(1, 2).cast(pl.Int64, strict=False)
    minutes = pl.col("z").str.slice(3).str.strip_prefix(":").cast(pl.Int64, strict=False).fill_null(0)
    given = pl.when(pl.col("z").str.contains(r"\d")).then(sign * (hours * 3600 + minutes * 60)).otherwise(0)
    named = pl.when(pl.col("z").is_not_null()).then(given)
    return pl.DataFrame({"t": text}).select(z).select(named).to_series().cast(pl.Int64)


def _keep_range(at: pl.Series, first: int, last: int | None) -> pl.Series:
    outside = (at < first) if last is None else ~at.is_between(first, last)
    return at.set(outside.fill_null(False), None) if outside.any() else at


def _fill_constant(like: pl.Series, value: int | None) -> pl.Series:
    return pl.select(pl.repeat(value, len(like), dtype=pl.Int64)).to_series()


def _matches_mostly(sample: pl.Series, pattern: str) -> bool:
    return len(sample) > 0 and 2 * int(sample.str.contains(pattern).sum()) > len(sample)
