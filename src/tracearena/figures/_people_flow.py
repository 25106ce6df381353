"""Training and testing traces of [ppmtf] section 4.4: published, or people of the simulated city."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tracearena.cities import simulate
from tracearena.errors import DataError
from tracearena.formats import ppmtf
from tracearena.traces import Traces

USERS = 500


def people_flow(data: Path | None, seed: int) -> tuple[Traces, Traces]:
    """Return 500 training and 500 testing users, ten hours every 20 minutes.

    `data` is a folder with ``POI_*.csv``, ``traintraces_*.csv`` and ``testtraces_*.csv``.
    """
    if data is None:
        city = simulate(2 * USERS, 1, clock=ppmtf.people_flow_clock(), seed=seed)
        return city.take_users(np.arange(USERS)), city.take_users(np.arange(USERS, 2 * USERS))
    places = ppmtf.read_places(_only(data, "POI_*.csv"))
    training, testing = (
        ppmtf.read_traces(_only(data, f"{kind}traces_*.csv"), places) for kind in ("train", "test")
    )
    return training, testing


def published_results(data: Path | None, method: str) -> list[dict[str, Any]]:
    """Return the authors' table of a method, if ``published-results`` lies beside the data."""
    if data is None:
        return []
    found = sorted((data.resolve().parent / "published-results").glob(f"PF_utilpriv_{method}_*.csv"))
    return ppmtf.read_utility_and_privacy(found[0]) if found else []


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise DataError(f"{folder} holds no {pattern}")
    return found[0]
