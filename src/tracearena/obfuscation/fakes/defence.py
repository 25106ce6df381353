"""Hiding among fakes: each place is sent together with those of fake traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator, setting
from tracearena.checks import LARGEST_COUNT, require_choice, require_kind, require_number, require_whole
from tracearena.engine import SeedLike, child_seed, seed_sequence, uniforms
from tracearena.errors import DataError
from tracearena.obfuscation.fakes.generators import METHODS, Method, fake_days
from tracearena.traces import DELETED, ObfuscatedTraces, PlaceSets, Traces
from tracearena.traces._arrays import positions

_EXPOSED, _FAKES = range(2)
_MOST_FAKES = 100_000


@dataclass(frozen=True, kw_only=True)
class FakeTraces(Obfuscator):
    """Send each place together with the places of N fake traces at the same instant.

    What a person sends to a location-based service ([sglt] section 5.4): at some instants she is
    exposed and sends the set of her own place and those of her fakes; at the others nothing.

    Parameters
    ----------
    method
        Where the fakes come from: ``sglt``, ``uniform``, ``aggregate``, ``walk`` or ``own-walk``
        (see `fake_days`).
    fakes
        Fake traces beside the real one, from 1 to 100,000.
    exposure
        Probability that an event is sent at all, above 0 and at most 1.
    classes
        Number of semantic classes of ``sglt``; None finds a good one.
    training
        Traces of the same users from which fakes are made; the original itself if left out.

    Examples
    --------
    >>> from tracearena.traces import Clock, Places
    >>> places, clock = Places([0, 1, 2], [0, 0, 0]), Clock(instants_per_day=4)
    >>> original = Traces.from_dense([[0, 0, 1, 1]], places, clock)
    >>> released = FakeTraces(method="uniform", fakes=50).transform(original, seed=1)
    >>> released.cells()[0]
    [0, 1, 2]
    """

    name: ClassVar[str] = "Fakes"

    method: Method = "sglt"
    fakes: int = 10
    exposure: float = 1.0
    classes: int | None = None
    training: Traces | None = setting(None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_choice("method", self.method, METHODS)
        require_whole("fakes", self.fakes, at_least=1, at_most=_MOST_FAKES)
        require_number("exposure", self.exposure, above=0, at_most=1)
        if self.classes is not None:
            require_whole("classes", self.classes, at_least=1, at_most=LARGEST_COUNT)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the sets that are sent; events at which nothing is sent are deleted."""
        require_kind(self, original, Traces)
        root = seed_sequence(seed)
        training = original if self.training is None else self.training
        if len(training.places) != len(original.places):
            raise DataError("training and original traces must have the same places")
        if not original.n_events:
            return ObfuscatedTraces.unchanged(original)
        sent = np.flatnonzero(uniforms(child_seed(root, _EXPOSED), original.n_events) < self.exposure)
        beside = self._fakes_at(original, training, sent, child_seed(root, _FAKES))
        codes, sets = _sets(original, sent, beside)
        return ObfuscatedTraces.like(original, codes, sets)

    def _fakes_at(
        self, original: Traces, training: Traces, sent: NDArray[np.int64], root: np.random.SeedSequence
    ) -> NDArray[np.int32]:
        """Return the fakes' places at the events that are sent, events × fakes."""
        clock = original.clock
        day = clock.day_of(original.instants[sent])
        span = int(day.max(initial=0)) + 1
        keys, row = np.unique(original.user_index[sent].astype(np.int64) * span + day, return_inverse=True)
        users = _users_in(training, original.user_ids[keys // span])
        days = fake_days(self.method, training, users, self.fakes, root, classes=self.classes)
        return days[row, :, clock.time_of_day(original.instants[sent])]


def _users_in(training: Traces, user_ids: NDArray[np.generic]) -> NDArray[np.int64]:
    at = positions(user_ids, training.user_ids)
    if (at < 0).any():
        raise DataError("fakes need training traces of every user of the original")
    return at


def _sets(
    original: Traces, sent: NDArray[np.int64], beside: NDArray[np.int32]
) -> tuple[NDArray[np.int32], PlaceSets]:
    together = np.sort(np.column_stack([original.place_index[sent], beside]), axis=1)
    new = np.ones(together.shape, bool)
    new[:, 1:] = together[:, 1:] != together[:, :-1]
    new &= together >= 0
    sizes = new.sum(axis=1)
    several = sizes > 1
    codes = np.full(original.n_events, DELETED, np.int32)
    codes[sent] = original.place_index[sent]
    codes[sent[several]] = -2 - np.arange(int(several.sum()), dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(sizes[several])])
    return codes, PlaceSets(offsets, together[several][new[several]])
