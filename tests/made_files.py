"""Small files of people with habits, as owners of data have them."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl

CITIES = ((39.9, 116.4), (52.5, 13.4), (34.7, 135.5), (-33.9, 151.2))
"""Beijing, Berlin, Osaka and Sydney."""


def check_ins(path: Path, users: int = 12, days: int = 12, seed: int = 3) -> Path:
    """Four check-ins a day of everybody, at four of 30 venues in New York each, from 2012-04-03 on."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        own = rng.choice(30, 4, replace=False)
        for day in range(days):
            for hour in np.sort(rng.choice(np.arange(8, 22), 4, replace=False)):
                venue = int(rng.choice(own))
                time = datetime.datetime(2012, 4, 3 + day, int(hour), int(rng.integers(60)))
                place = (f"venue {venue}", 40.7 + 0.01 * (venue % 6), round(-74 + 0.01 * (venue // 6), 2))
                rows.append((f"user{user:02d}", f"{time:%Y-%m-%d %H:%M:%S}", *place))
    names = ["user", "time", "venue", "lat", "lng"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    return path


def commuters(path: Path, users: int = 8, days: int = 8, seed: int = 5) -> Path:
    """GPS points every half hour of people who live and work in Beijing, from 2008-11-03 on."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        home, work = (CITIES[0] + rng.normal(0, 0.03, 2) for _ in range(2))
        for minute in range(0, days * 1440, 30):
            where = (work if 540 <= minute % 1440 < 1080 else home) + rng.normal(0, 0.001, 2)
            time = datetime.datetime(2008, 11, 2, 16) + datetime.timedelta(minutes=minute)
            rows.append((f"u{user}", f"{time:%Y-%m-%dT%H:%M:%SZ}", *where.round(6).tolist()))
    pl.DataFrame(rows, schema=["user", "time", "lat", "lon"], orient="row").write_csv(path)
    return path


def travellers(path: Path, users: int = 10, points: int = 60, seed: int = 5) -> Path:
    """A Parquet file of GPS points in several countries; the last user is in Sydney only."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), points)
    city = np.where(who < users - 3, 0, np.where(who == users - 1, 3, who % 2 + 1))
    centre = np.array(CITIES)[city]
    times = pl.Series(1_225_700_000 + 120 * np.tile(np.arange(points), users)) * 1000
    pl.DataFrame(
        {
            "user_id": [f"u{user:02d}" for user in who],
            "time": times.cast(pl.Datetime("ms")).dt.replace_time_zone("UTC"),
            "lat": centre[:, 0] + rng.normal(0, 0.01, len(who)),
            "lon": centre[:, 1] + rng.normal(0, 0.01, len(who)),
        }
    ).write_parquet(path)
    return path
