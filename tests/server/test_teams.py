"""What the command line does with teams."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import Held
from tests.server.visitors import Program, browser, by_link, joined, organiser, token

from tracearena.contest.contest_file import read_team_names
from tracearena.errors import FileError, ParameterError
from tracearena.server import teams
from tracearena.server.models import AuditEntry, Team


@pytest.mark.slow
def test_a_team_whose_secrets_were_stolen_is_let_in_anew(held: Held) -> None:
    """Logins, tokens and open links end at once; the new link opens the same bundle."""
    client = joined(held, "001", "ann")
    thief = Program(token(client))
    bundle = b"".join(client.get("/team/data/bundle").streaming_content)
    other = joined(held, "002", "bob")
    secret = teams.reset_team("001", held.judge_private_key, everything=True).secret
    assert client.get("/team").status_code == 302
    assert thief.get("me").status_code == 401
    spent = {"secret": held.created.invitations["001"], "name": "eve", "password": "seven green bottles"}
    assert browser().post("/join", spent).status_code == 410
    listed = {team["number"]: team["members"] for team in teams.describe_teams()}
    assert (listed["001"], listed["002"]) == ([], ["bob"])
    again = by_link(secret, "ann again")
    assert b"".join(again.get("/team/data/bundle").streaming_content) == bundle
    assert other.get("/team").status_code == 200


def test_a_reset_alone_ends_links_and_nothing_else(held: Held) -> None:
    """Who is in stays in."""
    client = joined(held, "001", "ann")
    teams.reset_team("001", held.judge_private_key, everything=False)
    assert client.get("/team/data/bundle").status_code == 200


def test_teams_are_renamed_all_or_none_and_no_two_the_same(held: Held) -> None:
    """By number; links and members stay; what cannot be is refused with a reason."""
    client = joined(held, "001", "ann")
    teams.rename_teams({"001": "Paper Cranes", "003": "Fog Bank"}, "test")
    assert "Paper Cranes" in client.get("/team").content.decode()
    assert [str(team) for team in Team.objects.filter(role="team")] == [
        "001 Paper Cranes", "002", "003 Fog Bank",
    ]  # fmt: skip
    for names, said in (
        ({"002": "Card Sharps", "003": "PAPER CRANES"}, "already"),
        ({"002": "Card Sharps", "009": "Nobody"}, "one of 001, 002, 003"),
        ({"002": ""}, "60 printable"),
        ({"002": 61 * "x"}, "60 printable"),
        ({"002": "left\u202eright"}, "60 printable"),
        ({"002": "００３"}, "not the number of a team"),
    ):
        with pytest.raises(ParameterError, match=said):
            teams.rename_teams(names, "test")
    assert Team.objects.get(number="002").name == "002"
    assert by_link(held.created.invitations["003"], "bob").get("/team").status_code == 200
    last = AuditEntry.objects.filter(act="team renamed").last()
    assert last is not None
    assert last.details == {"team": "003", "name": "Fog Bank"}


def test_a_team_gives_itself_a_name_once_unless_that_is_forbidden(held: Held) -> None:
    """On its own page; afterwards, and where it is forbidden, the organiser gives names."""
    first, second, boss = joined(held, "001", "ann"), joined(held, "002", "bob"), organiser(held)
    assert 'action="/team/name"' in first.get("/team").content.decode()
    assert first.post("/team/name", {"name": "<i>Cranes</i>"}).status_code == 302
    page = first.get("/team").content.decode()
    assert "&lt;i&gt;Cranes&lt;/i&gt;" in page
    assert 'action="/team/name"' not in page
    assert first.post("/team/name", {"name": "Others"}).status_code == 409
    taken = second.post("/team/name", {"name": "<I>cranes</I>"})
    assert (taken.status_code, "already" in taken.content.decode()) == (400, True)
    boss.post("/organiser/teams/own-names", {"allowed": "no"})
    assert 'action="/team/name"' not in second.get("/team").content.decode()
    assert second.post("/team/name", {"name": "Fog Bank"}).status_code == 409
    boss.post("/organiser/teams/own-names", {"allowed": "yes"})
    assert second.post("/team/name", {"name": "Fog Bank"}).status_code == 302
    assert boss.post("/organiser/teams/001/name", {"name": "Paper Cranes"}).status_code == 302
    assert "001 Paper Cranes" in browser().get("/").content.decode()
    assert boss.post("/organiser/teams/001/name", {"name": "Fog Bank"}).status_code == 409
    assert boss.post("/organiser/teams/000/name", {"name": "Nobody"}).status_code == 404


def test_names_come_from_a_file_and_a_wrong_row_is_named(tmp_path: Path) -> None:
    """With or without numbers, as spreadsheets save it."""
    path = tmp_path / "names.csv"
    path.write_bytes('\ufeffTeam,Name\r\n2,Fog Bank\r\n001,"Cranes, Paper"\r\n'.encode())
    assert read_team_names(path) == {"002": "Fog Bank", "001": "Cranes, Paper"}
    path.write_text("name\nFog Bank\n\nCranes\n")
    assert read_team_names(path) == {"001": "Fog Bank", "002": "Cranes"}
    for content, said in (
        ("Fog Bank\n", "first line"),
        ("team,name\n001,Fog Bank\n001,Cranes\n", "row 2"),
        ("team,name\n000,Fog Bank\n", "row 1"),
        ("name\nFog Bank\nFOG BANK\n", "both called"),
        ("team,name\n001\n", "one cell for each column"),
        ("name\n" + 61 * "x" + "\n", "60 printable"),
    ):
        path.write_text(content)
        with pytest.raises(FileError, match=said):
            read_team_names(path)
