"""The sample defences of the 2019 contest ([samples]).

No obfuscation, merging regions and location hiding, k-ary randomised response, and cheating
anonymization. Each can draw as the organisers' program did (``legacy_2019``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import EventObfuscator, Obfuscator, setting
from tracearena.checks import require_kind, require_number, require_switch, require_whole
from tracearena.engine import SeedLike, generator, seed_sequence, uniforms
from tracearena.errors import DataError, ParameterError
from tracearena.traces import DELETED, ObfuscatedTraces, PlaceSets, Traces


@dataclass(kw_only=True)
class NoObfuscation(Obfuscator):
    """Release every event unchanged ([samples] A1)."""

    name: ClassVar[str] = "No"
    by_user: ClassVar[bool] = True

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the original traces unchanged."""
        require_kind(self, original, Traces)
        return ObfuscatedTraces.from_traces(original)


@dataclass(kw_only=True)
class MRLH(EventObfuscator):
    """Generalise each region to its block and delete some events ([contest] section 4.1, [samples] A2).

    The lower `mu_x` bits of the column and `mu_y` bits of the row are dropped: a region becomes its aligned
    block of 2^mu_x × 2^mu_y regions (smaller at the border if the blocks do not fill the grid).

    Parameters
    ----------
    mu_x, mu_y
        Number of dropped bits, 0 or more.
    deletion
        Probability λ, from 0 to 1, that an event is deleted.
    legacy_2019
        Use the draws of the organisers' program.
    """

    name: ClassVar[str] = "MRLH"

    mu_x: int
    mu_y: int
    deletion: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        for name in ("mu_x", "mu_y"):
            require_whole(name, getattr(self, name), at_least=0, at_most=30)
        require_number("deletion", self.deletion, at_least=0, at_most=1)
        require_switch("legacy_2019", self.legacy_2019)

    def _transform_events(self, part: Traces, seed: SeedLike, first: int, total: int) -> ObfuscatedTraces:
        grid = part.places.grid
        if grid is None:
            raise DataError(
                "MRLH merges the regions of a grid; these places are not one: put them on a grid, such as "
                "--grid 32x32 (grid='32x32')"
            )
        draws = draw_event_uniforms(seed, part.n_events, legacy_2019=self.legacy_2019, first=first)
        deleted = draws < self.deletion
        if self.mu_x == self.mu_y == 0:
            return ObfuscatedTraces.like(part, np.where(deleted, DELETED, part.place_index))
        row, column = np.divmod(np.arange(len(grid)), grid.columns)
        per_row = ((grid.columns - 1) >> self.mu_x) + 1
        block_of = (row >> self.mu_y) * per_row + (column >> self.mu_x)
        members = np.argsort(block_of, kind="stable")
        blocks = PlaceSets(np.concatenate([[0], np.cumsum(np.bincount(block_of))]), members)
        codes = np.where(deleted, DELETED, -2 - block_of[part.place_index])
        return ObfuscatedTraces.like(part, codes, blocks)


@dataclass(kw_only=True)
class RandomizedResponse(EventObfuscator):
    """Keep a place with probability e^ε / (m - 1 + e^ε), else release a random other one ([samples] A3).

    Each single event is ε-locally differentially private; a trace of t events has tε.

    Parameters
    ----------
    epsilon
        Privacy budget of an event, from 0 to 1,000,000.
    legacy_2019
        Use the draws of the organisers' program.
    """

    name: ClassVar[str] = "RR"

    epsilon: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        require_number("epsilon", self.epsilon, at_least=0, at_most=1e6)
        require_switch("legacy_2019", self.legacy_2019)

    def keep_probability(self, n_places: int) -> float:
        """Return the probability that an event keeps its place, e^ε / (m - 1 + e^ε) with m places.

        >>> round(RandomizedResponse(epsilon=2).keep_probability(3), 3)
        0.787
        """
        # Written with exp(-ε), so that a large ε does not overflow.
        return 1 / ((n_places - 1) * math.exp(-self.epsilon) + 1)

    def _transform_events(self, part: Traces, seed: SeedLike, first: int, total: int) -> ObfuscatedTraces:
        # With u uniform: u < keep answers the truth; beyond it every other place owns a stretch of
        # equal length. The stretches are looked at only where they are longer than the rounding of `keep`.
        others = len(part.places) - 1
        keep = self.keep_probability(len(part.places))
        weight = math.exp(-self.epsilon)
        each = weight / (others * weight + 1)
        u = draw_event_uniforms(seed, part.n_events, legacy_2019=self.legacy_2019, first=first)
        codes = part.place_index.astype(np.int64)
        changed = np.flatnonzero(u >= keep) if keep < 1 else np.zeros(0, np.int64)
        shift = np.minimum(np.floor((u[changed] - keep) / each), others - 1).astype(np.int64)
        codes[changed] = shift + (shift >= codes[changed])
        return ObfuscatedTraces.like(part, codes)


