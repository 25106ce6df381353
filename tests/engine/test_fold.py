"""Sums over blocks are added in block order, whatever the threads do."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from tracearena.engine import blocks, fold_blocks
from tracearena.errors import ParameterError


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_sum_has_the_bits_of_a_loop(threads):
    numbers = np.random.default_rng(1).normal(scale=10.0 ** np.arange(23), size=(5, 23))

    def work(block: int, first: int, stop: int) -> float:
        time.sleep(0.002 * (block % 3))
        return float(numbers[0, first:stop].sum())

    ranges = blocks(23, 2)
    expected = work(0, *ranges[0])
    for block, limits in enumerate(ranges[1:], start=1):
        expected = expected + work(block, *limits)
    assert fold_blocks(work, ranges, threads=threads) == expected


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

    fold_blocks(lambda block, first, stop: Piece(), blocks(200, 1), threads=2)
    assert most < 12


def test_a_failing_block_fails_the_sum():
    def work(block: int, first: int, stop: int) -> int:
        if block == 3:
            raise ValueError("block 3")
        return 1

    with pytest.raises(ValueError, match="block 3"):
        fold_blocks(work, blocks(10, 1), threads=2)
    with pytest.raises(ParameterError, match="no block"):
        fold_blocks(work, [], threads=2)
