"""One archive with attacks on many targets, read as what a hostile sender made."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import browser, joined

from tracearena.server.store.crypto import CipherFile

ADDRESS = "/team/targets/archive"
TABLE, TRACES = "etable_team001-{}_data01_IDP.csv", "etraces_team001-{}_data01_IDP.csv"


@pytest.fixture
def attacking(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A member of team 001 in the attack phase, with targets 000, 002 and 003."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    held.anonymization()
    for team in ("001", "002", "003"):
        hands.defend(held, team, tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()
    return client


def _zip(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _send(client: Any, content: bytes, key: str = "k", name: str = "all.zip", whole: str = "yes") -> Any:
    fields = {"key": key, "file": SimpleUploadedFile(name, content), "whole": whole}
    return client.post(ADDRESS, fields)


def _rows(answer: Any) -> list[tuple[str, str]]:
    """Return what the page says of each file: its name, and the number of its receipt or the problem."""
    body = answer.content.decode().partition("<tbody>")[2].partition("</tbody>")[0]
    found = re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th><td>(.*?)</td>', body, re.S)
    return [(name, " ".join(re.sub(r"<[^>]+>", " ", said).split())) for name, said in found]


def _taken() -> list[tuple[str, str, str]]:
    from tracearena.server.models import Submission

    rows = Submission.objects.filter(kind__startswith="inferred").order_by("pk")
    return [(one.team.number, one.data_set.team.number, one.kind) for one in rows]


@pytest.mark.slow
def test_each_file_becomes_a_submission_of_its_own(held: Held, attacking: Any, tmp_path: Path) -> None:
    """With its own receipt and job; what it is comes from its name, and the judge takes it."""
    from tracearena.server.models import State, Submission

    files = {
        f"attacks/{TABLE.format('002')}": hands.inferred_table(held, "002", tmp_path, right=3),
        TRACES.format("003"): hands.inferred_traces(held, "003", tmp_path),
        TABLE.format("000"): hands.inferred_table(held, "000", tmp_path, right=3),
    }
    answer = _send(attacking, _zip(files))
    assert answer.status_code == 200
    assert [said.startswith("Receipt") for _, said in _rows(answer)] == [True, True, True]
    expected = [
        ("001", "002", "inferred-table"),
        ("001", "003", "inferred-traces"),
        ("001", "000", "inferred-table"),
    ]
    assert _taken() == expected
    hands.judged(held)
    assert set(Submission.objects.filter(kind__startswith="inferred").values_list("state", flat=True)) == {
        State.CHECKED
    }


@pytest.mark.slow
def test_thirty_megabytes_are_taken_and_never_lie_on_the_disk_in_clear(
    held: Held, attacking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says 64 MB; the archive waits enciphered while its files are handed in."""
    content = os.urandom(30 * 2**20)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr(TRACES.format("002"), content)
    seen: list[bytes] = []
    write = CipherFile.write

    def spied(file: CipherFile, piece: bytes) -> int:
        count = write(file, piece)
        if not seen:
            seen.append(os.pread(file._file.fileno(), len(piece), 0))
        return count

    monkeypatch.setattr(CipherFile, "write", spied)
    answer = _send(attacking, archive.getvalue())
    assert [said.startswith("Receipt") for _, said in _rows(answer)] == [True]
    assert len(seen[0]) > 1_000
    assert b"etraces" not in seen[0]
    from tracearena.server.models import Submission

    assert Submission.objects.get(kind="inferred-traces").sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.slow
def test_the_same_archive_twice_gives_the_same_receipts(attacking: Any) -> None:
    """A double click, or a page that is loaded again, hands in once; so does the same archive another day."""
    content = _zip({TABLE.format("002"): b"user_id\n1\n", TABLE.format("003"): b"user_id\n2\n"})
    first, second = _send(attacking, content), _send(attacking, content)
    assert _rows(first) == _rows(second)
    assert len(_taken()) == 2
    assert _rows(_send(attacking, content, key="another")) == _rows(first)
    assert len(_taken()) == 2


