"""The linker finds people by whatever a release leaves of them, and by nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from tests.attacks.linking.cases import (
    found,
    halved,
    people_with_hours,
    released,
    released_points,
    vehicles,
)

from tracearena.algorithms import catalogue
from tracearena.arena import Ensemble
from tracearena.attacks.linking import EVIDENCE, Linker, Observations, histogram
from tracearena.attacks.linking.observations import thin_points
from tracearena.audit.settings import clopper_pearson
from tracearena.cities import simulate
from tracearena.engine import use
from tracearena.errors import DataError, ParameterError
from tracearena.obfuscation import RandomizedResponse
from tracearena.traces import GpsTraces, Traces


@pytest.fixture(scope="module")
def city() -> tuple[Traces, Traces]:
    return halved(simulate(users=120, days=30, mode="checkins", checkins_per_user=30, seed=7))


@pytest.fixture(scope="module")
def small_city(city: tuple[Traces, Traces]) -> tuple[Traces, Traces]:
    known, later = city
    return known.take_users(np.arange(40)), later.take_users(np.arange(40))


@pytest.mark.slow
def test_pseudonyms_in_another_order_get_the_same_users(small_city: tuple[Traces, Traces]) -> None:
    case = released(*small_city)
    attack = Linker(mechanism="No").fit(case.known)
    given = attack.identify(case.seen, seed=1)
    order = np.random.default_rng(1).permutation(case.seen.n_users)
    other = attack.identify(case.seen.take_users(order).with_user_ids(np.arange(len(order))), seed=1)
    assert other.user_ids.tolist() == given.user_ids[order].tolist()


def test_nobody_is_found_where_nothing_is_left(small_city: tuple[Traces, Traces]) -> None:
    known, later = small_city
    everybody = np.arange(later.n_users)
    first = int(later.instants.min()) // 24 * 24
    # One event of everybody at noon of the same ten days, at one place.
    same = Traces.from_events(
        np.repeat(later.user_ids, 10),
        np.tile(first + 12 + 24 * np.arange(10), len(everybody)),
        np.zeros(10 * len(everybody), int),
        later.places,
        later.clock,
    )
    share = found(Linker(mechanism="No"), released(known, same))
    assert share * len(everybody) <= 4


@pytest.mark.slow
def test_times_alone_give_people_away_where_places_are_destroyed() -> None:
    known, later = people_with_hours()
    case = released(known, later, RandomizedResponse(epsilon=0.1))
    by_times = found(Linker(mechanism="RR(0.1)", evidence="times"), case)
    by_all = found(Linker(mechanism="RR(0.1)"), case)
    guessing = 1 / len(case.truth)
    assert by_times > 0.4
    assert by_all > 0.4
    assert found(catalogue.create("VisitProb-R", "reidentification"), case) < 6 * guessing


@pytest.mark.slow
@pytest.mark.parametrize("defence", ["No", pytest.param("PL(1,1)", marks=pytest.mark.long)])
def test_it_finds_about_as_many_as_every_other_attack(city: tuple[Traces, Traces], defence: str) -> None:
    case = released(*city, catalogue.create(defence, "obfuscator"))
    people = len(case.truth)
    share = found(Linker(mechanism=defence), case)
    assert share > 5 / people
    for name in ("VisitProb-R", f"Bayes-R({defence})"):
        other = found(catalogue.create(name, "reidentification"), case)
        assert clopper_pearson(share * people, people)[1] > other, name
        assert share > other - 0.08, name


@pytest.mark.slow
def test_adaptive_is_told_the_defence(small_city: tuple[Traces, Traces]) -> None:
    case = released(*small_city, catalogue.create("RR(2)", "obfuscator"))
    told = Linker(mechanism="RR(2)").fit(case.known).identify(case.seen, seed=1)
    with pytest.raises(ParameterError, match="mechanism"):
        Linker(mechanism="adaptive").fit(case.known).identify(case.seen, seed=1)
    waiting = Linker(mechanism="adaptive").fit(case.known)
    defence = catalogue.create("RR(2)", "obfuscator")
    assert waiting.with_mechanism(defence).identify(case.seen, seed=1) == told


@pytest.mark.slow
def test_an_unknown_defence_is_estimated(small_city: tuple[Traces, Traces]) -> None:
    assert str(Linker()) == "Link-R"
    assert found(Linker(), released(*small_city)) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("defence", ["RR(2)", pytest.param("PL(4,1)", marks=pytest.mark.long)])
def test_the_answer_depends_on_the_seed_alone(small_city: tuple[Traces, Traces], defence: str) -> None:
    case = released(*small_city, catalogue.create(defence, "obfuscator"))
    answers = []
    for threads in (1, 2):
        with use(threads=threads):
            answers.append(Linker(mechanism=defence).fit(case.known).identify(case.seen, seed=5))
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_nobody_is_named_twice(small_city: tuple[Traces, Traces]) -> None:
    case = released(*small_city)
    assert Linker().fit(case.known).identify(case.seen, seed=1).is_one_to_one


@pytest.mark.parametrize("users", [1, 2, 9])
def test_few_people_can_be_linked(users: int) -> None:
    known, later = people_with_hours(users, own_place=True)
    case = released(known, later)
    assert found(Linker(mechanism="No"), case) == 1.0
    assert len(Linker().fit(case.known).identify(case.seen, seed=1)) == users


@pytest.fixture
def lunch() -> Iterator[str]:
    """A kind of evidence of one's own, taken away afterwards."""
    before = dict(EVIDENCE)

    @histogram("minute of the day", group="my habit")
    def _minute(rows: Observations) -> np.ndarray:
        return rows.second_of_day // 900

    yield "my habit"
    EVIDENCE.pop("minute of the day")
    assert before == EVIDENCE


