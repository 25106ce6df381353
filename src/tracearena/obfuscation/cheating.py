"""Cheating anonymization: shuffle whole traces, so that nobody is where the ID table says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator, setting
from tracearena.checks import require_kind, require_number, require_switch
from tracearena.engine import SeedLike, generator
from tracearena.obfuscation.legacy_2019 import legacy_generator
from tracearena.traces import DELETED, ObfuscatedTraces, Traces


@dataclass(frozen=True, kw_only=True)
class Cheating(Obfuscator):
    """Shuffle the whole traces of the first users ([contest] sections 1 and 4.1, [samples] A5).

    Perfectly safe against re-identification (with all users), and not at all against trace
    inference: the counter-example that made the contest score both.

    Parameters
    ----------
    share
        Share p of the users, from 0 to 1, who take part: the first int(n p).
    legacy_2019
        Use the draws of the organisers' program.

    Notes
    -----
    Released events stand where the recipient's own events stand. Where the donor has no event at
    such an instant the cell is deleted; with complete traces this never happens.
    """

    name: ClassVar[str] = "Cheat"

    share: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        require_number("share", self.share, at_least=0, at_most=1)
        require_switch("legacy_2019", self.legacy_2019)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces with those of the first users exchanged."""
        require_kind(self, original, Traces)
        donor = np.arange(original.n_users)
        part = int(original.n_users * self.share)
        donor[self._shuffled(part, seed)] = np.arange(part)
        return ObfuscatedTraces.like(original, _places_of_donors(original, donor))

    def _shuffled(self, count: int, seed: SeedLike) -> NDArray[np.int64]:
        order = np.arange(count)
        if self.legacy_2019:
            legacy_generator(seed).shuffle(order)
        else:
            generator(seed).shuffle(order)
        return order


def _places_of_donors(original: Traces, donor: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return for each event the place of its user's donor at the same instant, deleted if none.

    The k-th event of an instant takes the donor's k-th.
    """
    rank = rank_within_instant(original)
    depth = int(rank.max(initial=0)) + 1
    width = original.n_instants * depth
    moment = (original.instants - original.span[0]).astype(np.int64) * depth + rank
    own = original.user_index * np.int64(width) + moment
    wanted = donor[original.user_index] * np.int64(width) + moment
    at = np.minimum(np.searchsorted(own, wanted), max(len(own) - 1, 0))
    return np.where(own[at] == wanted, original.place_index[at], DELETED).astype(np.int32)


def rank_within_instant(original: Traces) -> NDArray[np.int64]:
    """Number the events of each user and instant 0, 1, …"""
    events = np.arange(original.n_events)
    starts = np.ones(original.n_events, bool)
    starts[1:] = (np.diff(original.instants) != 0) | (np.diff(original.user_index) != 0)
    return np.asarray(events - np.maximum.accumulate(np.where(starts, events, 0)))
