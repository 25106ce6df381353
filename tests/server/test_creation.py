"""A contest on a server: what its folder and its database hold when it is made."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from tests.server.conftest import TEAMS, Held

from tracearena.errors import FileError
from tracearena.server.accounts import LINK_PURPOSE, find_usable_link
from tracearena.server.store.crypto import derive_secret_key, unseal, unwrap
from tracearena.server.store.folder import Folder


def test_every_party_has_a_row_and_every_team_a_link(held: Held) -> None:
    """Team 000, three teams and a sample team; the sample team defends nothing."""
    from tracearena.server.models import Contest, DataSet, Team

    assert list(Team.objects.values_list("number", "role")) == [
        ("000", "pseudonymised"),
        ("001", "team"),
        ("002", "team"),
        ("003", "team"),
        ("004", "sample"),
    ]
    assert DataSet.objects.count() == 1 + TEAMS
    assert sorted(held.created.invitations) == ["001", "002", "003"]
    assert Contest.get_current().rules.sample_teams == 1


def test_a_teams_link_opens_its_own_bundle_and_no_other(held: Held) -> None:
    """The secret of a link unwraps the key to which the bundle is sealed."""
    secret = held.created.invitations["002"]
    link = find_usable_link(secret)
    assert link is not None
    private = unwrap(bytes(link.wrapped_key), derive_secret_key(secret), LINK_PURPOSE)
    packed = unseal(private, held.folder.for_team("002").read_bytes())
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert "orgtraces_team002_data01_IDP.csv" in names
    assert not [name for name in names if "team001" in name or "team003" in name]
    with pytest.raises(Exception, match="another key"):
        unseal(private, held.folder.for_team("001").read_bytes())


def test_the_judge_opens_originals_and_every_key(held: Held) -> None:
    """The escrow lets the judge wrap a team's key anew."""
    from tracearena.server.models import Team

    private = held.judge_private_key
    original = unseal(private, held.folder.for_judge("orgtraces_team001_data01_IDP.csv").read_bytes())
    assert original.startswith(b"user_id,time_id,reg_id\n")
    own = unseal(private, bytes(Team.objects.get(number="001").escrow))
    assert zipfile.is_zipfile(io.BytesIO(unseal(own, held.folder.for_team("001").read_bytes())))


def test_no_secret_lies_in_clear_in_a_new_contest(held: Held) -> None:
    """T21: No file of the folder holds a row of an original, a link's secret or the judge's key."""
    private = held.judge_private_key
    original = unseal(private, held.folder.for_judge("orgtraces_team001_data01_IDP.csv").read_bytes())
    secrets = [original[200:300], private, private.hex().encode(), held.created.organiser.encode()]
    for path in held.folder.path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [secret for secret in secrets if secret in content], path


def test_a_folder_that_is_no_contest_is_named(tmp_path: Path) -> None:
    """With what makes one."""
    with pytest.raises(FileError, match="contest new"):
        Folder(tmp_path).read_secrets()
