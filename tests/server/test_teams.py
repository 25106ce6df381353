"""What the command line does with teams."""

from __future__ import annotations

import pytest
from tests.server.conftest import Held
from tests.server.visitors import Program, browser, by_link, joined, token

from tracearena.errors import ParameterError
from tracearena.server import teams


@pytest.mark.slow
def test_a_team_whose_secrets_were_stolen_is_let_in_anew(held: Held) -> None:
    """Logins, tokens and open links end at once; the new link opens the same bundle."""
    client = joined(held, "001", "ann")
    thief = Program(token(client))
    bundle = b"".join(client.get("/team/data/bundle").streaming_content)
    other = joined(held, "002", "bob")
    _, secret = teams.reset_team("001", held.judge_private_key, everything=True)
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


def test_the_next_free_team_gets_a_name_and_no_two_the_same(held: Held) -> None:
    """Free is a team that nobody has joined and that has no name."""
    joined(held, "001", "ann")
    team, secret = teams.add_team("Paper Cranes", held.judge_private_key)
    assert team.number == "002"
    assert by_link(secret, "bob").get("/team").status_code == 200
    with pytest.raises(ParameterError, match="already"):
        teams.add_team("Paper Cranes", held.judge_private_key)
    with pytest.raises(ParameterError):
        teams.reset_team("009", held.judge_private_key, everything=False)
