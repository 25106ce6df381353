"""A new link for a team that the web asks for: the judge alone puts the team's key under it."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta

import pytest
from tests.server import hands
from tests.server.conftest import Held

from tracearena.server import clock
from tracearena.server.accounts import LINK_PURPOSE
from tracearena.server.models import Job, Link, LinkKind, Team
from tracearena.server.store import queue
from tracearena.server.store.crypto import (
    SealError,
    derive_secret_key,
    hash_secret,
    make_secret,
    seal,
    unseal,
    unwrap,
)


def _asked_for(held: Held, team: str) -> tuple[Link, str]:
    """Put in what the web puts in: a link without a key, and its secret sealed to the judge."""
    secret, now = make_secret(), clock.now()
    link = Link.objects.create(
        kind=LinkKind.INVITATION,
        team=Team.objects.get(number=team),
        digest=hash_secret(secret),
        created_at=now,
        expires_at=now + timedelta(hours=72),
    )
    public = bytes.fromhex(held.folder.read_secrets().judge_public_key)
    about = {"link": link.pk, "sealed": seal(public, secret.encode()).hex()}
    queue.enqueue("rewrap", f"rewrap/{link.pk}", about, team=link.team)
    return link, secret


def test_the_new_link_opens_the_teams_bundle(held: Held) -> None:
    """And no other one; the sealed secret does not stay in the queue."""
    link, secret = _asked_for(held, "002")
    assert hands.judged(held) == 1
    link.refresh_from_db()
    private = unwrap(bytes(link.wrapped_key), derive_secret_key(secret), LINK_PURPOSE)
    packed = unseal(private, held.folder.for_team("002").read_bytes())
    assert "orgtraces_team002_data01_IDP.csv" in zipfile.ZipFile(io.BytesIO(packed)).namelist()
    with pytest.raises(SealError):
        unseal(private, held.folder.for_team("001").read_bytes())
    assert Job.objects.get().about == {"link": link.pk}


def test_a_link_that_expired_gets_no_key(held: Held) -> None:
    """The job ends all the same."""
    link, _ = _asked_for(held, "002")
    held.at(link.expires_at)
    hands.judged(held)
    link.refresh_from_db()
    assert link.wrapped_key is None
    assert Job.objects.get().state == "done"