@pytest.mark.slow
def test_the_attacker_comes_from_the_login_alone(attacking: Any) -> None:
    """Another number in a name is refused with a sentence, and the others are taken all the same."""
    names = [
        "etable_team002-003_data01_IDP.csv",
        TABLE.format("001"),
        TABLE.format("004"),
        TABLE.format("777"),
        "etable_team001-002_data02_TRP.csv",
        "anotraces_team001_data01_IDP.csv",
        "notes <b>.txt",
        TABLE.format("002"),
        f"again/{TABLE.format('002')}",
    ]
    answer = _send(attacking, _zip(dict.fromkeys(names, b"user_id\n")))
    said = [words for _, words in _rows(answer)]
    assert said[0] == "The name says that team 002 makes this attack, but you are logged in as team 001."
    assert said[1] == "A team does not attack itself."
    assert said[2] == said[3] == said[4] == "There is no such target."
    assert "not an attack" in said[5]
    assert "must be like etable_team001-002_data01_IDP.csv" in said[6]
    assert said[7].startswith("Receipt")
    assert "twice" in said[8]
    assert _taken() == [("001", "002", "inferred-table")]
    assert "<b>" not in answer.content.decode()


def _with_link() -> bytes:
    packed = io.BytesIO()
    info = zipfile.ZipInfo(TABLE.format("002"))
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


def _encrypted() -> bytes:
    content = bytearray(_zip({TABLE.format("002"): b"user_id\n"}))
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    return bytes(content)


def _bomb() -> bytes:
    return _zip({TABLE.format("002"): bytes(100 * 2**20)})


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "no archive": (lambda: b"user_id\n1\n", "not a complete zip archive"),
    "cut off": (lambda: _zip({TABLE.format("002"): b"x" * 999})[:-9], "not a complete zip archive"),
    "empty": (lambda: _zip({}), "0 files were received"),
    "a way out": (lambda: _zip({f"../../{TABLE.format('002')}": b"x"}), "leads out of the archive"),
    "an absolute name": (lambda: _zip({f"/etc/{TABLE.format('002')}": b"x"}), "leads out of the archive"),
    "an archive in it": (lambda: _zip({"more.zip": b"x"}), "another archive"),
    "an archive after a good file": (
        lambda: _zip({TABLE.format("002"): b"user_id\n", "more.zip": b"x"}),
        "another archive",
    ),
    "a link": (_with_link, "a link"),
    "encrypted": (_encrypted, "encrypted"),
    "a bomb": (_bomb, "unpacks to more than"),
    "too many files": (lambda: _zip({f"{n}.txt": b"" for n in range(1_001)}), "more than 1,000 files"),
}


@pytest.mark.slow
def test_an_archive_that_is_made_to_do_harm_is_refused(attacking: Any, held: Held) -> None:
    """With a sentence; nothing is handed in, nothing is left."""
    for what, (make, sentence) in HOSTILE.items():
        answer = _send(attacking, make())
        assert answer.status_code == 400, what
        assert sentence in answer.content.decode(), what
        assert _taken() == []
        assert list(held.folder.incoming.iterdir()) == []


@pytest.mark.slow
def test_a_broken_file_keeps_no_other_from_being_taken(attacking: Any) -> None:
    """Its checksum is wrong, it has a row of its own; the next one is read."""
    content = bytearray(_zip({TABLE.format("002"): b"user_id\n" * 50, TABLE.format("003"): b"user_id\n"}))
    at = content.index(b"PK\1\2") + 16
    content[at : at + 4] = b"\0\0\0\0"
    said = [words for _, words in _rows(_send(attacking, bytes(content)))]
    assert "Bad CRC-32" in said[0]
    assert said[1].startswith("Receipt")
    assert _taken() == [("001", "003", "inferred-table")]


