"""Five ways to make the fake days among which a person hides ([sglt] section 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import block_ranges, child_seed, run_blocks, stream
from tracearena.errors import DataError
from tracearena.mobility import AggregateMobility, MobilityProfiles
from tracearena.synthesis.sglt import SGLT, PrivacyTests, draw_by_likelihood
from tracearena.traces import Traces

Method = Literal["sglt", "uniform", "aggregate", "walk", "own-walk"]
DAYS_PER_BLOCK = 1024
POOL = 5
"""Fakes made for each one drawn from the pool."""


def fake_days(
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
        Index of the training user of each row; a user may stand in several rows, one a day.
    classes
        Number of semantic classes of ``sglt``; None finds a good one.

    Returns
    -------
    NDArray
        Rows × fakes × instants of a day; -1 where there is no fake.
    """
    return _MAKERS[method](training, users, fakes, root, classes)


def _sglt(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    # Deniability is about who was a seed, which a service is not told: only what says where the
    # person herself was must not leave.
    tests = PrivacyTests(alternatives=0)
    model = SGLT(classes=classes).fit(training, seed=child_seed(root, 0), tests=tests)
    pool, rows, verdicts = model.pool(POOL * fakes, seed=child_seed(root, 1))
    good = np.flatnonzero(verdicts.passed) if verdicts is not None else np.arange(len(pool))
    if not len(good):
        return np.full((len(users), fakes, pool.places.shape[1]), -1, np.int32)
    rng = stream(root, 2)
    chosen = np.full((len(users), fakes), -1, np.int64)
    occurrence = _occurrence(users)
    for number in range(int(occurrence.max(initial=-1)) + 1):
        drawn = draw_by_likelihood(
            pool.log_likelihood[good], model.seeds_.users[rows[good]], training.n_users, fakes, rng
        )
        now = occurrence == number
        chosen[now] = np.where(drawn[users[now]] >= 0, good[drawn[users[now]]], -1)
    # Fakes of one seed protect anybody: who has too few of her own borrows.
    short = chosen < 0
    chosen[short] = good[rng.integers(len(good), size=int(short.sum()))]
    return pool.places[chosen]


def _uniform(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    length, places = training.clock.instants_per_day, len(training.places)
    return _by_block(len(users) * fakes, length, root, lambda draws, first: _index(draws, places)).reshape(
        len(users), fakes, length
    )


def _aggregate(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    visits = np.cumsum(_mobility(training).visits[0])

    def draw(draws: NDArray[np.float64], first: int) -> NDArray[np.int32]:
        found = np.searchsorted(visits, draws, side="right")
        return np.minimum(found, len(visits) - 1).astype(np.int32)

    length = training.clock.instants_per_day
    return _by_block(len(users) * fakes, length, root, draw).reshape(len(users), fakes, length)


def _walk(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    from tracearena.obfuscation.fakes._kernels import walk_aggregate

    mobility = _mobility(training)
    start, steps = np.cumsum(mobility.visits[0]), np.cumsum(mobility.moves, axis=2)

    def draw(draws: NDArray[np.float64], first: int) -> NDArray[np.int32]:
        out = np.empty(draws.shape, np.int32)
        walk_aggregate(start, steps, mobility.step_numbers, draws, out)
        return out

    length = training.clock.instants_per_day
    return _by_block(len(users) * fakes, length, root, draw).reshape(len(users), fakes, length)


def _own_walk(
    training: Traces, users: NDArray[np.int64], fakes: int, root: np.random.SeedSequence, classes: int | None
) -> NDArray[np.int32]:
    from tracearena.obfuscation.fakes._kernels import walk_own

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
    return _by_block(len(owner), length, root, draw).reshape(len(users), fakes, length)


_Maker = Callable[
    [Traces, NDArray[np.int64], int, np.random.SeedSequence, int | None],
    NDArray[np.int32],
]
_MAKERS: dict[str, _Maker] = {
    "sglt": _sglt,
    "uniform": _uniform,
    "aggregate": _aggregate,
    "walk": _walk,
    "own-walk": _own_walk,
}
METHODS: tuple[Method, ...] = get_args(Method)


def _by_block(
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


def _index(draws: NDArray[np.float64], places: int) -> NDArray[np.int32]:
    return np.minimum(draws * places, places - 1).astype(np.int32)


def _mobility(training: Traces) -> AggregateMobility:
    if not training.n_events:
        raise DataError("fakes need training traces with at least one event")
    return AggregateMobility.of(MobilityProfiles.of(training), training.places)


def _occurrence(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the repetitions of each value: 0 for its first occurrence, and so on."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return rank
