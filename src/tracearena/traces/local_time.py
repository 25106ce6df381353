"""From UTC to the time on the wall."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.zones import require_zone

_QUARTER_MS = 900_000
DAY_S = 86_400
EPOCH = date(1970, 1, 1)
# A day within the first and the last that have a date in every zone.
EARLIEST_S = int(datetime(1, 1, 2, tzinfo=UTC).timestamp())
LATEST_S = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp())


def local_seconds(time_ms: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """Return seconds since 1970-01-01 00:00 on the wall clocks of a zone.

    >>> local_seconds(np.array([0]), "Asia/Tokyo").tolist()
    [32400]
    """
    zone = ZoneInfo(require_zone(timezone))
    # Offsets change on quarter hours only, so each quarter hour is looked up once.
    quarters, index = np.unique(np.asarray(time_ms) // _QUARTER_MS, return_inverse=True)
    offsets = [_offset_s(int(quarter) * 900, zone) for quarter in quarters]
    return np.asarray(time_ms) // 1000 + np.array(offsets, np.int64)[index]


def _offset_s(second: int, zone: ZoneInfo) -> int:
    second = min(max(second, EARLIEST_S), LATEST_S)
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def utc_ms(local_s: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """Undo `local_seconds`; an hour that the clocks repeat is read as its second half."""
    guess = np.asarray(local_s, np.int64) * 1000
    for _ in range(2):
        guess = guess - (local_seconds(guess, timezone) - local_s) * 1000
    return guess


def solar_seconds(time_ms: NDArray[np.int64], longitude: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return seconds since 1970 on clocks that follow the sun, to the hour: a zone without a name."""
    return np.asarray(time_ms) // 1000 + np.rint(np.asarray(longitude) / 15).astype(np.int64) * 3600
