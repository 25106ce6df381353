"""Which released point stands for which original one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import GpsTraces
from tracearena.traces._arrays import positions

Ints = NDArray[np.int64]


def are_row_by_row(original: GpsTraces, released: GpsTraces) -> bool:
    """Whether a release has the users of the original, and each the same times: its points one by one."""
    return original.has_users_of(released) and original.has_rows_of(released)


def matched_points(
    original: GpsTraces, released: GpsTraces, *, row_by_row: bool | None = None
) -> tuple[Ints, Ints]:
    """Return pairs of original and released points of the same user, nearest in time.

    Parameters
    ----------
    row_by_row
        Whether the points are to be taken one by one; as `are_row_by_row` says if omitted. Of some users of
        many, it is for all of them to say.
    """
    if are_row_by_row(original, released) if row_by_row is None else row_by_row:
        everything = np.arange(len(original))
        return everything, everything
    pairs = []
    for user, other in enumerate(positions(original.user_ids, released.user_ids).tolist()):
        if other < 0 or released.offsets[other] == released.offsets[other + 1]:
            continue
        points = np.arange(original.offsets[user], original.offsets[user + 1])
        first = released.offsets[other]
        times = released.time_ms[first : released.offsets[other + 1]]
        pairs.append((points, first + nearest(times, original.time_ms[points])))
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def nearest(times: Ints, wanted: Ints) -> Ints:
    """Return the index of the time nearest to each wanted one; the earlier of two."""
    after = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(wanted - times[before]) <= np.abs(times[after] - wanted), before, after)
