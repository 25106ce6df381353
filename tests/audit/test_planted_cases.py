"""People whose risk is known beforehand are judged right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tracearena.arena import pseudonymise
from tracearena.audit import Audit, AuditInput, Settings, assess
from tracearena.audit.data import AuditData
from tracearena.audit.singling_out import find_by_sightings
from tracearena.cities import simulate
from tracearena.obfuscation import MRLH, RandomizedResponse, SwapTimes
from tracearena.traces import GpsTraces, ObfuscatedTraces, Traces

Make = Callable[..., Traces]
DAYS = 4
FEW_PEOPLE: dict[str, Any] = {"found_again": 0.25, "inference": 0.25}
"""Limits that can be proved with forty people."""


@pytest.fixture(scope="module")
def as_it_is(city: Traces) -> Audit:
    return assess(city, seed=1, draws=4)


def test_people_under_pseudonyms_alone_are_found(as_it_is: Audit) -> None:
    assert as_it_is.verdict == "red"
    assert {light.colour for light in as_it_is.lights} == {"red"}
    linked = as_it_is.before.linkability
    assert linked is not None
    assert linked.headline is not None
    assert linked.headline.value > 0.9


def test_four_points_single_out_nearly_everybody(as_it_is: Audit) -> None:
    singled = as_it_is.before.singling_out
    assert singled is not None
    assert singled.found[4].value > 0.9
    assert singled.coarseness[0].unique[4].value > 0.9


def test_more_points_never_tell_less(as_it_is: Audit) -> None:
    singled = as_it_is.before.singling_out
    assert singled is not None
    for one in singled.coarseness:
        values = [share.value for share in one.unique.values()]
        assert values == sorted(values)


@pytest.mark.slow
def test_one_place_for_all_is_within_the_limits(city: Traces) -> None:
    """It is green but for attackers who know how it was made, who were not tried."""
    everywhere = ObfuscatedTraces.like(city, np.full(city.n_events, 5))
    audit = assess(city, everywhere, seed=1, draws=4, **FEW_PEOPLE)
    assert {light.question: light.colour for light in audit.lights if light.colour != "green"} == {
        "linkability": "amber"
    }
    linked = next(light for light in audit.lights if light.question == "linkability")
    assert linked.at_least
    assert linked.share is not None
    assert linked.share.high <= linked.limit
    assert audit.usefulness is not None
    assert audit.usefulness.kept is not None
    assert audit.usefulness.kept < 0.6


@pytest.mark.long
def test_places_at_random_are_green(city: Traces) -> None:
    audit = assess(
        AuditInput(city, RandomizedResponse(epsilon=0.001).transform(city, seed=2), mechanism="RR(0.001)"),
        seed=1,
        draws=4,
        **FEW_PEOPLE,
    )
    assert audit.after is not None
    assert {light.question: light.colour for light in audit.lights}["linkability"] == "green"
    assert audit.verdict == "green"


@pytest.mark.slow
def test_twins_are_found_half_of_the_time(people_at: Make) -> None:
    rng = np.random.default_rng(1)
    one = rng.integers(0, 40, (20, 24 * DAYS))
    audit = assess(people_at(np.repeat(one, 2, axis=0)), seed=1, draws=4)
    singled = audit.before.singling_out
    assert singled is not None
    assert singled.found[6].value == pytest.approx(0.5, abs=0.01)
    assert singled.coarseness[0].unique[6].value == 0.0


@pytest.mark.slow
def test_a_duplicated_person_is_never_unique(people_at: Make) -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 40, (12, 24 * DAYS))
    table[11] = table[0]
    audit = assess(people_at(table), seed=1, draws=4)
    singled = audit.before.singling_out
    assert singled is not None
    assert singled.coarseness[0].unique[6].value == pytest.approx(10 / 12)
    assert singled.found[6].value == pytest.approx(11 / 12)


@pytest.mark.slow
def test_a_single_person_can_be_told_from_nobody(make_walks: Callable[..., Traces]) -> None:
    """A guess is always right: neither 100 % found nor 0 % beyond guessing would mean anything."""
    audit = assess(AuditInput(make_walks(users=1)), seed=1, quick=True)
    assert (audit.lights[0].colour, audit.lights[0].share) == ("grey", None)


@pytest.mark.slow
def test_a_tourist_in_a_crowd_stands_out_alone(people_at: Make) -> None:
    table = np.zeros((30, 24 * DAYS), int)
    table[7] = np.arange(24 * DAYS) % 37 + 3
    audit = assess(people_at(table), seed=1, draws=4)
    singled = audit.before.singling_out
    assert singled is not None
    assert singled.coarseness[0].unique[4].value == pytest.approx(1 / 30)
    night = singled.night[0]
    assert night.sizes == {1: 1, 2: 0, 5: 0, 10: 29}
    linked = audit.before.linkability
    assert linked is not None
    assert linked.headline is not None
    # Of all attacks the luckiest is taken.
    assert linked.headline.value <= 5 / 30
    assert audit.lights[1].colour in ("green", "amber")


@pytest.mark.slow
def test_a_release_is_compared_with_the_file_as_it_is(city: Traces, as_it_is: Audit) -> None:
    audit = assess(city, MRLH(mu_x=2, mu_y=2, deletion=0.5).transform(city, seed=1), seed=1, draws=4)
    assert audit.before == as_it_is.before
    assert audit.after is not None
    before, after = audit.before.linkability, audit.after.linkability
    assert before is not None
    assert after is not None
    assert before.headline is not None
    assert after.headline is not None
    assert after.headline.value <= before.headline.value


@pytest.mark.slow
def test_pseudonyms_need_their_table(city: Traces) -> None:
    release = pseudonymise(ObfuscatedTraces.from_traces(city), seed=1)
    with pytest.raises(Exception, match="--id-table"):
        assess(city, release.anonymized, seed=1, draws=2)
    audit = assess(AuditInput(city, release.anonymized, id_table=release.id_table), seed=1, draws=4)
    assert audit.after is not None
    linked = [one.linkability for one in (audit.before, audit.after)]
    # The linker is told that the file as it is was not changed, and has to find that out of the release.
    before, after = (
        [one for one in found.attacks if not one.attack.startswith("Link-R")]
        for found in linked
        if found is not None
    )
    assert before == after
    assert audit.after.inference == audit.before.inference
    assert audit.after.singling_out is not None
    assert audit.before.singling_out is not None
    assert audit.after.singling_out.found == audit.before.singling_out.found


@pytest.mark.slow
def test_people_who_are_not_released_are_not_tried(city: Traces) -> None:
    half = ObfuscatedTraces.from_traces(city).take_users(np.arange(20))
    audit = assess(city, half, seed=1, draws=2)
    assert audit.after is not None
    assert audit.after.linkability is not None
    assert (audit.after.linkability.people, audit.after.linkability.left_out) == (20, 20)
    assert audit.after.singling_out is not None
    assert audit.after.singling_out.candidates == 20
    assert audit.after.singling_out.found[4].value == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit(city: Traces, as_it_is: Audit) -> None:
    assert assess(city, seed=1, draws=4) == as_it_is
    assert replace(as_it_is, seed=2) != as_it_is


@pytest.mark.slow
def test_copies_of_real_people_are_no_synthetic_release(city: Traces) -> None:
    real, others = city.take_users(np.arange(20)), city.take_users(np.arange(20, 40))
    copied = assess(
        AuditInput(real, real.with_user_ids(np.arange(500, 520)), synthetic=True, others=others),
        seed=1,
        draws=2,
    )
    assert copied.synthetic is not None
    assert copied.synthetic.copies is not None
    assert copied.synthetic.copies.value == 1.0
    assert copied.synthetic.membership is not None
    assert copied.synthetic.membership.value == 1.0
    assert copied.verdict == "red"
    strangers = assess(
        AuditInput(real, others.with_user_ids(np.arange(500, 520)), synthetic=True), seed=1, draws=2
    )
    assert strangers.synthetic is not None
    assert strangers.synthetic.copies is not None
    assert strangers.synthetic.copies.low <= 0.05


def test_points_of_one_day_are_not_known_and_released_at_once() -> None:
    rng = np.random.default_rng(4)
    users, count = 30, 160
    # Anywhere, every five minutes of one day: nothing of its begin tells whose its end is.
    time = 1_333_324_800_000 + 300_000 * (60 + np.arange(count))
    points = GpsTraces.from_points(
        np.repeat(np.arange(users), count),
        np.tile(time, users),
        rng.uniform(40.6, 40.9, users * count),
        rng.uniform(-74.1, -73.8, users * count),
    )
    audit = assess(AuditInput(points, timezone="UTC"), seed=1, draws=2, cell_m=5000.0)
    assert "within its one day" in [choice.value for choice in audit.choices]
    linked = audit.before.linkability
    assert linked is not None
    assert linked.headline is not None
    assert linked.people == users
    assert linked.headline.value < 0.3


def test_swapped_times_do_not_hide_who_was_at_four_places() -> None:
    people = simulate(users=150, days=30, mode="checkins", checkins_per_user=40, seed=3)
    released = SwapTimes(cell=1000, period="month").transform(people, seed=1)
    material, published = AuditData.of(people, Settings()).release(released)
    found = find_by_sightings(material, published, Settings(draws=3), np.random.SeedSequence(1))
    assert found is not None
    assert found.low > 0.6
