"""Where a zone's centre goes: anywhere near its place, and to the same spot for all who live there."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.geodesy import MIDDLE_DEGREE_M, earth_centred, metres_per_degree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KEY_BYTES = 32
_STEPS = 8
"""Candidates between a place and the farthest centre it may have."""


def shifted_centres(latitude: Floats, longitude: Floats, shift_m: float, key: bytes) -> tuple[Floats, Floats]:
    """Return a centre for each place, uniform in the disc of `shift_m` around it.

    A world-wide grid has a candidate every `shift_m` / 8, each with a rank that only the key tells; a
    place takes the candidate of the lowest rank in its disc. Every candidate is as likely as any other,
    so the centre tells no more than that the place is within `shift_m`. And whoever comes to the same
    place, or to nearly the same, nearly always takes the same centre: two people of one household, or
    one person in a second release with the same key, do not show the place between two centres.
    """
    centres = [_centre(lat, lon, shift_m, key) for lat, lon in zip(latitude, longitude, strict=True)]
    lat, lon = np.array(centres, np.float64).reshape(-1, 2).T
    return np.ascontiguousarray(lat), np.ascontiguousarray(lon)


def _centre(latitude: float, longitude: float, shift_m: float, key: bytes) -> tuple[float, float]:
    row, column, lat, lon = _candidates(latitude, longitude, shift_m)
    apart = earth_centred(lat, lon) - earth_centred([latitude], [longitude])
    near = np.flatnonzero((apart**2).sum(axis=1) <= shift_m**2)
    if not len(near):
        return float(latitude), float(longitude)
    lowest = min(near, key=lambda at: _rank(int(row[at]), int(column[at]), key))
    return float(lat[lowest]), float(lon[lowest])


def _candidates(latitude: float, longitude: float, shift_m: float) -> tuple[Ints, Ints, Floats, Floats]:
    """Rows, columns and positions of the grid's points around a place."""
    height = shift_m / _STEPS / MIDDLE_DEGREE_M
    middle = int((latitude + 90) // height)
    rows = np.arange(middle - _STEPS - 1, middle + _STEPS + 2)
    rows = rows[(rows + 0.5) * height < 180]
    rows = rows[rows >= 0]
    lat = (rows + 0.5) * height - 90
    per_row = np.maximum(np.rint(360 * metres_per_degree(lat)[1] / (shift_m / _STEPS)), 1).astype(np.int64)
    # Near a pole few columns make a whole row, and a column counts once.
    columns = np.floor((longitude + 180) / 360 * per_row).astype(np.int64)
    steps = np.arange(-_STEPS - 1, _STEPS + 2)
    column = (columns[:, None] + steps) % per_row[:, None]
    lon = (column + 0.5) * (360 / per_row)[:, None] - 180
    shape = column.shape
    return (
        np.broadcast_to(rows[:, None], shape).ravel(),
        column.ravel(),
        np.broadcast_to(lat[:, None], shape).ravel(),
        lon.ravel(),
    )


def _rank(row: int, column: int, key: bytes) -> bytes:
    return blake2b(b"%d,%d" % (row, column), key=key, digest_size=16).digest()
