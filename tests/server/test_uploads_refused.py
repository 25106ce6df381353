"""What is not taken, or taken and marked: too early, too late, too large, no space, names that bite."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import select
import signal
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import pytest
from django.test import Client
from django.test.client import FakePayload
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import (
    PASSWORD,
    Program,
    Site,
    browser,
    by_form,
    joined,
    memory_mb,
    program,
    served,
    token,
)

from tracearena.server import uploads
from tracearena.server.store.crypto import unseal

MS = timedelta(milliseconds=1)


def _form_and_program(held: Held, team: str = "001") -> tuple[Client, Program]:
    client = joined(held, team)
    return client, Program(token(client))


def test_a_millisecond_before_the_end_is_in_and_the_end_is_late(held: Held) -> None:
    """T18.

    On form and API alike, by the time at which the last byte came; late costs nothing of the limit.
    """
    from tracearena.server.models import Job, Submission

    client, caller = _form_and_program(held)
    held.at(SCHEDULE.anonymization_end - MS)
    by_form(client, "obfuscated/1", b"in by form", "f1")
    assert caller.upload("obfuscated/1", b"in by API", "a1").json()["late"] is False
    held.at(SCHEDULE.anonymization_end)
    by_form(client, "obfuscated/1", b"late by form", "f2")
    receipt = caller.upload("obfuscated/1", b"late by API", "a2").json()
    assert (receipt["late"], receipt["state"]) == (True, "late")
    states = dict(Submission.objects.values_list("idempotency_key", "state"))
    assert states == {"f1": "received", "a1": "received", "f2": "late", "a2": "late"}
    assert Job.objects.count() == 2
    assert caller.get("data_sets").json()[0]["uploads_left"] == 18


def test_attacks_have_the_same_edges(held: Held) -> None:
    """T18: The begin is in, the millisecond before is early; the end is late."""
    from tracearena.server.models import DataSet, Submission

    _release("002")
    client, caller = _form_and_program(held)
    path = "attack/002/1/inferred-table"
    for moment, status in (
        (SCHEDULE.attack_begin - MS, 409),
        (SCHEDULE.attack_begin, 201),
        (SCHEDULE.attack_end - MS, 201),
        (SCHEDULE.attack_end, 201),
    ):
        held.at(moment)
        key = moment.isoformat()
        assert caller.upload(path, f"guess {key}".encode(), f"a{key}").status_code == status
        form = by_form(client, path, f"other {key}".encode(), f"f{key}")
        assert form.status_code == (302 if status == 201 else status)
    states = list(Submission.objects.order_by("pk").values_list("state", flat=True))
    assert states == 4 * ["received"] + 2 * ["late"]
    assert DataSet.objects.get(team__number="002").released_at is not None


@pytest.mark.slow
def test_a_late_file_has_a_limit_of_its_own(holding: Callable[..., Held]) -> None:
    """So nobody fills the disk after the end; and what counts is not touched by it."""
    held = holding(obfuscated_uploads=2)
    caller = program(held, "001")
    held.at(SCHEDULE.anonymization_end)
    answers = [caller.upload("obfuscated/1", b"rows %d" % n, f"k{n}").status_code for n in range(4)]
    assert answers == [201, 201, 409, 409]
    assert caller.get("data_sets").json()[0]["uploads_left"] == 2


def test_nothing_is_taken_before_the_phase(held: Held) -> None:
    """With the time from which on it is."""
    client, caller = _form_and_program(held)
    refused = caller.upload("obfuscated/1", b"rows", "k")
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "early"
    assert by_form(client, "obfuscated/1", b"rows", "k").status_code == 409
    assert not list(held.folder.incoming.iterdir())


def test_a_retry_after_the_end_gets_the_old_receipt(held: Held) -> None:
    """Whoever lost the receipt just before the end does not lose the upload."""
    caller = program(held, "001")
    held.at(SCHEDULE.anonymization_end - MS)
    first = caller.upload("obfuscated/1", b"rows", "k").json()
    held.at(SCHEDULE.anonymization_end)
    assert caller.upload("obfuscated/1", b"rows", "k").json() == first


@pytest.mark.slow
def test_a_retry_when_nothing_is_left_gets_the_old_receipt(holding: Callable[..., Held]) -> None:
    """The limit is looked at after the key."""
    held = holding(obfuscated_uploads=1)
    caller = program(held, "001")
    held.anonymization()
    first = caller.upload("obfuscated/1", b"rows", "k").json()
    assert caller.upload("obfuscated/1", b"rows", "k").json() == first
    assert caller.upload("obfuscated/1", b"others", "other").json()["error"]["code"] == "quota"


def test_what_the_judge_has_closed_takes_nothing_more(held: Held) -> None:
    """A file that is written down after the judge went on is late, whenever it came."""
    from tracearena.server import clock
    from tracearena.server.models import Contest

    caller = program(held, "001")
    held.anonymization()
    Contest.objects.update(anonymization_closed_at=clock.now())
    assert caller.upload("obfuscated/1", b"rows", "k").json()["late"] is True


@pytest.mark.parametrize("moment", ["begin", "write", "sync", "rename"])
def test_a_full_disk_is_507_and_clear_text(held: Held, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """T9.

    At whatever point it fills up: nothing is kept, nothing is used up, and the next upload is taken.
    """
    from tracearena.server.models import Quota, Submission

    held.anonymization()
    client, caller = _form_and_program(held)
    with monkeypatch.context() as patched:
        _fill_disk(patched, moment)
        refused = caller.upload("obfuscated/1", 300_000 * b"x", "k")
        assert refused.status_code == 507
        assert "disk of the server is full" in refused.json()["error"]["message"]
        page = by_form(client, "obfuscated/1", 300_000 * b"x", "f")
        assert page.status_code == 507
        assert "disk of the server is full" in page.content.decode()
    assert not list(held.folder.incoming.iterdir())
    assert not [path for path in held.folder.uploads.rglob("*") if path.is_file()]
    assert not Submission.objects.exists()
    assert not Quota.objects.filter(used__gt=0).exists()
    assert caller.upload("obfuscated/1", 300_000 * b"x", "k").status_code == 201


def _fill_disk(patched: pytest.MonkeyPatch, moment: str) -> None:
    def full(*args: Any, **named: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if moment == "begin":
        real = os.open
        patched.setattr(
            os,
            "open",
            lambda path, *how, **named: (full if "/incoming/" in str(path) else real)(path, *how, **named),
        )
    elif moment == "write":
        patched.setattr(uploads.Sealer, "write", full)
    elif moment == "sync":
        patched.setattr(uploads.os, "fsync", full)
    else:
        patched.setattr(Path, "rename", full)


def test_a_database_without_space_says_the_same(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """T9: SQLite and PostgreSQL have words of their own for it."""
    from django.db import OperationalError

    from tracearena.server import submissions

    held.anonymization()
    caller = program(held, "001")

    for words in ("database or disk is full", "could not extend file: No space left on device"):
        full = Mock(side_effect=OperationalError(words))
        monkeypatch.setattr(submissions.queue, "enqueue", full)
        assert caller.upload("obfuscated/1", b"rows", "k").status_code == 507
    assert not [path for path in held.folder.uploads.rglob("*") if path.is_file()]


def test_a_file_size_limit_of_the_system_is_507_too(held: Held) -> None:
    """T9: The kernel itself says no, in the middle of a write."""
    held.anonymization()
    folder = held.folder
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    file = uploads.open_upload_stream(64)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        with pytest.raises(uploads.RequestRefused) as refused:
            file.write(100 * 65_536 * b"x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert refused.value.status == 507
    assert not list(folder.incoming.iterdir())


@pytest.mark.slow
def test_a_file_above_the_cap_is_413(holding: Callable[..., Held]) -> None:
    """T28: On form and API; exactly the cap is taken."""
    held = holding(largest_file_mb=1)
    held.anonymization()
    client, caller = _form_and_program(held)
    assert caller.upload("obfuscated/1", (2**20 + 1) * b"x", "a").status_code == 413
    page = by_form(client, "obfuscated/1", (2**20 + 1) * b"x", "f")
    assert (page.status_code, "at most 1 MiB" in page.content.decode()) == (413, True)
    assert not list(held.folder.incoming.iterdir())
    assert caller.upload("obfuscated/1", 2**20 * b"x", "a").status_code == 201
    assert by_form(client, "obfuscated/1", 2**20 * b"y", "f").status_code == 302


def test_a_form_without_a_file_takes_no_large_body(held: Held) -> None:
    """T28: A visitor cannot keep the server reading: what is too large by its own account is not read."""
    client, unread = joined(held, "001"), FakePayload()
    for who, path, length, status in (
        (browser(), "/login", 2**16 + 1, 413),
        (client, "/password", 2**16 + 1, 413),
        (client, "/team/uploads/obfuscated/1", 2**32, 413),
        (client, "/team/targets/archive", 2**32, 413),
        (browser(), "/team/uploads/obfuscated/1", 2**20, 403),
        (browser(), "/team/targets/archive", 2**20, 403),
    ):
        kind = "multipart/form-data; boundary=cut"
        answer = who.generic("POST", path, content_type=kind, CONTENT_LENGTH=length, **{"wsgi.input": unread})
        assert answer.status_code == status, path


def test_a_body_without_a_length_is_411(held: Held) -> None:
    """In chunks nobody knows how long it is before it has come; by form and by API."""
    held.anonymization()
    client, caller = _form_and_program(held)
    chunks = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}
    headers = {"Authorization": f"Bearer {caller.secret}", "Idempotency-Key": "k"}
    for path in ("/team/uploads/obfuscated/1", "/login", "/api/v1/uploads/obfuscated/1"):
        assert client.generic("POST", path, headers=headers, **chunks).status_code == 411


@pytest.mark.slow
@pytest.mark.parametrize("way", ["length", "chunks", "form"])
def test_four_gigabytes_are_refused(holding: Callable[..., Held], way: str) -> None:
    """T28: Whether the length is known, unknown, or comes in a form; the memory of the server stays flat."""
    held = holding(largest_file_mb=8)
    held.anonymization()
    client, caller = _form_and_program(held)
    with served(held) as site:
        _send_much(site, caller.secret, client, way, 2**20)
        before = memory_mb(site)
        status, sent = _send_much(site, caller.secret, client, way, 2**32)
        assert status == (411 if way == "chunks" else 413)
        assert sent < 64 * 2**20
        assert memory_mb(site) - before < 32
        assert not [path for path in held.folder.uploads.rglob("*") if path.stat().st_size > 2**21]
        assert not list(held.folder.incoming.iterdir())


def _send_much(site: Site, secret: str, client: Client, way: str, size: int) -> tuple[int, int]:
    """Send a body of a size until the server answers; return the status and how much was sent."""
    host, port = site.url.removeprefix("http://").split(":")
    block = 2**16 * b"x"
    ends: dict[str, tuple[str, bytes, bytes]] = {
        "length": (_api_head(secret, size) + f"Content-Length: {size}\r\n", b"", b""),
        "chunks": (_api_head(secret, size) + "Transfer-Encoding: chunked\r\n", b"", b"0\r\n\r\n"),
        "form": _form_parts(client, size),
    }
    head, first, last = ends[way]
    with socket.create_connection((host, int(port))) as connection:
        connection.settimeout(30)
        connection.sendall(f"{head}Host: {host}:{port}\r\n\r\n".encode() + first)
        sent = 0
        connection.setblocking(False)
        piece = f"{len(block):x}\r\n".encode() + block + b"\r\n" if way == "chunks" else block
        waiting = b""
        answer = b""
        while not answer:
            if not waiting:
                waiting = piece if sent < size else (last if sent == size else b"")
                sent += len(block) if waiting else 0
            answer, waiting = _turn(connection, waiting)
    return int(answer.split()[1]), sent


def _turn(connection: socket.socket, waiting: bytes) -> tuple[bytes, bytes]:
    """Read an answer if there is one, or else send some more."""
    readable, writable, _ = select.select([connection], [connection] if waiting else [], [], 30)
    assert readable or writable, "the server neither reads nor answers"
    if readable:
        return connection.recv(2**16) or b"HTTP/1.1 0", waiting
    try:
        return b"", waiting[connection.send(waiting) :]
    except ConnectionError:
        return connection.recv(2**16), waiting


def _api_head(secret: str, size: int) -> str:
    return (
        "POST /api/v1/uploads/obfuscated/1 HTTP/1.1\r\n"
        f"Authorization: Bearer {secret}\r\nIdempotency-Key: much-{size}\r\n"
    )


def _form_parts(client: Client, size: int) -> tuple[str, bytes, bytes]:
    client.get("/team")
    csrf = client.cookies["csrftoken"].value
    cookies = "; ".join(f"{name}={one.value}" for name, one in client.cookies.items())
    fields = {"csrfmiddlewaretoken": csrf, "key": f"form-{size}"}
    first = (
        "".join(
            f'--cut\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        )
        + '--cut\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    )
    last = '\r\n--cut\r\nContent-Disposition: form-data; name="whole"\r\n\r\nyes\r\n--cut--\r\n'
    head = (
        "POST /team/uploads/obfuscated/1 HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=cut\r\n"
        f"Cookie: {cookies}\r\nContent-Length: {len(first) + size + len(last)}\r\n"
    )
    return head, first.encode(), last.encode()


NASTY = {
    "../../../etc/passwd": "passwd",
    "..\\..\\boot.ini": "boot.ini",
    "a\x00b.csv": "a\ufffdb.csv",
    "a\u202evsc.exe": "a\ufffdvsc.exe",
    "a\u200bb.csv": "a\ufffdb.csv",
    "line\nbreak.csv": "line\ufffdbreak.csv",
    300 * "n" + ".csv": 120 * "n",
    "<script>alert(1)<.csv": "<script>alert(1)<.csv",
    "=HYPERLINK(1)": "=HYPERLINK(1)",
    "\u540d\u524d.csv": "\u540d\u524d.csv",
    "..": "..",
    "": "upload",
    "/": "upload",
    "%2e%2e%2fx": "%2e%2e%2fx",
    "\ud800.csv": "\ufffd\ufffd\ufffd.csv",
}


@pytest.mark.slow
def test_nasty_file_names_are_shown_and_used_for_nothing(held: Held) -> None:
    """T30.

    No folder is left, no letter turns the text around, no tag is a tag; the file lies under its hash.
    """
    from tracearena.server.models import Submission

    held.anonymization()
    client, caller = _form_and_program(held)
    for number, (name, shown) in enumerate(NASTY.items()):
        content = b"rows %d" % number
        sent = quote(name.encode("utf-8", "surrogatepass"))
        receipt = caller.upload("obfuscated/1", content, f"k{number}", sent)
        assert receipt.status_code == 201, (name, receipt.content)
        found = Submission.objects.get(pk=receipt.json()["id"])
        assert found.file_name == shown
        assert held.folder.upload(hashlib.sha256(content).hexdigest()).is_file()
    for path in ("/team/submissions", f"/team/submissions/{found.pk}"):
        page = client.get(path).content.decode()
        assert "<script>" not in page
        assert "\u202e" not in page
    outside = {path for path in held.folder.path.parent.rglob("*") if path.name in ("passwd", "boot.ini")}
    assert not outside


def test_nasty_names_in_the_form(held: Held) -> None:
    """T30: The same by the form."""
    from tracearena.server.models import Submission

    held.anonymization()
    client = joined(held, "001")
    for number, name in enumerate(["../../x.csv", "a\u202eb.csv", 300 * "n", "<b>.csv"]):
        answer = by_form(client, "obfuscated/1", b"rows %d" % number, f"k{number}", name)
        assert answer.status_code == 302
    names = list(Submission.objects.order_by("pk").values_list("file_name", flat=True))
    # Django leaves out what cannot be printed, and keeps the end of a name that is too long.
    assert names == ["x.csv", "ab.csv", 120 * "n", "<b>.csv"]


@pytest.mark.slow
def test_a_form_that_broke_off_is_not_taken(held: Held) -> None:
    """Django takes what has come of a file for the whole; the field behind the file is missing then."""
    from tracearena.server.models import Quota

    held.anonymization()
    client = joined(held, "001")
    whole = (
        b'--cut\r\nContent-Disposition: form-data; name="key"\r\n\r\nk1\r\n'
        b'--cut\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        + 1000 * b"rows\n"
        + b'\r\n--cut\r\nContent-Disposition: form-data; name="whole"\r\n\r\nyes\r\n--cut--\r\n'
    )
    path, kind = "/team/uploads/obfuscated/1", "multipart/form-data; boundary=cut"
    for stop in range(200, len(whole) - 30, 97):
        assert client.post(path, whole[:stop], content_type=kind).status_code == 400
    assert not Quota.objects.filter(used__gt=0).exists()
    assert not list(held.folder.incoming.iterdir())
    assert client.post(path, whole, content_type=kind).status_code == 302


def test_the_team_of_an_upload_is_that_of_the_token(held: Held) -> None:
    """Whatever the file or a field says; a name that says another team is refused."""
    from tracearena.server.models import Submission

    held.anonymization()
    caller = program(held, "001")
    theirs = caller.upload("obfuscated/1", b"team_id\n002\n", "k", "anotraces_team002_data01_IDP.csv")
    assert theirs.status_code == 409
    caller.upload("obfuscated/1?team=002", b"team_id\n002\n", "k", "team002.csv")
    found = Submission.objects.select_related("team", "data_set__team").get()
    assert (found.team.number, found.data_set.team.number) == ("001", "001")


def test_a_team_does_not_attack_itself(held: Held) -> None:
    """Nor a sample team, nor somebody who is not there."""
    client, caller = _form_and_program(held)
    held.attack()
    _release("001")
    expected = {"001": 409, "004": 404, "009": 404, "0": 404}
    for target, status in expected.items():
        path = f"attack/{target}/1/inferred-table"
        assert caller.upload(path, b"guess", f"k{target}").status_code == status
        assert by_form(client, path, b"guess", f"f{target}").status_code == status
    _release("002")
    assert caller.upload("attack/002/1/nonsense", b"guess", "k").status_code == 404
    assert caller.upload("attack/002/2/inferred-table", b"guess", "k").status_code == 404


def test_a_key_is_required(held: Held) -> None:
    """And has a length."""
    held.anonymization()
    caller = program(held, "001")
    for key in ("", 101 * "k", "two words"):
        assert caller.upload("obfuscated/1", b"rows", key).json()["error"]["code"] == "idempotency-key"


def test_what_a_killed_upload_left_is_swept_after_an_hour(held: Held) -> None:
    """And not before."""
    held.anonymization()
    caller = program(held, "001")
    old, new = held.folder.incoming / "old", held.folder.incoming / "new"
    for part in (old, new):
        part.write_bytes(b"sealed")
    os.utime(old, (1, 1))
    caller.upload("obfuscated/1", b"rows", "k")
    assert [path.name for path in held.folder.incoming.iterdir()] == ["new"]


def test_nobody_but_a_team_puts_anything_on_the_disk(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in another form, or from a visitor, is not even begun."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    held.anonymization()
    client, visitor = joined(held, "001"), browser()
    begun = Mock(wraps=uploads.open_upload_stream)
    monkeypatch.setattr(uploads, "open_upload_stream", begun)
    for who, path in ((visitor, "/login"), (visitor, "/team/uploads/obfuscated/1"), (client, "/password")):
        who.post(path, {"file": SimpleUploadedFile("a", b"x"), "old": PASSWORD, "password": "short"})
    assert not begun.called
    by_form(client, "obfuscated/1", b"rows", "k")
    assert begun.called


def _release(team: str) -> None:
    from tracearena.server import clock
    from tracearena.server.models import Contest, DataSet

    DataSet.objects.update(closed_at=clock.now())
    DataSet.objects.filter(team__number=team).update(released_at=clock.now())
    Contest.objects.update(anonymization_closed_at=clock.now())


def test_an_upload_on_its_way_is_sealed_from_the_first_byte(held: Held) -> None:
    """T21: What lies on the disk, half or whole, holds nothing of the clear text; only the judge opens it."""
    canary = b"the quick brown fox jumps over the lazy dog\n"
    file = uploads.open_upload_stream(64)
    for _ in range(5_000):
        file.write(canary)
    (part,) = held.folder.incoming.iterdir()
    assert part.stat().st_size > 100_000
    assert canary[:12] not in part.read_bytes()
    file.finish()
    assert canary[:12] not in part.read_bytes()
    assert unseal(held.judge_private_key, part.read_bytes()) == 5_000 * canary
    file.close()
    assert not part.exists()
