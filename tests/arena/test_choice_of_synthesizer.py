"""Cross-validation over people chooses what is near those who were held out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.arena import choose_synthesizer
from tracearena.errors import DataError, ParameterError
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def people() -> Traces:
    return ta.simulate(users=60, days=1, seed=2)


@pytest.mark.slow
def test_what_learns_from_people_is_chosen_before_what_does_not(people: Traces) -> None:
    found = choose_synthesizer(["Uniform", "SGD"], people, by="tm_emd_x", folds=3, seed=1)
    assert found.best == "SGD"
    assert [one.name for one in found.tried] == ["SGD", "Uniform"]
    assert found.tried[0].mean["tm_emd_x"] < found.tried[1].mean["tm_emd_x"]
    assert choose_synthesizer(["Uniform", "SGD"], people, by="tm_emd_x", folds=3, seed=1) == found


def test_who_betrays_people_is_not_chosen(people: Traces) -> None:
    names = ["SGD", "SGD(20)"]
    free = choose_synthesizer(names, people, by="tp_tv", folds=2, seed=1)
    limits = {"reidentification_rate": 0.2}
    bound = choose_synthesizer(names, people, by="tp_tv", folds=2, limits=limits, seed=1)
    assert free.best == "SGD(20)"
    assert bound.best == "SGD"
    assert [one.allowed for one in bound.tried] == [True, False]
    none = choose_synthesizer(names, people, folds=2, limits={"membership_advantage": 0.0}, seed=1)
    assert none.best is None


def test_everybody_is_tested_once_and_never_trained_on_then(
    people: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[set[int], set[int]]] = []

    def watched(made: Traces, training: Traces, testing: Traces) -> object:
        seen.append((set(training.user_ids.tolist()), set(testing.user_ids.tolist())))
        return judged(made, training, testing)

    from tracearena.arena import evaluation

    judged = evaluation.evaluate
    monkeypatch.setattr(evaluation, "evaluate", watched)
    choose_synthesizer(["Uniform"], people, folds=4, seed=1)
    assert all(not known & held for known, held in seen)
    assert sorted(user for _, held in seen for user in held) == sorted(people.user_ids.tolist())


def test_wrong_wishes_are_refused(people: Traces) -> None:
    for wrong, words in (
        ({"names": []}, "no synthesizer"),
        ({"by": "beauty"}, "by"),
        ({"folds": 1}, "folds"),
        ({"limits": {"reidentified": 0.2}}, "limits"),
        ({"limits": {"membership_advantage": 2}}, "membership_advantage"),
        ({"by": "vf_tv", "folds": 2}, "cannot be computed"),
    ):
        given = {"names": ["Uniform"], "by": "tp_tv"} | wrong
        with pytest.raises(ParameterError, match=words):
            choose_synthesizer(given.pop("names"), people, **given)
    with pytest.raises((DataError, ParameterError)):
        choose_synthesizer(["Uniform"], people.take_users(np.arange(1)), folds=2)


def test_the_command_prints_the_best(people: Traces, tmp_path: Path) -> None:
    ta.write(people, tmp_path / "people.csv")
    words = ("tune", "people.csv", "Uniform", "SGD", "--folds", "2", "--by", "tm_emd_x", "--seed", "1")
    done = tracearena(*words, "--json", folder=tmp_path)
    assert json.loads(done.out)["best"] == "SGD"
    plain = tracearena(*words, folder=tmp_path)
    assert "best by tm emd x: SGD" in plain.out
