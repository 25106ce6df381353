"""Many attacks at once answer as each would alone."""

from collections.abc import Callable

import pytest

from tracearena.arena import Ensemble, all_attacks, make_attacks, pseudonymise, run_sweep, strongest
from tracearena.attacks import VisitProbabilityR
from tracearena.errors import ParameterError
from tracearena.obfuscation import MRLH, PlanarLaplace
from tracearena.traces import Traces

NAMES = ["Random-R", "VisitProb-R", "HomeProb-R", "Random-T", "VisitProb-T", "HomeProb-T", "Replay-T"]


def test_company_does_not_change_an_attack(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=40, days=4).split_days(2)
    release = pseudonymise(MRLH(mu_x=1, mu_y=1, deletion=0.2).transform(original, seed=1), seed=2)
    together = Ensemble(make_attacks(NAMES)).fit(reference).score(original, release, seed=3).to_dict()
    for name in NAMES:
        alone = Ensemble(make_attacks([name])).fit(reference).score(original, release, seed=3).to_dict()
        assert alone[name] == together[name]
    assert together["s_R_min"] == min(together[name] for name in NAMES if name.endswith("-R"))
    assert together["s_T_min"] == min(together[name] for name in NAMES if name.endswith("-T"))


def test_equal_matchers_are_fitted_once(make_walks: Callable[..., Traces]) -> None:
    ensemble = Ensemble(make_attacks(NAMES)).fit(make_walks(days=2))
    assert len(ensemble.matchers_) == 2


def test_without_attacks_nothing_is_known_of_privacy(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(days=4).split_days(2)
    release = pseudonymise(MRLH(mu_x=0, mu_y=0, deletion=0).transform(original), seed=1)
    scores = Ensemble([]).fit(reference).score(original, release)
    assert (scores.s_R_min, scores.s_T_min) == (None, None)


def test_an_attack_named_twice_is_refused() -> None:
    with pytest.raises(ParameterError, match="twice"):
        Ensemble([VisitProbabilityR(), VisitProbabilityR()])


def test_a_defence_is_no_attack() -> None:
    with pytest.raises(
        ParameterError, match="PL is a defence for events at places; a re-identification attack"
    ):
        make_attacks(["PL(1,1)"])


def test_a_sweep_does_not_depend_on_threads_or_on_the_other_rows(
    make_walks: Callable[..., Traces], monkeypatch: pytest.MonkeyPatch
) -> None:
    walks = make_walks(users=40, days=4).split_days(2)
    many = run_sweep(*walks, defences=["No", "RR(2)", "PL(4,1)"], seed=5)
    monkeypatch.setenv("TRACEARENA_THREADS", "1")
    assert run_sweep(*walks, defences=["PL(4,1)"], seed=5) == [many[2]]


@pytest.mark.slow
def test_the_strongest_of_all_attacks_is_the_minimum_over_each_alone(
    make_walks: Callable[..., Traces],
) -> None:
    reference, original = make_walks(users=40, days=4).split_days(2)
    release = pseudonymise(PlanarLaplace(l=4, r=1).transform(original, seed=1), seed=2)
    found = strongest(reference, original, release, seed=3)
    alone = [
        Ensemble([attack]).fit(reference).score(original, release, seed=3)
        for attack in make_attacks(all_attacks())
    ]
    assert found.s_R_min == min(scores.s_R_min for scores in alone if scores.s_R_min is not None)
    assert found.s_T_min == min(scores.s_T_min for scores in alone if scores.s_T_min is not None)
    best_r, best_t = found.strongest
    assert found.reidentification[str(best_r)] == found.s_R_min
    assert found.trace_inference[str(best_t)] == found.s_T_min
    assert {*found.reidentification, *found.trace_inference} == {*all_attacks()}


def test_a_sweep_runs_all_attacks_by_one_word(make_walks: Callable[..., Traces]) -> None:
    (row,) = run_sweep(*make_walks(days=4).split_days(2), defences=["No"], attacks=["all"], seed=1)
    assert {"FuzzyCount-R", "FuzzyCount-T", "Replay-T"} <= row.to_dict().keys()
