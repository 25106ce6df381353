import threading

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.engine import (
    block_ranges,
    child_seed,
    current_chunk_rows,
    run_blocks,
    seed_sequence,
    stream,
    thread_count,
    uniforms,
    use,
)
from tracearena.errors import ParameterError


def test_blocks_cover_everything_once() -> None:
    covered = [number for first, stop in block_ranges(17, 5) for number in range(first, stop)]
    assert covered == list(range(17))
    assert block_ranges(0, 5) == []


def test_results_come_in_block_order_for_any_number_of_threads() -> None:
    def work(block: int, first: int, stop: int) -> int:
        threading.Event().wait(0.002 * (5 - block))
        return first

    expected = [first for first, _ in block_ranges(10, 2)]
    assert [on_threads(n, lambda: run_blocks(work, block_ranges(10, 2))) for n in (1, 2, 5)] == [expected] * 3


def test_an_error_in_a_block_reaches_the_caller() -> None:
    def work(block: int, first: int, stop: int) -> None:
        raise KeyError(block)

    with pytest.raises(KeyError), use(threads=2):
        run_blocks(work, block_ranges(4, 1))


def test_progress_counts_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    with use(threads=2, progress=lambda done, total: seen.append((done, total))):
        run_blocks(
            lambda *_: None,
            block_ranges(3, 1),
            report=True,
        )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_environment_can_limit_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEARENA_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.setenv("TRACEARENA_THREADS", "many")
    with pytest.raises(ParameterError, match="TRACEARENA_THREADS"):
        thread_count()
    with pytest.raises(ParameterError), use(threads=0):
        thread_count()


def test_the_rows_of_a_chunk_hold_inside_the_block_alone() -> None:
    with use(chunk_rows=7):
        assert current_chunk_rows(100) == 7
        with use(threads=1):
            assert current_chunk_rows(100) == 7
        with use(chunk_rows=None):
            assert current_chunk_rows(100) == 100
    assert current_chunk_rows(100) == 100
    with pytest.raises(ParameterError, match="chunk_rows"), use(chunk_rows=0):
        pass


def test_streams_are_reproducible_and_different_from_each_other() -> None:
    root = seed_sequence(5)
    draws = {stream(root, *key).integers(2**60) for key in ((), (0,), (1,), (0, 0), (0, 1))}
    assert len(draws) == 5
    assert stream(child_seed(root, 3), 4).random() == stream(root, 3, 4).random()


def test_uniforms_do_not_depend_on_threads_or_on_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    many = uniforms(seed_sequence(1), 200_000)
    monkeypatch.setenv("TRACEARENA_THREADS", "1")
    assert np.array_equal(uniforms(seed_sequence(1), 200_000), many)
    assert np.array_equal(uniforms(seed_sequence(1), 70_000), many[:70_000])
    assert 0 <= many.min() < many.max() < 1


def test_a_generator_moves_on() -> None:
    rng = np.random.default_rng(0)
    assert seed_sequence(rng).entropy != seed_sequence(rng).entropy


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed"):
        seed_sequence(seed)  # type: ignore[arg-type]
