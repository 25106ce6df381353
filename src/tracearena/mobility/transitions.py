"""Which two events of a user follow each other closely enough to be one step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracearena.traces.traces import Traces


def transitions(traces: Traces) -> NDArray[np.int64]:
    """Return the events that are followed by a transition: event ``e`` leads to event ``e + 1``.

    Two consecutive events of a user are a transition if the second lies exactly one instant after
    the first, on the same day. So a missing instant and midnight break the chain, two events at
    one instant are no transition, and of several events at an instant only the last can lead on
    and only the first can be led to. Staying is a transition.

    References
    ----------
    [ppmtf] section 3.2.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 1, -1, 1]], places, Clock(instants_per_day=24))
    >>> transitions(traces).tolist()
    [0]
    """
    instants = traces.instants
    follows = np.diff(instants) == 1
    follows &= traces.clock.time_of_day(instants[1:]) != 0
    borders = traces.offsets[(traces.offsets > 0) & (traces.offsets < len(instants))]
    follows[borders - 1] = False
    return np.flatnonzero(follows)
