"""Bounds decide who could have made a trace as the whole sums do, on borders and on odd models too."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.synthesis.ppmtf import _deniability_kernels, _gibbs_kernels
from tracearena.synthesis.ppmtf.deniability import (
    ExactVerifierCounter,
    VerifierScan,
    bucket_of,
    estimate_own_likelihoods,
    is_bounded,
)
from tracearena.synthesis.ppmtf.generation import TraceModel

PLACES, SLOTS, INSTANTS, USERS = 37, 4, 12, 150


def model(kind: str, rng: np.random.Generator) -> TraceModel:
    """Factors as training leaves them, and some that it never would."""
    shapes = [(USERS, 5), (PLACES, 5), (PLACES, 5), (SLOTS, 5)]
    if kind == "positive":
        a, b, c, d = (rng.random(shape) for shape in shapes)
    else:
        a, b, c, d = (rng.normal(0.2, 0.5, shape) for shape in shapes)
    if kind == "alike":
        a[:] = a[0] * (1 + 1e-9 * rng.random((USERS, 1)))
    elif kind == "nobody goes anywhere":
        a[::3] = 0
    elif kind == "cancelling":
        a[:, 1], b[:, 1], c[:, 1] = -a[:, 0], b[:, 0], c[:, 0] * (1 + 1e-6)
    elif kind == "far apart":
        a *= 10.0 ** rng.uniform(-6, 2, (USERS, 1))
    elif kind == "huge":
        a *= 1e9
    smallest = 1e-40 if kind == "tiny phi" else 1e-8
    slot_of = np.arange(INSTANTS) * SLOTS // INSTANTS
    return TraceModel(a, b, c, a, b, d, slot_of, smallest)


KINDS = ["positive", "signed", "alike", "nobody goes anywhere", "cancelling", "far apart", "huge", "tiny phi"]


def traces(whole: TraceModel, days: int = 1) -> tuple[np.ndarray, np.ndarray]:
    table = whole.draw(days, np.random.SeedSequence(3)).reshape(-1, INSTANTS)
    strange = np.random.default_rng(4).integers(0, PLACES, (60, INSTANTS)).astype(np.int32)
    stays = np.repeat(np.arange(20, dtype=np.int32)[:, None], INSTANTS, axis=1)
    owner = np.concatenate([np.repeat(np.arange(USERS), days), np.arange(60), np.arange(20)])
    return np.concatenate([table, strange, stays]), owner


def both(whole: TraceModel, table, owner, running, bucket, eta) -> tuple[np.ndarray, np.ndarray]:
    """k′ by bounds, and by the whole sums alone."""
    everyone = np.arange(USERS)
    by_bounds = VerifierScan(whole, table, owner, running, bucket, eta).count(everyone)
    slowly = np.zeros(len(table), np.int32)
    ExactVerifierCounter(whole, table, owner, bucket, eta).count(
        np.arange(len(table)), everyone, whole.users, whole.visit_users, slowly
    )
    return by_bounds, 1 + slowly


@pytest.mark.parametrize("eta", [1e-9, 0.01, 1.0, 7.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_count_as_the_whole_sums_do(kind, eta):
    whole = model(kind, np.random.default_rng(1))
    table, owner = traces(whole)
    running = whole.log_likelihoods(table, owner)
    by_bounds, slowly = both(whole, table, owner, running, bucket_of(running[:, -1], eta), eta)
    assert np.array_equal(by_bounds, slowly)
    assert is_bounded(whole) == (kind not in ("huge", "tiny phi"))


@pytest.mark.parametrize("kind", ["positive", "signed"])
def test_bounds_leave_little_to_the_whole_sums(kind, monkeypatch):
    whole = model(kind, np.random.default_rng(1))
    table, owner = traces(whole)
    running = whole.log_likelihoods(table, owner)
    asked: list[int] = []
    monkeypatch.setattr(ExactVerifierCounter, "count", lambda self, of, *rest: asked.append(len(of)))
    bucket = bucket_of(running[:, -1], 1.0)
    VerifierScan(whole, table, owner, running, bucket, 1.0).count(np.arange(USERS))
    assert sum(asked) < 0.05 * len(table) * USERS, "most are to be decided by bounds"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.long) for one in range(1, 6))])
def test_likelihoods_on_the_border_of_a_bucket_fall_where_the_whole_sums_say(seed, monkeypatch):
    """η is chosen so that many verifiers' likelihoods lie on borders, to the last bits."""
    rng = np.random.default_rng(seed)
    whole = model("signed", rng)
    table, _ = traces(whole)
    asked: list[int] = []
    count = ExactVerifierCounter.count
    monkeypatch.setattr(
        ExactVerifierCounter, "count", lambda self, of, *rest: (asked.append(len(of)), count(self, of, *rest))
    )
    for r in rng.permutation(len(table))[:5]:
        own = np.repeat(table[r : r + 1], USERS, axis=0)
        likelihood = whole.log_likelihoods(own, np.arange(USERS))
        for v in rng.permutation(USERS)[:6]:
            for eta in (-likelihood[v, -1] / 3, np.nextafter(-likelihood[v, -1] / 3, 0)):
                bucket = np.full(USERS, 3.0)
                asked.clear()
                by_bounds, slowly = both(whole, own, np.full(USERS, -1), likelihood, bucket, eta)
                assert np.array_equal(by_bounds, slowly)
                assert len(asked) > 1, "nothing was left open on a border"


