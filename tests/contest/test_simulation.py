"""A rehearsal is a whole contest: everybody takes part, and the same seed holds the same one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.contest.residents import Residents

from tracearena import cities
from tracearena.algorithms import catalogue
from tracearena.arena import run_sweep
from tracearena.contest import SIMULATED_TEAMS, AttackKind, SimulatedContest, simulate_contest, verify
from tracearena.contest.simulation import CHEATING, PSEUDONYMISED
from tracearena.errors import ParameterError
from tracearena.io.pwscup import PWS_CLOCK

SMALL = {"teams": 3, "users": 40, "days": 4, "maker": Residents()}


@pytest.fixture(scope="module")
def held() -> SimulatedContest:
    return simulate_contest(**SMALL, seed=7)


@pytest.mark.slow
def test_no_two_teams_share_anybody(held: SimulatedContest) -> None:
    for one in held.entrants:
        assert one.reference.n_users == one.original.n_users == 40
        assert one.original.user_ids.tolist() == list(range(1, 41))
        assert one.original.n_instants == one.reference.n_instants == 2 * 20
    days = {one.original.place_index.tobytes() for one in held.entrants}
    assert len(days) == len(held.entrants)


@pytest.mark.slow
def test_everybody_attacks_everybody_but_themselves(held: SimulatedContest) -> None:
    teams, targets = held.board.roster.teams, [target for target, _ in held.board.targets()]
    assert PSEUDONYMISED in targets
    for kind, attribute in (
        (AttackKind.REIDENTIFICATION, "identification"),
        (AttackKind.TRACE_INFERENCE, "inference"),
    ):
        for team, player in zip(teams, SIMULATED_TEAMS, strict=False):
            made = {target for a, target, _, of in held.board.attacks if (a, of) == (team, kind)}
            wanted = set(targets) - {team} if getattr(player, attribute) else set()
            assert made == wanted


def test_the_judges_attacks_count_in_the_minimum(held: SimulatedContest) -> None:
    for target, _ in held.board.targets():
        for kind in AttackKind:
            scores = [s for (_, t, _, of), s in held.board.attacks.items() if (t, of) == (target, kind)]
            row = held.board.row(target)
            assert min(scores) == (row.s_R_min if kind is AttackKind.REIDENTIFICATION else row.s_T_min)
        sample = {a for a, t, _, _ in held.board.attacks if t == target} - set(held.board.roster.teams)
        assert sample == set(held.rules.sample_attacks)


def test_every_published_table_opens_its_commitment(held: SimulatedContest) -> None:
    for one in held.entrants:
        assert (one.release is None) == (one.commitment is None) == (not one.valid)
        if one.release is not None and one.commitment is not None:
            assert verify(one.commitment.digest, one.release.id_table, one.commitment.salt)


@pytest.mark.slow
def test_the_same_seed_holds_the_same_contest_on_any_number_of_threads(
    held: SimulatedContest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEARENA_THREADS", "1")
    again = simulate_contest(**SMALL, seed=7)
    assert json.dumps(again.to_dict()) == json.dumps(held.to_dict())
    for one, other in zip(held.entrants, again.entrants, strict=True):
        assert one.obfuscated == other.obfuscated
    other = simulate_contest(**SMALL, seed=8)
    assert json.dumps(other.to_dict()) != json.dumps(held.to_dict())


def test_progress_names_every_stage() -> None:
    told: list[tuple[str, int, int]] = []
    simulate_contest(**SMALL | {"users": 12}, seed=1, tell=lambda *stage: told.append(stage))
    assert list(dict.fromkeys(what for what, _, _ in told)) == [
        "making people for every team",
        "teams defend",
        "everybody attacks",
        "judging sample defences",
    ]
    assert all(0 <= done <= total for _, done, total in told)


@pytest.mark.parametrize("teams", [1, 22, 2.0, True])
def test_a_contest_needs_at_least_two_teams_of_the_cast(teams: int) -> None:
    with pytest.raises(ParameterError, match="at least 2 and at most 21"):
        simulate_contest(teams=teams, seed=1)


def test_the_cast_is_known_to_the_catalogue() -> None:
    assert len({player.name for player in SIMULATED_TEAMS}) == len(SIMULATED_TEAMS) == 21
    assert len({player.defence for player in SIMULATED_TEAMS}) == len(SIMULATED_TEAMS)
    for player in SIMULATED_TEAMS:
        catalogue.create(player.defence, "obfuscator")
        if player.identification:
            catalogue.create(player.identification, "reidentification")
        if player.inference:
            catalogue.create(player.inference, "trace-inference")


def test_luck_shrinks_with_the_number_of_people(held: SimulatedContest) -> None:
    assert held.margin == pytest.approx(0.01 * np.sqrt(2000 / 40))


def test_swapping_traces_hides_names_and_nothing_else(held: SimulatedContest) -> None:
    assert [row.defence for row in held.cheating] == list(CHEATING)
    named = [row.scores.s_R_min for row in held.cheating]
    assert named[-1] - named[0] > 0.3
    found = [row.scores.s_T_min for row in held.cheating]
    assert max(found) - min(found) < 0.15


@pytest.mark.long
def test_the_board_ranks_sensibly() -> None:
    """With 20 + 20 days habits tell who is who, unless the defence is good."""
    held = simulate_contest(users=300, seed=1)
    nobody = held.board.row(PSEUDONYMISED)
    assert nobody.s_R_min < 0.5
    assert held.awards[0].winners == ("Paper Cranes",)
    assert not held.entrant("Heavy Weather").valid
    cheats, honest = held.board.row("Card Sharps"), held.board.row("Fog Bank")
    assert cheats.s_R_min > nobody.s_R_min + 0.1
    assert abs(cheats.s_T_min - nobody.s_T_min) < 0.1
    assert honest.s_T_min > cheats.s_T_min + 0.1


@pytest.mark.slow
def test_sample_attacks_find_in_the_city_what_they_should() -> None:
    users = 400
    reference, original = cities.simulate(users=users, days=40, clock=PWS_CLOCK, seed=3).split_days(20)
    rows = {
        row.defence: 1 - row.scores.s_R_min
        for row in run_sweep(reference, original, defences=["No", "PL(1,1)", "RR(1)"], seed=3)
    }
    assert rows["No"] > 0.5
    assert rows["PL(1,1)"] < rows["No"] / 2
    assert rows["RR(1)"] < 10 / users
