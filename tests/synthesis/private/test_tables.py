"""One person changes no table by more than its bound, and the noise is what the budget says."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.examples import examples
from tests.synthesis.private.conftest import Events

from tracearena.errors import ParameterError, TracearenaError
from tracearena.synthesis.private.roles import SHARES, PrivateRoles, PublicFrame, count_tables, define_tables
from tracearena.synthesis.private.tables import (
    SCALE,
    Budget,
    OpenDPNoise,
    SeededNoise,
    Table,
    find_rho,
    parse_shares,
    release,
    rho_to_epsilon,
)
from tracearena.traces import Traces

NAMES = ("homes", "works", "commutes", "arrivals", "roles", "visits")
events = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 8)), max_size=40)
ADVERSARIES: dict[str, Events] = {
    "no events": [],
    "one event": [(7, 4)],
    "ten thousand events at one place and instant": [(3, 2)] * 10_000,
    "ten thousand events everywhere": [(i % 60, i * i % 9) for i in range(10_000)],
    "one place all day, every day": [(i, 5) for i in range(60)],
    "another place each instant": [(i, i % 9) for i in range(60)],
    "ties": [(0, 1), (1, 2), (2, 3), (3, 1), (4, 2), (5, 3)],
    "elsewhere only at midnight": [(0, 8), (1, 1), (2, 1), (3, 2), (4, 2), (5, 1)],
    "many days of one event": [(6 * i + i % 6, i % 2) for i in range(1000)],
    "several places in one instant": [(2, place) for place in range(9)] * 3,
}


def check_bounds(frame: PublicFrame, before: Traces, after: Traces) -> dict[str, float]:
    """Compare neighbouring data in whole numbers; return the change as a share of each bound."""
    tables = define_tables(frame, parse_shares(SHARES, NAMES))
    less, more = count_tables(before, frame), count_tables(after, frame)
    found = {}
    for table in tables:
        change = (more[table.name] - less[table.name]).astype(object)
        if table.norm == "L1":
            assert np.abs(change).sum() <= table.bound * SCALE
        else:
            assert (change**2).sum() <= round(table.bound**2) * SCALE**2
        found[table.name] = table.measure(more[table.name] - less[table.name])
    return found


@given(others=st.lists(events, max_size=4), one=events)
@examples(200)
def test_a_person_changes_no_table_beyond_its_bound(
    others: list[Events], one: Events, frame: PublicFrame, people: Callable[[list[Events]], Traces]
) -> None:
    check_bounds(frame, people([*others, []]), people([*others, one]))


@pytest.mark.parametrize("name", ADVERSARIES)
def test_an_adversary_changes_no_table_beyond_its_bound(
    name: str, frame: PublicFrame, people: Callable[[list[Events]], Traces]
) -> None:
    others = list(ADVERSARIES.values())
    check_bounds(frame, people([*others, []]), people([*others, ADVERSARIES[name]]))


def test_every_bound_is_reached_by_somebody(
    frame: PublicFrame, people: Callable[[list[Events]], Traces]
) -> None:
    lives = [*ADVERSARIES.values(), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2)]]
    found = [check_bounds(frame, people([[]]), people([one])) for one in lives]
    most = {name: max(one[name] for one in found) for name in NAMES}
    assert most == pytest.approx(dict.fromkeys(NAMES, 1.0), abs=0.01)


def test_a_person_without_events_changes_nothing(
    frame: PublicFrame, people: Callable[[list[Events]], Traces]
) -> None:
    some = [(0, 1), (1, 2)]
    one, two = (count_tables(people(lives), frame) for lives in ([some], [some, []]))
    assert all((one[name] == two[name]).all() for name in NAMES)


def test_the_order_of_people_does_not_matter(
    frame: PublicFrame, people: Callable[[list[Events]], Traces]
) -> None:
    lives = list(ADVERSARIES.values())
    one, two = (count_tables(people(order), frame) for order in (lives, lives[::-1]))
    assert all((one[name] == two[name]).all() for name in NAMES)


def test_tables_count_what_they_say(frame: PublicFrame, people: Callable[[list[Events]], Traces]) -> None:
    # Place 4 three times, place 0 twice, place 8 once, over one day of six instants.
    found = count_tables(people([[(0, 4), (1, 4), (2, 0), (3, 0), (4, 8), (5, 4)]]), frame)
    assert found["homes"].tolist() == [0, 0, 0, 0, SCALE, 0, 0, 0, 0]
    assert found["works"].tolist() == [SCALE, 0, 0, 0, 0, 0, 0, 0, 0]
    assert found["commutes"].sum() == SCALE
    assert found["arrivals"].sum() == SCALE
    assert found["arrivals"][-1] == 0
    moves = [tuple(map(int, np.argwhere(block)[0])) for block in found["roles"]]
    assert moves == [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (2, 0)]
    where = [int(slot.argmax()) for slot in found["visits"]]
    assert where == [4, 4, 0, 0, 8, 4]
    assert found["visits"].max() / SCALE == pytest.approx(1 / math.sqrt(6), rel=0.005)


def test_of_a_person_only_the_first_million_events_count(frame: PublicFrame) -> None:
    # More could overflow the sums of squares, and a table that overflows keeps no bound.
    most = 1 << 20
    count = 2 * most + 1
    events = np.repeat([3, 5], [most, most + 1])
    life = Traces(*frame, user_ids=[1], offsets=[0, count], instants=np.zeros(count, int), place_index=events)
    found = count_tables(life, frame)
    assert found["homes"].nonzero()[0].tolist() == [3]
    assert found["works"].sum() == 0
    assert found["visits"][0].nonzero()[0].tolist() == [3]


def test_shares_are_spent_and_no_more() -> None:
    frame = PublicFrame(*_public())
    for epsilon in (0.1, 1.0, 8.0):
        budget = PrivateRoles(epsilon=epsilon).plan(frame)
        assert budget.spent == pytest.approx(epsilon, rel=1e-4)
        assert budget.spent <= epsilon * (1 + 1e-9)
        assert budget.delta == 1e-6


def _public() -> tuple[object, object]:
    from tracearena.cities.city import regions
    from tracearena.traces import Clock

    return regions(), Clock(instants_per_day=24)


def test_the_conversion_is_that_of_opendp() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    for rho in (0.001, 0.02, 0.5):
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=1 / math.sqrt(2 * rho))
        curve = dp.c.make_zCDP_to_approxDP(measurement).map(1.0)
        assert rho_to_epsilon(rho, 1e-6) == pytest.approx(curve.epsilon(1e-6), rel=1e-3)
        assert find_rho(rho_to_epsilon(rho, 1e-6), 1e-6) == pytest.approx(rho, rel=1e-4)


@pytest.mark.parametrize("source", ["opendp", "seeded"])
@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_noise_has_the_distribution_of_its_cost(norm: str, source: str) -> None:
    if source == "opendp":
        pytest.importorskip("opendp")
    noise = OpenDPNoise() if source == "opendp" else SeededNoise(np.random.default_rng(3))
    cost = Budget.plan([Table("one", "person", norm, 1.0, 1.0)], 2.0, 1e-6).costs[0]  # type: ignore[arg-type]
    values = np.full(4000, 7 * SCALE)
    drawn = (noise.add(values, cost) - values) / SCALE
    shape = stats.laplace(scale=0.5) if norm == "L1" else stats.norm(scale=cost.sigma)
    # Without a seed some run must come out badly: once in a million.
    assert stats.kstest(drawn, shape.cdf).pvalue > 1e-6
    assert len(np.unique(drawn)) > 3900


def test_opendp_refuses_noise_that_costs_more_than_its_share() -> None:
    pytest.importorskip("opendp")
    table = Table("one", "person", "L1", 1.0, 1.0)
    budget = Budget.plan([table], 1.0, 1e-6)
    doubled = Table("one", "person", "L1", 2.0, 1.0)
    lie = type(budget.costs[0])(doubled, 1.0, 0.0, budget.costs[0].sigma)
    with pytest.raises(TracearenaError, match="the noise costs more"):
        OpenDPNoise().add(np.zeros(3, np.int64), lie)


def test_without_opendp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    budget = Budget.plan([Table("one", "person", "L1", 1.0, 1.0)], 1.0, 1e-6)
    with pytest.raises(TracearenaError, match=r"pip install 'tracearena\[private\]'"):
        release(budget, {"one": np.zeros(3, np.int64)}, OpenDPNoise())


@pytest.mark.parametrize(
    "text",
    ["homes=1", "homes=0.5,works=0.6", "homes=-1,works=2", "homes", "homes=nan,works=1", "a=1,works=0"],
)
def test_shares_that_are_no_shares_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="NAME=SHARE for each of homes, works"):
        parse_shares(text, ["homes", "works"])


def test_a_budget_is_read_as_it_was_written() -> None:
    budget = PrivateRoles(epsilon=2).plan(PublicFrame(*_public()))  # type: ignore[arg-type]
    assert Budget.from_dict(budget.to_dict()) == budget
    assert budget.lines()[-1] == "all: ε = 2, δ = 1e-06 for one person"
