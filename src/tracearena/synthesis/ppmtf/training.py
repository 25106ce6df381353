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
from tracearena.synthesis.ppmtf.seen import SeenCells
from tracearena.traces import Clock, Places, Traces
from tracearena.traces.adjacency import transitions

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
            len(transitions(traces)),
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
