"""From UTC to the clocks of a zone and back, in seconds since 1970, a column at a time."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tracearena.errors import ParameterError
from tracearena.traces.time import require_zone


def utc_to_zone(second: pl.Series, zone: str) -> pl.Series:
    """Return local seconds of UTC seconds.

    >>> utc_to_zone(pl.Series([1333476006]), "America/New_York").to_list()
    [1333461606]
    """
    moments = _to_datetimes(second).dt.replace_time_zone("UTC")
    return (
        _convert_checking_zone(lambda: moments.dt.convert_time_zone(zone), zone)
        .dt.replace_time_zone(None)
        .dt.epoch("s")
    )


def zone_to_utc(second: pl.Series, zone: str) -> pl.Series:
    """Return UTC seconds of local seconds.

    Of an hour that a clock shows twice the first is meant; an hour or a day that it skips is read as
    if the clock had not been set yet.
    """
    local = _to_datetimes(second)
    exact = _convert_checking_zone(lambda: _convert_local_to_utc(local, zone), zone)
    for hours in (1, 24):
        if exact.null_count() > second.null_count():
            exact = exact.fill_null(
                _convert_local_to_utc(local.dt.offset_by(f"-{hours}h"), zone) + hours * 3600
            )
    return exact


def are_local(second: pl.Series, utc: pl.Series, zone: str) -> bool:
    """Whether local seconds are those of a zone at the given seconds of UTC.

    >>> are_local(pl.Series([1333461606]), pl.Series([1333476006]), "America/New_York")
    True
    """
    return bool(((utc_to_zone(utc, zone) == second) | (zone_to_utc(second, zone) == utc)).all())


def count_unclear_times(second: pl.Series, zone: str) -> tuple[int, int]:
    """Return how many local seconds the clocks of a zone skip, and how many they show twice."""
    local = _to_datetimes(second)
    early, late = (
        local.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")
        for which in ("earliest", "latest")
    )
    return early.null_count() - second.null_count(), int((early != late).sum())


def _convert_local_to_utc(local: pl.Series, zone: str) -> pl.Series:
    return local.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null").dt.epoch("s")


def _convert_checking_zone(convert: Callable[[], pl.Series], zone: str) -> pl.Series:
    try:
        return convert()
    except pl.exceptions.PolarsError:
        require_zone(zone)
        raise ParameterError.of("timezone", zone, "a name such as America/New_York or Asia/Tokyo") from None


def _to_datetimes(second: pl.Series) -> pl.Series:
    return (second * 1_000_000).cast(pl.Datetime("us"))
