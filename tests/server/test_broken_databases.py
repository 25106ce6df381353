"""A database that is damaged, gone or does not answer: one sentence with what to do, and never a wait."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.conftest import Held
from tests.server.visitors import browser

from tracearena.errors import DataError
from tracearena.server.store.database import require_intact

PAGE = 4096


def _run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracearena", "contest", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ.copy())


def _damage(held: Held) -> None:
    """Overwrite everything behind the first page, as a failing disk does."""
    from django.db import connections

    connections.close_all()
    path = held.folder.database
    for name in (f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)
    content = path.read_bytes()
    path.write_bytes(content[:PAGE] + os.urandom(len(content) - PAGE))


@pytest.fixture
def on_sqlite(database: str | None) -> None:
    """Only where the contest is in a file of its own."""
    if database is not None:
        pytest.skip("a file of SQLite is damaged here")


@pytest.mark.slow
@pytest.mark.usefixtures("on_sqlite")
@pytest.mark.parametrize("command", ["status", "serve"])
def test_a_damaged_page_is_one_sentence_and_status_2(held: Held, command: str) -> None:
    """For commands, and for a server that is started; both end."""
    _damage(held)
    more = ["--judge-key", held.judge_key, "--port", "18123"] if command == "serve" else []
    found = _run(command, held.folder.path, *more)
    assert found.returncode == 2, found.stderr
    assert "Traceback" not in found.stderr
    assert "contest restore BACKUP NEW-FOLDER" in found.stderr
    assert str(held.folder.database) in found.stderr


@pytest.mark.usefixtures("on_sqlite")
def test_a_page_that_no_command_reads_is_found_before_serving(held: Held) -> None:
    """A damaged index of uploads, say."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT rootpage FROM sqlite_master WHERE name = 'by_target'")
        root = cursor.fetchone()[0]
    connection.close()
    require_intact()
    connection.close()
    with held.folder.database.open("r+b") as file:
        file.seek((root - 1) * PAGE)
        file.write(os.urandom(PAGE))
    with pytest.raises(DataError, match="restore the last backup"):
        require_intact()


@pytest.mark.usefixtures("on_sqlite")
def test_pages_of_a_damaged_database_are_503(held: Held) -> None:
    """While the server runs."""
    _damage(held)
    answer = browser().get("/")
    assert answer.status_code == 503
    assert "is not answering at the moment" in answer.content.decode()


@pytest.mark.slow
@pytest.mark.usefixtures("on_sqlite")
def test_a_database_that_is_gone_is_not_made_anew(held: Held) -> None:
    """SQLite would make an empty one."""
    from django.db import connections

    connections.close_all()
    held.folder.database.unlink()
    found = _run("status", held.folder.path)
    assert (found.returncode, "is missing; restore the last backup" in found.stderr) == (2, True)
    assert not held.folder.database.exists()


@pytest.mark.slow
def test_a_postgresql_that_does_not_answer(
    holding: Callable[..., Held], database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For commands, and for a server that is started; the password is in no sentence."""
    from dataclasses import replace

    if database is None:
        pytest.skip("PostgreSQL is stopped here")
    held = holding()
    secrets = held.folder.read_secrets()
    held.folder.write_secrets(replace(secrets, database="postgresql://ann:hush@127.0.0.1:9/contest"))
    for words in (["status"], ["serve", "--judge-key", held.judge_key, "--port", "18124"]):
        found = _run(words[0], held.folder.path, *words[1:])
        assert found.returncode == 2, found.stderr
        assert "Traceback" not in found.stderr
        assert "postgresql://ann@127.0.0.1:9/contest cannot be used" in found.stderr
        assert "Start PostgreSQL" in found.stderr
        assert "hush" not in found.stderr


@pytest.mark.parametrize(
    "url", ["postgresql://ann:hush@db/contest", "postgresql://ann@db/contest?password=hush"]
)
def test_a_password_in_an_option_is_refused(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is done with it, by every command that has the option, and it is not repeated."""
    from tracearena import cli

    for words in (
        ["new", str(tmp_path / "new")],
        ["restore", str(tmp_path / "none.tar"), str(tmp_path / "new")],
        ["move", str(tmp_path)],
        ["rehearse"],
    ):
        sys.argv = ["tracearena", "contest", *words, "--database", url]
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr().err
        assert end.value.code == 2
        assert "PGPASSFILE" in said
        assert "hush" not in said
    assert not (tmp_path / "new").exists()


def test_a_password_comes_from_where_postgresql_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A URL without one leaves it to libpq, and what a contest stores is for its owner alone."""
    import psycopg

    from tracearena.server.store.database import database_settings
    from tracearena.server.store.folder import Folder

    monkeypatch.setenv("PGPASSWORD", "hush")
    known = database_settings(Folder("."), "postgresql://ann@db/contest")
    assert known["PASSWORD"] == ""
    options = {one.keyword: one.val for one in psycopg.pq.Conninfo.get_defaults()}
    assert options[b"password"] == b"hush"


def test_the_servers_own_file_is_for_its_owner_alone(held: Held) -> None:
    """It may name a database with a password in it."""
    assert held.folder.settings.stat().st_mode & 0o777 == 0o600
