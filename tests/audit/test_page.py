"""The page, the numbers and the tables: complete, self-contained, and silent about single people."""

from __future__ import annotations

import ast
import csv
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tracearena.audit import (
    Audit,
    AuditInput,
    Settings,
    assess,
    assess_in_stages,
    audit_page,
    charts,
    page,
    write_audit,
)
from tracearena.audit.texts import QUESTIONS
from tracearena.cities import simulate
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces

LARGEST_BYTES = 8_000_000


def marked(traces: Traces) -> Traces:
    """Give every person an id, and every place a position, that cannot stand on a page by accident."""
    places = traces.places
    rng = np.random.default_rng(5)
    moved = Places(
        places.latitude + rng.uniform(-1e-3, 1e-3, len(places)),
        places.longitude + rng.uniform(-1e-3, 1e-3, len(places)),
        ids=[f"venue-{i:04d}-x" for i in range(len(places))],
    )
    named = Traces(
        moved,
        traces.clock,
        user_ids=[f"person-{i:03d}-y" for i in range(traces.n_users)],
        offsets=traces.offsets,
        instants=traces.instants,
        place_index=traces.place_index,
    )
    return named


@pytest.fixture(scope="module")
def people() -> Traces:
    return marked(simulate(users=40, days=4, seed=3))


@pytest.fixture(scope="module")
def audit(people: Traces) -> Audit:
    return assess(people, PlanarLaplace(l=1, r=1).transform(people, seed=1), seed=1, draws=2)


@pytest.fixture(scope="module")
def folder(audit: Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit") / "out"
    write_audit(audit, folder, tables=True)
    return folder


def test_it_answers_the_three_questions_on_the_first_screen(folder: Path) -> None:
    page = (folder / "audit.html").read_text()
    first_screen = page[: page.index("<h2 id=")]
    assert all(question in first_screen for question in QUESTIONS.values())
    assert first_screen.count("guessing gives") == 3


def test_it_needs_nothing_from_elsewhere_and_is_small(folder: Path) -> None:
    page = (folder / "audit.html").read_text()
    assert len(page.encode()) < LARGEST_BYTES
    shell = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", shell)


def everything(folder: Path) -> str:
    """All that is told, without the scripts of Plotly."""
    texts = [path.read_text() for path in folder.iterdir()]
    return "\n".join(re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL) for text in texts)


@pytest.mark.slow
def test_it_names_nobody_and_no_place_of_few_people(folder: Path, people: Traces, audit: Audit) -> None:
    told = everything(folder)
    assert not [user for user in people.user_ids.tolist() if user in told]
    _, place, _ = people.visit_counts()
    visitors = np.bincount(place, minlength=len(people.places))
    crowded = set(np.flatnonzero(visitors >= 10).tolist())
    assert len(crowded) == len(audit.crowd.people)
    for at in range(len(people.places)):
        shown = f"{people.places.latitude[at]:.4f}" in told or f"{people.places.longitude[at]:.4f}" in told
        assert not shown or at in crowded


@pytest.mark.slow
def test_a_larger_smallest_group_empties_the_map(people: Traces) -> None:
    audit = assess(people, seed=1, draws=2, smallest_group=41)
    assert audit.crowd.people == ()
    assert "No place has 41 people" in audit_page(audit).html()


def test_the_numbers_say_what_they_are_of(folder: Path, audit: Audit) -> None:
    numbers = json.loads((folder / "audit.json").read_text())
    assert re.fullmatch("[0-9a-f]{64}", numbers["file"]["sha256"])
    assert (numbers["seed"], numbers["settings"]["draws"], numbers["complete"]) == (1, 2, True)
    assert numbers["verdict"] == audit.verdict
    assert numbers["headline"] == audit.headline
    attacks = [one["attack"] for one in numbers["after"]["linkability"]["attacks"]]
    # At regular times nothing can be told by times alone.
    assert attacks[:3] == ["Link-R", "Link-R by places", "Random-R"]


