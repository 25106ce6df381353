"""Which transitions and visits anybody made in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.traces import Traces
from tracearena.traces.adjacency import transitions


@dataclass(frozen=True, eq=False)
class SeenCells:
    """The pairs (place, next place) and (place, slot) with an event of any training user.

    Attributes
    ----------
    n_places, n_slots
        Number of places and of slots of a day.
    moves, visits
        Ascending keys place · n_places + next place, and place · n_slots + slot.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> clock = Clock(instants_per_day=4, instants_per_slot=2)
    >>> seen = SeenCells.of(Traces.from_dense([[0, 0, 2, 2]], Places([0] * 3, range(3)), clock))
    >>> seen.moves.tolist(), seen.visits.tolist()
    ([0, 2, 8], [0, 5])
    """

    n_places: int
    n_slots: int
    moves: NDArray[np.int64]
    visits: NDArray[np.int64]

    @classmethod
    def of(cls, traces: Traces) -> SeenCells:
        """Collect what the traces show, before any trimming."""
        n, slots = len(traces.places), traces.clock.slots_per_day
        start, place = transitions(traces), traces.place_index.astype(np.int64)
        slot = traces.clock.slot_of(traces.instants)
        return cls(n, slots, np.unique(place[start] * n + place[start + 1]), np.unique(place * slots + slot))

    @classmethod
    def joined(cls, parts: Sequence[SeenCells]) -> SeenCells:
        """Collect what any of several groups of users showed."""
        moves, visits = ([getattr(part, name) for part in parts] for name in ("moves", "visits"))
        first = parts[0]
        return cls(
            first.n_places, first.n_slots, np.unique(np.concatenate(moves)), np.unique(np.concatenate(visits))
        )

    @classmethod
    def checked(cls, n_places: int, n_slots: int, moves: NDArray[Any], visits: NDArray[Any]) -> SeenCells:
        """Build from arrays of unknown origin."""
        for name, keys, end in (("moves", moves, n_places**2), ("visits", visits, n_places * n_slots)):
            rising = keys.ndim == 1 and keys.dtype == np.int64 and (np.diff(keys) > 0).all()
            if not rising or (len(keys) and not 0 <= keys[0] <= keys[-1] < end):
                raise DataError(f"the seen {name} are not ascending numbers below {end}")
        return cls(n_places, n_slots, moves, visits)

    def next_places(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return offsets and next places: those seen after place ``i``, ascending."""
        place, target = np.divmod(self.moves, max(self.n_places, 1))
        offsets = np.searchsorted(place, np.arange(self.n_places + 1))
        return offsets.astype(np.int64), target.astype(np.int32)

    def visit_table(self) -> NDArray[np.bool_]:
        """Return slots × places: whether anybody was there then."""
        table = np.zeros(self.n_places * self.n_slots, np.bool_)
        table[self.visits] = True
        return np.ascontiguousarray(table.reshape(self.n_places, self.n_slots).T)
