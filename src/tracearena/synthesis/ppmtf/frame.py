"""What a model remembers of its training traces: all it needs to know that is not about single users."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError
from tracearena.mobility.transitions import departures
from tracearena.traces import Clock, Places, Traces
from tracearena.traces._arrays import different

USERS_PER_DIGEST = 1024
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class TrainingFrame:
    """The frame of some training traces, as a whole or of a range of users.

    Attributes
    ----------
    user_ids, places, clock
        What rows of the factors mean.
    n_events, n_transitions
        How many there are.
    seen
        Transitions and visits that anybody made.
    digests
        A hash of the events of every 1,024 users.
    """

    user_ids: NDArray[Any]
    places: Places
    clock: Clock
    n_events: int
    n_transitions: int
    seen: SeenCells
    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, traces: Traces) -> TrainingFrame:
        """Look at traces that are all here."""
        return cls(
            traces.user_ids,
            traces.places,
            traces.clock,
            traces.n_events,
            len(departures(traces)),
            SeenCells.of(traces),
            tuple(_digest(traces, first) for first in range(0, traces.n_users, USERS_PER_DIGEST)),
        )

    @classmethod
    def joined(cls, parts: Sequence[TrainingFrame]) -> TrainingFrame:
        """Put together ranges of users that follow each other; the first day of all is the earliest."""
        first = parts[0]
        if any(replace(part.clock, first_day=first.clock.first_day) != first.clock for part in parts):
            raise DataError("the files have times on different intervals: name one (--interval)")
        days = [part.clock.first_day for part in parts if part.clock.first_day is not None]
        return cls(
            np.concatenate([part.user_ids for part in parts]),
            first.places,
            replace(first.clock, first_day=min(days, default=None)),
            sum(part.n_events for part in parts),
            sum(part.n_transitions for part in parts),
            SeenCells.joined([part.seen for part in parts]),
            tuple(digest for part in parts for digest in part.digests),
        )

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def mostly_moves(self) -> bool:
        """Whether most events are followed by a transition, as in traces with an event every instant."""
        return 2 * self.n_transitions > self.n_events

    def fingerprint(self) -> str:
        """Return a short hash of the events, to tell training data apart."""
        digest = hashlib.sha256(b"".join(self.digests))
        clock = [self.clock.instants_per_day, self.clock.instants_per_slot, self.clock.interval_s]
        clock += self.clock.slots or ()
        digest.update(json.dumps([len(self.places), *clock]).encode())
        return digest.hexdigest()[:32]


def _digest(traces: Traces, first: int) -> bytes:
    part = traces.take_users(slice(first, first + USERS_PER_DIGEST))
    day = traces.clock.first_day
    shift = 0 if day is None else (day - _EPOCH).days * traces.clock.instants_per_day
    digest = hashlib.sha256()
    for values in (part.offsets, part.instants + np.int64(shift), part.place_index):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.digest()


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
        start, place = departures(traces), traces.place_index.astype(np.int64)
        slot = traces.clock.slot_of(traces.instants)
        return cls(n, slots, different(place[start] * n + place[start + 1]), different(place * slots + slot))

    @classmethod
    def joined(cls, parts: Sequence[SeenCells]) -> SeenCells:
        """Collect what any of several groups of users showed."""
        moves, visits = ([getattr(part, name) for part in parts] for name in ("moves", "visits"))
        first = parts[0]
        return cls(
            first.n_places, first.n_slots, different(np.concatenate(moves)), different(np.concatenate(visits))
        )

    @classmethod
    def checked(cls, n_places: int, n_slots: int, moves: NDArray[Any], visits: NDArray[Any]) -> SeenCells:
        """Build from arrays of unknown origin."""
        for name, keys, end in (("moves", moves, n_places**2), ("visits", visits, n_places * n_slots)):
            rising = keys.ndim == 1 and keys.dtype == np.int64 and (np.diff(keys) > 0).all()
            if not rising or (len(keys) and not 0 <= keys[0] <= keys[-1] < end):
                raise DataError(f"the seen {name} are not ascending numbers below {end}")
        return cls(n_places, n_slots, moves, visits)

    def with_slots(self, origin: NDArray[np.int64]) -> SeenCells:
        """Return the cells for other slots, of which slot ``s`` stands for slot ``origin[s]`` here."""
        table = self.visit_table()[origin]
        place, slot = np.nonzero(table.T)
        return SeenCells(self.n_places, len(origin), self.moves, place * np.int64(len(origin)) + slot)

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
