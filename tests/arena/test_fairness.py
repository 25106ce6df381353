"""Fair data gives every team about the same score."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.arena import measure_fairness, run_sweep
from tracearena.engine import child_seed
from tracearena.errors import DataError


def test_spread_is_the_standard_deviation_over_the_teams(make_walks):
    teams = [make_walks(users=30, days=4, seed=seed).split_days(2) for seed in (1, 2, 3)]
    rows = measure_fairness(teams, defences=["No", "RR(1)"], attacks=["VisitProb-R", "Replay-T"], seed=5)
    assert [row.defence for row in rows] == ["No", "RR(1)"]
    root = np.random.SeedSequence(5)
    scores = [
        run_sweep(
            *team, defences=["No", "RR(1)"], attacks=["VisitProb-R", "Replay-T"], seed=child_seed(root, n)
        )
        for n, team in enumerate(teams)
    ]
    for number, row in enumerate(rows):
        minima = [one[number].scores for one in scores]
        assert row.reidentification_sd == pytest.approx(np.std([m.s_R_min for m in minima], ddof=1))
        assert row.trace_inference_mean == pytest.approx(np.mean([m.s_T_min for m in minima]))
        assert row.teams == 3


def test_one_team_is_not_enough(make_walks):
    team = make_walks(users=5, days=4).split_days(2)
    with pytest.raises(DataError, match="two teams"):
        measure_fairness([team], defences=["No"], attacks=["VisitProb-R", "Replay-T"])


def test_one_kind_of_attack_is_not_enough(make_walks):
    teams = [make_walks(users=5, days=4, seed=seed).split_days(2) for seed in (1, 2)]
    with pytest.raises(DataError, match="both kinds"):
        measure_fairness(teams, defences=["No"], attacks=["Replay-T"])
