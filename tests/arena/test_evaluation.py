"""The published tables of the PPMTF authors, to the digit; and what evaluation does elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracearena import io
from tracearena.arena import baselines, evaluate
from tracearena.io import ppmtf
from tracearena.metrics import tm_emd, tm_emd_sliced, tm_tv, tp_emd_sliced, tp_tv
from tracearena.traces import Clock, Places, Traces

SIX_DIGITS = 5e-7
PUBLISHED_NAMES = {
    "tp_tv": "TP-TV",
    "tp_tv_top50": "TP-TV-Top50",
    "tm_emd_x": "TM-EMD-X",
    "tm_emd_y": "TM-EMD-Y",
}


@pytest.fixture(scope="module")
def tokyo(shared_data: Path) -> Path:
    return shared_data / "ppmtf-tokyo"


@pytest.fixture(scope="module")
def people(tokyo: Path) -> tuple[Traces, Traces]:
    places = ppmtf.read_places(tokyo / "POI_TK.csv")
    names = ("traintraces_TK.csv", "testtraces_TK.csv")
    training, testing = (ppmtf.read_traces(tokyo / name, places) for name in names)
    return training, testing


@pytest.mark.parametrize(
    ("file", "table", "line"),
    [
        ("syntraces_ppmtf_Itr100.csv.gz", "PF_utilpriv_PPMTF_TK.csv", "PPMTF_TK_alp200_mnt100_mnv100"),
        ("syntraces_sgd_cn0.csv.gz", "PF_utilpriv_SGD_TK.csv", "syntraces_cn0.csv"),
        (
            "syntraces_sglt_c100_1.csv.gz",
            "PF_utilpriv_SGLT_TK.csv",
            "data_n500_m400_t30_c100_0.25_0.75_1_4_syntraces.csv",
        ),
    ],
)
def test_published_utility_and_privacy_to_six_digits(
    shared_data: Path, people: tuple[Traces, Traces], file: str, table: str, line: str
) -> None:
    training, testing = people
    path = shared_data / "ppmtf-tokyo" / file
    synthetic = ppmtf.read_synthetic(path, training.places, training.clock).traces
    found = evaluate(synthetic, training, testing, legacy_ppmtf=True).to_dict()
    lines = ppmtf.read_utility_and_privacy(shared_data / "published-results" / table)
    published = next(one for one in lines if line in (one["tracedir"], one["tracefile"]))
    for ours, theirs in PUBLISHED_NAMES.items():
        assert found[ours] == pytest.approx(published[f"{theirs}_syn"], abs=SIX_DIGITS)
    assert found["reidentification_rate"] == pytest.approx(published["reid_rate"], abs=SIX_DIGITS)
    assert found["membership_accuracy"] == pytest.approx(published["MIA_acc"], abs=SIX_DIGITS)
    assert found["membership_advantage"] == pytest.approx(published["MIA_adv"], abs=SIX_DIGITS)
    assert found["vf_tv"] is None


def test_published_baselines_to_six_digits(shared_data: Path, people: tuple[Traces, Traces]) -> None:
    found = baselines(*people)
    published = ppmtf.read_utility_and_privacy(shared_data / "published-results" / "PF_utilpriv_SGD_TK.csv")[
        0
    ]
    for name, suffix in (("training", "tra"), ("uniform", "uni")):
        for ours, theirs in PUBLISHED_NAMES.items():
            value = getattr(found[name], ours)
            assert value == pytest.approx(published[f"{theirs}_{suffix}"], abs=SIX_DIGITS)


def test_published_sliced_distances_of_testing_against_training(people: tuple[Traces, Traces]) -> None:
    training, testing = people
    assert tp_emd_sliced(training, testing) == pytest.approx(0.320403, abs=SIX_DIGITS)
    assert tm_emd_sliced(training, testing) == pytest.approx(0.622255, abs=SIX_DIGITS)
    assert tm_tv(training, testing) == pytest.approx(0.299513, abs=SIX_DIGITS)


@pytest.mark.slow
def test_chaining_the_days_changes_membership_only(people: tuple[Traces, Traces], tokyo: Path) -> None:
    training, testing = people
    path = tokyo / "syntraces_ppmtf_Itr100.csv.gz"
    synthetic = ppmtf.read_synthetic(path, training.places, training.clock).traces
    chained = evaluate(synthetic, training, testing, legacy_ppmtf=True).to_dict()
    apart = evaluate(synthetic, training, testing).to_dict()
    changed = {name for name in apart if apart[name] != chained[name]}
    assert changed == {"membership_advantage", "membership_accuracy"}


def test_the_utility_of_synthetic_days_is_the_mean_distance_of_each_day(
    make_walks: Callable[..., Traces],
) -> None:
    training, testing, synthetic = (make_walks(seed=seed, missing=0.2) for seed in (1, 2, 3))
    found = evaluate(synthetic, training, testing).utility
    apart = {"reference": testing, "traces": synthetic, "by_day": True}
    assert found.tp_tv == pytest.approx(tp_tv(**apart))
    assert found.tp_tv_top50 == pytest.approx(tp_tv(**apart, top=50))
    assert found.tp_emd_sliced == pytest.approx(tp_emd_sliced(**apart))
    assert found.tm_tv == pytest.approx(tm_tv(**apart))
    assert found.tm_emd_x == pytest.approx(tm_emd(**apart, axis="x"))
    assert found.tm_emd_y == pytest.approx(tm_emd(**apart, axis="y"))
    assert found.tm_emd_sliced == pytest.approx(tm_emd_sliced(**apart))
    # Eight rows and columns of 20 bins: no distance is that of the other axis.
    assert found.tm_emd_x != pytest.approx(found.tm_emd_y)


def test_virtual_users_cannot_be_identified(make_walks: Callable[..., Traces]) -> None:
    training, testing = make_walks(seed=1), make_walks(seed=2)
    virtual = training.with_user_ids(np.arange(100, 112))
    assert evaluate(virtual, training, testing).reidentification_rate is None
    assert evaluate(training, training, testing).reidentification_rate is not None


def test_visit_fractions_are_for_check_ins_only(make_walks: Callable[..., Traces]) -> None:
    sampled = make_walks(seed=1)
    assert evaluate(sampled, sampled, sampled).utility.vf_tv is None
    check_ins = make_walks(seed=1, missing=0.3)
    assert evaluate(check_ins, check_ins, check_ins).utility.vf_tv is not None


def test_without_transitions_their_distances_have_no_meaning() -> None:
    places = Places([0, 1], [0, 1])
    once_a_day = Traces.from_dense([[0, 1], [1, 0]], places, Clock(instants_per_day=1))
    utility = evaluate(once_a_day, once_a_day, once_a_day).utility
    assert utility.tm_emd_x is utility.tm_emd_y is utility.tm_emd_sliced is None
    assert utility.tp_tv == 0


def test_evaluation_does_not_depend_on_threads(
    make_walks: Callable[..., Traces], monkeypatch: pytest.MonkeyPatch
) -> None:
    training, testing, synthetic = (make_walks(users=80, seed=seed) for seed in (1, 2, 3))
    answers = []
    for threads in ("1", "2"):
        monkeypatch.setenv("TRACEARENA_THREADS", threads)
        answers.append(evaluate(synthetic, training, testing))
    assert answers[0] == answers[1]


def test_check_ins_of_new_york_are_nearer_to_their_like_than_to_chance(shared_data: Path) -> None:
    path = shared_data / "gowalla-nyc.txt.gz"
    people, _ = io.read(path, top=1000, slot="2h", timezone="America/New_York")
    aside = np.random.default_rng(0).random(people.n_users) < 0.2
    found = baselines(people.take_users(~aside), people.take_users(aside))
    near, far = found["training"].to_dict(), found["uniform"].to_dict()
    assert all(near[name] < far[name] for name in near)
