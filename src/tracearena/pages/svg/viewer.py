"""Traces before and after as plain values, for a viewer with a slider in the browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracearena.pages.maps import map_box
from tracearena.pages.style import scale_length
from tracearena.traces import ObfuscatedTraces, Places, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE

_FIRST_SET = -2


def trace_data(original: Traces, obfuscated: ObfuscatedTraces, users: Sequence[int]) -> dict[str, Any]:
    """Return the traces of some people, compact and ready for JSON.

    - ``map``: ``width_km`` and ``height_km`` of the ground, ``scale_km`` of a good scale bar, ``grid``
      (``rows`` and ``columns``, the first row in the south; None without one), for each place ``x_km`` and
      ``y_km`` from the south-west corner and its ``ids``, and ``sensitive``, the places that are.
    - ``clock``: ``per_day`` instants a day, ``labels`` of the instants of a day.
    - ``sets``: the sets of places that were released, each once.
    - ``people``: for each an ``id``, ``instants``, the true place ``before`` and the code ``after`` of each
      event: a place, -1 where it was deleted, ``-2 - s`` for set ``s``.

    Parameters
    ----------
    users
        By index.

    Examples
    --------
    >>> from tracearena.traces import DELETED, Clock, PlaceSets
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> original = Traces.from_dense([[0, 1, 0]], places, Clock(instants_per_day=24))
    >>> released = ObfuscatedTraces.like(original, [0, DELETED, -2], PlaceSets.of([[0, 1]]))
    >>> data = trace_data(original, released, [0])
    >>> data["people"], data["sets"]
    ([{'id': 1, 'instants': [0, 1, 2], 'before': [0, 1, 0], 'after': [0, -1, -2]}], [[0, 1]])
    """
    before, after = original.take_users(list(users)), obfuscated.take_users(list(users))
    used, number = np.unique(after.set_index[after.is_set], return_inverse=True)
    codes = np.array(after.codes)
    codes[after.is_set] = _FIRST_SET - number
    return ground_data(original) | {
        "sets": [after.sets[int(one)].tolist() for one in used],
        "people": [
            {
                "id": before.user_ids[user].item(),
                "instants": before.instants[events].tolist(),
                "before": before.place_index[events].tolist(),
                "after": codes[events].tolist(),
            }
            for user, events in enumerate(map(slice, before.offsets[:-1], before.offsets[1:]))
        ],
    }


def ground_data(original: Traces) -> dict[str, Any]:
    """Return ``map`` and ``clock`` of traces, as in `trace_data`.

    >>> from tracearena.traces import Clock
    >>> places = Places([35.0, 35.1], [139.0, 139.1])
    >>> traces = Traces.from_dense([[0, 1]], places, Clock(instants_per_day=24))
    >>> ground_data(traces)["clock"]["per_day"]
    24
    """
    clock = original.clock
    return {
        "map": _ground(original.places),
        "clock": {
            "per_day": clock.instants_per_day,
            "labels": [clock.label(instant) for instant in range(clock.instants_per_day)],
        },
    }


def _ground(places: Places) -> dict[str, Any]:
    """Lay places out in km from the south-west corner."""
    box, grid = map_box(places), places.grid
    across = KM_PER_DEGREE * math.cos(math.radians(box.middle[0]))
    width_km = (box.east - box.west) * across
    return {
        "width_km": round(width_km, 3),
        "height_km": round((box.north - box.south) * KM_PER_DEGREE, 3),
        "scale_km": scale_length(width_km)[0],
        "grid": None if grid is None else {"rows": grid.rows, "columns": grid.columns},
        "x_km": ((places.longitude - box.west) * across).round(3).tolist(),
        "y_km": ((places.latitude - box.south) * KM_PER_DEGREE).round(3).tolist(),
        "ids": places.ids.tolist(),
        "sensitive": np.flatnonzero(places.sensitive).tolist(),
    }
