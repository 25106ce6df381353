"""The page of a contest shows everything, needs nothing from elsewhere, and fits any number of teams."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pytest
from tests.contest.residents import Residents

from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Refusal,
    ReportData,
    Roster,
    Rules,
    SimulatedContest,
    UtilityRecord,
    build_report_data,
    make_board,
    simulate_contest,
)
from tracearena.pages import svg
from tracearena.pages.contest import contest_report
from tracearena.pages.contest_data import assign_team_styles, find_tied_teams

SECTIONS = [
    "Who won",
    "The board",
    "All attacks",
    "Two kinds of privacy",
    "What privacy costs",
    "The cheating team",
    "One person's day, before and after",
    "Usefulness of the published data",
    "The rules",
    "What to do next",
    "How to reproduce this page",
]


def hold(teams: int) -> SimulatedContest:
    return simulate_contest(teams=teams, users=30, days=4, maker=Residents(), seed=5)


def headings(html: str) -> list[str]:
    return [unescape(heading) for heading in re.findall(r"<h2 [^>]*>(.*?)</h2>", html)]


@pytest.fixture(scope="module")
def held() -> SimulatedContest:
    return hold(7)


@pytest.fixture(scope="module")
def html(held: SimulatedContest) -> str:
    return contest_report(held.to_report_data("tracearena demo --teams 7 --seed 5")).html()


@pytest.mark.slow
def test_every_section_is_there(html: str) -> None:
    assert headings(html) == SECTIONS


def test_nothing_comes_from_elsewhere(html: str) -> None:
    markup = re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert not re.findall(r'(?:src|href)="(?!#|data:)', markup)
    assert not re.findall(r"url\((?!data:|#)|@import", markup)
    assert "Plotly" not in html
    assert html.startswith("<!DOCTYPE html>")


def test_every_picture_says_something_and_has_its_numbers(html: str) -> None:
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", html, re.S)
    assert len(captions) == html.count("<figure")
    assert all(caption.strip().endswith(".") for caption in captions)
    # The map of noon before shares its table with the one after.
    assert html.count("Save as CSV") == len(captions) - 1


def test_every_team_every_rule_and_the_command_are_told(held: SimulatedContest, html: str) -> None:
    for one in held.entrants:
        assert one.name in html
    for rule in held.rules.explain():
        assert rule in unescape(html)
    assert "tracearena demo --teams 7 --seed 5" in html


@pytest.mark.slow
def test_teams_keep_their_own_looks() -> None:
    held = hold(21)
    given = assign_team_styles(held.board.roster)
    assert len({(look.colour, look.marker) for look in given.values()}) == len(held.entrants)


def test_the_pictures_are_those_of_the_server(held: SimulatedContest, html: str) -> None:
    for kind in AttackKind:
        assert svg.matrix_picture(held.board, kind).svg in html
    assert svg.privacy_picture(held.board, held.samples).svg in html
    assert svg.usefulness_picture(held.board, held.samples).svg in html


def test_no_two_parts_of_the_page_share_an_id(html: str) -> None:
    assert [name for name, count in Counter(re.findall(r'\bid="(.*?)"', html)).items() if count > 1] == []


def test_the_slider_goes_through_the_whole_day(html: str) -> None:
    days = [one for one in re.findall(r"<figure.*?</figure>", html, re.S) if 'type="range"' in one]
    assert days
    for day in days:
        times = dict.fromkeys(re.findall(r'data-at="(\d+)" data-time="(.*?)" visibility="(.*?)"', day))
        assert [int(at) for at, _, _ in times] == list(range(20))
        assert [time for _, time, _ in times][::19] == ["08:00", "17:30"]
        (now,) = [(at, time) for at, time, seen in times if seen == "visible"]
        assert f'min="0" max="19" value="{now[0]}"><output>{now[1]}</output>' in day
        later = re.findall(r'data-since="(\d+)" visibility="hidden"', day)
        assert {int(at) for at in later} == set(range(int(now[0]) + 1, 20))


def test_teams_within_the_margin_are_named(held: SimulatedContest) -> None:
    award = held.awards[0]
    assert find_tied_teams(award, 10.0) == [p.team for p in award.places if p.place > 1]
    assert find_tied_teams(award, 0.0) == []


@pytest.mark.slow
@pytest.mark.parametrize("teams", [2, 21])
def test_any_number_of_teams_has_a_page(teams: int) -> None:
    page = contest_report(hold(teams).to_report_data("tracearena demo")).html()
    assert headings(page) == SECTIONS
    assert page.count('<figure class="picture">') >= 10
    assert len(page) < 2_000_000


def scored(*, data_sets: int, pseudonymised: bool = True) -> ReportData:
    """A contest of which there are scores only: c is below the threshold, d hands in nothing."""
    roster = Roster(teams="abcd", pseudonymised="000" if pseudonymised else None, samples=["VisitProb-T"])
    sets = range(1, data_sets + 1)
    utilities = [
        UtilityRecord(team=team, utility=utility, data_set=n)
        for team, utility in (("a", 0.7), ("b", 0.9), ("c", 0.1))
        for n in sets
    ]
    attacks = [
        AttackRecord(attacker=who, target=whom, kind=kind, score=score, data_set=n)
        for who, whom, score in (("a", "b", 0.4), ("b", "a", 0.5), ("VisitProb-T", "a", 0.6))
        for kind in AttackKind
        for n in sets
    ]
    board = make_board(Rules(data_sets=data_sets), roster, utilities, attacks)
    refused = (Refusal("submissions/x.csv", "late", "came at noon; the phase ended <before> that"),)
    return build_report_data(
        board, title="Friday & after", command="tracearena contest board friday", names={"a": "a <b>"},
        refused=refused,
    )  # fmt: skip


@pytest.mark.parametrize("data_sets", [1, 2])
@pytest.mark.parametrize("pseudonymised", [True, False])
def test_a_board_of_scores_alone_has_a_page(data_sets: int, pseudonymised: bool) -> None:
    html = contest_report(scored(data_sets=data_sets, pseudonymised=pseudonymised)).html()
    shown = [*SECTIONS[:2], "Refused files", *SECTIONS[2:5], *SECTIONS[8:]]
    assert headings(html) == shown
    assert "a <b>" not in re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert "a &lt;b&gt;" in html
    assert "the phase ended &lt;before&gt; that" in html
    assert "invalid: no submission" in html
    assert "invalid: below 0.7" in html
    name = (
        "trace-inference challenge" if data_sets == 1 else "re-identification challenge and trace-inference"
    )
    assert f"The {name}" in html
    assert ("b / TRP" in html) == (data_sets == 2)
    assert html.count("<figcaption>") == html.count("<figure")


def test_a_contest_in_which_nobody_did_anything_has_a_page() -> None:
    board = make_board(Rules(), Roster(teams="ab"), [], [])
    html = contest_report(
        build_report_data(board, title="Nothing", command="tracearena contest board x")
    ).html()
    assert "Nobody defended best" in html
    assert "nobody" in html


def test_the_same_contest_makes_the_same_page(held: SimulatedContest, html: str) -> None:
    assert contest_report(held.to_report_data("tracearena demo --teams 7 --seed 5")).html() == html
