"""Training, synthesis, testing and judging in a cluster give the bytes of this process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tracearena import io
from tracearena.arena import run_sweep
from tracearena.arena.evaluation import evaluate
from tracearena.cities import simulate
from tracearena.engine import Cluster, use
from tracearena.errors import FileError, ParameterError
from tracearena.io.formats import checkins
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import DeniabilityTest, PartitionedTraces, measure_deniability
from tracearena.traces import Traces

pytestmark = pytest.mark.slow
ALL_ZEROS = {"factors": 6, "iterations": 4, "zeros": "all"}


@pytest.fixture(scope="module")
def people() -> Traces:
    """Three blocks of users and a bit, with exact times."""
    return simulate(3_300, 10, mode="checkins", top=60, checkins_per_user=12.0, seed=1)


def saved(model: PPMTF, folder: Path) -> bytes:
    model.save(folder / "model.npz")
    return (folder / "model.npz").read_bytes()


@pytest.mark.parametrize(
    "parameters",
    [
        ALL_ZEROS,
        ALL_ZEROS | {"shared_factors": False},
        {"factors": 5, "iterations": 3, "zero_transitions": 50, "zero_visits": 50},
    ],
    ids=["all zeros", "apart", "sampled zeros"],
)
def test_a_model_trained_in_a_cluster_has_the_same_bytes(people, cluster, tmp_path, parameters):
    with use(threads=1):
        here = PPMTF(**parameters).fit(people, seed=7)
    with use(cluster=cluster):
        there = PPMTF(**parameters).fit(people, seed=7)
    assert saved(here, tmp_path) == saved(there, tmp_path)


@pytest.mark.parametrize("zeros", ["all", "sampled"])
def test_lean_training_has_the_same_bytes_and_keeps_no_cells(people, cluster, tmp_path, zeros):
    parameters = {"factors": 5, "iterations": 3, "zeros": zeros, "zero_transitions": 60, "zero_visits": 60}
    usual = PPMTF(**parameters).fit(people, seed=7)
    lean = PPMTF(**parameters).fit(people, seed=7, lean=True)
    with use(cluster=cluster):
        there = PPMTF(**parameters).fit(people, seed=7, lean=True)
    assert saved(usual, tmp_path) == saved(lean, tmp_path) == saved(there, tmp_path)


def test_training_goes_on_in_a_cluster_where_it_stopped_here(people, cluster, tmp_path):
    checkpoint = tmp_path / "half.npz"
    PPMTF(**ALL_ZEROS | {"iterations": 2}).fit(people, seed=7, checkpoint=checkpoint)
    with use(cluster=cluster):
        gone_on = PPMTF(**ALL_ZEROS).fit(people, checkpoint=checkpoint)
    assert saved(gone_on, tmp_path) == saved(PPMTF(**ALL_ZEROS).fit(people, seed=7), tmp_path)


@pytest.mark.parametrize("done_before", [2, *(pytest.param(one, marks=pytest.mark.long) for one in (1, 10))])
def test_a_worker_killed_in_the_middle_of_an_iteration_changes_nothing(people, tmp_path, done_before):
    """Ten iterations are submitted at once."""
    parameters = ALL_ZEROS | {"iterations": 12}
    here = PPMTF(**parameters).fit(people, seed=7)
    with Cluster("local:2") as own:
        [victim] = own.gather([own.submit(os.getpid, worker=own.workers[done_before % 2])])

        def kill(done: int, _: int) -> None:
            if done == done_before:
                os.kill(victim, signal.SIGKILL)

        with use(cluster=own, progress=kill):
            there = PPMTF(**parameters).fit(people, seed=7)
        after = own.gather([own.submit(os.getpid, worker=worker) for worker in own.workers])
    assert victim not in after
    assert saved(here, tmp_path) == saved(there, tmp_path)


def test_workers_begin_anew_from_here_every_tenth_iteration(people, cluster, tmp_path):
    here = PPMTF(**ALL_ZEROS | {"iterations": 23}).fit(people, seed=7)
    with use(cluster=cluster):
        there = PPMTF(**ALL_ZEROS | {"iterations": 23}).fit(people, seed=7)
    assert saved(there, tmp_path) == saved(here, tmp_path)


@pytest.mark.parametrize("where", ["here", "there"])
def test_an_interrupted_model_is_that_of_the_last_whole_iteration(people, cluster, tmp_path, where):
    def interrupt(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    used = {"cluster": cluster} if where == "there" else {}
    checkpoint = tmp_path / "half.npz"
    for given in ({}, {"checkpoint": checkpoint}):
        model = PPMTF(**ALL_ZEROS | {"iterations": 9})
        with pytest.raises(KeyboardInterrupt), use(progress=interrupt, **used):
            model.fit(people, seed=7, **given)
        whole = PPMTF(**ALL_ZEROS | {"iterations": 3}).fit(people, seed=7)
        assert model.iteration_ == len(model.error_) == 3
        assert np.array_equal(model.transition_factors_.users, whole.transition_factors_.users)
        assert model.synthesize(seed=1) == whole.synthesize(seed=1)
    with use(**used):
        finished = PPMTF(**ALL_ZEROS | {"iterations": 9}).fit(people, checkpoint=checkpoint)
    assert saved(finished, tmp_path) == saved(
        PPMTF(**ALL_ZEROS | {"iterations": 9}).fit(people, seed=7), tmp_path
    )


def test_synthesis_test_and_judgement_are_the_same(people, cluster):
    model = PPMTF(**ALL_ZEROS).fit(people, seed=7)
    synthetic = model.synthesize(2, seed=8)
    with use(cluster=cluster):
        assert model.synthesize(2, seed=8) == synthetic
    virtual = model.sample_users(150, 2, homes=True, only_seen=True, seed=9)
    with use(cluster=cluster):
        assert model.sample_users(150, 2, homes=True, only_seen=True, seed=9) == virtual

    some = synthetic.take_users(slice(0, 40))
    for early_stop in (False, True):
        test = DeniabilityTest(k=3, verifiers=90, early_stop=early_stop)
        here = measure_deniability(model, some, test, seed=10)
        with use(cluster=cluster):
            there = measure_deniability(model, some, test, seed=10)
        assert np.array_equal(here.k_prime, there.k_prime)

    training, testing = people.take_users(slice(0, 1_000)), people.take_users(slice(1_000, 2_000))
    few = synthetic.take_users(slice(0, 600))
    with use(cluster=cluster):
        assert evaluate(few, training, testing) == evaluate(few, training, testing)


def test_a_sweep_is_the_same(make_walks, cluster):
    reference, original = make_walks(1_200, 4, seed=2).split_days(2)
    tried = {
        "defences": ["No", "PL(1,1)", "RR(2)", "ClusterAveraging(0.7)"],
        "attacks": ["FuzzyCount-R", "HomeProb-T"],
    }
    here = run_sweep(reference, original, **tried, seed=3)
    seen: list[tuple[int, int]] = []
    with use(cluster=cluster, progress=lambda *at: seen.append(at)):
        there = run_sweep(reference, original, **tried, seed=3)
    assert [row.to_dict() for row in there] == [row.to_dict() for row in here]
    assert seen[-1] == (4, 4)


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory) -> Path:
    """The people in files of 1,024 users, with dates that begin on different days."""
    where = tmp_path_factory.mktemp("parts")
    for number, first in enumerate(range(0, people.n_users, 1_024)):
        part = people.take_users(slice(first, first + 1_024))
        io.write(part, where / f"part-{number}.parquet")
    return where


@pytest.mark.parametrize("zeros", ["all", "sampled"])
def test_files_that_workers_read_train_the_same_model(people, folder, cluster, tmp_path, zeros):
    parameters = ALL_ZEROS | {"zeros": zeros, "zero_transitions": 50, "zero_visits": 50}
    whole, _ = io.read(folder, places=people.places)
    parts = PartitionedTraces(folder, people.places, cluster)
    assert parts.report.rows == people.n_events
    here = PPMTF(**parameters).fit(whole, seed=7)
    for lean in (False, True):
        with use(cluster=cluster):
            there = PPMTF(**parameters).fit(parts, seed=7, lean=lean)
        assert saved(here, tmp_path) == saved(there, tmp_path)


def test_files_without_their_cluster_are_refused(people, folder, cluster):
    parts = PartitionedTraces(folder, people.places, cluster)
    with pytest.raises(ParameterError, match="trained on their cluster"):
        PPMTF(**ALL_ZEROS).fit(parts, seed=7)


def test_files_that_do_not_follow_each_other_are_refused(people, cluster, tmp_path):
    def refused(*ranges: tuple[int, int]) -> str:
        where = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        where.mkdir()
        for number, limits in enumerate(ranges):
            io.write(people.take_users(slice(*limits)), where / f"{number}.parquet")
        with pytest.raises(FileError) as error:
            PartitionedTraces(where, people.places, cluster)
        return str(error.value)

    assert "0.parquet: has 1,000 users, which is not a multiple of 1,024" in refused(
        (0, 1_000), (1_000, 1_100)
    )
    assert "1.parquet: begins with user 501, after user 1024" in refused((0, 1_024), (500, 900))
    assert "has no .parquet files" in refused()


def test_a_broken_file_is_named_by_who_reads_it(people, cluster, tmp_path):
    io.write(people.take_users(slice(0, 1_024)), tmp_path / "0.parquet")
    (tmp_path / "1.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(FileError, match=r"1\.parquet: .*broken Parquet file"):
        PartitionedTraces(tmp_path, people.places, cluster)


def test_a_file_that_a_worker_does_not_find_is_named(people, cluster, tmp_path):
    io.write(people.take_users(slice(0, 1_024)), tmp_path / "0.parquet")
    parts = PartitionedTraces(tmp_path, people.places, cluster)
    (tmp_path / "0.parquet").unlink()
    with pytest.raises(FileError, match=r"0\.parquet: cannot be found by a worker"), use(cluster=cluster):
        PPMTF(**ALL_ZEROS).fit(parts, seed=7)


def test_files_with_numbers_for_times_are_refused(make_walks, cluster, tmp_path):
    walks = make_walks(20, 2)
    checkins.write_partitions(walks, tmp_path / "walks")
    with pytest.raises(FileError, match=r"part-00000\.parquet: has numbers as times"):
        PartitionedTraces(tmp_path / "walks", walks.places, cluster)
