"""Symbols: what a release can say of an event, whichever way its sets are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.traces import ObfuscatedTraces

NOTHING = -1
"""The symbol of an event that was deleted."""


@dataclass(frozen=True, eq=False)
class ObservationAlphabet:
    """Numbers for everything that some releases say: one for each place, then one for each set.

    Attributes
    ----------
    n_places
        The first so many symbols are single places.
    offsets, members
        The places that symbol ``s`` names are ``members[offsets[s]:offsets[s + 1]]``.
    """

    n_places: int
    offsets: NDArray[np.int64]
    members: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, releases: Sequence[ObfuscatedTraces]) -> tuple[ObservationAlphabet, list[NDArray[np.int32]]]:
        """Number what the releases say; return also the symbol of each event of each.

        Sets of the same places are one symbol, in whichever order their places stand.

        >>> from tracearena.traces import Clock, Places, PlaceSets, Traces
        >>> original = Traces.from_dense([[0, 1, 0]], Places([0, 1], [0, 0]), Clock(instants_per_day=3))
        >>> release = ObfuscatedTraces.like(original, [-1, -2, -3], PlaceSets.of([[0, 1], [1, 0]]))
        >>> symbols, (of_event,) = ObservationAlphabet.of([release])
        >>> len(symbols), of_event.tolist()
        (3, [-1, 2, 2])
        """
        n_places = len(releases[0].places)
        known: dict[bytes, int] = {}
        sets: list[NDArray[np.int32]] = []
        of_events = []
        for release in releases:
            of_event = release.codes.astype(np.int32)
            used, of_set = np.unique(release.set_index[release.is_set], return_inverse=True)
            numbers = np.empty(len(used), np.int32)
            for number, index in enumerate(used):
                members = np.unique(release.sets[index])
                key = members.tobytes()
                if key not in known:
                    # A set of one place says what the place alone says.
                    known[key] = n_places + len(sets) if len(members) > 1 else int(members[0])
                    if len(members) > 1:
                        sets.append(members)
                numbers[number] = known[key]
            of_event[release.is_set] = numbers[of_set]
            of_events.append(of_event)
        singles = np.arange(n_places, dtype=np.int32)
        sizes = np.concatenate([np.ones(n_places, np.int64), [len(one) for one in sets]]).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(n_places, offsets, np.concatenate([singles, *sets]).astype(np.int32)), of_events
