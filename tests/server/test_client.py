"""The client on a bad line: uploads are never doubled, downloads never half, tokens never seen."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tracearena.contest.commitments import (
    ListedReceipt,
    format_receipt_list,
    public_signing_key,
    receipt_commitment,
    sign,
)
from tracearena.engine import use
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.server import client as connection
from tracearena.server import client as keeping
from tracearena.server.client import (
    Client,
    ServerRefused,
    ServerUnreachable,
    check_receipts,
    download,
    upload,
)

CONTENT = bytes(range(256)) * 4_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PATH = "uploads/obfuscated/1"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection.time, "sleep", lambda seconds: None)


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://127.0.0.1:1", "secret", transport=httpx.MockTransport(answer))


class Server:
    """Answers as a contest's server, over a line that breaks as often as it is told."""

    def __init__(self, breaks: int = 0, *, after_receipt: bool = False) -> None:
        self.breaks, self.after_receipt = breaks, after_receipt
        self.received: list[dict[str, Any]] = []
        self.keys: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/")
        if path == "contest":
            return httpx.Response(200, json={"rules": {"largest_file_mb": 1}})
        if path == "submissions":
            after = int(request.url.params["after"])
            return httpx.Response(200, json=[one for one in self.received if one["id"] > after])
        return self._take(request)

    def _take(self, request: httpx.Request) -> httpx.Response:
        key, content = request.headers["Idempotency-Key"], request.read()
        self.keys.append(key)
        if self.breaks and not self.after_receipt:
            self.breaks -= 1
            raise httpx.ReadError("broken pipe")
        known = [one for one in self.received if one["key"] == key]
        if not known:
            digest = hashlib.sha256(content).hexdigest()
            number = len(self.received) + 1
            about = {"kind": "obfuscated", "target": None, "data_set": 1, "state": "received", "late": False}
            known = [about | {"id": number, "key": key, "sha256": digest, "size": len(content)}]
            self.received += known
        if self.breaks:
            self.breaks -= 1
            raise httpx.ReadError("the receipt was lost")
        return httpx.Response(201, json=known[0])


@pytest.mark.parametrize("after_receipt", [False, True])
def test_an_upload_over_a_broken_line_is_one_upload(tmp_path: Path, after_receipt: bool) -> None:
    """Every try carries the same key and the whole file, whether the file or the receipt was lost."""
    (tmp_path / "mine.csv").write_bytes(CONTENT)
    server = Server(breaks=3, after_receipt=after_receipt)
    receipt = upload(client(server), PATH, tmp_path / "mine.csv")
    assert receipt["sha256"] == SHA256
    assert (len(server.keys), len(set(server.keys)), len(server.received)) == (4, 1, 1)


def test_an_upload_says_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(CONTENT)
    seen: list[tuple[int, int]] = []
    with use(progress=lambda done, total: seen.append((done, total))):
        upload(client(Server()), PATH, tmp_path / "mine.csv")
    assert len(seen) > 1
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_command_that_is_repeated_gives_the_same_receipt(tmp_path: Path) -> None:
    """Until something else was handed in: then the same file is an upload of its own again."""
    for name, content in (("a.csv", b"reg_id\n1\n"), ("b.csv", b"reg_id\n2\n")):
        (tmp_path / name).write_bytes(content)
    server = Server()
    first = [upload(client(server), PATH, tmp_path / "a.csv")["id"] for _ in range(3)]
    assert first == [1, 1, 1]
    assert upload(client(server), PATH, tmp_path / "b.csv")["id"] == 2
    assert upload(client(server), PATH, tmp_path / "a.csv")["id"] == 3


def test_a_file_beyond_the_limit_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "huge.csv").write_bytes(bytes(2**20 + 1))
    server = Server()
    with pytest.raises(FileError, match="at most 1,048,576 are allowed"):
        upload(client(server), PATH, tmp_path / "huge.csv")
    assert server.keys == []


class Line(httpx.SyncByteStream):
    """The bytes of an answer, of which only some come through."""

    def __init__(self, content: bytes, most: int | None) -> None:
        self._content, self._most = content, most

    def __iter__(self) -> Any:
        yield self._content[: self._most]
        if self._most is not None:
            raise httpx.ReadError("broken off")


def _sends(asked: list[str | None], breaks_at: int = 300_000) -> Callable[[httpx.Request], httpx.Response]:
    def answer(request: httpx.Request) -> httpx.Response:
        wanted = request.headers.get("Range")
        asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        assert request.headers.get("If-Range", f'"{SHA256}"') == f'"{SHA256}"'
        rest = CONTENT[start:]
        most = breaks_at if len(rest) > breaks_at else None
        return httpx.Response(206 if wanted else 200, stream=Line(rest, most))

    return answer


