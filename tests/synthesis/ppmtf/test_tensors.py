"""Which cells the sampler sees: kept, cut and drawn."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.mobility import SparseTensor, transition_counts, visit_counts
from tracearena.synthesis.ppmtf._gibbs_kernels import sample_zeros
from tracearena.synthesis.ppmtf.tensors import trim_tensor, truncate_tensor
from tracearena.traces import Clock, Places, Traces


def cells(tensor: SparseTensor) -> dict[tuple[int, int, int], int]:
    keys = zip(tensor.users.tolist(), tensor.i.tolist(), tensor.j.tolist(), strict=True)
    return dict(zip(keys, tensor.counts.tolist(), strict=True))


def zeros_of(positive: list[int], n_cells: int, wanted: int, seed: int) -> np.ndarray:
    uniforms = np.random.default_rng(seed).random((1, wanted))
    out = np.empty(wanted, np.int64)
    written = sample_zeros(
        np.array(positive, np.int64), np.array([0, len(positive)]), n_cells, wanted, uniforms, out
    )
    return out[: written[0]]


@examples(60)
@given(st.integers(1, 60), st.integers(0, 80), st.data())
def test_zeros_are_different_cells_that_are_not_positive(n_cells, wanted, data):
    positive = sorted(data.draw(st.sets(st.integers(0, n_cells - 1))))
    zeros = zeros_of(positive, n_cells, wanted, 1)
    assert len(zeros) == len(set(zeros.tolist())) == min(wanted, n_cells - len(positive))
    assert not set(zeros.tolist()) & set(positive)
    assert all(0 <= cell < n_cells for cell in zeros)


def test_every_zero_cell_is_drawn_equally_often():
    positive, n_cells, wanted = [0, 3, 4, 11], 20, 5
    users = 40_000
    uniforms = np.random.default_rng(2).random((users, wanted))
    out = np.empty(users * wanted, np.int64)
    offsets = np.arange(users + 1) * len(positive)
    sample_zeros(np.tile(positive, users), offsets, n_cells, wanted, uniforms, out)
    counts = np.bincount(out, minlength=n_cells)
    free = np.setdiff1d(np.arange(n_cells), positive)
    assert counts[positive].sum() == 0
    expected = users * wanted / len(free)
    assert (np.abs(counts[free] - expected) < 5 * np.sqrt(expected)).all()
    pairs = np.sort(out.reshape(users, wanted), axis=1)
    together = sum(((pairs == a).any(axis=1) & (pairs == b).any(axis=1)).sum() for a, b in [(1, 2), (5, 19)])
    share = wanted * (wanted - 1) / (len(free) * (len(free) - 1))
    assert abs(together / (2 * users) - share) < 5 * np.sqrt(share / (2 * users))


def test_trimming_keeps_a_random_choice_with_full_counts(make_walks):
    tensor = visit_counts(make_walks(users=5, days=4))
    fewer = trim_tensor(tensor, 10, seed=1)
    before, after = cells(tensor), cells(fewer)
    assert after.items() <= before.items()
    assert np.diff(fewer.offsets).tolist() == [min(10, n) for n in np.diff(tensor.offsets).tolist()]
    assert cells(trim_tensor(tensor, 10, seed=1)) == after != cells(trim_tensor(tensor, 10, seed=2))
    assert trim_tensor(tensor, 10_000, seed=1) is tensor


def test_truncation_cuts_counts_only():
    places, clock = Places([0.0] * 5, range(5)), Clock(instants_per_day=9, instants_per_slot=3)
    traces = Traces.from_dense([[0] * 9, [1] * 9], places, clock)
    tensor = transition_counts(traces)
    assert tensor.counts.tolist() == [8, 8]
    assert truncate_tensor(tensor, 5).counts.tolist() == [5, 5]