@pytest.mark.parametrize("kind", KINDS[:6])
def test_bounds_of_a_trace_under_its_own_user_hold_and_are_tight(kind):
    whole = model(kind, np.random.default_rng(5))
    table, owner = traces(whole)
    exact = whole.log_likelihoods(table, owner)
    near, low, high = whole.bound_log_likelihoods(table, owner)
    room = 1e-9 * (1 + np.abs(low))
    assert (low - room <= exact[:, -1]).all()
    assert (exact[:, -1] <= high + room).all()
    assert np.median(high - low) < 1e-3 or kind == "cancelling"
    assert np.median(np.abs(near - exact)) < 1e-3 or kind == "cancelling"


@pytest.mark.parametrize("eta", [1e-9, 1e-4, 0.01, 1.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_is_in_the_bucket_of_its_exact_likelihood(kind, eta, monkeypatch):
    whole = model(kind, np.random.default_rng(6))
    table, owner = traces(whole)
    exact = whole.log_likelihoods(table, owner)
    weighed: list[int] = []
    weigh = TraceModel.log_likelihoods

    def noted(self, of, users):
        weighed.append(len(of))
        return weigh(self, of, users)

    monkeypatch.setattr(TraceModel, "log_likelihoods", noted)
    _, own = estimate_own_likelihoods(whole, table, owner, eta)
    assert np.array_equal(bucket_of(own, eta), bucket_of(exact[:, -1], eta))
    if kind in ("positive", "signed") and eta == 1:
        assert sum(weighed) < 0.05 * len(table), "most are to be told by bounds"


@pytest.mark.parametrize("seed", range(3))
def test_a_trace_on_the_border_of_its_bucket_is_weighed_exactly(seed):
    whole = model("signed", np.random.default_rng(seed))
    table, owner = traces(whole)
    exact = whole.log_likelihoods(table, owner)[:, -1]
    for r in range(0, len(table), 9):
        for eta in (-exact[r] / 3, np.nextafter(-exact[r] / 3, 0), np.nextafter(-exact[r] / 3, 9)):
            _, own = estimate_own_likelihoods(whole, table[r : r + 1], owner[r : r + 1], float(eta))
            assert bucket_of(own, eta) == bucket_of(exact[r], eta)


def test_bounds_of_row_sums_hold_and_are_tight():
    for kind in ("positive", "signed", "cancelling", "far apart"):
        whole = model(kind, np.random.default_rng(2))
        b, c = whole.places, whole.next_places
        ct = np.ascontiguousarray(c.T)
        low, high, exact = (np.empty(PLACES) for _ in range(3))
        for a in whole.users:
            _gibbs_kernels.sum_clamped_rows(a, b, ct, whole.smallest, exact)
            sizes = np.abs(c).sum(axis=0)
            _deniability_kernels.bound_row_sums(a, b, ct.astype(np.float32), sizes, whole.smallest, low, high)
            assert (low <= exact).all()
            assert (exact <= high).all()
            assert np.median(high / low) < 1.001 or kind == "cancelling"


def test_bounds_of_stays_hold():
    """Against the diagonal of the whole matrices."""
    whole = model("signed", np.random.default_rng(5))
    b, c = whole.places, whole.next_places
    bt, ct = (np.ascontiguousarray(m.T.astype(np.float32)) for m in (b, c))
    lengths = [np.sqrt((m * m).sum(axis=1)).astype(np.float32) for m in (b, c)]
    low, high = np.empty(PLACES), np.empty(PLACES)
    upper, lower = np.full((SLOTS, PLACES), -1.0), np.full((SLOTS, PLACES), -1.0)
    wanted = np.ones((SLOTS, PLACES), np.bool_)
    wanted[1, ::2] = False
    for user in range(0, USERS, 7):
        a = whole.users[user]
        visits = np.maximum((a * whole.slots) @ b.T, whole.smallest)
        _deniability_kernels.bound_row_sums(a, b, ct, np.abs(c).sum(axis=0), whole.smallest, low, high)
        given = (a, b, c, bt, ct, *lengths, visits, visits.astype(np.float32), whole.smallest)
        for side, sums, bound in (
            (_deniability_kernels.UPPER, high, upper),
            (_deniability_kernels.LOWER, low, lower),
        ):
            _deniability_kernels.bound_stays(side, *given, (1 / sums).astype(np.float32), wanted, bound)
        for slot in range(SLOTS):
            stays = np.diag(whole.transition_probabilities(user, slot))
            asked = wanted[slot]
            assert (lower[slot] <= stays)[asked].all()
            assert (stays <= upper[slot])[asked].all()
    assert (upper[1, ::2] == -1).all()


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_rounds_stop_at_k_whatever_their_size(k):
    whole = model("signed", np.random.default_rng(6))
    table, owner = traces(whole)
    running = whole.log_likelihoods(table, owner)
    scan = VerifierScan(whole, table, owner, running, bucket_of(running[:, -1], 2.0), 2.0)
    everyone = np.random.default_rng(7).permutation(USERS)
    exact = scan.count(everyone)
    for rounds in ((1, 1), (3, 40), (256, 2048)):
        assert np.array_equal(scan.count(everyone, k, rounds=rounds), np.minimum(exact, k))
        assert np.array_equal(scan.count(everyone, rounds=rounds), exact)


@pytest.mark.parametrize("k", [None, 5])
def test_counting_goes_on_wherever_it_was_left(k):
    whole = model("signed", np.random.default_rng(6))
    table, owner = traces(whole)
    running = whole.log_likelihoods(table, owner)
    scan = VerifierScan(whole, table, owner, running, bucket_of(running[:, -1], 2.0), 2.0)
    everyone = np.random.default_rng(7).permutation(USERS)
    left: list[tuple[int, np.ndarray]] = []

    def finished(done: int, counts: np.ndarray) -> None:
        left.append((done, counts.copy()))

    at_once = scan.count(everyone, k, finished=finished, rounds=(256, 31))
    assert [done for done, _ in left] == [31, 62, 93, 124, 150]
    for done, counts in left:
        assert np.array_equal(scan.count(everyone, k, done=done, counts=counts), at_once)