def test_a_download_goes_on_where_it_broke(tmp_path: Path) -> None:
    """Each try asks for the rest; the file has its name only when all of it is right."""
    asked: list[str | None] = []
    target = tmp_path / "file.csv"
    assert download(client(_sends(asked)), "files/x", target, sha256=SHA256, size=len(CONTENT))
    assert asked == [None, "bytes=300000-", "bytes=600000-", "bytes=900000-"]
    assert target.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["file.csv"]
    assert not download(client(_sends(asked)), "files/x", target, sha256=SHA256, size=len(CONTENT))
    assert len(asked) == 4, "what is there is not fetched again"


def test_a_download_goes_on_in_the_next_command(tmp_path: Path) -> None:
    """What came lies beside, under a hidden name with the version in it."""
    asked: list[str | None] = []
    target = tmp_path / "file.csv"
    with pytest.raises(ServerUnreachable):
        download(
            client(_sends(asked, breaks_at=100_000)), "files/x", target, sha256=SHA256, size=len(CONTENT)
        )
    assert not target.exists()
    assert download(client(_sends(asked)), "files/x", target, sha256=SHA256, size=len(CONTENT))
    assert target.read_bytes() == CONTENT


def test_a_file_that_came_otherwise_is_not_kept(tmp_path: Path) -> None:
    """The hash decides, and nothing of it is left."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=CONTENT[:-1] + b"?")

    with pytest.raises(DataError, match="differs from the server's file"):
        download(client(answer), "files/x", tmp_path / "file.csv", sha256=SHA256, size=len(CONTENT))
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_told_and_not_tried_again() -> None:
    """The server's own words, with their code."""
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        error = {"code": "quota", "message": "All 20 uploads are used up.", "details": {"limit": 20}}
        return httpx.Response(409, json={"error": error})

    with pytest.raises(ServerRefused, match="used up") as found:
        client(answer).get("me")
    assert (found.value.code, found.value.status, found.value.details) == ("quota", 409, {"limit": 20})
    assert len(asked) == 1


def test_a_page_of_something_else_is_no_contest() -> None:
    with pytest.raises(ServerRefused, match="is there a contest at this address"):
        client(lambda request: httpx.Response(404, text="<html>")).get("me")


def test_a_server_that_is_away_is_named() -> None:
    with pytest.raises(ServerUnreachable, match=r"127\.0\.0\.1:1 cannot be reached: it answers 503"):
        client(lambda request: httpx.Response(503)).get("me")


@pytest.mark.parametrize("url", ["http://contest.example.org", "ftp://127.0.0.1", "contest.example.org", ""])
def test_a_token_travels_by_https_or_not_at_all(url: str) -> None:
    with pytest.raises(ParameterError):
        Client(url, "secret")


def test_a_login_is_kept_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And refused when others can read it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(ParameterError, match="you are not logged in"):
        keeping.read_login()
    login = keeping.Login("https://contest.example.org", "secret")
    assert "secret" not in repr(login)
    path = keeping.save_login(login)
    assert path.stat().st_mode & 0o777 == 0o600
    assert keeping.read_login() == login
    path.chmod(0o640)
    with pytest.raises(FileError, match="chmod 600"):
        keeping.read_login()


class _Lists:
    """Answers with the list of the anonymization phase, signed by a key."""

    def __init__(self, lines: list[ListedReceipt], signed_by: bytes) -> None:
        name = "receipts_anonymization.csv"
        content = format_receipt_list(lines).encode()
        self.files = {name: content, f"{name}.sig": sign(signed_by, name, content).encode()}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1/")
        if path == "contest":
            return httpx.Response(200, json={"signing_key": public_signing_key(32 * b"k")})
        if path == "data":
            digests = {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}
            files = [{"name": n, "size": len(c), "sha256": digests[n]} for n, c in self.files.items()]
            return httpx.Response(200, json={"files": files})
        return httpx.Response(200, content=self.files[path.removeprefix("files/")])


def test_a_receipt_that_is_not_in_the_signed_list_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing, with another time, or of a phase that is not closed yet; late ones do not count."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    url = client(Server()).url
    at = "2026-05-03T00:00:00+00:00"
    for number in range(1, 6):
        receipt = {
            "id": number,
            "target": "002" if number == 4 else None,
            "sha256": SHA256,
            "late": number == 5,
        }
        for _ in range(2):
            keeping.save_receipt(url, receipt | {"salt": f"salt {number}", "received_at": at, "state": "x"})
    assert keeping.find_receipts_file().stat().st_mode & 0o777 == 0o600
    lines = [ListedReceipt(n, at, receipt_commitment(SHA256, f"salt {n}")) for n in (1, 3)]
    lines[1] = ListedReceipt(3, at.replace("03", "04", 1), lines[1].commitment)
    found = check_receipts(client(_Lists(lines, 32 * b"k")))
    assert [(one.receipt, one.state, one.is_wrong) for one in found] == [
        (1, "listed", False),
        (2, "MISSING", True),
        (3, "LISTED OTHERWISE", True),
        (4, "its phase is not closed yet", False),
    ]
    with pytest.raises(DataError, match="not signed with the contest's key"):
        check_receipts(client(_Lists(lines, 32 * b"o")))
