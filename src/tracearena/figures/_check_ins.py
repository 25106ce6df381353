"""Training and testing check-ins for the figures: published, or people of the simulated city."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracearena.cities import simulate
from tracearena.engine import generator
from tracearena.figures._people_flow import people_flow
from tracearena.traces import Traces

USERS = 2_500
DAYS = 60
TEST_SHARE = 0.2


def check_ins(data: Path | None, seed: int, users: int | None = None) -> tuple[Traces, Traces]:
    """Return training and testing users with hourly check-ins in slots of two hours.

    `data` is a folder with ``POI_*.csv``, ``traintraces_*.csv`` and ``testtraces_*.csv``. Without it
    a fifth of `users` people of the city (2,500) are for testing, as in [ppmtf] section 4.1.
    """
    if data is not None:
        return people_flow(data, seed)
    city = simulate(users or USERS, DAYS, mode="checkins", seed=seed)
    order = generator(seed).permutation(city.n_users)
    cut = round(TEST_SHARE * city.n_users)
    return city.take_users(np.sort(order[cut:])), city.take_users(np.sort(order[:cut]))
