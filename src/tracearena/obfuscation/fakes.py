"""Fake traces: each place is sent together with the places of fakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms.base import Obfuscator, setting
from tracearena.checks import LARGEST_COUNT, require_choice, require_kind, require_number, require_whole
from tracearena.engine import SeedLike, block_ranges, child_seed, run_blocks, seed_sequence, stream, uniforms
from tracearena.errors import DataError
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis.sglt import SGLT, draw_by_likelihood
from tracearena.traces import DELETED, ObfuscatedTraces, PlaceSets, Traces
from tracearena.traces._arrays import find_positions

_EXPOSED, _FAKES = range(2)


@dataclass(kw_only=True)
class FakeTraces(Obfuscator):
    """Send each place together with the places of N fake traces at the same instant.

    This is what a person sends to a location-based service ([sglt] section 5.4): at some instants, the set of
    the true place and the places of the fakes; at all others, nothing.

    Parameters
    ----------
    method
        Generator of the fakes: ``sglt``, ``uniform``, ``aggregate``, ``walk`` or ``own-walk`` (see
        `make_fake_days`).
    fakes
        Number of fake traces sent with the real one, from 1 to 100,000.
    exposure
        Probability that an event is sent, above 0 and at most 1.
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
        require_whole("fakes", self.fakes, at_least=1, at_most=100_000)
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
            return ObfuscatedTraces.from_traces(original)
        sent = np.flatnonzero(uniforms(child_seed(root, _EXPOSED), original.n_events) < self.exposure)
        # The places of the fakes at the events that are sent, events × fakes.
        clock, place = original.clock, original.place_index[sent]
        day = clock.day_of(original.instants[sent])
        span = int(day.max(initial=0)) + 1
        keys, row = np.unique(original.user_index[sent].astype(np.int64) * span + day, return_inverse=True)
        users = find_positions(original.user_ids[keys // span], training.user_ids)
        if (users < 0).any():
            raise DataError("fakes need training traces of every user of the original")
        seed = child_seed(root, _FAKES)
        days = make_fake_days(self.method, training, users, self.fakes, seed, classes=self.classes)
        fakes = days[row, :, clock.time_of_day(original.instants[sent])]
        # The different places of each event; a single one is released as itself.
        together = np.sort(np.column_stack([place, fakes]), axis=1)
        new = np.ones(together.shape, bool)
        new[:, 1:] = together[:, 1:] != together[:, :-1]
        new &= together >= 0
        sizes = new.sum(axis=1)
        several = sizes > 1
        codes = np.full(original.n_events, DELETED, np.int32)
        codes[sent] = place
        codes[sent[several]] = -2 - np.arange(int(several.sum()), dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(sizes[several])])
        return ObfuscatedTraces.like(original, codes, PlaceSets(offsets, together[several][new[several]]))


# Five ways to make the fake days among which a person hides ([sglt] section 5.4).

Method = Literal["sglt", "uniform", "aggregate", "walk", "own-walk"]
DAYS_PER_BLOCK = 1024
POOL = 5
"""Fakes made for each one drawn from the pool."""


def make_fake_days(
    method: Method,
    training: Traces,
    users: NDArray[np.int64],
    fakes: int,
    root: np.random.SeedSequence,
    *,
    classes: int | None = None,
) -> NDArray[np.int32]:
    """Make fake days for the users named, one set of `fakes` for each row.

    Parameters
    ----------
    method
        ``sglt``; ``uniform`` and ``aggregate``: every instant by itself, from all places alike or
        as the population visits them; ``walk`` and ``own-walk``: a random walk as the population
        or as the user herself moves.
    training
        What is known of the population; its users are the seeds of ``sglt``.
    users
        Index of the training user of each row; a user may stand in several rows, one per day.
    classes
        Number of semantic classes of ``sglt``; None finds a good one.

    Returns
    -------
    NDArray
        Rows × fakes × instants of a day; -1 where there is no fake.
    """
    return _MAKERS[method](training, users, fakes, root, classes)


def _make_sglt_days(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    # Deniability is about who was a seed, which the service does not learn: only fakes that say where
    # the person herself was are left out.
    model = SGLT(classes=classes, alternatives=0).fit(training, seed=child_seed(root, 0))
    pool, rows, verdicts = model.pool(POOL * fakes, seed=child_seed(root, 1))
    good = np.flatnonzero(verdicts.passed) if verdicts is not None else np.arange(len(pool))
    if not len(good):
        return np.full((len(users), fakes, pool.places.shape[1]), -1, np.int32)
    rng = stream(root, 2)
    chosen = np.full((len(users), fakes), -1, np.int64)
    # Number the rows of each user from 0.
    order = np.argsort(users, kind="stable")
    ordered = users[order]
    occurrence = np.empty(len(users), np.int64)
    occurrence[order] = np.arange(len(users)) - np.searchsorted(ordered, ordered)
    for number in range(int(occurrence.max(initial=-1)) + 1):
        drawn = draw_by_likelihood(
            pool.log_likelihood[good], model.seeds_.users[rows[good]], training.n_users, fakes, rng
        )
        now = occurrence == number
        chosen[now] = np.where(drawn[users[now]] >= 0, good[drawn[users[now]]], -1)
    # Fakes of one seed protect anybody: a user with too few of her own borrows.
    short = chosen < 0
    chosen[short] = good[rng.integers(len(good), size=int(short.sum()))]
    return pool.places[chosen]


def _make_uniform_days(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    length, places = training.clock.instants_per_day, len(training.places)

    def draw(draws: NDArray[np.float64], first: int) -> NDArray[np.int32]:
        return np.minimum(draws * places, places - 1).astype(np.int32)

    return _draw_by_block(len(users) * fakes, length, root, draw).reshape(len(users), fakes, length)


def _make_aggregate_days(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    visits = np.cumsum(_learn_mobility(training).visits[0])

    def draw(draws: NDArray[np.float64], first: int) -> NDArray[np.int32]:
        found = np.searchsorted(visits, draws, side="right")
        return np.minimum(found, len(visits) - 1).astype(np.int32)

    length = training.clock.instants_per_day
    return _draw_by_block(len(users) * fakes, length, root, draw).reshape(len(users), fakes, length)


def _make_walk_days(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    from tracearena.obfuscation._kernels import walk_aggregate

    mobility = _learn_mobility(training)
    start, steps = np.cumsum(mobility.visits[0]), np.cumsum(mobility.moves, axis=2)

    def draw(draws: NDArray[np.float64], first: int) -> NDArray[np.int32]:
        out = np.empty(draws.shape, np.int32)
        walk_aggregate(start, steps, mobility.step_numbers, draws, out)
        return out

    length = training.clock.instants_per_day
    return _draw_by_block(len(users) * fakes, length, root, draw).reshape(len(users), fakes, length)


def _make_own_walk_days(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    from tracearena.obfuscation._kernels import walk_own

    own = MobilityProfiles.of(training)
    owner = np.repeat(users, fakes)

    def draw(draws: NDArray[np.float64], first: int) -> NDArray[np.int32]:
        out = np.empty(draws.shape, np.int32)
        walk_own(
            owner[first : first + len(draws)],
            own.periods.of_time,
            len(own.periods),
            own.visit_offsets,
            own.visit_places,
            own.visit_probabilities,
            own.move_offsets,
            own.move_places,
            own.move_probabilities,
            draws,
            out,
        )
        return out

    length = training.clock.instants_per_day
    return _draw_by_block(len(owner), length, root, draw).reshape(len(users), fakes, length)


_MAKERS: dict[str, Callable[..., NDArray[np.int32]]] = {
    "sglt": _make_sglt_days,
    "uniform": _make_uniform_days,
    "aggregate": _make_aggregate_days,
    "walk": _make_walk_days,
    "own-walk": _make_own_walk_days,
}
METHODS: tuple[Method, ...] = get_args(Method)


def _draw_by_block(
    rows: int,
    length: int,
    root: np.random.SeedSequence,
    draw: Callable[[NDArray[np.float64], int], NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Fill rows × instants, block by block, from uniform draws."""
    table = np.empty((rows, length), np.int32)

    def work(block: int, first: int, stop: int) -> None:
        table[first:stop] = draw(stream(root, block).random((stop - first, length)), first)

    run_blocks(work, block_ranges(rows, DAYS_PER_BLOCK))
    return table


def _learn_mobility(training: Traces) -> AggregateMobility:
    if not training.n_events:
        raise DataError("fakes need training traces with at least one event")
    return AggregateMobility.of(MobilityProfiles.of(training), training.places)