def test_evidence_of_ones_own_is_weighed_like_any_other(lunch: str) -> None:
    known, later = people_with_hours()
    case = released(known, later, RandomizedResponse(epsilon=0.1))
    assert found(Linker(mechanism="RR(0.1)", evidence=lunch), case) > 0.4
    match = Linker(mechanism="RR(0.1)").fit(case.known).matcher_.match(case.seen, seed=1)
    assert lunch in match.groups
    assert (
        match.by_groups([lunch]) == np.searchsorted(case.known.user_ids, case.truth.user_ids)
    ).mean() > 0.4


def test_evidence_that_there_is_not_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(ParameterError, match=r"evidence = 'nonsense'.*all, times, places, file.*hours"):
        Linker(evidence="nonsense")


@pytest.mark.parametrize("evidence", ["intervals", "times", "all"])
def test_vehicles_are_known_by_the_seconds_between_their_points(evidence: str) -> None:
    snapped = catalogue.create("Snap(10km)", "gps-obfuscator")
    case = released_points(*vehicles(), snapped)
    attack = Linker(mechanism="Snap(10km)", evidence=evidence, timezone="UTC")
    assert found(attack, case) > 0.9
    same = released_points(*vehicles(own_interval=False), snapped)
    if evidence == "intervals":
        assert found(attack, same) < 0.2


def test_points_of_a_defence_that_is_not_known_are_compared_as_they_are() -> None:
    known, later = vehicles(20)
    assert found(Linker(timezone="UTC"), released_points(known, later)) > 0.9


def test_points_and_events_are_not_compared(small_city: tuple[Traces, Traces]) -> None:
    case, points = released(*small_city), released_points(*vehicles(5))
    for known, seen in ((case.known, points.seen), (points.known, case.seen)):
        with pytest.raises(
            DataError, match="one of the two has GPS points and the other has events at places"
        ):
            Linker(timezone="UTC").fit(known).identify(seen, seed=1)


def test_of_many_points_some_whole_days_are_compared() -> None:
    points, _ = vehicles(50)
    days = 24 * 3600 * 1000
    assert thin_points(points, np.random.default_rng(1), most=len(points)) is points
    week = GpsTraces.from_points(
        np.tile(points.user_index, 7),
        np.concatenate([points.time_ms + 2 * day * days for day in range(7)]),
        np.tile(points.latitude, 7),
        np.tile(points.longitude, 7),
    )
    few = thin_points(week, np.random.default_rng(1), most=len(week) // 3)
    assert len(week) / 4 < len(few) < len(week) / 1.6
    before, after = (
        Counter(zip(one.user_index.tolist(), (one.time_ms - 5 * 3_600_000) // days, strict=True))
        for one in (week, few)
    )
    # Midnight by the sun is that of UTC five hours later.
    assert all(before[day] == count for day, count in after.items())
    for user in range(week.n_users):
        known = [day for one, day in before if one == user]
        assert {(user, min(known)), (user, max(known))} <= {*after}


def test_posteriors_are_shares_of_belief(small_city: tuple[Traces, Traces]) -> None:
    case = released(*small_city)
    match = Linker(mechanism="No").fit(case.known).matcher_.match(case.seen, seed=1)
    assert match.posterior.min() >= 0
    assert match.posterior.max() <= 1 + 1e-6
    assert match.ranking[:, 0].tolist() == match.best.tolist()


def test_an_ensemble_gives_its_answer(small_city: tuple[Traces, Traces]) -> None:
    case = released(*small_city)
    attack = catalogue.create("Link-R(No,places)", "reidentification")
    assert (attack.mechanism, attack.evidence) == ("No", "places")
    ((_, ranked),) = Ensemble([attack]).fit(case.known).rankings(case.seen, seed=3)
    assert (case.known.user_ids[ranked[:, 0]] == case.truth.user_ids).mean() > 0.3
