"""Training, saving, going on, and what must not change the result."""

from __future__ import annotations

import json
import zipfile
from functools import partial

import numpy as np
import pytest
from tests.threads import on_threads

from tracearena.engine import use
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf.gibbs import Factors
from tracearena.traces import Places, Traces

SMALL = {"factors": 3, "alpha": 20, "iterations": 12, "zero_transitions": 20, "zero_visits": 20}


def same(a: Factors, b: Factors) -> bool:
    names = ("users", "places", "next_places", "slots")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


@pytest.fixture(scope="module")
def trained(checkins: Traces) -> PPMTF:
    return PPMTF(**SMALL).fit(checkins, seed=7)


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(make_walks):
    walks = make_walks(users=600, days=1)
    models = [
        on_threads(threads, lambda: PPMTF(**SMALL | {"iterations": 3}).fit(walks, seed=5))
        for threads in (1, 2, 5)
    ]
    assert same(models[0].transition_factors_, models[1].transition_factors_)
    assert same(models[0].transition_factors_, models[2].transition_factors_)
    synthetic = [
        on_threads(threads, partial(model.synthesize, 2, seed=3))
        for model, threads in zip(models, (1, 2, 5), strict=True)
    ]
    assert synthetic[0] == synthetic[1] == synthetic[2]
    other = PPMTF(**SMALL | {"iterations": 3}).fit(walks, seed=6)
    assert not same(models[0].transition_factors_, other.transition_factors_)


def test_synthetic_traces_are_whole_days_of_the_training_users(trained, checkins):
    synthetic = trained.synthesize(3, seed=1)
    assert synthetic.is_complete
    assert synthetic.span == (0, 3 * 24)
    assert np.array_equal(synthetic.user_ids, checkins.user_ids)
    assert synthetic.places == checkins.places
    assert synthetic.clock.first_day is None


def test_a_user_is_found_where_she_was(checkins, trained):
    """Synthetic visits of a user resemble her own check-ins more than another user's."""
    synthetic = PPMTF(**SMALL | {"iterations": 60, "alpha": 200, "factors": 8}).fit(checkins, seed=1)
    visits = np.apply_along_axis(np.bincount, 1, synthetic.synthesize(5, seed=2).dense(), minlength=12)
    offsets, place, count = checkins.visit_counts()
    own = np.zeros((31, 12))
    own[np.repeat(np.arange(31), np.diff(offsets)), place] = count
    overlap = (visits / visits.sum(1, keepdims=True)) @ (own / np.maximum(own.sum(1, keepdims=True), 1)).T
    present = slice(0, 30)
    mine, others = np.diag(overlap)[present].mean(), overlap[present, present].mean()
    assert mine > 2 * others


def test_a_model_comes_back_from_its_file(trained, tmp_path):
    trained.save(tmp_path / "model.npz")
    again = PPMTF.load(tmp_path / "model.npz")
    assert repr(again) == repr(trained)
    assert same(again.transition_factors_, trained.transition_factors_)
    assert again.synthesize(2, seed=4) == trained.synthesize(2, seed=4)
    assert again.error_ == trained.error_
    for mine, theirs in zip(again.transition_factors_.psi, trained.transition_factors_.psi, strict=True):
        assert np.array_equal(mine.precision, theirs.precision)


@pytest.mark.parametrize("shared", [True, False])
def test_interrupted_training_goes_on_to_the_same_model(checkins, tmp_path, shared):
    whole = PPMTF(**SMALL, shared_factors=shared).fit(checkins, seed=9)
    path = tmp_path / "model.npz"

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), use(progress=stop):
        PPMTF(**SMALL, shared_factors=shared).fit(checkins, seed=9, checkpoint=path)
    assert PPMTF.load(path).iteration_ == 5
    resumed = PPMTF(**SMALL, shared_factors=shared).fit(checkins, checkpoint=path)
    assert same(resumed.transition_factors_, whole.transition_factors_)
    assert same(resumed.visit_factors_, whole.visit_factors_)
    assert resumed.error_ == whole.error_
    assert PPMTF.load(path).iteration_ == 12


def test_a_checkpoint_of_other_data_parameters_or_seed_is_refused(checkins, make_walks, tmp_path, trained):
    path = tmp_path / "model.npz"
    trained.save(path)
    with pytest.raises(DataError, match="other traces"):
        PPMTF(**SMALL).fit(checkins.take_users(np.arange(10)), checkpoint=path)
    with pytest.raises(ParameterError, match="alpha = 20, not 21"):
        PPMTF(**SMALL | {"alpha": 21}).fit(checkins, checkpoint=path)
    with pytest.raises(ParameterError, match="another seed"):
        PPMTF(**SMALL).fit(checkins, seed=8, checkpoint=path)
    with pytest.raises(ParameterError, match="already has 12 iterations"):
        PPMTF(**SMALL | {"iterations": 6}).fit(checkins, checkpoint=path)


