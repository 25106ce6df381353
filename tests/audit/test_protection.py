"""The most useful defence that keeps the limits is found, and its release proved on other people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from tracearena.algorithms import Synthesizer, catalogue
from tracearena.audit import AuditInput, Proportion, Protection, Settings, protect
from tracearena.audit.data import AuditData
from tracearena.audit.page import describe_changes, describe_outcome, draw_protection
from tracearena.audit.protection import (
    CHECK_INS,
    GRIDS,
    POINTS,
    REGULAR,
    SYNTHESIS,
    DefenceTrial,
    list_candidates,
    protect_in_stages,
    release,
)
from tracearena.audit.results import rate_question
from tracearena.cities import simulate, simulate_fleet
from tracearena.traces import IdTable, Places, Traces

DEFENCES = ["RR(0.01)", "No", "RR(0.1)", "PL(2,1)"]
TARGET = 0.3


@pytest.fixture(scope="module")
def people() -> Traces:
    return simulate(users=60, days=4, seed=2)


@pytest.fixture(scope="module")
def check_ins() -> Traces:
    """Check-ins at venues with whole numbers as ids."""
    made = simulate(users=120, days=30, mode="checkins", checkins_per_user=30, seed=2)
    places = made.places
    return made.onto(Places(places.latitude, places.longitude, ids=1000 + np.arange(len(places))))


@pytest.fixture(scope="module")
def found(people: Traces) -> Protection:
    # Releases are drawn in secret, also with a seed: with 30 people, about one in sixteen proves nothing.
    for _ in range(5):
        made = protect(people, target=TARGET, defences=DEFENCES, seed=1, draws=2)
        if made.chosen is not None:
            break
    return made


def tried(*trials: DefenceTrial, **others: Any) -> Protection:
    given: dict[str, Any] = {
        "target": 0.05, "trials": trials, "proofs": {}, "chosen": None, "people": (90, 90),
        "least_provable": 0.04, "seed": 1,
    }  # fmt: skip
    return Protection(**given | others)


@pytest.mark.slow
def test_the_most_useful_come_first_and_the_unprotected_file_fails(found: Protection) -> None:
    assert {one.defence for one in found.trials} == {*DEFENCES}
    kept = [one.kept for one in found.trials]
    assert kept == sorted(kept, key=lambda value: -(value or 0))
    unprotected = found.trials[0]
    assert unprotected.defence == "No"
    assert unprotected.kept == pytest.approx(1.0)
    assert unprotected.risk is not None
    assert unprotected.risk.value > 0.9
    assert unprotected.at_least
    assert not unprotected.holds


@pytest.mark.slow
def test_the_chosen_one_holds_on_people_who_were_not_used_for_choosing(found: Protection) -> None:
    assert found.people == (30, 30)
    assert found.proof is not None
    assert found.proof.verdict == "green"
    linked = found.proof.risks.linkability
    assert linked is not None
    assert linked.headline is not None
    assert linked.people == 30
    assert linked.headline.high <= TARGET
    assert found.chosen in ("RR(0.01)", "RR(0.1)")
    assert found.chosen in describe_outcome(found)
    assert "(target 30.0%)" in describe_outcome(found)


@pytest.mark.slow
def test_what_comes_after_the_chosen_one_is_not_attacked(found: Protection) -> None:
    at = [one.defence for one in found.trials].index(str(found.chosen))
    assert [one.risk is None for one in found.trials] == [False] * (at + 1) + [True] * (
        len(DEFENCES) - at - 1
    )


@pytest.mark.slow
def test_the_picture_has_every_defence_that_was_attacked(found: Protection) -> None:
    figure, (_, rows) = draw_protection(found)
    drawn = [name for part in figure["data"] for name in part["customdata"]]
    assert {*drawn} == {one.defence for one in found.trials if one.risk is not None}
    assert len(rows) == len(found.trials)
    unprotected = next(row for row in rows if row[0] == "No")
    assert str(unprotected[3]).startswith("at least ")


def test_at_least_is_drawn_apart_and_without_an_interval() -> None:
    share = Proportion(0.4, 0.3, 0.5, 90, 0.01)
    one = DefenceTrial("quick", kept=0.5, risk=share, attack="VisitProb-R", at_least=True)
    other = DefenceTrial("whole", kept=0.4, risk=share, attack="Link-R")
    figure, (_, rows) = draw_protection(tried(one, other))
    parts = {part["name"]: part for part in figure["data"]}
    quick = parts["lower bound"]
    assert quick["customdata"] == ["quick"]
    assert (quick["error_y"]["array"], quick["error_y"]["arrayminus"]) == ([0.0], [0.0])
    assert parts["above a limit"]["customdata"] == ["whole"]
    assert [row[3] for row in rows] == ["at least 0.4000", 0.4]


def test_the_picture_names_those_that_none_beats_in_both() -> None:
    risks = [Proportion(value, 0.0, 0.9, 90, 0.01) for value in (0.1, 0.5, 0.5, 0.9)]
    kept = (0.2, 0.6, 0.4, 0.9)
    names = ("strong", "middle", "PPMTF(16,2,zeros=all)", "weak")
    trials = [
        DefenceTrial(one, risk=risk, kept=part) for one, risk, part in zip(names, risks, kept, strict=True)
    ]
    figure, _ = draw_protection(tried(*trials))
    (points,) = figure["data"]
    assert points["text"] == ["strong", "middle", "", "weak"]
    assert figure["layout"]["yaxis"]["range"][1] == pytest.approx(1.08 * 0.9)


def test_where_nothing_holds_the_least_risk_is_named_and_by_what() -> None:
    low, high = Proportion(0.1, 0.05, 0.2, 90, 0.01), Proportion(0.5, 0.4, 0.6, 90, 0.01)
    lights = (
        rate_question("linkability", [("linked", low)], 0.05),
        rate_question("singling_out", [("found", high)], 0.2),
    )
    strong = DefenceTrial("strong", kept=0.2, risk=low, lights=lights)
    quick = DefenceTrial("quick", kept=0.3, risk=Proportion(0.08, 0.06, 0.09, 90, 0.01), at_least=True)
    weak = DefenceTrial("weak", kept=0.9, risk=high)
    said = describe_outcome(tried(weak, strong, quick))
    assert said == (
        "No release was written, because none of 3 defences keeps the limits. strong has the lowest risk: "
        "10.0% (5.0% to 20.0%) found again, without proof that it keeps the limit of singling out."
    )
    assert "quick has the lowest risk: at least 8.0% found again" in describe_outcome(tried(quick))
    assert describe_outcome(tried()) == "No release was written, because none of 0 defences keeps the limits."


def test_it_says_so_when_nothing_holds(people: Traces) -> None:
    found = protect(people, target=0.01, defences=["No"], seed=1, draws=2)
    assert (found.chosen, found.proof, found.proofs) == (None, None, {})
    assert "none of 1 defences keeps the limits" in describe_outcome(found)
    assert "has the lowest risk: at least " in describe_outcome(found)
    assert "With 30 people in the test half, a risk below 11.6% cannot be proven" in describe_outcome(found)


@pytest.mark.slow
def test_a_limit_of_singling_out_is_a_limit(people: Traces) -> None:
    found = protect(
        people, target=1.0, defences=["RR(0.1)"], singling_out=0.0, inference=1.0, seed=1, draws=2
    )
    assert found.chosen is None
    assert "without proof that it keeps the limit of singling out." in describe_outcome(found)


@pytest.mark.slow
def test_a_release_that_fails_its_proof_is_not_chosen(people: Traces) -> None:
    """What is published turns out to be the original."""

    def publish(released: Any, who: IdTable) -> tuple[Any, None]:
        true = people.take_users(np.searchsorted(people.user_ids, who.user_ids))
        return true.with_user_ids(who.pseudonyms), None

    settings = Settings(draws=2, found_again=TARGET)
    *_, found = protect_in_stages(AuditInput(people), settings, defences=["RR(0.1)"], seed=1, publish=publish)
    assert found.trials[0].holds
    assert found.chosen is None
    assert found.proofs["RR(0.1)"].verdict == "red"
    assert "has the lowest risk: 100% " in describe_outcome(found)


@pytest.mark.slow
def test_venues_with_numbers_are_not_taken_for_cells(check_ins: Traces) -> None:
    defence = "ClusterAveraging(0.3,blur_km=0.5)+RoundTime(day)"
    assert len(check_ins.places) > 100
    found = protect(
        check_ins, target=0.5, defences=[defence], seed=1, draws=2, most_places=100, singling_out=1.0,
        inference=1.0,
    )  # fmt: skip
    assert found.chosen == defence, describe_outcome(found)
    (trial,) = found.trials
    assert trial.on_cells
    assert trial.kept_of_file is not None
    assert trial.kept is not None
    assert trial.kept_of_file < trial.kept
    cells, times = describe_changes(found)
    assert "at cells of 500 m instead of the places of the file" in cells
    assert "changes times" in times


def test_venues_stay_venues_unless_whole_traces_are_compared(check_ins: Traces) -> None:
    material = AuditData.of(check_ins, Settings(most_places=100))
    released, who = release("PL(1,1)", material)
    assert released.places == check_ins.places
    assert {*who.user_ids.tolist()} == {*check_ins.user_ids.tolist()}
    moved, _ = release("ClusterAveraging(0.3,blur_km=0.5)", material)
    assert len(moved.places) <= 100


@pytest.mark.parametrize("names", [CHECK_INS, REGULAR, GRIDS, POINTS, SYNTHESIS])
def test_every_candidate_can_be_made(names: tuple[str, ...]) -> None:
    for name in names:
        catalogue.create(name, ("obfuscator", "gps-obfuscator", "synthesizer"))


def test_candidates_suit_the_file(people: Traces, check_ins: Traces) -> None:
    assert list_candidates(AuditData.of(check_ins, Settings())) == list(CHECK_INS)
    assert list_candidates(AuditData.of(people, Settings())) == [*GRIDS, *REGULAR]


def test_a_defence_that_fails_is_named(people: Traces) -> None:
    found = protect(people, target=0.3, defences=["GeoInd(100m)"], seed=1)
    assert found.trials[0].error is not None
    assert found.chosen is None


@pytest.mark.slow
def test_what_is_measured_depends_on_the_seed_and_not_on_the_other_defences(people: Traces) -> None:
    alone, *_ = protect(people, target=0.3, defences=["No"], seed=1, draws=2).trials
    both = protect(people, target=0.3, defences=["PL(4,1)", "No"], seed=1, draws=2).trials
    assert next(one for one in both if one.defence == "No") == alone


@pytest.mark.slow
def test_defences_of_time_protect_points() -> None:
    fleet = simulate_fleet(vehicles=24, days=6, seed=1)
    found = protect(
        fleet, target=0.9, defences=["Snap(10km)+PerDay(2)+SwapTimes(10km,week)"], seed=1, draws=2,
        singling_out=1.0, inference=1.0,
    )  # fmt: skip
    assert found.trials[0].error is None
    assert found.chosen == found.trials[0].defence


@dataclass(kw_only=True)
class Copyist(Synthesizer):
    """Gives the days of each person it learnt from to another one."""

    name: ClassVar[str] = "Copyist"

    def fit(self, traces: Traces, *, seed: Any = None) -> Self:
        self.learnt_ = traces
        return self

    def synthesize(self, traces_per_user: int = 1, *, seed: Any = None) -> Traces:
        learnt, length = self.learnt_, self.learnt_.clock.instants_per_day
        first = learnt.span[0] // length * length
        moved = learnt.take_users(np.roll(np.arange(learnt.n_users), 1)).with_user_ids(learnt.user_ids)
        return Traces(
            moved.places, moved.clock, user_ids=moved.user_ids, offsets=moved.offsets,
            instants=moved.instants - first, place_index=moved.place_index,
            span=(0, traces_per_user * length),
        )  # fmt: skip


@pytest.mark.slow
def test_membership_is_asked_of_people_whom_the_synthesizer_never_saw(people: Traces) -> None:
    name = f"{__name__}:Copyist"
    found = protect(
        people, target=0.9, defences=[name], seed=1, draws=2, singling_out=1.0, inference=1.0
    )  # fmt: skip
    (trial,) = found.trials
    assert trial.error is None
    assert trial.synthetic is not None
    assert trial.synthetic.auc == pytest.approx(1.0, abs=0.1)
    audit = found.proofs[name]
    assert audit.synthetic is not None
    assert audit.synthetic.auc == pytest.approx(1.0, abs=0.1)
    judged = {light.question: light.what for light in audit.lights}
    assert judged["inference"] == "membership"
    strict = protect(people, target=0.9, defences=[name], seed=1, draws=2, singling_out=1.0)
    assert strict.chosen is None
