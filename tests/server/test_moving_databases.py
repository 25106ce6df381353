"""T40: a contest moves from SQLite to PostgreSQL and back, and nothing of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.conftest import Held
from tests.server.hands import defend, judged, without_children

from tracearena.errors import DataError
from tracearena.server.operations import backup
from tracearena.server.operations.backup import move_database
from tracearena.server.store import audit_log
from tracearena.server.store.folder import lock_for_serving


@pytest.fixture
def played(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    """A contest with uploads, scores, jobs and a released data set in it."""
    without_children(monkeypatch)
    held.anonymization()
    for team in ("001", "002"):
        defend(held, team, tmp_path)
    judged(held)
    held.attack()
    judged(held)
    return held


def _other_database(request: pytest.FixtureRequest, held: Held) -> str | None:
    if held.database is not None:
        return None
    import psycopg

    base = request.getfixturevalue("postgresql_url")
    with psycopg.connect(f"{base}postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS moved WITH (FORCE)")
        connection.execute("CREATE DATABASE moved")
    return f"{base}moved"


@pytest.mark.slow
def test_there_and_back_everything_is_equal(played: Held, request: pytest.FixtureRequest) -> None:
    """T40: Every table has the same rows; only the log has one entry more for each move."""
    before = backup.hash_tables()
    assert before["contest_submission"][0] == 2
    assert before["contest_score"][0] > 0
    there = _other_database(request, played)
    counted = move_database(played.folder, there)
    assert counted == {name: count for name, (count, _) in before.items()}
    assert _but_the_log(backup.hash_tables()) == _but_the_log(before)
    assert played.folder.read_secrets().database == there
    back = _fresh(request, played)
    move_database(played.folder, back)
    after = backup.hash_tables()
    assert _but_the_log(after) == _but_the_log(before)
    assert after["contest_auditentry"][0] == before["contest_auditentry"][0] + 2
    assert audit_log.find_broken_entry() is None


@pytest.mark.slow
def test_new_rows_get_new_numbers_after_a_move(
    played: Held, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """PostgreSQL counts on from where the other database was."""
    from tracearena.server.models import Submission

    last = Submission.objects.order_by("-pk").first().pk
    move_database(played.folder, _other_database(request, played))
    played.anonymization()
    assert defend(played, "003", tmp_path).pk > last


@pytest.mark.slow
def test_a_contest_that_is_served_stays_where_it_is(played: Held, request: pytest.FixtureRequest) -> None:
    """What would come in meanwhile would be lost."""
    with lock_for_serving(played.folder), pytest.raises(DataError, match="being served"):
        move_database(played.folder, _other_database(request, played))
    assert played.folder.read_secrets().database == played.database


@pytest.mark.slow
def test_a_copy_that_differs_changes_nothing(
    played: Held, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contest stays in its database until every table was compared."""
    real, calls = backup.hash_tables, []

    def other() -> dict[str, tuple[int, str]]:
        calls.append(1)
        found = real()
        return found if len(calls) == 1 else found | {"contest_team": (0, "")}

    monkeypatch.setattr(backup, "hash_tables", other)
    with pytest.raises(DataError, match="contest_team: the copy differs"):
        move_database(played.folder, _other_database(request, played))
    monkeypatch.undo()
    assert played.folder.read_secrets().database == played.database
    assert backup.hash_tables()["contest_team"][0] == 5


@pytest.mark.slow
def test_a_move_that_is_stopped_leaves_the_contest_in_one_database(
    played: Held, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before every rename the database that the folder names holds everything."""
    seen = []
    real = Path.replace

    def watched(self: Path, target: Path) -> Path:
        named = played.folder.read_secrets().database
        seen.append(named is not None or played.folder.database.exists())
        moved = real(self, target)
        named = played.folder.read_secrets().database
        seen.append(named is not None or played.folder.database.exists())
        return moved

    there = _other_database(request, played)
    monkeypatch.setattr(Path, "replace", watched)
    move_database(played.folder, there)
    assert seen
    assert all(seen)


def _fresh(request: pytest.FixtureRequest, held: Held) -> str | None:
    """The kind of database that the contest began in, empty."""
    if held.database is None:
        return None
    import psycopg

    base = request.getfixturevalue("postgresql_url")
    with psycopg.connect(f"{base}postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS moved_back WITH (FORCE)")
        connection.execute("CREATE DATABASE moved_back")
    return f"{base}moved_back"


def _but_the_log(found: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    return {name: one for name, one in found.items() if name != "contest_auditentry"}
