"""People come in by links, get what is theirs, and hand in files."""

from __future__ import annotations

import io
import zipfile

from tests.server.conftest import Held
from tests.server.visitors import by_form, joined, logged_in, organiser, program

from tracearena.server.store.crypto import unseal


def test_a_member_joins_downloads_and_hands_in(held: Held) -> None:
    """The bundle is opened by the login; the file lies sealed under its hash."""
    from tracearena.server.models import Job, Submission

    held.anonymization()
    client = joined(held, "001")
    packed = b"".join(client.get("/team/data/bundle"))
    assert "orgtraces_team001_data01_IDP.csv" in zipfile.ZipFile(io.BytesIO(packed)).namelist()
    answer = by_form(client, "obfuscated/1", b"hello", "k1")
    assert answer.status_code == 302, answer.content.decode()
    found = Submission.objects.get()
    assert answer["Location"] == f"/team/submissions/{found.pk}"
    assert client.get(answer["Location"]).status_code == 200
    stored = held.folder.upload(found.sha256).read_bytes()
    assert b"hello" not in stored
    assert unseal(held.judge_private_key, stored) == b"hello"
    assert Job.objects.get().key == f"check/{found.pk}"
    assert not list(held.folder.incoming.iterdir())


def test_a_program_does_the_same(held: Held) -> None:
    """By token, with the same receipt for the same key."""
    held.anonymization()
    caller = program(held, "002")
    assert caller.get("me").json()["team"] == "002"
    packed = b"".join(caller.get("data/bundle"))
    assert "orgtraces_team002_data01_IDP.csv" in zipfile.ZipFile(io.BytesIO(packed)).namelist()
    first = caller.upload("obfuscated/1", b"some rows", "k1")
    assert first.status_code == 201, first.content
    assert caller.upload("obfuscated/1", b"some rows", "k1").json() == first.json()
    assert caller.upload("obfuscated/1", b"other rows", "k1").json()["error"]["code"] == "idempotency-key"
    assert caller.get("data_sets").json()[0]["uploads_left"] == 19
    assert [one["id"] for one in caller.get("submissions").json()] == [first.json()["id"]]


def test_an_organiser_sees_the_state(held: Held) -> None:
    """Every page of theirs answers."""
    client = organiser(held)
    for page in ("", "/teams", "/submissions", "/phases", "/log", "/publish"):
        assert client.get(f"/organiser{page}").status_code == 200, page


def test_a_login_opens_the_bundle_again(held: Held) -> None:
    """The password unwraps the team's key, in another browser too."""
    joined(held, "001", "ann")
    assert logged_in("ann").get("/team/data/bundle").status_code == 200
