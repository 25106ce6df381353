"""The same blocks in the workers of a cluster: the same results, and errors that say what is wrong."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tracearena.engine import (
    BroadcastValue,
    Cluster,
    PairwiseSum,
    block_ranges,
    fold_blocks,
    run_blocks,
    stream,
    thread_count,
    use,
)
from tracearena.engine.blocks import Node, join_sums
from tracearena.engine.cluster import SUMS_PER_TASK, split_evenly
from tracearena.errors import ClusterError, DataError, ParameterError

VALUES = np.random.default_rng(3).normal(scale=1e8, size=(1_000, 3))


@pytest.mark.slow
def test_results_and_rows_are_those_of_threads(cluster):
    root = np.random.SeedSequence(1)

    def work(block: int, first: int, stop: int, mine: np.ndarray) -> tuple[int, np.ndarray]:
        return first, mine + stream(root, block).random(mine.shape)

    ranges = block_ranges(1_000, 37)
    here = run_blocks(work, ranges, rows=[VALUES])
    seen: list[tuple[int, int]] = []
    with use(cluster=cluster, progress=lambda *at: seen.append(at)):
        there = run_blocks(work, ranges, rows=[VALUES], anywhere=True, report=True)
    assert [first for first, _ in there] == [first for first, _ in ranges]
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(here, there, strict=True))
    assert seen[-1] == (28, 28)
    with use(cluster=cluster):
        assert run_blocks(work, [], rows=[VALUES], anywhere=True) == []


@pytest.mark.slow
def test_sums_have_the_bits_of_threads(cluster):
    def work(block: int, first: int, stop: int, mine: np.ndarray) -> np.ndarray:
        return mine.sum(axis=0)

    ranges = block_ranges(1_000, 7)
    with use(threads=2):
        here = fold_blocks(work, ranges, rows=[VALUES])
    with use(cluster=cluster):
        assert np.array_equal(fold_blocks(work, ranges, rows=[VALUES], anywhere=True), here)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 4, 5, 18])
def test_sums_of_many_tasks_are_joined_in_a_tree_with_the_same_bits(cluster, parts):
    def work(first: int, stop: int) -> list[Node[float]]:
        sums: PairwiseSum[float] = PairwiseSum()
        for number in range(first, stop):
            sums.add(number, float(VALUES[number, 0]))
        return sums.nodes

    tasks = [cluster.submit(work, *limits) for limits in split_evenly(700, parts)]
    few = cluster.join_sums(tasks)
    assert len(few) <= SUMS_PER_TASK
    assert join_sums(cluster.gather(few)).total() == join_sums([work(0, 700)]).total()


@pytest.mark.slow
def test_what_calls_share_is_sent_once(cluster, monkeypatch):
    def work(block: int, first: int, stop: int, mine: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return mine.sum(axis=0) * weights[block]

    sent: list[object] = []
    keep = cluster.keep
    monkeypatch.setattr(cluster, "keep", lambda value: (sent.append(value), keep(value))[1])
    ranges = block_ranges(1_000, 7)
    shared = BroadcastValue(np.arange(len(ranges)))
    here = fold_blocks(work, ranges, rows=[VALUES], given=[shared])
    with use(cluster=cluster):
        for _ in range(2):
            there = fold_blocks(work, ranges, rows=[VALUES], given=[shared], anywhere=True)
            assert np.array_equal(there, here)
    assert sum(one is shared.value for one in sent) == 1


@pytest.mark.slow
def test_rows_arrive_where_memory_is_aligned(cluster):
    kept = cluster.keep([VALUES[:k] for k in range(1, 30)])

    def aligned(arrays: list[np.ndarray]) -> bool:
        return all(array.flags.aligned for array in arrays)

    asked = [cluster.submit(aligned, kept, worker=worker) for worker in cluster.workers]
    assert cluster.gather(asked) == [True, True]


@pytest.mark.slow
def test_a_task_leaves_the_other_cores_to_other_tasks(cluster):
    with use(cluster=cluster):
        assert run_blocks(lambda *_: thread_count(), block_ranges(3, 1), anywhere=True) == [1, 1, 1]


@pytest.mark.slow
def test_an_error_in_a_worker_is_the_callers(cluster):
    def work(block: int, first: int, stop: int) -> None:
        raise DataError(f"block {block} is bad")

    with pytest.raises(DataError, match="block 0 is bad"), use(cluster=cluster):
        run_blocks(work, block_ranges(4, 1), anywhere=True)


@pytest.mark.slow
def test_a_killed_worker_costs_no_result(tmp_path):
    def work(block: int, first: int, stop: int) -> float:
        if block == 5 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(VALUES[first:stop].sum())

    ranges = block_ranges(1_000, 100)
    expected = [float(VALUES[first:stop].sum()) for first, stop in ranges]
    with Cluster("local:2") as own, use(cluster=own):
        assert run_blocks(work, ranges, anywhere=True) == expected
    assert (tmp_path / "killed").exists()


@pytest.mark.parametrize(
    "address",
    [
        *("local:0", "local:two", "local:", "host:8786", "http://host:8786", "tcp://host"),
        *("tcp://host:99999", "tls://host:0"),
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ParameterError, match="Dask scheduler"):
        Cluster(address)


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named():
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9", timeout_s=0.2)


@pytest.mark.slow
def test_a_cluster_of_another_version_is_refused(cluster):
    with pytest.raises(
        ClusterError, match=r"the scheduler has tracearena .*, but this is tracearena 0\.0\.1"
    ):
        cluster._check_versions("0.0.1")


@pytest.mark.slow
def test_a_scheduler_without_workers_is_named(monkeypatch):
    from distributed import LocalCluster

    def give_up(*_: object, **__: object) -> None:
        raise TimeoutError

    # A short time would be one for the scheduler too, which answers when the machine lets it.
    monkeypatch.setattr("distributed.Client.wait_for_workers", give_up)
    told = pytest.raises(ClusterError, match="has no workers; start some with: dask worker tcp://")
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty, told:
        Cluster(empty.scheduler_address, timeout_s=60)


@contextmanager
def lost_worker(worker_timeout_s: float) -> Iterator[tuple[Any, Cluster]]:
    """Give a cluster whose last worker has just gone."""
    from distributed import LocalCluster

    workers = LocalCluster(n_workers=1, processes=False, protocol="tcp://", dashboard_address="127.0.0.1:0")
    with workers, Cluster(workers.scheduler_address, worker_timeout_s=worker_timeout_s) as joined:
        workers.scale(0)
        while joined._client.nthreads():
            time.sleep(0.05)
        yield workers, joined


@pytest.mark.slow
@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_cluster_that_loses_its_last_worker_is_given_up(one_by_one):
    told = pytest.raises(ClusterError, match=r"at tcp://\S+ has had no workers for 0\.5 s; start some with:")
    with lost_worker(0.5) as (_, joined), use(cluster=joined), told:
        if one_by_one:
            run_blocks(lambda *_: 1, block_ranges(2, 1), anywhere=True, finished=lambda *_: None)
        else:
            joined.gather([joined.submit(os.getpid)])


@pytest.mark.slow
def test_a_worker_that_comes_back_in_time_goes_on():
    with lost_worker(60) as (workers, joined):
        threading.Timer(1.5, workers.scale, [1]).start()
        assert joined.gather([joined.submit(os.getpid)]) == [os.getpid()]


@pytest.mark.slow
def test_a_scheduler_may_have_no_dashboard():
    from distributed import LocalCluster

    plain = LocalCluster(
        n_workers=1,
        processes=False,
        protocol="tcp://",
        scheduler_kwargs={"dashboard": False},
        dashboard_address="127.0.0.1:0",
    )
    with plain, Cluster(plain.scheduler_address) as joined:
        assert joined.dashboard is None


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"tracearena\[cluster\]"):
        Cluster("local:2")


@pytest.mark.slow
def test_libraries_in_a_worker_use_one_thread(cluster):
    def most_threads(*_: int) -> int:
        import numpy as np
        from threadpoolctl import threadpool_info, threadpool_limits

        threadpool_limits(2)  # as a worker without Dask's own settings would have it
        np.ones((2, 2)) @ np.ones((2, 2))
        from tracearena.engine import cluster as module

        module._limit_library_threads.cache_clear()
        module._limit_library_threads()
        return max(library["num_threads"] for library in threadpool_info())

    with use(cluster=cluster):
        assert run_blocks(most_threads, block_ranges(2, 1), anywhere=True) == [1, 1]


@pytest.mark.slow
def test_an_interrupt_is_not_for_the_workers(cluster):
    [before] = cluster.gather([cluster.submit(os.getpid, worker=cluster.workers[0])])
    os.kill(before, signal.SIGINT)
    [after] = cluster.gather([cluster.submit(os.getpid, worker=cluster.workers[0])])
    assert after == before


@pytest.mark.slow
def test_the_dashboard_has_an_address(cluster):
    assert cluster.dashboard.startswith("http://")
    assert cluster.dashboard.endswith("/status")


@pytest.mark.slow
def test_workers_beside_us_listen_to_this_machine_only(cluster):
    import psutil

    us = psutil.Process()
    family = [us, *us.children(recursive=True)]
    heard = [one.laddr for process in family for one in process.net_connections() if one.status == "LISTEN"]
    ports = {int(worker.rpartition(":")[2]) for worker in (*cluster.workers, cluster.scheduler)}
    assert ports <= {at.port for at in heard}
    assert {at.ip for at in heard} == {"127.0.0.1"}


def test_shares_of_nothing_are_none_and_nobody_gets_none():
    assert split_evenly(0, 3) == []
    with pytest.raises(ParameterError, match="parts"):
        split_evenly(5, 0)
