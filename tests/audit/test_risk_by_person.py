"""The risk of each person: it averages to the share of the audit, warns, and is on no page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tracearena.audit import Audit, assess, audit_page
from tracearena.errors import DataError, TracearenaWarning
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def audit(city: Traces) -> Audit:
    people = city.take_users(np.arange(15)).with_user_ids([f"person-{number}" for number in range(15)])
    return assess(people, PlanarLaplace(l=3, r=1).transform(people, seed=1), seed=1, draws=4)


def test_it_averages_to_the_share_of_the_audit(audit: Audit) -> None:
    with pytest.warns(TracearenaWarning, match="as secret as the original traces"):
        table = audit.risk_by_person()
    found = audit.risks.singling_out
    assert found is not None
    assert table.columns == ["user_id", *(f"known_{k}" for k in range(1, 7))]
    assert table.get_column("user_id").n_unique() == 15
    for k, share in found.found.items():
        assert table.get_column(f"known_{k}").mean() == pytest.approx(share.value)
    assert table.get_column("known_4").is_sorted(descending=True)


def test_a_person_who_is_always_alone_is_named_and_twins_are_half_named(
    people_at: Callable[..., Traces],
) -> None:
    table = np.full((3, 96), 5)
    table[2] = 20
    with pytest.warns(TracearenaWarning):
        risk = assess(people_at(table), seed=1, draws=2).risk_by_person()
    known = dict(risk.select("user_id", "known_4").iter_rows())
    assert known == {1: 0.5, 2: 0.5, 3: 1.0}


def test_nobody_is_named_in_what_an_audit_publishes(audit: Audit) -> None:
    published = json.dumps(audit.to_dict()) + repr(audit) + audit_page(audit).html() + audit._repr_html_()
    assert "person-" not in published


def test_an_audit_without_attacks_has_no_risk_by_person(audit: Audit) -> None:
    with pytest.raises(DataError, match="has not measured singling out"):
        replace(audit, after=replace(audit.risks, singling_out=None)).risk_by_person()