def test_factors_apart_share_nothing(checkins):
    model = PPMTF(**SMALL, shared_factors=False).fit(checkins, seed=1)
    assert model.transition_factors_ is not model.visit_factors_
    assert model.transition_factors_.slots.shape == (0, 3)
    assert model.visit_factors_.next_places.shape == (0, 3)
    assert model.synthesize(seed=1).is_complete
    with pytest.raises(ParameterError, match="there are two"):
        model.export_parameters("nowhere")


@pytest.mark.parametrize("damage", ["text", "cut", "pickle", "version", "shape", "missing", "nan"])
def test_a_damaged_model_file_is_refused(trained, tmp_path, damage):
    path = tmp_path / "model.npz"
    trained.save(path)
    if damage == "text":
        path.write_text("no model")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(str(arrays["header"]))
        if damage == "pickle":
            arrays["user_ids"] = np.array([{}], dtype=object)
        elif damage == "version":
            header["version"] = 99
        elif damage == "shape":
            arrays["0_places"] = arrays["0_places"][1:]
        elif damage == "missing":
            del arrays["0_slots"]
        else:
            arrays["0_users"] = np.full_like(arrays["0_users"], np.nan)
        np.savez(path, **arrays | {"header": np.array(json.dumps(header))})
    with pytest.raises(FileError, match=r"model\.npz"):
        PPMTF.load(path)


def test_a_small_file_cannot_unpack_to_a_large_model(tmp_path):
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.npy", b"0" * 10_000_000)
    with pytest.raises(FileError, match="too large, unpacked"):
        PPMTF.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("factors", 0),
        ("factors", 2.5),
        ("alpha", 0),
        ("alpha", float("nan")),
        ("alpha", float("inf")),
        ("iterations", 0),
        ("zero_visits", -1),
        ("nu0", 3),
        ("smallest", 0.0),
        ("scatter", "round"),
        ("transition_zeros", 0.5),
        ("visit_zeros", 0.5),
    ],
)
def test_parameters_without_meaning_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        PPMTF(**{name: value})


def test_training_settles_and_says_so(checkins):
    model = PPMTF(**SMALL | {"iterations": 80}).fit(checkins, seed=1)
    report = model.convergence()
    assert report.iterations == 80 == len(model.error_)
    assert report.settled
    assert model.error_[-1] < model.error_[0]
    assert not PPMTF(**SMALL | {"iterations": 2}).fit(checkins, seed=1).convergence().settled


def test_nothing_can_be_learned_from_nothing_nor_drawn_from_an_untrained_model(checkins):
    with pytest.raises(DataError, match="at least one user"):
        PPMTF().fit(checkins.keep(np.zeros(len(checkins), bool)))
    with pytest.raises(DataError, match="not trained"):
        PPMTF().synthesize()


def test_log_likelihoods_need_whole_days_of_known_users(trained, checkins):
    with pytest.raises(DataError, match="whole days"):
        trained.log_likelihoods(checkins)
    strangers = trained.synthesize(seed=1).with_user_ids(np.arange(100, 131))
    with pytest.raises(DataError, match="user 100 is not one"):
        trained.log_likelihoods(strangers)
    elsewhere = Traces.from_dense(
        [[0] * 24], Places([0.0], [0.0]), checkins.clock, user_ids=checkins.user_ids[:1]
    )
    with pytest.raises(DataError, match=f"1 places, but the model has {len(checkins.places)}"):
        trained.log_likelihoods(elsewhere)


@pytest.mark.slow
def test_tokyo_training_reaches_the_published_error(tokyo, tokyo_training):
    """100 iterations reconstruct the published positive counts about as well as the published factors."""
    from tracearena.mobility import transition_counts

    ours = PPMTF(iterations=60).fit(tokyo_training, seed=1).transition_factors_
    theirs = PPMTF.import_parameters(tokyo, tokyo_training).transition_factors_
    counts = transition_counts(tokyo_training)

    def error(f: Factors) -> float:
        expected = (f.users[counts.users] * f.places[counts.i] * f.next_places[counts.j]).sum(axis=1)
        return float(np.sqrt(np.mean((counts.counts - expected) ** 2)))

    assert error(ours) == pytest.approx(error(theirs), rel=0.1)
