"""Attackers who are told the defence, and the bounds that nobody leaves."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracearena.algorithms import catalogue
from tracearena.arena import (
    ADAPTIVE_ATTACKS,
    SAMPLE_ATTACKS,
    STRONGEST_ATTACKS,
    Ensemble,
    SampleTeam,
    all_attacks,
    attack_names,
    bounds,
    make_attacks,
    pseudonymise,
    run_sweep,
    strongest,
    tune_weights,
    write_bounds,
    write_table,
)
from tracearena.arena.ensemble import Scoring
from tracearena.arena.privacy_bounds import InformedAttacker, UserLosses, find_trace_owners
from tracearena.attacks.bayesian import tracking
from tracearena.errors import ParameterError
from tracearena.metrics import trace_inference_score
from tracearena.obfuscation import Cheating, PlanarLaplace
from tracearena.traces import Traces

Walks = Callable[..., Traces]
PL = PlanarLaplace(l=4, r=1)


def test_an_adaptive_attack_is_the_attack_told_that_defence(make_walks: Walks) -> None:
    reference, original = make_walks(users=30, days=4).split_days(2)
    release = pseudonymise(PL.transform(original, seed=1), seed=2)
    adaptive, named = (
        Ensemble(make_attacks([f"{name}({word})" for name in ("Bayes-R", "Bayes-T", "Tracking-T")]))
        .fit(reference)
        .score(original, release, defence=PL, seed=3)
        for word in ("adaptive", "PL(4,1)")
    )
    assert list(adaptive.reidentification.values()) == list(named.reidentification.values())
    assert list(adaptive.trace_inference.values()) == list(named.trace_inference.values())


@pytest.mark.slow
def test_adaptive_attacks_of_one_defence_share_one_match(
    make_walks: Walks, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracearena.attacks.bayesian.matcher import BayesMatcher

    asked: list[str] = []
    match = BayesMatcher.match

    def counting(self: BayesMatcher, *arguments: object, **options: object) -> object:
        asked.append(str(self))
        return match(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(BayesMatcher, "match", counting)
    reference, original = make_walks(users=20, days=4).split_days(2)
    release = pseudonymise(PL.transform(original, seed=1), seed=2)
    ensemble = Ensemble(make_attacks([*STRONGEST_ATTACKS, "Bayes-T(PL(4,1))"])).fit(reference)
    ensemble.score(original, release, defence=PL, seed=3)
    assert sorted(asked) == ["Bayes(PL(4,1))", "Bayes(unknown)"]

    # Who comes to suspect the defence goes on as one who was told.
    asked.clear()
    followed: list[float] = []
    infer = tracking.infer_places

    def following(*arguments: Any, share: float) -> Any:
        followed.append(share)
        return infer(*arguments, share=share)

    monkeypatch.setattr(tracking, "infer_places", following)
    monkeypatch.setattr("tracearena.attacks.bayesian.matcher.detect_mechanism", lambda *_: PL)
    scores = ensemble.score(original, release, defence=PL, seed=3)
    assert asked == ["Bayes(PL(4,1))"]
    assert followed == [0.0, tracking.SETTINGS.transition_share]
    for name in ("Polya-R", "Bayes-R"):
        assert scores.reidentification[name] == scores.reidentification[f"{name}(adaptive)"]
    for name in ("Bayes-T", "Tracking-T"):
        assert scores.trace_inference[name] == scores.trace_inference[f"{name}(adaptive)"]


def test_an_attack_that_nobody_tells_fails_alone(make_walks: Walks) -> None:
    reference, original = make_walks(users=20, days=4).split_days(2)
    release = pseudonymise(PL.transform(original, seed=1), seed=2)
    ensemble = Ensemble(make_attacks(["VisitProb-R", "Bayes-R(adaptive)"])).fit(reference)
    scores = ensemble.score(original, release, seed=3)
    assert list(scores.reidentification) == ["VisitProb-R"]
    assert "needs to know the defence" in scores.failed["Bayes-R(adaptive)"]


def test_attacks_are_chosen_by_words() -> None:
    assert attack_names(["samples"]) == list(SAMPLE_ATTACKS)
    assert attack_names(["strongest", "Bayes-T"]) == list(STRONGEST_ATTACKS)
    assert attack_names(["Replay-T", "all"])[0] == "Replay-T"
    assert {*attack_names(["all"])} == {*all_attacks(), *ADAPTIVE_ATTACKS}


def test_scores_keep_the_order_of_the_attacks(make_walks: Walks) -> None:
    reference, original = make_walks(users=20, days=4).split_days(2)
    release = pseudonymise(PL.transform(original, seed=1), seed=2)
    names = ["Bayes-T(adaptive)", "Random-T", "Bayes-T", "Polya-R(adaptive)", "Random-R", "Polya-R"]
    scores = Ensemble(make_attacks(names)).fit(reference).score(original, release, defence=PL, seed=3)
    assert [*scores.trace_inference, *scores.reidentification] == names


def test_the_scoring_reaches_the_attacks() -> None:
    (attack, told) = make_attacks(["Bayes-T", "Habits-T(limit_km=1)"], sensitive_weight=3.0, limit_km=5.0)
    assert (attack.sensitive_weight, attack.limit_km) == (3.0, 5.0)
    assert (told.sensitive_weight, told.limit_km) == (3.0, 1)


def test_a_sweep_says_which_attack_won(make_walks: Walks, tmp_path: Path) -> None:
    rows = run_sweep(
        *make_walks(users=25, days=4).split_days(2),
        defences=["PL(4,1)"],
        attacks=["VisitProb-T", "Tracking-T(adaptive)", "Bayes-R", "Bayes-R(adaptive)"],
        seed=1,
    )
    write_table(rows, tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        (line,) = csv.DictReader(file)
    assert float(line[line["strongest_T"]]) == float(line["s_T_min"])
    assert float(line[line["strongest_R"]]) == float(line["s_R_min"])


def test_strongest_runs_the_defence_only_if_it_is_named(make_walks: Walks) -> None:
    reference, original = make_walks(users=12, days=4).split_days(2)
    release = pseudonymise(PL.transform(original, seed=1), seed=2)
    found = strongest(reference, original, release, defence=PL, seed=3)
    assert {*ADAPTIVE_ATTACKS} <= {*found.reidentification, *found.trace_inference}
    assert not found.failed


def test_a_killed_sweep_keeps_its_band(make_walks: Walks, tmp_path: Path) -> None:
    halves = make_walks(users=12, days=4).split_days(2)
    options = {"defences": ["No", "PL(4,1)"], "attacks": ["Replay-T"], "seed": 1, "band": True}
    whole = run_sweep(*halves, **options, unfinished=tmp_path / "kept")
    again = run_sweep(*halves, **options, unfinished=tmp_path / "kept")
    assert again == whole
    assert all(row.band is not None and row.band.estimate <= row.band.ceiling for row in again)


def test_losses_are_the_score_and_its_users(make_walks: Walks) -> None:
    reference, original = make_walks(users=15, days=4, missing=0.2).split_days(2)
    scoring = Scoring(sensitive_weight=4.0, inference_limit_km=3.0)
    (attack,) = make_attacks(["Habits-T"], **scoring.attacker_settings)
    release = pseudonymise(PL.transform(original, seed=1), seed=2)
    inferred = attack.fit(reference).infer(release.anonymized)
    losses = UserLosses.of(original, inferred, scoring)
    whole = trace_inference_score(original, inferred, sensitive_weight=4.0, limit_km=3.0)
    assert losses.score == pytest.approx(whole.trace_inference, abs=1e-12)
    for user in range(original.n_users):
        alone = original.take_users(np.arange(original.n_users) == user)
        one = trace_inference_score(alone, inferred, sensitive_weight=4.0, limit_km=3.0)
        assert losses.missed[user] / losses.weight[user] == pytest.approx(one.trace_inference, abs=1e-12)


@pytest.mark.slow
def test_an_interval_holds_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    truth, held = 0.3, 0
    for number in range(200):
        missed = rng.binomial(1, truth, 80).astype(float)
        found = UserLosses(missed, np.ones(80)).interval(number)
        held += found.low <= truth <= found.high
    assert 180 <= held <= 199


def test_differences_are_paired() -> None:
    rng = np.random.default_rng(2)
    missed, weight = rng.random(100), np.ones(100)
    found = UserLosses(missed + 0.01, weight).interval(1, UserLosses(missed, weight))
    assert (found.value, found.low, found.high) == pytest.approx((0.01, 0.01, 0.01))


def test_whose_whereabouts_a_trace_carries(make_walks: Walks) -> None:
    original = make_walks(users=12, days=4)
    release = pseudonymise(Cheating(share=1.0).transform(original, seed=1), seed=2)
    dense = original.dense()
    slow = [
        int(np.argmax([(trace == user).sum() for user in dense]))
        for trace in release.anonymized.codes.reshape(12, -1)
    ]
    assert find_trace_owners(release.anonymized, original).tolist() == slow


def test_being_told_who_is_who_is_worth_something(make_walks: Walks) -> None:
    reference, original = make_walks(users=30, days=4).split_days(2)
    told = InformedAttacker(Scoring()).fit(reference, original)
    plain = pseudonymise(catalogue.create("No").transform(original), seed=1)
    assert told.losses(plain, catalogue.create("No"), seed=1).score == pytest.approx(0, abs=1e-3)
    swapped = pseudonymise(Cheating(share=1.0).transform(original, seed=1), seed=1)
    assert told.losses(swapped, Cheating(share=1.0), seed=1).score == pytest.approx(0, abs=1e-3)


@pytest.mark.slow
def test_bounds_name_what_stands_outside(make_walks: Walks, tmp_path: Path) -> None:
    halves = make_walks(users=25, days=4).split_days(2)
    names = ["No", "PL(0.1,1)"]
    found = bounds(*halves, defences=names, attacks=["VisitProb-T", "VisitProb-R", "Habits-T"], seed=1)
    none, noise = found.defences
    assert not none.is_artefact
    assert noise.is_artefact
    assert found.artefacts == [noise]
    assert noise.above is not None
    assert noise.above.low > 0
    assert noise.strongest_T == "VisitProb-T", "re-identification and the ceiling itself are left out"
    rows = run_sweep(*halves, defences=names, attacks=["VisitProb-T", "Habits-T"], seed=1, band=True)
    assert [row.band.ceiling for row in rows if row.band] == [found.ceiling.value] * 2
    assert [row.band.estimate for row in rows if row.band] == [row.estimate.value for row in found.defences]
    assert rows[1].scores.trace_inference["VisitProb-T"] == pytest.approx(noise.s_T_min, abs=1e-12)
    write_bounds(found, tmp_path / "bounds.csv")
    with open(tmp_path / "bounds.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["defence"] for line in lines] == names
    assert float(lines[1]["above_ceiling"]) == noise.above.value


def test_weights_are_learnt_from_sample_teams(make_walks: Walks) -> None:
    def team(seed: int) -> SampleTeam:
        reference, original = make_walks(users=30, days=4, seed=seed).split_days(2)
        release = pseudonymise(PL.transform(original, seed=seed), seed=seed)
        return SampleTeam(reference, original, release.anonymized, release.id_table)

    found = tune_weights([team(1), team(2)], mechanism="PL(4,1)", seed=1)
    assert any(found.weights.values())
    target = team(3)
    attack = found.reidentification.fit(target.reference)
    match = attack.matcher_.match(target.anonymized, seed=1)
    assert {name: match.weights[name] for name in found.weights} == found.weights
    right = (attack.identify(target.anonymized, seed=1).user_ids == target.id_table.user_ids).mean()
    assert right > 5 / 30, "far more than the one of thirty that a guess finds"
    with pytest.raises(ParameterError, match="sample team"):
        tune_weights([])


@pytest.mark.parametrize(
    "weights", ["polya", (("polya", -1.0),), (("luck", 1.0),), (("home", 1.0), ("home", 2.0)), ((1, 2, 3),)]
)
def test_weights_of_nothing_are_refused(weights: object) -> None:
    with pytest.raises(ParameterError, match="weight"):
        catalogue.create("Bayes-R", weights=weights)
