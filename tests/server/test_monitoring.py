"""What other programs watch: health, numbers for Prometheus, a log that is rotated."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from tests.server import hands
from tests.server.conftest import Held
from tests.server.visitors import browser, joined, organiser

from tracearena.server.processes.supervisor import open_log_file
from tracearena.server.settings import Address

LINE = re.compile(r'(tracearena_[a-z_]+)(?:\{state="([a-z ]+)"\})? (-?[0-9.e+]+)')


def _numbers(answer: Any) -> dict[tuple[str, str], float]:
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.content.decode().splitlines() if not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    return {(one[1], one[2] or ""): float(one[3]) for one in found if one is not None}


def test_health_is_a_word_and_needs_the_database(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 or 503, for everybody."""
    from django.db import OperationalError
    from django.db.models.query import QuerySet

    answer = browser(REMOTE_ADDR="192.0.2.7").get("/health")
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert not answer.cookies

    def away(*_: Any) -> Any:
        raise OperationalError("connection to ann@secret.example refused")

    monkeypatch.setattr(QuerySet, "exists", away)
    answer = browser().get("/health")
    assert (answer.status_code, answer.content) == (503, b"no database\n")


def test_the_numbers_are_those_of_the_status(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line as Prometheus reads it."""
    hands.without_children(monkeypatch)
    held.anonymization()
    hands.defend(held, "001", tmp_path)
    found = _numbers(browser().get("/metrics"))
    assert found["tracearena_jobs", "waiting"] == 1
    assert found["tracearena_uploads", "received"] == 1
    assert found["tracearena_disk_free_bytes", ""] > 0
    assert ("tracearena_backup_age_seconds", "") not in found
    hands.judged(held)
    from tracearena.server.operations.backup import write_backup

    write_backup(held.folder, tmp_path / "friday.tar")
    found = _numbers(browser().get("/metrics"))
    assert found["tracearena_jobs", "waiting"] == 0
    assert found["tracearena_uploads", "scored"] == 1
    assert found["tracearena_backup_age_seconds", ""] == 0


def test_the_numbers_are_for_this_machine_and_organisers(held: Held) -> None:
    """Neither for a visitor whom a proxy on this machine brings, nor for members of teams."""
    boss, member = organiser(held), joined(held, "001")
    far = {"REMOTE_ADDR": "192.0.2.7"}
    assert browser().get("/metrics").status_code == 200
    assert browser().get("/metrics", **far).status_code == 404
    assert member.get("/metrics", **far).status_code == 404
    assert boss.get("/metrics", **far).status_code == 200
    for header in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"):
        assert browser().get("/metrics", headers={header: "127.0.0.1"}).status_code == 404, header
    with override_settings(CONTEST_ADDRESS=Address(trusted_proxies=["127.0.0.1"])):
        assert browser().get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 404


def test_a_log_goes_on_in_a_new_file_when_the_old_one_is_renamed(tmp_path: Path) -> None:
    """As logrotate renames it; no line is lost, and bytes that are no text are spelt out."""
    path, old = tmp_path / "contest.log", tmp_path / "contest.log.1"
    say = "import sys; sys.stdout.buffer.write(sys.argv[1].encode('latin-1') + b'\\n')"

    def child(word: str, pipe: Any) -> None:
        subprocess.run([sys.executable, "-c", say, word], stdout=pipe, check=True)
        deadline = time.monotonic() + 60
        while word not in path.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)

    path.write_text("before\n")
    with open_log_file(path) as pipe:
        child("first", pipe)
        path.rename(old)
        path.touch()
        child("second", pipe)
        subprocess.run([sys.executable, "-c", say, "caf\xe9"], stdout=pipe, check=True)
    assert old.read_text() == "before\nfirst\n"
    assert path.read_text() == "second\ncaf\\xe9\n"
