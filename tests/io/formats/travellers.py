"""GPS points of people in several countries, one of whom never was where the others are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

CITIES = {"Beijing": (39.9, 116.4), "Tokyo": (35.7, 139.7), "Paris": (48.86, 2.35), "Seattle": (47.6, -122.3)}
"""Where people are; most of them in the first."""

ABROAD = 112
"""The user who is never in the first."""

USERS = 182
_SHARES = (0.9, 0.05, 0.03, 0.02)
_FIRST_MS = 1_207_000_000_000
_STEP_MS = 5_000


def write_travellers(path: Path, points: int, seed: int = 1) -> None:
    """Write a Parquet file of so many points: ``user``, ``time`` (UTC), ``lat``, ``lon``, ``tid``."""
    rng = np.random.default_rng(seed)
    centres = np.array(list(CITIES.values()))
    counts = rng.multinomial(points - USERS, np.full(USERS, 1 / USERS)) + 1
    parts = []
    for user, count in enumerate(counts.tolist()):
        city = rng.choice(len(CITIES), count, p=_SHARES)
        city = np.where(city == 0, 2, city) if user == ABROAD else city
        where = centres[np.sort(city)] + rng.normal(0, 0.03, (count, 2))
        frame = pl.DataFrame(
            {
                "user": np.full(count, user, np.int16),
                "time": _FIRST_MS + np.cumsum(rng.integers(1, 2 * _STEP_MS, count)),
                "lat": where[:, 0],
                "lon": where[:, 1],
                "tid": (np.arange(count) // 1000).astype(np.int32),
            }
        )
        parts.append(frame.with_columns(pl.col("time").cast(pl.Datetime("ms", "UTC"))))
    pl.concat(parts, rechunk=False).write_parquet(path)
