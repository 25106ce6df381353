"""A contest goes on with a newer version: its tables are brought up to date, after a backup."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from tests.server.conftest import Held
from tests.server.visitors import joined, logged_in

from tracearena.errors import DataError
from tracearena.server import migrations
from tracearena.server.models import AuditEntry, Member
from tracearena.server.operations.backup import upgrade_database
from tracearena.server.store import database, folder

STEP = "contest.0002_next_version"
NEXT = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("contest", "0001_initial")]
    operations = [migrations.AddField("member", "colour", models.CharField(default="blue", max_length=9))]
"""


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of tracearena whose members have one column more."""
    from django.conf import settings

    name = f"next_version_{tmp_path.name}"
    shutil.copytree(Path(migrations.__file__).parent, tmp_path / name)
    (tmp_path / name / "0002_next_version.py").write_text(NEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(settings, "MIGRATION_MODULES", {"contest": name})


def _colours() -> list[tuple[str]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT colour FROM contest_member")
        return list(cursor.fetchall())


def test_a_contest_of_an_older_version_is_upgraded_after_a_backup(
    held: Held, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Nothing is lost; the backup has the rows of the older version; a second time nothing happens."""
    joined(held, "001", "ann")
    database.require_current(held.folder)
    request.getfixturevalue("next_version")
    with pytest.raises(DataError, match=r"older version of tracearena; .* contest upgrade"):
        database.require_current(held.folder)
    assert upgrade_database(held.folder, tmp_path / "before.tar") == [STEP]
    assert _colours() == [("blue",)]
    database.require_current(held.folder)
    assert logged_in("ann").get("/team").status_code == 200
    assert AuditEntry.objects.get(act="contest upgraded").details["steps"] == [STEP]
    with tarfile.open(tmp_path / "before.tar") as archive:
        rows = archive.extractfile("database.jsonl")
        assert rows is not None
        members = [row for name, row in map(json.loads, rows) if name == "contest_member"]
    assert [row["username"] for row in members] == ["ann"]
    assert "colour" not in members[0]
    assert upgrade_database(held.folder, tmp_path / "again.tar") == []
    assert not (tmp_path / "again.tar").exists()


def test_nothing_is_upgraded_while_it_is_served_or_without_a_backup(
    held: Held, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Whoever serves it is of the other version."""
    request.getfixturevalue("next_version")
    with folder.lock_for_serving(held.folder), pytest.raises(DataError, match="is being served"):
        upgrade_database(held.folder, tmp_path / "before.tar")
    (tmp_path / "there.tar").write_text("another backup")
    with pytest.raises(Exception, match="already exists"):
        upgrade_database(held.folder, tmp_path / "there.tar")
    assert database.list_missing_migrations() == [STEP]
    assert Member.objects.count() == 0


def test_a_contest_of_a_newer_version_is_refused(held: Held, tmp_path: Path) -> None:
    """By every command, with the step that is not known."""
    from django.db.migrations.recorder import MigrationRecorder

    MigrationRecorder.Migration.objects.create(app="contest", name="0002_next_version")
    for act in (
        lambda: database.require_current(held.folder),
        lambda: upgrade_database(held.folder, tmp_path / "b.tar"),
    ):
        with pytest.raises(DataError, match=r"newer version of tracearena, which knows contest\.0002"):
            act()