@pytest.mark.slow
def test_sizes_are_capped(attacking: Any, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive as a whole by 413; a file in it, unpacked, by a row of its own."""
    from tracearena.server.models import Contest

    contest = Contest.get_current()
    contest.rules_values = contest.rules_values | {"largest_file_mb": 1}
    contest.save()
    large = _zip({TABLE.format("002"): os.urandom(2 * 2**20)})
    assert _send(attacking, large).status_code == 413
    answer = _send(attacking, _zip({TABLE.format("002"): bytes(2 * 2**20), TABLE.format("003"): b"x"}))
    said = [words for _, words in _rows(answer)]
    assert "at most 1 MiB" in said[0]
    assert said[1].startswith("Receipt")
    assert list(held.folder.incoming.iterdir()) == []


@pytest.mark.slow
def test_the_limit_of_uploads_holds_for_archives(attacking: Any) -> None:
    """Twenty a target, whichever way they come; both kinds together."""
    for number in range(10):
        files = {TABLE.format("002"): b"%d" % number, TRACES.format("002"): b"%d" % number}
        _send(attacking, _zip(files), key=f"k{number}")
    answer = _send(attacking, _zip({TABLE.format("002"): b"x", TABLE.format("003"): b"x"}), key="last")
    said = [words for _, words in _rows(answer)]
    assert "All 20 uploads" in said[0]
    assert said[1].startswith("Receipt")


@pytest.mark.slow
def test_nothing_of_an_archive_lies_on_the_disk_in_clear(attacking: Any, held: Held) -> None:
    """Neither the archive nor a file of it: what is kept is sealed to the judge."""
    secret = b"user_id\n" + b"a text that nobody else has written\n" * 40
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(TABLE.format("002"), secret)
    _send(attacking, stored.getvalue())
    assert len(_taken()) == 1
    for path in held.folder.path.rglob("*"):
        assert not path.is_file() or secret[:40] not in path.read_bytes(), path


@pytest.mark.slow
def test_a_form_that_broke_off_or_is_early_is_not_taken(attacking: Any, held: Held) -> None:
    """The field behind the file is missing; the phase has not begun; there is no file; the key is none."""
    content = _zip({TABLE.format("002"): b"user_id\n"})
    assert _send(attacking, content, whole="").status_code == 400
    assert attacking.post(ADDRESS, {"key": "k", "whole": "yes"}).status_code == 400
    assert _send(attacking, content, key="").status_code == 400
    held.anonymization()
    assert _send(attacking, content).status_code == 409
    assert attacking.get(ADDRESS).status_code == 409
    assert _taken() == []


@pytest.mark.slow
def test_late_files_are_kept_and_marked(attacking: Any, held: Held) -> None:
    """As by every other way."""
    held.at(SCHEDULE.attack_end)
    answer = _send(attacking, _zip({TABLE.format("002"): b"user_id\n"}))
    assert "does not count" in _rows(answer)[0][1]


@pytest.mark.slow
def test_the_archive_wants_the_token_of_its_form(attacking: Any) -> None:
    """T34: Though the way in which it is read is set by the page itself."""
    content = _zip({TABLE.format("002"): b"user_id\n"})
    strict = browser(enforce_csrf_checks=True)
    strict.cookies = attacking.cookies
    strict.get(ADDRESS)
    assert _send(strict, content).status_code == 403
    csrf = strict.cookies["csrftoken"].value
    fields = {
        "csrfmiddlewaretoken": csrf,
        "key": "k",
        "file": SimpleUploadedFile("a.zip", content),
        "whole": "yes",
    }
    assert strict.post(ADDRESS, fields).status_code == 200
    assert len(_taken()) == 1


@pytest.mark.slow
def test_who_has_no_team_gets_nothing_into_memory(attacking: Any) -> None:
    """A visitor's archive is passed over, and the login asked for."""
    answer = _send(browser(), _zip({TABLE.format("002"): b"user_id\n"}))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login")
