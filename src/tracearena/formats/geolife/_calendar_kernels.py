"""Dates of the Gregorian calendar as days since 1970, and back."""

from __future__ import annotations

from numba import njit


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
