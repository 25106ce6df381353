"""What stands for traces and results in a notebook is small, static, and safe whatever the data is."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tracearena as ta
from tracearena.arena import Sweep, SweepRow, pseudonymise
from tracearena.arena.ensemble import AttackScores
from tracearena.traces import Clock, GpsTraces, IdTable, ObfuscatedTraces, Places, PlaceSets, Traces

MOST_BYTES = 50_000
EVIL = '<script>alert("x")</script>&\'"'
VOID = {"br", "hr", "img", "path", "rect"}


class Checker(HTMLParser):
    """Whether elements are closed in order, and which there are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Note an element and its attributes."""
        self.seen.add(tag)
        self.names |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Expect the last that was opened."""
        if tag not in VOID:
            assert self.open.pop() == tag


def shown(what: Any) -> str:
    """Return the HTML of a thing that was checked to be whole, static, small, and of no colour of its own."""
    html: str = what._repr_html_()
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert not checker.seen & {"script", "style", "link", "img", "iframe", "object", "foreignobject"}
    assert not {name for name in checker.names if name.startswith("on")} | checker.names & {
        "href",
        "src",
        "id",
    }
    assert "http" not in html
    assert not re.search(r"(?<!-)color:", html)
    assert len(html.encode()) < MOST_BYTES
    return html


def plain(html: str) -> str:
    """Return the text of HTML."""
    return re.sub(r"<[^>]+>", "", html)


def evil_traces(users: int = 3, places: int = 40) -> Traces:
    """Return traces whose every name tries to break out."""
    rng = np.random.default_rng(1)
    where = Places(
        rng.uniform(35, 36, places),
        rng.uniform(139, 140, places),
        ids=[f"{EVIL}{n}" + "x" * 3000 for n in range(places)],
        categories=[EVIL * 50] * places,
    )
    return Traces.from_dense(
        rng.integers(0, places, (users, 48)), where, Clock(instants_per_day=24),
        user_ids=[f"{EVIL}{n}" + "y" * 5000 for n in range(users)],
    )  # fmt: skip


def test_names_are_escaped_and_cut() -> None:
    traces = evil_traces()
    for what in (traces, ObfuscatedTraces.from_traces(traces), traces.places):
        html = shown(what)
        assert "&lt;script&gt;" in html
        assert "x" * 100 not in html


def test_traces_tell_how_many_and_from_when_to_when() -> None:
    city = ta.simulate(20, 2, seed=1)
    text = plain(shown(city))
    assert text.startswith("Traces")
    assert "users: 20 · events: 1,920 · places:" in text
    assert "first: 2019-04-01 00:00 · last: 2019-04-02 23:30 · an instant: every 30 min, 48 per day" in text
    assert "… and 1,915 more rows" in text
    assert "2 km" in text


def test_a_release_tells_its_sets_and_what_was_deleted() -> None:
    city = ta.simulate(5, 1, seed=1)
    codes = np.where(np.arange(len(city)) % 2 == 0, -1, -2)
    text = plain(shown(ObfuscatedTraces.like(city, codes, PlaceSets.of([[0, 1]]))))
    assert "sets: 120 · deleted: 120" in text
    assert "[1, 2]" in text


@pytest.mark.parametrize("points", [0, 1, 2, 500_000])
def test_points_of_any_number_fit(points: int) -> None:
    rng = np.random.default_rng(2)
    traces = GpsTraces.from_points(
        rng.integers(0, 1000, points), np.arange(points) * 1000,
        rng.normal(35.6, 0.1, points), rng.normal(139.7, 0.1, points),
    )  # fmt: skip
    assert f"points: {points:,}" in plain(shown(traces))


def test_points_all_over_the_earth_fit() -> None:
    n = 100_000
    rng = np.random.default_rng(3)
    far = GpsTraces.from_points(
        np.arange(n), np.arange(n), rng.uniform(-90, 90, n), rng.uniform(-180, 180, n)
    )
    shown(far)


def test_a_noisy_grid_of_a_million_cells_fits() -> None:
    grid = ta.Grid(rows=1000, columns=1000, south=0, west=0, north=1, east=1)
    rng = np.random.default_rng(4)
    traces = Traces.from_dense(
        rng.integers(0, 10**6, (100, 1000)), Places.of_grid(grid), Clock(instants_per_day=24)
    )
    assert "1000 × 1000" in plain(shown(traces.places))
    shown(traces)


def test_traces_without_anything_are_shown() -> None:
    empty = Traces.from_events([], [], [], Places([], []), Clock(instants_per_day=24))
    assert "events: 0" in plain(shown(empty))
    assert "places: 0" in plain(shown(empty.places))


def test_a_secret_table_shows_no_secret() -> None:
    html = shown(IdTable([2001, 2002], ["ann", "bob"]))
    assert "ann" not in html
    assert "2001" not in html
    assert "pseudonyms: 2 · one to one: yes" in plain(html)


def test_every_score_is_a_table() -> None:
    city = ta.simulate(5, 2, seed=1)
    released = ObfuscatedTraces.from_traces(city)
    score = ta.metrics.utility_score(city, released)
    assert "utility1" in plain(shown(score)).replace(" ", "")
    release = pseudonymise(released, seed=1)
    found = ta.metrics.reidentification_score(release.id_table, release.id_table)
    assert found.to_dict() == {"reidentification": 0.0, "identified": 5, "pseudonyms": 5}
    assert found.to_frame("pandas").to_dict("list") == {
        "reidentification": [0.0],
        "identified": [5],
        "pseudonyms": [5],
    }
    shown(found)


def test_numbers_within_numbers_have_both_names() -> None:
    city = ta.simulate(8, 2, seed=1)
    halves = ta.arena.compare_halves(city, city, halvings=2)
    assert halves is not None
    frame = halves.to_frame()
    assert frame["mean_tp_tv"].to_list() == [halves.mean.tp_tv]
    assert frame["users"].to_list() == [[4, 4]]
    shown(halves)


def test_a_long_sweep_is_cut() -> None:
    row = SweepRow(EVIL, 0.5, False, AttackScores({"a-R": 0.25}, {}), "it broke")
    html = shown(Sweep([row] * 5000, threshold=0.7))
    assert "… and 4,940 more rows" in html
    assert "defences: 5,000 · valid (utility of 0.7 or more): 0 · failed: 5,000" in plain(html)
