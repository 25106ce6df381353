"""The text of PLT rows to numbers: latitude,longitude,0,altitude,days,date,time.

`text` are bytes; `at` is where reading or writing begins, and nothing is read from `stop` on. `latitude`,
`longitude` (degrees) and `time_ms` (since 1970) are written at `row`, and so is `state`. `commas` has room
for where the commas of a row are, and `out` is the text that is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tracearena.traces.clock import DAY_S

GOOD, SLOW, BLANK, FIELDS, LATITUDE, LONGITUDE, DATE, TIME = range(8)

_COMMA, _LF, _CR, _DOT, _MINUS, _PLUS, _ZERO, _SPACE, _COLON, _SLASH = 44, 10, 13, 46, 45, 43, 48, 32, 58, 47
_EXACT = 2**53
_MOST_DIGITS = 15
"""Of a number that is exact as float64 whatever its digits."""

_POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(_MOST_DIGITS + 1)])
_NO_DAYS = -(2**40)


@njit(cache=True, nogil=True)
def _parse_decimal(text: Any, at: int, stop: int) -> tuple[float, int]:
    """Read a plain decimal; the state is GOOD, SLOW (too long to be exact here) or FIELDS."""
    sign, mantissa, digits, decimals, seen_dot = 1.0, 0, 0, 0, False
    if at < stop and (text[at] == _MINUS or text[at] == _PLUS):
        sign = -1.0 if text[at] == _MINUS else 1.0
        at += 1
    for i in range(at, stop):
        c = text[i]
        if c == _DOT and not seen_dot:
            seen_dot = True
        elif 48 <= c <= 57:
            if mantissa > _EXACT // 10 - 1:
                return 0.0, SLOW
            mantissa = mantissa * 10 + (c - _ZERO)
            digits += 1
            decimals += seen_dot
        else:
            return 0.0, SLOW if digits else FIELDS
    if digits == 0:
        return 0.0, FIELDS
    if decimals > 22:
        return 0.0, SLOW
    return sign * mantissa / 10.0**decimals, GOOD


@njit(cache=True, nogil=True)
def _parse_whole(text: Any, at: int, digits: int, stop: int) -> int:
    if at + digits > stop:
        return -1
    value = 0
    for i in range(at, at + digits):
        c = text[i]
        if c < 48 or c > 57:
            return -1
        value = value * 10 + (c - _ZERO)
    return value


@njit(cache=True, nogil=True)
def _parse_date(text: Any, at: int, stop: int) -> int:
    """Days since 1970 of YYYY-MM-DD (or with slashes), `_NO_DAYS` if it is no date."""
    if stop - at != 10 or text[at + 4] != text[at + 7]:
        return _NO_DAYS
    if text[at + 4] != _MINUS and text[at + 4] != _SLASH:
        return _NO_DAYS
    year, month, day = (
        _parse_whole(text, at, 4, stop),
        _parse_whole(text, at + 5, 2, stop),
        _parse_whole(text, at + 8, 2, stop),
    )
    if year < 1 or month < 1 or month > 12 or day < 1 or day > 31:
        return _NO_DAYS
    days = days_from_civil(year, month, day)
    y, m, d = civil_from_days(days)
    return days if y == year and m == month and d == day else _NO_DAYS


@njit(cache=True, nogil=True)
def _parse_seconds(text: Any, at: int, stop: int) -> int:
    """Seconds after midnight of HH:MM:SS, -1 if it is no time."""
    if stop - at != 8 or text[at + 2] != _COLON or text[at + 5] != _COLON:
        return -1
    hour, minute = _parse_whole(text, at, 2, stop), _parse_whole(text, at + 3, 2, stop)
    second = _parse_whole(text, at + 6, 2, stop)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return -1
    return hour * 3600 + minute * 60 + second


@njit(cache=True, nogil=True)
def count_lines(text: Any) -> int:
    """Number of lines, with or without an end of the last one."""
    lines = 0
    for c in text:
        lines += c == _LF
    return lines + (len(text) > 0 and text[-1] != _LF)


@njit(cache=True, nogil=True)
def parse_row_carefully(
    text: Any, at: int, end: int, commas: Any, latitude: Any, longitude: Any, time_ms: Any, row: int
) -> int:
    """Read a row without its end, whatever it holds; return its state."""
    if end == at:
        return BLANK
    found = 0
    for i in range(at, end):
        if text[i] == _COMMA:
            if found == 6:
                return FIELDS
            commas[found] = i
            found += 1
    if found != 6:
        return FIELDS
    lat, lat_state = _parse_decimal(text, at, commas[0])
    lon, lon_state = _parse_decimal(text, commas[0] + 1, commas[1])
    if lat_state == FIELDS:
        return LATITUDE
    if lon_state == FIELDS:
        return LONGITUDE
    days = _parse_date(text, commas[4] + 1, commas[5])
    seconds = _parse_seconds(text, commas[5] + 1, end)
    if days == _NO_DAYS:
        return DATE
    if seconds < 0:
        return TIME
    latitude[row], longitude[row] = lat, lon
    time_ms[row] = (days * DAY_S + seconds) * 1000
    return SLOW if lat_state == SLOW or lon_state == SLOW else GOOD


@njit(cache=True, nogil=True, inline="always")
def _parse_two_digits(text: Any, at: int) -> int:
    """Return the value of two digits, -1 if they are none."""
    tens, ones = text[at] - _ZERO, text[at + 1] - _ZERO
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else -1


@njit(cache=True, nogil=True, inline="always")
def _parse_digits(text: Any, at: int, value: int) -> tuple[int, int]:
    """Append the digits that begin here to a number; return it, and where they end."""
    digit = text[at] - _ZERO
    while 0 <= digit <= 9:
        value = value * 10 + digit
        at += 1
        digit = text[at] - _ZERO
    return value, at


@njit(cache=True, nogil=True, inline="always")
def _parse_short_decimal(text: Any, at: int) -> tuple[float, int]:
    """Read a number of few digits up to its comma; return it and what follows, or -1 if it is no such."""
    negative = text[at] == _MINUS
    at += negative
    first, decimals = at, 0
    mantissa, at = _parse_digits(text, at, 0)
    digits = at - first
    if text[at] == _DOT:
        first = at + 1
        mantissa, at = _parse_digits(text, first, mantissa)
        decimals = at - first
        digits += decimals
    if text[at] != _COMMA or digits == 0 or digits > _MOST_DIGITS:
        return 0.0, -1
    value = mantissa / _POWERS_OF_TEN[decimals]
    return -value if negative else value, at + 1


@njit(cache=True, nogil=True)
def parse_row_quickly(
    text: Any, at: int, last: int, known: Any, latitude: Any, longitude: Any, time_ms: Any, row: int
) -> int:
    """Read a row as nearly all are; return where the next begins, or -1 for `parse_row_carefully` to look
    at it.

    Parameters
    ----------
    last
        Where a line ends, this one or a later one, so that nothing is read beyond.
    known
        The last date as one number, and its days since 1970: most rows have the date of the row before.
    """
    lat, at = _parse_short_decimal(text, at)
    if at < 0:
        return -1
    lon, at = _parse_short_decimal(text, at)
    if at < 0:
        return -1
    for _ in range(3):
        while text[at] != _COMMA:
            if text[at] == _LF:
                return -1
            at += 1
        at += 1
    end = at + 19
    if end > last or not (text[end] == _LF or (text[end] == _CR and text[end + 1] == _LF)):
        return -1
    if text[at + 4] != _MINUS or text[at + 7] != _MINUS or text[at + 10] != _COMMA:
        return -1
    if text[at + 13] != _COLON or text[at + 16] != _COLON:
        return -1
    century, year = _parse_two_digits(text, at), _parse_two_digits(text, at + 2)
    month, day = _parse_two_digits(text, at + 5), _parse_two_digits(text, at + 8)
    hour, minute, second = (
        _parse_two_digits(text, at + 11),
        _parse_two_digits(text, at + 14),
        _parse_two_digits(text, at + 17),
    )
    if (century | year | month | day | hour | minute | second) < 0 or hour > 23 or minute > 59 or second > 59:
        return -1
    date = (century * 100 + year) * 10_000 + month * 100 + day
    if date != known[0]:
        days = _parse_date(text, at, at + 10)
        if days == _NO_DAYS:
            return -1
        known[0], known[1] = date, days
    latitude[row], longitude[row] = lat, lon
    time_ms[row] = (known[1] * DAY_S + hour * 3600 + minute * 60 + second) * 1000
    return end + (2 if text[end] == _CR else 1)


@njit(cache=True, nogil=True)
def _skip_lines(text: Any, at: int, stop: int, lines: int) -> int:
    while lines > 0 and at < stop:
        lines -= text[at] == _LF
        at += 1
    return at


@njit(cache=True, nogil=True)
def _parse_file(
    text: Any, at: int, stop: int, oldest_ms: int, latitude: Any, longitude: Any, time_ms: Any, state: Any,
    row: int,
) -> tuple[int, bool]:  # fmt: skip
    commas, known = np.empty(6, np.int64), np.full(2, -1, np.int64)
    last = stop - 1
    while last >= at and text[last] != _LF:
        last -= 1
    plain, latest = True, oldest_ms
    while at < stop:
        following = -1
        if at <= last:
            following = parse_row_quickly(text, at, last, known, latitude, longitude, time_ms, row)
        state[row] = GOOD
        if following < 0:
            end = at
            while end < stop and text[end] != _LF:
                end += 1
            following = end + 1
            while end > at and (text[end - 1] == _CR or text[end - 1] == _SPACE):
                end -= 1
            state[row] = parse_row_carefully(text, at, end, commas, latitude, longitude, time_ms, row)
        good = state[row] == GOOD and abs(latitude[row]) <= 90.0 and abs(longitude[row]) <= 180.0
        if good and time_ms[row] >= latest:
            latest = time_ms[row]
        else:
            plain = False
        row += 1
        at = following
    return row, plain


@njit(cache=True, nogil=True)
def parse_files(
    text: Any,
    starts: Any,
    stops: Any,
    header_lines: Any,
    oldest_ms: int,
    latitude: Any,
    longitude: Any,
    time_ms: Any,
    state: Any,
    rows: Any,
    plain: Any,
) -> None:
    """Parse the rows of files that lie one after the other in a text.

    Parameters
    ----------
    starts, stops
        Where each file begins and ends.
    header_lines
        How many lines of each file are no rows.
    state
        Out, for each row: whether it is good, has to be read the slow way, or what is wrong.
    rows
        Out, for each file: which is its first row; with the end as last value.
    plain
        Out, for each file: whether all its rows are good, on earth, in order of time and not older than
        `oldest_ms`.
    """
    rows[0] = 0
    for i in range(len(starts)):
        at = _skip_lines(text, starts[i], stops[i], header_lines[i])
        rows[i + 1], plain[i] = _parse_file(
            text, at, stops[i], oldest_ms, latitude, longitude, time_ms, state, rows[i]
        )


# Numbers to the text of PLT rows: latitude,longitude,0,altitude,days,date,time.


@njit(cache=True, nogil=True)
def _put(out: Any, at: int, value: int, digits: int) -> int:
    for i in range(digits):
        out[at + digits - 1 - i] = _ZERO + value % 10
        value //= 10
    return at + digits


@njit(cache=True, nogil=True)
def _put_coordinate(out: Any, at: int, degrees: float) -> int:
    scaled = int(np.rint(abs(degrees) * 1e7))
    if degrees < 0 and scaled > 0:
        out[at] = _MINUS
        at += 1
    whole = scaled // 10_000_000
    digits = 3 if whole >= 100 else (2 if whole >= 10 else 1)
    at = _put(out, at, whole, digits)
    out[at] = _DOT
    return _put(out, at + 1, scaled % 10_000_000, 7)


@njit(cache=True, nogil=True)
def format_rows(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], time_ms: NDArray[np.int64], out: Any
) -> int:
    """Write the rows of a PLT file into `out` (80 bytes per row are enough); return the length."""
    at = 0
    for i in range(len(latitude)):
        at = _put_coordinate(out, at, latitude[i])
        out[at] = _COMMA
        at = _put_coordinate(out, at + 1, longitude[i])
        for c in (44, 48, 44, 45, 55, 55, 55, 44):  # ,0,-777, : no altitude known
            out[at] = c
            at += 1
        seconds = time_ms[i] // 1000
        days = seconds // DAY_S
        second = seconds - days * DAY_S
        at = _put(out, at, days + 25569, 5)  # from 1899-12-30
        out[at] = _DOT
        at = _put(out, at + 1, (second * 10_000_000_000 + 43_200) // DAY_S, 10)
        out[at] = _COMMA
        year, month, day = civil_from_days(days)
        at = _put(out, at + 1, year, 4)
        out[at] = _MINUS
        at = _put(out, at + 1, month, 2)
        out[at] = _MINUS
        at = _put(out, at + 1, day, 2)
        out[at] = _COMMA
        at = _put(out, at + 1, second // 3600, 2)
        out[at] = _COLON
        at = _put(out, at + 1, second // 60 % 60, 2)
        out[at] = _COLON
        at = _put(out, at + 1, second % 60, 2)
        out[at] = _CR
        out[at + 1] = _LF
        at += 2
    return at


# Dates of the Gregorian calendar as days since 1970, and back.


@njit(cache=True, nogil=True)
def days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


@njit(cache=True, nogil=True)
def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    shifted = days + 719468
    era = shifted // 146097
    doe = shifted - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    month_from_march = (5 * doy + 2) // 153
    day = doy - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + (3 if month_from_march < 10 else -9)
    return yoe + era * 400 + (month <= 2), month, day