def test_the_tables_hold_every_share(folder: Path, audit: Audit) -> None:
    with open(folder / "shares.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["of"] for row in rows} == {"file", "release"}
    linked = audit.before.linkability
    assert linked is not None
    found = {row["measure"]: float(row["value"]) for row in rows if row["of"] == "file"}
    for one in linked.attacks:
        assert one.first is not None
        assert found[f"attacks {one.attack} top 1"] == one.first.value


def test_a_stopped_audit_shows_what_was_finished(people: Traces) -> None:
    work = assess_in_stages(AuditInput(people), Settings(draws=2), seed=1)
    next(work)
    halfway = next(work)
    page = audit_page(halfway).html()
    assert "was interrupted" in page
    assert "1. Singling out" in page
    assert "2. Linkability</h2>" not in page
    assert halfway.verdict == "red"


def test_a_notebook_shows_the_lights(audit: Audit) -> None:
    html = audit._repr_html_()
    assert all(question in html for question in QUESTIONS.values())
    assert "<script" not in html


@pytest.mark.slow
def test_gps_points_become_events_with_a_reason() -> None:
    rng = np.random.default_rng(1)
    users, days, points = 12, 4, 48
    home = rng.uniform([35.6, 139.6], [35.75, 139.85], (users, 2))
    time = np.arange(days * points) * 1_800_000 + 1_600_000_000_000
    who = np.repeat(np.arange(users), len(time))
    where = home[who] + rng.normal(0, 0.003, (len(who), 2))
    traces = GpsTraces.from_points(who, np.tile(time, users), where[:, 0], where[:, 1])
    audit = assess(traces, traces.with_positions(*(where[rng.permutation(len(who))].T)), seed=1, draws=2)
    assert {choice.name for choice in audit.choices} >= {
        "local time",
        "cells of GPS points",
        "instants of GPS points",
    }
    assert all(choice.reason for choice in audit.choices)
    assert audit.before.inference is not None
    assert audit.before.inference.home.found is not None
    assert audit.before.inference.home.found.value > 0.5
    assert audit.after is not None
    assert audit.after.linkability is not None
    assert audit.after.linkability.headline is not None
    assert audit.after.linkability.headline.low <= audit.after.linkability.headline.chance


@pytest.mark.slow
def test_quick_says_so_and_tries_fewer(people: Traces) -> None:
    audit = assess(people, seed=1, quick=True)
    assert audit.settings.people == 200
    assert "This is a quick audit" in audit_page(audit).html()


@pytest.mark.slow
def test_many_venues_are_put_into_the_most_visited_cells(people: Traces) -> None:
    released = PlanarLaplace(l=1, r=1).transform(people, seed=1)
    audit = assess(people, released, seed=1, draws=2, most_places=30)
    chosen = {choice.name: choice.value for choice in audit.choices}
    assert chosen["cells for heavy attacks"].startswith("30 cells of 500 m, the most visited;")
    assert audit.after is not None
    assert audit.after.linkability is not None
    found = {one.attack: one.first for one in audit.after.linkability.attacks}
    exact, coarse = found["VisitProb-R"], found["Bayes-R"]
    assert exact is not None
    assert coarse is not None
    assert exact.value > coarse.chance
    assert coarse.value > coarse.chance


@pytest.mark.slow
def test_three_weeks_are_drawn_only_when_asked_for(people: Traces, audit: Audit) -> None:
    assert audit.weeks == ()
    shown = assess(people, seed=1, draws=2, show_people=True)
    assert [week.who for week in shown.weeks] == ["most exposed", "median", "safest"]
    exposure = [week.exposure for week in shown.weeks]
    assert exposure == sorted(exposure, reverse=True)
    table = people.dense()
    slow = [np.mean([1 / (table[:, t] == own[t]).sum() for t in range(len(own))]) for own in table]
    assert exposure[0] == pytest.approx(max(slow))
    assert "Three people's weeks" in audit_page(shown).html()
    assert "Three people" not in audit_page(audit).html()


@pytest.mark.slow
def test_a_week_is_the_first_of_the_person_and_may_be_empty(people_at: Callable[..., Traces]) -> None:
    table = np.full((5, 24 * 20), -1)
    table[:, :24] = np.arange(5)[:, None]
    table[0] = -1
    table[0, 24 * 12 :] = np.where(np.arange(24 * 8) < 24 * 7, 7, 9)
    late = people_at(table)
    shown = assess(late, seed=1, draws=2, show_people=True)
    assert (7 * 24,) in [week.events for week in shown.weeks]
    nothing = ObfuscatedTraces.like(late, np.where(late.user_index == 0, -1, late.place_index))
    empty = assess(late, nothing, seed=1, draws=2, show_people=True)
    assert () in [week.events for week in empty.weeks]
    assert "0 places in the first week" in audit_page(empty).html()


@pytest.mark.parametrize("module", [page, charts])
def test_texts_are_kept_apart_for_whoever_translates_them(module: ModuleType) -> None:
    tree = ast.parse(inspect.getsource(module))
    documented = [one for one in ast.walk(tree) if isinstance(one, ast.Module | ast.FunctionDef)]
    notes = {id(one.body[0].value) for one in documented if isinstance(one.body[0], ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes
    ]
    said = [text for text in texts if re.search(r"[a-z]{2,} [a-z]{2,}", re.sub(r"<[^>]*>?", "", text))]
    assert {*said} <= {"top left", "top right", "cut in two"}
