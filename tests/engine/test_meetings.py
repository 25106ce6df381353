"""Workers that hand each other parts of their results, and come to the same end only together."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from tracearena.engine import Cluster
from tracearena.engine.meetings import LostError, meet
from tracearena.errors import DataError

pytestmark = pytest.mark.slow


def test_every_seat_gets_what_was_meant_for_it(cluster):
    def work(seat, tens):
        turns = [seat.exchange([np.full(3, tens + seat.number), np.full(3, -tens)]) for _ in range(5)]
        return [[part.tolist() for part in parts] for parts in turns]

    one, other = cluster.workers
    assert meet(cluster, work, {one: [10], other: [20]}) == [[[10] * 3, [21] * 3]] * 5


def test_a_meeting_of_one_needs_no_letters(cluster):
    assert meet(cluster, lambda seat: seat.exchange(["own"]), {cluster.workers[0]: []}) == ["own"]


def test_an_error_in_one_of_them_is_the_callers(cluster):
    def work(seat):
        if seat.number == 1:
            raise DataError("the second cannot go on")
        return seat.exchange([1, 2])

    with pytest.raises(DataError, match="the second cannot go on"):
        meet(cluster, work, {worker: [] for worker in cluster.workers})


def test_who_is_killed_ends_it_for_all_and_the_next_meeting_is_whole():
    def work(seat, is_deadly):
        seat.exchange([0, 0])
        if is_deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return seat.exchange([seat.number] * 2)

    with Cluster("local:2") as own:
        one, other = own.workers
        with pytest.raises(LostError):
            meet(own, work, {one: [False], other: [True]})
        with pytest.raises(LostError):
            meet(own, lambda seat: os.kill(os.getpid(), signal.SIGKILL), {one: []})
        own._client.wait_for_workers(2)
        assert meet(own, work, {worker: [False] for worker in own.workers}) == [0, 1]