@dataclass(kw_only=True)
class Cheating(Obfuscator):
    """Shuffle the whole traces of the first users ([contest] sections 1 and 4.1, [samples] A5).

    With all users, it prevents all re-identification, but it does not protect against trace inference. This
    counter-example is the reason why the contest scores both.

    Parameters
    ----------
    share
        Share p of the users, from 0 to 1: the first int(n p) users are shuffled.
    legacy_2019
        Use the draws of the organisers' program.

    Notes
    -----
    Released events have the instants of the user's own events. If the donor has no event at such an instant,
    the event is deleted; this never happens with complete traces.
    """

    name: ClassVar[str] = "Cheat"

    share: float
    legacy_2019: bool = setting(False)

    def __post_init__(self) -> None:
        require_number("share", self.share, at_least=0, at_most=1)
        require_switch("legacy_2019", self.legacy_2019)

    def transform(self, original: Traces, *, seed: SeedLike = None) -> ObfuscatedTraces:
        """Return the traces, with those of the first users shuffled."""
        require_kind(self, original, Traces)
        donor = np.arange(original.n_users)
        part = int(original.n_users * self.share)
        order = np.arange(part)
        if self.legacy_2019:
            legacy_generator(seed).shuffle(order)
        else:
            generator(seed).shuffle(order)
        donor[order] = np.arange(part)
        # Each event takes the donor's place at the same instant; the k-th event of an instant the k-th.
        rank = rank_within_instant(original)
        depth = int(rank.max(initial=0)) + 1
        width = np.int64(original.n_instants * depth)
        moment = (original.instants - original.span[0]).astype(np.int64) * depth + rank
        own = original.user_index * width + moment
        wanted = donor[original.user_index] * width + moment
        at = np.minimum(np.searchsorted(own, wanted), max(len(own) - 1, 0))
        codes = np.where(own[at] == wanted, original.place_index[at], DELETED)
        return ObfuscatedTraces.like(original, codes)


def rank_within_instant(original: Traces) -> NDArray[np.int64]:
    """Number the events of each user and instant 0, 1, …"""
    events = np.arange(original.n_events)
    starts = np.ones(original.n_events, bool)
    starts[1:] = (np.diff(original.instants) != 0) | (np.diff(original.user_index) != 0)
    return np.asarray(events - np.maximum.accumulate(np.where(starts, events, 0)))


# The draws of the organisers' programs of 2019.

LEGACY_SEED = 1


def draw_event_uniforms(
    seed: SeedLike, count: int, columns: int = 1, *, legacy_2019: bool, first: int = 0
) -> NDArray[np.float64]:
    """Draw numbers from [0, 1) for each event, from the event numbered `first` on.

    With `legacy_2019` they come one after the other, in file order, from numpy's legacy generator
    (seed 1 unless given), as in the organisers' programs.
    """
    if not legacy_2019:
        return uniforms(seed_sequence(seed), count, columns, first=first)
    if first:
        raise ParameterError("the random draws of 2019 depend on each other: they need all users at once")
    numbers = legacy_generator(seed).random_sample((count, columns))
    return numbers[:, 0] if columns == 1 else numbers


def legacy_generator(seed: SeedLike) -> np.random.RandomState:
    """Return the generator of 2019, which knows only whole-number seeds."""
    if seed is None:
        seed = LEGACY_SEED
    require_whole("seed of legacy_2019", seed, at_least=0, at_most=2**32 - 1)
    return np.random.RandomState(int(seed))  # type: ignore[arg-type]
