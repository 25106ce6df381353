"""Whether a chain has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

SETTLED_BELOW = 0.01
FEWEST = 20


@dataclass(frozen=True)
class Convergence:
    """How the error of the seen cells moved at the end of training.

    Attributes
    ----------
    iterations
        Iterations done.
    error
        Mean root mean squared error over the last quarter of them.
    drift
        Relative change of that mean from the third quarter to the last; near 0 when settled.
    settled
        Whether the drift is below 1 % in size, after at least 20 iterations.
    """

    iterations: int
    error: float
    drift: float
    settled: bool

    @classmethod
    def of(cls, errors: Sequence[float]) -> Convergence:
        """Judge the errors of all iterations; fewer than 20 are never settled.

        >>> Convergence.of([1.0] * 50 + [0.5] * 50)
        Convergence(iterations=100, error=0.5, drift=0.0, settled=True)
        """
        n = len(errors)
        quarter = max(n // 4, 1)
        last = float(np.mean(errors[-quarter:])) if n else float("nan")
        before = float(np.mean(errors[-2 * quarter : -quarter])) if n > quarter else float("nan")
        drift = last / before - 1 if before > 0 else 0.0 if before == last else float("nan")
        return cls(n, last, drift, n >= FEWEST and abs(drift) < SETTLED_BELOW)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; null for what is not known yet."""
        values = asdict(self)
        return {key: None if value != value else value for key, value in values.items()}
