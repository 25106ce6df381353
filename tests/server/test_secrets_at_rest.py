"""T21: whatever the web can open or ask for, at any time of a contest, holds no secret in clear."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.visitors import program

from tracearena.contest import id_table_text
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.operations import backup as contents
from tracearena.server.operations.backup import write_backup
from tracearena.server.store.crypto import unseal

TEAMS = ("001", "002")
_ROWS = 2_000
"""Bytes at the end of a file: rows of several users in their order, which no release has."""


def _files(*places: Path) -> Iterator[tuple[str, bytes]]:
    for place in places:
        for path in place.rglob("*"):
            if path.is_file():
                yield str(path), path.read_bytes()


def _rows() -> Iterator[tuple[str, bytes]]:
    """Yield every value of every table, bytes as they are."""
    for name, model in contents.list_tables().items():
        for row in model._default_manager.values():
            for column, value in row.items():
                is_bytes = isinstance(value, (bytes, memoryview))
                yield f"{name}.{column}", bytes(value) if is_bytes else str(value).encode()


def _require_silence(held: Held, secrets: dict[str, bytes], temporary: Path, moment: str) -> None:
    copy = temporary / f"{moment}.tar"
    write_backup(held.folder, copy)
    seen = [*_files(held.folder.path, temporary), *_rows()]
    copy.unlink()
    assert len(seen) > 100
    for place, content in seen:
        for name, secret in secrets.items():
            assert len(secret) > 100, name
            assert secret not in content, f"{moment}: {name} lies in {place}"


def _originals(held: Held) -> dict[str, bytes]:
    names = [f"orgtraces_team{team}_data01_IDP.csv" for team in ("000", *TEAMS)]
    return {
        name: unseal(held.judge_private_key, held.folder.for_judge(name).read_bytes())[-_ROWS:]
        for name in names
    }


def _tables(held: Held) -> dict[str, bytes]:
    from tracearena.server.models import DataSet

    bench = JudgeFiles(held.folder, held.judge_private_key)
    released = DataSet.objects.filter(released_at__isnull=False).select_related("team")
    texts = {f"table of {one}": id_table_text(bench.read_secret(one).table) for one in released}
    return {name: text.partition("\n")[2].encode() for name, text in texts.items()}


@pytest.mark.slow
def test_nothing_lies_in_clear_until_the_results(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T21.

    Files, tables, temporary files and a backup, in every phase: no original, no upload, no ID table.
    """
    hands.without_children(monkeypatch)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    secrets = _originals(held)
    programs = {team: program(held, team) for team in TEAMS}
    held.anonymization()
    for team, caller in programs.items():
        content = hands.obfuscated(held, team, tmp_path, "MRLH(1,1,0.1)")
        secrets[f"upload of {team}"] = content[-_ROWS:]
        assert caller.upload("obfuscated/1", content, "k").status_code == 201
    _require_silence(held, secrets, temporary, "received")
    hands.judged(held)
    _require_silence(held, secrets, temporary, "scored")
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    secrets |= _tables(held)
    assert len([name for name in secrets if name.startswith("table")]) == 3
    _require_silence(held, secrets, temporary, "released")
    held.attack()
    guess = hands.inferred_table(held, "002", tmp_path, right=20)
    assert programs["001"].upload("attack/002/1/inferred-table", guess, "t").status_code == 201
    hands.judged(held)
    _require_silence(held, secrets, temporary, "attacked")
    held.at(SCHEDULE.attack_end + DAY / 2)
    hands.judged(held)
    _require_silence(held, secrets, temporary, "frozen")
    held.results()
    hands.judged(held)
    opened = dict(_files(held.folder.everybody))
    for name, secret in _tables(held).items():
        assert any(secret in content for content in opened.values()), f"{name} is not opened"
