"""Kernels of the Lempel–Ziv entropy estimator and of trips.

Entropy: match lengths of a sequence with its own past. `sequence` holds the places of one person in order.
The entropy rate is about log2(n) / mean(Λ_i), where Λ_i is the length of the shortest subsequence that begins
at i and did not occur before it.

Trips: points sorted by recording (`label`) and `time` in milliseconds, with positions x, y in the box, from 0
to 1, and whether they are inside. Positions are `step` ms apart; points more than `gap` ms apart are of two
trips, which have `fewest` to `most` positions.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def mean_match(sequence: NDArray[np.integer]) -> float:
    """Return the mean of Λ_i, one more than the longest match of the sequence from i on within its past.

    Matches are found from the end: the common length of two suffixes follows from that of the
    suffixes one step shorter, which takes n²/2 steps in all.
    """
    n = len(sequence)
    common = np.zeros(n + 1, np.int64)
    total = 0
    for i in range(n - 1, -1, -1):
        longest = 0
        for j in range(i):
            common[j] = common[j + 1] + 1 if sequence[j] == sequence[i] else 0
            longest = max(longest, min(common[j], i - j))
        common[i] = 0
        total += longest + 1
    return total / n


@njit(cache=True, nogil=True)
def cut_recordings(time, x, y, inside, label, step, gap, fewest, most):  # type: ignore[no-untyped-def]
    """Return number of points and first row of each trip, and the positions of its points."""
    sizes, firsts = [0][:0], [0][:0]
    at_x, at_y = [0.0][:0], [0.0][:0]
    n = len(time)
    begin = 0
    while begin < n:
        stop = begin + 1
        if inside[begin]:
            while (
                stop < n
                and inside[stop]
                and label[stop] == label[begin]
                and time[stop] - time[stop - 1] <= gap
            ):
                stop += 1
            # Whole steps since the first point, in pieces of at most `most`.
            points = (time[stop - 1] - time[begin]) // step + 1
            done, e = 0, begin
            while points - done >= fewest:
                size = min(points - done, most)
                for k in range(done, done + size):
                    moment = time[begin] + k * step
                    while e + 1 < stop and time[e + 1] <= moment:
                        e += 1
                    part = 0.0
                    if e + 1 < stop:
                        part = (moment - time[e]) / (time[e + 1] - time[e])
                        at_x.append(x[e] + part * (x[e + 1] - x[e]))
                        at_y.append(y[e] + part * (y[e + 1] - y[e]))
                    else:
                        at_x.append(x[e])
                        at_y.append(y[e])
                sizes.append(size)
                firsts.append(begin)
                done += size
        begin = stop
    return np.array(sizes), np.array(firsts), np.array(at_x), np.array(at_y)
