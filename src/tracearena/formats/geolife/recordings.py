"""Recordings, one a PLT file, joined to traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tracearena.traces import GpsTraces


@dataclass(frozen=True)
class Recording:
    """One PLT file, parsed."""

    user: str
    name: str
    time_ms: NDArray[np.int64]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]


def joined(recordings: list[Recording], users: set[str]) -> GpsTraces:
    """Join the recordings, user by user, each user's points sorted by time."""
    by_user: dict[str, list[Recording]] = {user: [] for user in users}
    for recording in recordings:
        by_user.setdefault(recording.user, []).append(recording)
    names = sorted(by_user)
    kept: list[Recording] = []
    counts: list[int] = []
    for user in names:
        own = [r for r in by_user[user] if len(r.time_ms)]
        kept += sorted(own, key=lambda r: (int(r.time_ms[0]), r.name))
        counts.append(sum(len(r.time_ms) for r in own))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    number = np.arange(len(kept), dtype=np.int32)
    trajectory = np.repeat(number, [len(r.time_ms) for r in kept])
    time_ms = _concatenated([r.time_ms for r in kept], np.int64)
    latitude = _concatenated([r.latitude for r in kept], np.float64)
    longitude = _concatenated([r.longitude for r in kept], np.float64)
    _sort_users(offsets, time_ms, (latitude, longitude, trajectory))
    return GpsTraces.of_checked(
        user_ids=np.array(names, np.str_),
        offsets=offsets,
        time_ms=time_ms,
        latitude=latitude,
        longitude=longitude,
        trajectory=trajectory,
        trajectory_ids=np.array([r.name for r in kept], np.str_),
    )


def _concatenated(parts: list[NDArray[Any]], kind: DTypeLike) -> NDArray[Any]:
    return np.concatenate([np.empty(0, kind), *parts])


def _sort_users(
    offsets: NDArray[np.int64], time_ms: NDArray[np.int64], others: tuple[NDArray[Any], ...]
) -> None:
    """Sort the points of those users by time whose recordings overlap, or are not sorted themselves."""
    falls = np.flatnonzero(time_ms[1:] < time_ms[:-1]) + 1
    within = falls[~np.isin(falls, offsets)]
    for user in np.unique(np.searchsorted(offsets, within, "right") - 1):
        own = slice(offsets[user], offsets[user + 1])
        order = np.argsort(time_ms[own], kind="stable")
        for column in (time_ms, *others):
            column[own] = column[own][order]
