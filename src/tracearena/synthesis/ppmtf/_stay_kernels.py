"""Loops of the plausible-deniability test that bound the probability of staying where one is.

A stay (slot, place) needs a sum over all places, and so costs far more than a move. Sums are made in
float32, as in `_sieve_kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tracearena.synthesis.ppmtf._arrays import Flags, Floats, Small
from tracearena.synthesis.ppmtf._row_kernels import rows_at_once
from tracearena.synthesis.ppmtf._sieve_kernels import SUMMED, SUMMED_AT_ONCE, product_error

UPPER, LOWER = 1.0, -1.0
_LOST = 1e-9


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _moved(row: Small, inverse_sum: np.float32, visits: Small, back: Small) -> np.float32:
    total = np.float32(0.0)
    for j in range(len(row)):
        total += min(row[j] * inverse_sum, visits[j] * back[j])
    return total


@njit(cache=True, nogil=True)
def _moved_from(row: Small, inverse_sum: float, visits: Small, back: Small, here: float) -> float:
    """Return Σ_j min(row[j] · inverse_sum, visits[j] · back[j] / here)."""
    total, scaled = 0.0, np.float32(inverse_sum * here)
    for j in range(0, len(row), SUMMED_AT_ONCE):
        part = slice(j, j + SUMMED_AT_ONCE)
        total += float(_moved(row[part], scaled, visits[part], back[part]))
    return total / here


@njit(cache=True, nogil=True)
def stay_bounds(
    side: float, a: Floats, B: Floats, C: Floats, BT: Small, CT: Small, beta: Small, gamma: Small,
    V: Floats, visits: Small, smallest: float, inverse_sums: Small, wanted: Flags, out: Floats,
) -> None:  # fmt: skip
    """Bound the probability of each stay (slot, place) that is wanted, from above or below.

    ``inverse_sums`` are bounds of one over the row sums from the other side.
    """
    n, z, n_slots = len(B), len(a), len(V)
    room = rows_at_once(z, n)
    X, Y = np.empty((room, z), np.float32), np.empty((room, z), np.float32)
    rows, backs = np.empty((room, n), np.float32), np.empty((room, n), np.float32)
    row, back = np.empty(n, np.float32), np.empty(n, np.float32)
    places = np.empty(room, np.int64)
    error = -side * np.abs(a).max() * product_error(z)
    lost, least = side * _LOST, max(side * _LOST, 0.0)
    i = 0
    while i < n:
        count = 0
        while i < n and count < room:
            asked = False
            for t in range(n_slots):
                asked = asked or wanted[t, i]
            if asked:
                places[count] = i
                for k in range(z):
                    X[count, k] = a[k] * B[i, k]
                    Y[count, k] = a[k] * C[i, k]
                count += 1
            i += 1
        if count == 0:
            break
        np.dot(X[:count], CT, rows[:count])
        np.dot(Y[:count], BT, backs[:count])
        for c in range(count):
            at = places[c]
            _raised(rows[c], error * beta[at], gamma, smallest, row)
            _raised_and_scaled(backs[c], error * gamma[at], beta, smallest, inverse_sums, back)
            back[at] = 0.0
            for t in range(n_slots):
                if wanted[t, at]:
                    left = _moved_from(row, inverse_sums[at], visits[t], back, V[t, at])
                    out[t, at] = max(1.0 - left * (1.0 - side * SUMMED) + lost, least)


@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _raised(values: Small, error: float, others: Small, smallest: float, out: Small) -> None:
    """Bound max(value, smallest), each value being off by up to |error| · others[j]."""
    raised, off = np.float32(smallest), np.float32(error)
    for j in range(len(values)):
        out[j] = max(values[j] + off * others[j], raised)


@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _raised_and_scaled(
    values: Small, error: float, others: Small, smallest: float, scale: Small, out: Small
) -> None:
    raised, off = np.float32(smallest), np.float32(error)
    for j in range(len(values)):
        out[j] = max(values[j] + off * others[j], raised) * scale[j]
