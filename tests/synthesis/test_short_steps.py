"""Short steps are the likeliest that make the long ones, and fill traces without changing what was seen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.errors import DataError, ParameterError
from tracearena.synthesis.short_steps import ShortSteps
from tracearena.traces import Clock, Places, Traces

CLOCK = Clock(instants_per_day=6, start_s=8 * 3600, interval_s=1800)


def walks(users: int = 60, days: int = 3, places: int = 5, seed: int = 1) -> Traces:
    """People who walk a ring of places, each with a rate of her own."""
    rng = np.random.default_rng(seed)
    moves = rng.random((users, days * 6)) < rng.uniform(0.1, 0.9, users)[:, None]
    table = (
        rng.integers(0, places, users)[:, None] + np.cumsum(moves * rng.choice([1, 1, 2], moves.shape), 1)
    ) % places
    return Traces.from_dense(table, Places(range(places), range(places)), CLOCK)


def pairs(traces: Traces) -> np.ndarray:
    """How often each place is followed by each other one, within a day."""
    n = len(traces.places)
    table = traces.dense().reshape(traces.n_users, -1, traces.clock.instants_per_day)
    counts = np.zeros((n, n))
    np.add.at(counts, (table[:, :, :-1].ravel(), table[:, :, 1:].ravel()), 1)
    return counts


def slow_expected(matrix: np.ndarray, counts: np.ndarray, steps: int) -> np.ndarray:
    """Expected short steps of each kind, by going through every path of every long step."""
    n = len(matrix)
    expected = np.zeros_like(matrix)
    for start, end in itertools.product(range(n), repeat=2):
        if not counts[start, end]:
            continue
        paths = [(start, *middle, end) for middle in itertools.product(range(n), repeat=steps - 1)]
        chances = np.array([np.prod([matrix[step] for step in itertools.pairwise(path)]) for path in paths])
        for path, share in zip(paths, chances / chances.sum(), strict=True):
            for step in itertools.pairwise(path):
                expected[step] += counts[start, end] * share
    return expected


@pytest.mark.parametrize("steps", [2, 3])
def test_an_iteration_is_that_over_all_paths(steps: int) -> None:
    traces = walks(places=4)
    counts = pairs(traces)
    from tracearena.synthesis.short_steps import LongSteps, estimate_initial_chain

    long_steps = LongSteps.of(traces)
    guess = estimate_initial_chain(long_steps, steps)
    found, likelihood = guess.count_expected_steps(long_steps)
    slow = slow_expected(guess.matrix(), counts, steps)
    rows = np.repeat(np.arange(4), np.diff(guess.offsets))
    np.testing.assert_allclose(found, slow[rows, guess.targets], rtol=1e-10)
    power = np.linalg.matrix_power(guess.matrix(), steps)
    assert likelihood == pytest.approx((counts[counts > 0] * np.log(power[counts > 0])).sum())


def test_the_likelihood_never_falls_and_the_power_comes_near_the_long_steps() -> None:
    traces = walks(users=400)
    chain = ShortSteps.of(traces, 6)
    assert (np.diff(chain.log_likelihood) > -1e-12).all()
    matrix = chain.matrix()
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    counts = pairs(traces)
    observed = counts / counts.sum(axis=1, keepdims=True)
    first_guess_misses = np.abs(observed - np.linalg.matrix_power(_guess(traces).matrix(), 6)).max()
    assert np.abs(observed - np.linalg.matrix_power(matrix, 6)).max() < min(0.12, first_guess_misses)


def _guess(traces: Traces) -> ShortSteps:
    from tracearena.synthesis.short_steps import LongSteps, estimate_initial_chain

    return estimate_initial_chain(LongSteps.of(traces), 6)


def test_a_known_chain_is_found_again() -> None:
    truth = np.array([[0.9, 0.1, 0.0], [0.05, 0.8, 0.15], [0.3, 0.0, 0.7]])
    rng = np.random.default_rng(3)
    state = rng.integers(0, 3, 20_000)
    table = [state]
    for _ in range(3):
        state = (rng.random(len(state))[:, None] > np.cumsum(truth[state], axis=1)).sum(axis=1)
        table.append(state)
    clock = Clock(instants_per_day=2, interval_s=1800)
    traces = Traces.from_dense(np.stack([table[0], table[3]], 1), Places(range(3), range(3)), clock)
    np.testing.assert_allclose(ShortSteps.of(traces, 3).matrix(), truth, atol=0.03)


def test_what_was_seen_stays_and_the_rest_is_likely() -> None:
    traces = walks()
    chain = ShortSteps.of(traces, 6)
    filled = chain.fill(traces, seed=1)
    assert (filled.clock.interval_s, filled.clock.instants_per_day, filled.clock.start_s) == (
        300,
        36,
        8 * 3600,
    )
    kept = filled.instants % 6 == 0
    assert np.array_equal(filled.place_index[kept], traces.place_index)
    assert np.array_equal(filled.instants[kept], traces.instants * 6)
    assert np.array_equal(filled.user_index[kept], traces.user_index)
    same_day = np.diff(filled.instants) == 1
    steps = filled.place_index[:-1][same_day], filled.place_index[1:][same_day]
    assert (chain.matrix()[steps] > 0).all()
    assert len(filled.instants) == traces.n_users * 3 * (5 * 6 + 1)


def test_bridges_have_the_chances_of_all_paths() -> None:
    traces = walks(places=3)
    chain = ShortSteps.of(traces, 3)
    many = Traces.from_dense(
        np.tile([0, 1], (30_000, 1)), traces.places, Clock(instants_per_day=2, interval_s=1800)
    )
    table = chain.fill(many, seed=2)
    middle = table.place_index.reshape(-1, 4)[:, 1:3]
    matrix = chain.matrix()
    expected = matrix[0][:, None] * matrix * matrix[:, 1][None, :]
    found = np.zeros((3, 3))
    np.add.at(found, (middle[:, 0], middle[:, 1]), 1)
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=0.012)


def test_gaps_stay_gaps() -> None:
    traces = Traces.from_dense([[0, 1, -1, 1, -1, -1], [1, 1, 0, 0, 1, 1]], Places([0, 1], [0, 1]), CLOCK)
    filled = ShortSteps.of(traces, 6).fill(traces, seed=1)
    first = filled.instants[filled.user_index == 0]
    assert first.tolist() == [0, 1, 2, 3, 4, 5, 6, 18]


def test_threads_change_nothing() -> None:
    def made() -> tuple[np.ndarray, np.ndarray]:
        traces = walks(places=70)
        chain = ShortSteps.of(traces, 6)
        return chain.chances, chain.fill(traces, seed=5).place_index

    one, three = (on_threads(count, made) for count in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))


def test_one_step_is_the_traces_themselves() -> None:
    traces = walks()
    filled = ShortSteps.of(traces, 1).fill(traces)
    assert np.array_equal(filled.place_index, traces.place_index)
    assert filled.clock == traces.clock


def test_what_cannot_be_is_refused() -> None:
    alone = Traces.from_dense([[0, -1, 1, -1, -1, -1]], Places([0, 1], [0, 1]), CLOCK)
    with pytest.raises(DataError, match="no two events are at consecutive instants"):
        ShortSteps.of(alone, 6)
    with pytest.raises(ParameterError, match="steps"):
        ShortSteps.of(walks(), 0)
    with pytest.raises(DataError, match="1800 seconds are not 7 steps"):
        ShortSteps.of(walks(), 7).fill(walks())
