"""The few candidates of a trace lead to the very choice that the scores of all users lead to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import examples

from tracearena.attacks import FuzzyMatcher, VisitMatcher, _kernels
from tracearena.attacks.base import TIE, GreedyMatch, choose_greedily
from tracearena.attacks.candidate_search import (
    CANDIDATES,
    CandidateIndex,
    TraceKeys,
    choose_by_candidates,
    find_best_candidates,
)
from tracearena.attacks.visit_probability import count_distinct_codes, index_traces
from tracearena.engine import use
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import Traces

Floats = NDArray[np.float64]
KINDS = ["equal", "uneven", "ties", "steps", "crowded", "first"]


def from_tables(base: Floats, values: Floats, weights: Floats) -> tuple[CandidateIndex, TraceKeys]:
    """Keep what is not 0 of keys × users and of traces × keys."""
    keys, users = np.nonzero(values)
    offsets = np.searchsorted(keys, np.arange(len(values) + 1))
    trace, key = np.nonzero(weights)
    items = TraceKeys(np.searchsorted(trace, np.arange(len(weights) + 1)), key, weights[trace, key])
    return CandidateIndex.of(base, offsets, users.astype(np.int32), values[keys, users]), items


def from_all_scores(base: Floats, values: Floats, weights: Floats) -> GreedyMatch:
    """Choose from the full table, added up key by key in the same order."""
    table = np.zeros((len(weights), len(base)))
    for key in range(len(values)):
        table += weights[:, key, None] * values[key]
    table += base

    def score(first: int, scores: Floats) -> None:
        scores += table[first : first + len(scores)]

    return choose_greedily(len(weights), len(base), score)


def same(one: GreedyMatch, other: GreedyMatch) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("best", "exclusive", "ranking")
    )


def drawn(rng: np.random.Generator, traces: int, users: int, kind: str) -> tuple[Floats, Floats, Floats]:
    """Draw tables; ``ties`` differ by less than a tie, ``steps`` by chains of them, ``equal`` by nothing.

    ``crowded`` has keys that nearly all users have and keys of a few, and ``first`` the best users first.
    """
    if kind in ("crowded", "first"):
        keys = 30
        common = np.geomspace(0.9, 2 / users, keys)[:, None]
        values = (15 + 3 * rng.random((keys, users))) * (rng.random((keys, users)) < common)
        if kind == "first":
            values[:, users // 8 :] *= 0.5
        weights = rng.integers(0, 4, (traces, keys)).astype(np.float64)
        return np.zeros(users), values, weights
    keys = 6
    values = rng.integers(1, 3, (keys, users)) * (rng.random((keys, users)) < 0.3).astype(np.float64)
    weights = rng.integers(1, 3, (traces, keys)) * (rng.random((traces, keys)) < 0.4).astype(np.float64)
    base = np.zeros(users)
    if kind == "uneven":
        base, values = -rng.random(users).round(1), values * rng.random((keys, users))
    elif kind == "ties":
        values *= 1 + rng.integers(0, 3, values.shape) * TIE / 20
    elif kind == "steps":
        base = rng.integers(0, 4, users) * 0.7 * TIE
    return base, values, weights


@given(
    seed=st.integers(0, 10_000),
    traces=st.integers(1, 60),
    users=st.integers(1, 3 * CANDIDATES),
    kind=st.sampled_from(KINDS),
)
@examples(150)
def test_candidates_lead_where_all_scores_lead(seed: int, traces: int, users: int, kind: str) -> None:
    tables = drawn(np.random.default_rng(seed), traces, users, kind)
    assert same(choose_by_candidates([from_tables(*tables)], users), from_all_scores(*tables))


@pytest.mark.parametrize("kind", KINDS)
def test_more_users_than_a_tile_are_matched_alike(kind: str) -> None:
    users = 2 * _kernels.TILE + 100
    tables = drawn(np.random.default_rng(1), 100, users, kind)
    assert same(choose_by_candidates([from_tables(*tables)], users), from_all_scores(*tables))


def test_the_first_of_more_tied_users_than_candidates_is_chosen_where_the_others_are_taken() -> None:
    """For the last trace the last user has one, and everybody else as little less as still is a tie."""
    users = CANDIDATES + 5
    values, weights = np.zeros((CANDIDATES, users)), np.zeros((CANDIDATES, CANDIDATES))
    taken = np.arange(CANDIDATES - 1)
    values[taken + 1, taken], weights[taken, taken + 1] = 10, 1
    values[0], weights[-1, 0] = 1 - TIE, 1
    values[0, -1] = 1
    tables = np.zeros(users), values, weights
    match = choose_by_candidates([from_tables(*tables)], users)
    assert same(match, from_all_scores(*tables))
    assert match.exclusive.tolist() == [*taken, CANDIDATES - 1]


def test_a_trace_whose_candidates_are_taken_gets_others_among_the_free() -> None:
    users = 4 * CANDIDATES
    values, weights = np.arange(1.0, users + 1)[None, :], np.ones((users + 3, 1))
    match = choose_by_candidates([from_tables(np.zeros(users), values, weights)], users)
    assert match.best.tolist() == [users - 1] * (users + 3)
    assert match.exclusive.tolist() == [*range(users - 1, -1, -1), -1, -1, -1]


@pytest.mark.slow
def test_traces_that_crowd_around_the_same_users_are_served_in_turn() -> None:
    rng = np.random.default_rng(3)
    users = 40 * CANDIDATES
    values = rng.random((8, users)) + np.linspace(0, 20, users)
    tables = -rng.random(users), values, rng.random((users, 8))
    match = choose_by_candidates([from_tables(*tables)], users)
    assert same(match, from_all_scores(*tables))
    assert sorted(match.exclusive) == list(range(users))


def test_only_free_users_are_candidates_where_not_all_are() -> None:
    base, values, weights = drawn(np.random.default_rng(4), 30, 80, "uneven")
    free = np.arange(80) % 3 > 0
    index, items = from_tables(base, values, weights)
    found = find_best_candidates(index, items, free=free)
    kept = np.flatnonzero(free)
    alone = find_best_candidates(index.restrict_to(kept), items)
    names = np.append(kept, [80, -1])
    assert np.array_equal(found.best, names[alone.best])
    assert np.array_equal(found.users, names[alone.users])
    assert np.array_equal(found.scores, alone.scores)


def test_a_trace_lists_nobody_where_there_are_no_more_users() -> None:
    index, items = from_tables(np.zeros(3), np.ones((2, 3)), np.ones((1, 2)))
    assert find_best_candidates(index, items).users[0].tolist() == [0, 1, 2] + [-1] * (CANDIDATES - 3)


def test_progress_goes_through_candidates_and_turns() -> None:
    tables = drawn(np.random.default_rng(5), 600, 600, "crowded")
    told: list[tuple[int, int]] = []
    with use(threads=1, progress=lambda done, total: told.append((done, total))):
        choose_by_candidates([from_tables(*tables)], 600)
    assert told[0] == (1, 6)
    assert told[-1] == (6, 6)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_block_of_traces_finds_its_candidates_on_its_own() -> None:
    index, items = from_tables(*drawn(np.random.default_rng(2), 30, 80, "uneven"))
    whole, part = find_best_candidates(index, items), find_best_candidates(index, items.part(7, 19))
    for all_of_them, some in zip(whole, part, strict=True):
        assert np.array_equal(all_of_them[7:19], some)


def test_nobody_is_matched_where_there_are_no_traces() -> None:
    index, items = from_tables(np.zeros(3), np.ones((2, 3)), np.zeros((0, 2)))
    match = choose_by_candidates([(index, items)], 3)
    assert len(match.best) == len(match.exclusive) == len(match.ranking) == 0


def test_sets_are_listed_for_as_many_traces_at_a_time_as_there_is_room(
    make_walks: Callable[..., Traces],
) -> None:
    reference, original = make_walks(users=60, days=4).split_days(2)
    released = MRLH(mu_x=1, mu_y=1, deletion=0.1).transform(original, seed=1)
    matcher = VisitMatcher().fit(reference)
    codes = count_distinct_codes(released)
    narrow = list(index_traces(matcher.visitors_, 60, codes, released.sets, most=300))
    assert 1 < len(narrow) < 60
    assert same(choose_by_candidates(narrow, 60), matcher.match(released))  # type: ignore[arg-type]


@pytest.mark.parametrize("matcher", [VisitMatcher(), VisitMatcher(hours=(8, 9)), FuzzyMatcher()])
def test_the_match_does_not_depend_on_the_number_of_threads(
    make_walks: Callable[..., Traces], matcher: VisitMatcher | FuzzyMatcher
) -> None:
    reference, original = make_walks(users=600, days=4).split_days(2)
    released = PlanarLaplace(l=4, r=1).transform(original, seed=1)
    matches = []
    for threads in (1, 3):
        with use(threads=threads):
            matches.append(matcher.fit(reference).match(released))
    assert same(*matches)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_nobody_left_out_below_the_bound_ties_with_the_last_one_listed(seed: int) -> None:
    """Scores of quarters, a tie of a half, and many more users than are listed, in falling or any order."""
    rng = np.random.default_rng(seed)
    users = 5 * CANDIDATES
    base, values = -rng.integers(0, 6, users) / 4, rng.integers(0, 4, (3, users)) / 4
    weights = rng.integers(0, 2, (6, 3)).astype(np.float64)
    found = find_best_candidates(*from_tables(base, values, weights), tie=0.5)
    scores = base + weights @ values
    for trace, row in enumerate(scores):
        listed = np.lexsort([np.arange(users), -row])[:CANDIDATES]
        assert found.users[trace].tolist() == listed.tolist()
        assert found.scores[trace].tolist() == row[listed].tolist()
        assert found.best[trace] == np.flatnonzero(row >= row.max() - 0.5)[0]
        tied = np.setdiff1d(np.flatnonzero(row >= row[listed[-1]] - 0.5), listed)
        assert found.beyond[trace] <= (tied[0] if len(tied) else users)


def test_who_ties_exactly_is_remembered_when_somebody_better_comes() -> None:
    """User 3 is half below the last one listed, also when user 50 has taken the place of user 41."""
    values = np.zeros((3, 60))
    values[0, 10 : 10 + CANDIDATES], values[1, 3], values[2, 50] = 1, 0.5, 2
    base = np.where(values.any(axis=0), 0.0, -10.0)
    found = find_best_candidates(*from_tables(base, values, np.ones((1, 3))), tie=0.5)
    assert found.users[0].tolist() == [50, *range(10, 9 + CANDIDATES)]
    assert found.beyond.tolist() == [3]
