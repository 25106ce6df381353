"""Sums over blocks are added in one tree, whatever the threads do."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.engine import PairwiseSum, block_ranges, fold_blocks, use
from tracearena.engine.blocks import Node
from tracearena.engine.cluster import split_evenly
from tracearena.errors import ParameterError

NUMBERS = np.random.default_rng(1).normal(scale=10.0 ** np.arange(23))


def in_pairs(numbers: list[float]) -> float:
    """Halve at the largest power of two below the length, as a tree over all numbers would."""
    if len(numbers) == 1:
        return numbers[0]
    half = 1
    while 2 * half < len(numbers):
        half *= 2
    return in_pairs(numbers[:half]) + in_pairs(numbers[half:])


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_sum_has_the_bits_of_the_tree(threads):
    def work(block: int, first: int, stop: int) -> float:
        time.sleep(0.002 * (block % 3))
        return float(NUMBERS[first:stop].sum())

    for size in (1, 2, 5, 23):
        ranges = block_ranges(23, size)
        expected = in_pairs([float(NUMBERS[first:stop].sum()) for first, stop in ranges])
        with use(threads=threads):
            assert fold_blocks(work, ranges) == expected


@given(total=st.integers(1, 60), parts=st.integers(1, 12))
def test_ranges_summed_apart_join_to_the_same_bits(total, parts):
    numbers = np.random.default_rng(total).normal(scale=1e6, size=total).tolist()
    nodes = []
    for first, stop in split_evenly(total, parts):
        mine = PairwiseSum()
        for number in range(first, stop):
            mine.add(number, numbers[number])
        nodes += mine.nodes
    assert PairwiseSum(nodes).total() == in_pairs(numbers)


@given(total=st.integers(1, 5_000), parts=st.integers(1, 50))
def test_shares_cover_everything_and_are_even(total, parts):
    ranges = split_evenly(total, parts)
    assert [number for limits in ranges for number in range(*limits)] == list(range(total))
    sizes = [stop - first for first, stop in ranges]
    assert len(sizes) == min(parts, total)
    assert max(sizes) <= 1.25 * total / len(sizes) + 1


def test_sums_of_others_are_left_as_they_are():
    given = [Node(number, 1, np.array([1.0])) for number in range(4)]
    assert PairwiseSum(given).total().tolist() == [4.0]
    assert [node.value.tolist() for node in given] == [[1.0]] * 4


def test_pieces_must_follow_each_other():
    sums = PairwiseSum()
    sums.add(4, 1.0)
    with pytest.raises(ParameterError, match="piece 6 does not follow piece 4"):
        sums.add(6, 1.0)


def test_few_results_are_held_at_a_time():
    alive, most, lock = 0, 0, threading.Lock()

    class Piece:
        def __init__(self) -> None:
            nonlocal alive, most
            with lock:
                alive += 1
                most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            with lock:
                alive -= 1

        def __add__(self, other: Piece) -> Piece:
            return self

    with use(threads=2):
        fold_blocks(lambda block, first, stop: Piece(), block_ranges(200, 1))
    assert most < 12


def test_a_failing_block_fails_the_sum():
    def work(block: int, first: int, stop: int) -> int:
        if block == 3:
            raise ValueError("block 3")
        return 1

    with pytest.raises(ValueError, match="block 3"), use(threads=2):
        fold_blocks(work, block_ranges(10, 1))
    with pytest.raises(ParameterError, match="no block"), use(threads=2):
        fold_blocks(work, [])
