"""Attackers who know the defence, people who never lived, and frames of any library."""

from __future__ import annotations

import numpy as np
import pytest

from tracearena.audit import Audit, AuditInput, Protection, assess, audit_page
from tracearena.audit.settings import Settings
from tracearena.audit.synthetic import assess_virtual_people
from tracearena.engine import seed_sequence
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import Traces


@pytest.mark.slow
def test_attackers_who_know_the_defence_are_tried_too(city: Traces) -> None:
    few = city.take_users(np.arange(20))
    released = PlanarLaplace(l=1, r=1).transform(few, seed=1)
    audit = assess(AuditInput(few, released, mechanism="PL(1,1)"), seed=1, draws=2)
    assert audit.after is not None
    assert audit.after.linkability is not None
    names = [one.attack for one in audit.after.linkability.attacks]
    assert names[-2:] == ["Polya-R(adaptive)", "Bayes-R(adaptive)"]
    assert audit.before.linkability is not None
    assert "Polya-R(adaptive)" not in [one.attack for one in audit.before.linkability.attacks]
    assert "attackers know the defence" in audit_page(audit).html()


@pytest.mark.slow
def test_virtual_people_are_nobody(city: Traces) -> None:
    real, others = city.take_users(np.arange(20)), city.take_users(np.arange(20, 40))
    found = assess_virtual_people(real, others, Settings(), seed_sequence(1))
    assert (found.people, found.days) == (20, 6)
    assert found.betrayed.reidentified is None
    assert found.betrayed.copies is not None
    assert found.betrayed.copies.low <= 0.05
    assert found.betrayed.membership is not None
    assert found.betrayed.membership.chance == 0.0
    assert found.betrayed.auc is not None
    assert found.betrayed.membership.value == pytest.approx(max(2 * found.betrayed.auc - 1, 0))
    tried = Protection(0.05, (), {}, None, (20, 20), 0.17, 1, found)
    audit = assess(real, seed=1, draws=2)
    page = audit_page(audit, tried).html()
    assert "Synthetic traces as an alternative: 20 virtual people" in page
    assert "--virtual-users 20" in page


@pytest.mark.slow
@pytest.mark.parametrize("library", ["polars", "pandas", "arrow", "geopandas"])
def test_frames_of_any_library_give_the_same_audit(city: Traces, library: str) -> None:
    pytest.importorskip("pyarrow" if library == "arrow" else library)
    few = city.take_users(np.arange(8))

    def found(given: object) -> Audit:
        return assess(given, seed=1, draws=2, people=8)

    assert found(few.to_frame(library)).before == found(few.to_frame()).before
