"""A release with privacy zones is attacked where its trips stop, told of them or not."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.audit import Audit, AuditInput, assess, audit_page
from tracearena.audit.inference import detect_circle, get_mechanism_circle
from tracearena.audit.observations import find_point_spots
from tracearena.cities import simulate_gps
from tracearena.errors import ParameterError
from tracearena.obfuscation import GeoInd, Snapping, Thinning, TrimEnds, Zones
from tracearena.traces import GpsTraces

RADIUS_M = 600.0


@pytest.fixture(scope="module")
def people() -> GpsTraces:
    return simulate_gps(users=12, days=14, interval_s=20, recorded=0.9, seed=4)


@pytest.fixture(scope="module")
def circles(people: GpsTraces) -> GpsTraces:
    return Zones(radius=RADIUS_M, shift=0).transform(people, seed=1)


@pytest.fixture(scope="module")
def audit(people: GpsTraces, circles: GpsTraces) -> Audit:
    return assess(people, circles, seed=1, draws=2)


def looked_for(people: GpsTraces, released: GpsTraces) -> float | None:
    homes, _ = find_point_spots(people, None)
    found = detect_circle(people, released, np.arange(people.n_users), homes)
    return None if found is None else found.radius_m


def test_circles_around_homes_are_measured_between_the_files(people: GpsTraces, circles: GpsTraces) -> None:
    assert looked_for(people, circles) == pytest.approx(RADIUS_M, rel=0.1)


@pytest.mark.parametrize("defence", [GeoInd(expected_noise=100), Snapping(side=300), Thinning(interval=120)])
def test_other_defences_show_no_circles(people: GpsTraces, defence: GeoInd | Snapping | Thinning) -> None:
    assert looked_for(people, defence.transform(people, seed=1)) is None


def test_a_defence_tells_its_circle() -> None:
    assert get_mechanism_circle(Zones(radius=500)) == (500.0, 400.0, False)
    assert get_mechanism_circle(TrimEnds(distance=300)) == (300.0, 0.0, False)
    assert get_mechanism_circle(GeoInd(expected_noise=100)) is None


@pytest.mark.slow
def test_homes_behind_circles_are_found_and_said(audit: Audit) -> None:
    assert audit.after is not None
    inferred = audit.after.inference
    assert inferred is not None
    assert inferred.behind_zones is not None
    assert inferred.behind_zones.found is not None
    assert inferred.home.found is not None
    assert inferred.behind_zones.found.value > max(inferred.home.found.value, 0.4)
    assert audit.lights[2].what == "zones"
    page = audit_page(audit).html()
    assert "The release has privacy zones" in page
    assert "circles of" in {choice.name: choice.value for choice in audit.choices}["privacy zones"]


@pytest.mark.slow
def test_the_file_itself_has_no_zones(audit: Audit) -> None:
    assert audit.before.inference is not None
    assert audit.before.inference.behind_zones is None


def test_a_mechanism_needs_a_release(people: GpsTraces) -> None:
    with pytest.raises(ParameterError, match="needs released traces"):
        assess(AuditInput(people, mechanism="Zones(500m)"), seed=1)


@pytest.mark.slow
def test_attackers_may_be_told(people: GpsTraces, circles: GpsTraces) -> None:
    told = assess(AuditInput(people, circles, mechanism="Zones(600m,0)"), seed=1, draws=2)
    named = {choice.name: choice.value for choice in told.choices}
    assert named["mechanism"] == "Zones(600,0)"
    assert named["privacy zones"] == "circles of 600 m around homes"
