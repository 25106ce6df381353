"""All zero cells, with a weight each, cost nothing and count exactly."""

from __future__ import annotations

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.errors import ParameterError
from tracearena.mobility import SparseTensor
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.gibbs import Gaussian, draw_block, sum_target_statistics
from tracearena.synthesis.ppmtf.tensors import CellRules, WeightedCells, arrange_weighted

RULES = CellRules(positive=100, largest=3, zeros=7)
SCALES = (2.0, 0.5)


def tensor(counts: np.ndarray) -> SparseTensor:
    cells = np.nonzero(counts)
    return SparseTensor.from_cells(counts.shape, *cells, counts[cells])


def small(moves: bool = True, visits: bool = True) -> tuple[WeightedCells, np.ndarray, np.ndarray]:
    """Five users, six places, three slots; also every cell's weight and value as dense arrays."""
    rng = np.random.default_rng(3)
    parts = [rng.poisson(0.3, (5, 6, 6)), rng.poisson(0.5, (5, 6, 3))]
    given = [tensor(part) if wanted else None for part, wanted in zip(parts, (moves, visits), strict=True)]
    cells = arrange_weighted(given[0], given[1], (RULES, RULES), SCALES, rng)
    weights = []
    for part, scale in zip(parts, SCALES, strict=True):
        free = (part == 0).sum(axis=(1, 2), keepdims=True)
        weights.append(np.where(part > 0, 1.0, np.minimum(scale * 7 / free, 1)))
    kept = [number for number, wanted in enumerate((moves, visits)) if wanted]
    value = np.minimum(np.concatenate([parts[number] for number in kept], axis=2), 3)
    return cells, np.concatenate([weights[number] for number in kept], axis=2), value


@pytest.mark.parametrize(("moves", "visits"), [(True, True), (True, False), (False, True)])
def test_closed_forms_are_sums_over_all_cells(moves, visits):
    cells, weight, value = small(moves, visits)
    rng = np.random.default_rng(1)
    a, b, cd = (rng.normal(size=(n, 4)) for n in (5, 6, weight.shape[2]))
    x = np.einsum("ik,tk->itk", b, cd)
    assert np.allclose(cells.user_gram(b, cd), np.einsum("nit,itk,itl->nkl", weight, x, x))
    x = np.einsum("nk,tk->ntk", a, cd)
    assert np.allclose(cells.place_gram(a, cd), np.einsum("nit,ntk,ntl->ikl", weight, x, x))
    x = np.einsum("nk,ik->nik", a, b)
    assert np.allclose(cells.target_gram(a, b), np.einsum("nit,nik,nil->tkl", weight, x, x))
    assert np.allclose(sum_target_statistics(cells, a, b).weighted, np.einsum("nit,nik->tk", value, x))
    assert cells.weight == pytest.approx(weight.sum())


@pytest.mark.parametrize("users", [32_767, 40_000])
def test_users_are_numbered_twice_where_their_rows_need_more_than_16_bits(users):
    everyone, first = np.arange(users), np.zeros(users, int)
    moves, visits = (
        SparseTensor.from_cells((users, 2, n), everyone, first, first, first + 1) for n in (2, 3)
    )
    cells = arrange_weighted(moves, visits, (RULES, RULES), SCALES, np.random.default_rng(1))
    assert np.array_equal(cells.by_user.offsets, np.arange(2 * users + 1))


def test_the_error_reported_is_that_of_all_cells_by_weight():
    cells, weight, value = small()
    rng = np.random.default_rng(1)
    b, cd = rng.normal(size=(6, 4)), rng.normal(size=(9, 4))
    users, handed = draw_block(cells, b, cd, 5.0, Gaussian(np.zeros(4), np.eye(4)), rng)
    expected = np.einsum("nk,ik,tk->nit", users, b, cd)
    assert np.isclose(handed.squared_error, (weight * (value - expected) ** 2).sum())


def test_with_every_zero_drawn_both_ways_see_the_same_cells():
    """Where ρ is the number of zero cells, "sampled" takes all of them and "all" gives each weight 1."""
    rng = np.random.default_rng(5)
    moves = tensor(rng.poisson(0.3, (5, 6, 6)))
    rules = CellRules(zeros=1_000)
    cells = arrange_weighted(moves, None, (rules, rules), (1.0, 1.0), rng)
    assert (cells.zero_weight[0] == 1).all()
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(6, 3))
    x = np.einsum("nk,ik->nik", a, b)
    assert np.allclose(cells.target_gram(a, b), np.einsum("nik,nil->kl", x, x)[None])


@pytest.mark.parametrize("shared", [True, False])
def test_training_with_all_zeros_does_not_depend_on_threads(make_walks, shared):
    walks = make_walks(users=1_100, days=1)
    parameters = {"factors": 3, "iterations": 3, "zeros": "all", "shared_factors": shared}
    one, two = (on_threads(threads, lambda: PPMTF(**parameters).fit(walks, seed=5)) for threads in (1, 2))
    assert np.array_equal(one.transition_factors_.users, two.transition_factors_.users)
    assert np.array_equal(one.visit_factors_.slots, two.visit_factors_.slots)


def test_weights_are_checked_and_have_no_meaning_for_sampled_zeros():
    for bad in ({"transition_zeros": 0}, {"visit_zeros": -1}, {"visit_zeros": float("nan")}):
        with pytest.raises(ParameterError, match="greater than 0"):
            PPMTF(zeros="all", **bad)
    with pytest.raises(ParameterError, match="zeros='all'"):
        PPMTF(transition_zeros=3)
    with pytest.raises(ParameterError, match="sampled"):
        PPMTF(zeros="none")


@pytest.mark.slow
def test_tokyo_keeps_its_utility_with_all_zeros(tokyo_training, tokyo):
    """Within the spread of the paper's way over seeds, in a tenth of its time."""
    from tracearena.io.ppmtf import read_traces
    from tracearena.metrics import tm_emd, tp_tv

    testing = read_traces(tokyo / "testtraces_TK.csv", tokyo_training.places)
    synthetic = PPMTF(zeros="all").fit(tokyo_training, seed=2).synthesize(3, seed=2)
    assert tp_tv(testing, synthetic, by_day=True) < 0.44
    assert tm_emd(testing, synthetic, "x", by_day=True) < 2.05
    assert tm_emd(testing, synthetic, "y", by_day=True) < 2.05
