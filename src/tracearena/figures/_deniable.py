"""The synthetic traces that may be released."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracearena.traces import Traces


def kept_days(made: Traces, passed: Any) -> Traces:
    """Return the days that passed; users none of whose days did are kept without events."""
    return made.keep(np.repeat(passed, made.clock.instants_per_day))
