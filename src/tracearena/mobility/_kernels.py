"""Kernel of the Lempel–Ziv entropy estimator: match lengths of a sequence with its own past.

`sequence` holds the places of one person in order. The entropy rate is about log2(n) / mean(Λ_i), where
Λ_i is the length of the shortest subsequence that begins at i and did not occur before it.
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
