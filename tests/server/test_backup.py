"""A backup made while the contest runs: everything is in it but the judge's key, and it comes back whole."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from tests.server.conftest import Held
from tests.server.hands import attack_table, defend, hand_in, judged, original, without_children

from tracearena.errors import FileError, ParameterError, TracearenaError
from tracearena.files.io import FREE_BYTES
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import Submission
from tracearena.server.operations import backup as contents
from tracearena.server.operations.backup import restore_backup, write_backup
from tracearena.server.settings import configure
from tracearena.server.store.folder import Folder

ON_ONE = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)
"""What is read is a file, and what is made of it lies in SQLite, wherever the contest was."""


@pytest.fixture
def played(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    """A contest in its attack phase."""
    without_children(monkeypatch)
    held.anonymization()
    defend(held, "001", tmp_path)
    judged(held)
    held.attack()
    judged(held)
    attack_table(held, "002", "001", tmp_path, right=3)
    return held


@pytest.mark.slow
def test_nobody_works_on_a_restored_contest_yet(held: Held, tmp_path: Path) -> None:
    """The judges of the contest that was backed up are not shown as those of the new one."""
    from tracearena.server import clock
    from tracearena.server.models import Worker
    from tracearena.server.operations.status import collect_status

    Worker.objects.create(name="judge 1", started_at=clock.now(), seen_at=clock.now())
    write_backup(held.folder, tmp_path / "friday.tar")
    assert collect_status(restore_backup(tmp_path / "friday.tar", tmp_path / "again"))["judges"] == []


@pytest.mark.slow
def test_a_restored_contest_is_the_same_and_goes_on(played: Held, tmp_path: Path) -> None:
    """Rows, files and keys are as they were; the judge works on where it was."""
    before = contents.hash_tables()
    files = _files(played.folder.path)
    write_backup(played.folder, tmp_path / "friday.tar")
    restored = restore_backup(tmp_path / "friday.tar", tmp_path / "again")
    after = contents.hash_tables()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"contest_auditentry"}
    assert _files(restored.path) == files
    again = Held(restored, played.created, played.judge_key, played.clock_file, None)
    assert judged(again) > 0
    assert original(again, "001").n_users == original(played, "001").n_users


@pytest.mark.slow
def test_a_backup_holds_no_secret_in_clear_and_no_key(played: Held, tmp_path: Path) -> None:
    """T21.

    Neither the judge's key, nor a row of an original, nor who is who, nor the password of a database.
    """
    write_backup(played.folder, tmp_path / "friday.tar")
    content = (tmp_path / "friday.tar").read_bytes()
    private = played.judge_private_key
    truth = played.folder.for_judge("orgtraces_team001_data01_IDP.csv").read_bytes()
    assert truth in content
    from tracearena.server.store.crypto import unseal

    for secret in (private, private.hex().encode(), unseal(private, truth)[200:300]):
        assert secret not in content
    if played.database is not None:
        assert played.database.encode() not in content
    assert (tmp_path / "friday.tar").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_the_age_of_the_last_backup_is_known(played: Held, tmp_path: Path) -> None:
    """`contest status` shows it."""
    from tracearena.server.operations.status import collect_status

    assert collect_status(played.folder)["backup_age_s"] is None
    write_backup(played.folder, tmp_path / "friday.tar")
    assert collect_status(played.folder)["backup_age_s"] == 0


def test_a_backup_is_never_written_over_and_has_its_name(played: Held, tmp_path: Path) -> None:
    (tmp_path / "friday.tar").write_bytes(b"the last one")
    with pytest.raises(FileError, match="never overwritten"):
        write_backup(played.folder, tmp_path / "friday.tar")
    with pytest.raises(ParameterError, match=r"\.tar"):
        write_backup(played.folder, tmp_path / "friday.zip")


FOREIGN = {
    "added": tarfile.TarInfo("web.py"),
    "leads out": tarfile.TarInfo("../outside"),
    "a link": tarfile.TarInfo("uploads/ab"),
    "a device": tarfile.TarInfo("uploads/null"),
}
FOREIGN["a link"].type, FOREIGN["a link"].linkname = tarfile.SYMTYPE, ".."
FOREIGN["a device"].type = tarfile.CHRTYPE


@ON_ONE
@pytest.mark.parametrize("fault", ["cut", "changed", *FOREIGN, "another program's", "a bomb"])
def test_a_backup_that_is_not_whole_makes_nothing(held: Held, tmp_path: Path, fault: str) -> None:
    """It is read as hostile input: nothing is made of it, inside the folder or outside."""
    write_backup(held.folder, tmp_path / "good.tar")
    _spoil(tmp_path / "good.tar", tmp_path / "bad.tar", fault)
    with pytest.raises(FileError):
        restore_backup(tmp_path / "bad.tar", tmp_path / "again")
    configure(held.folder)
    assert not (tmp_path / "again").exists()
    assert not (tmp_path / "outside").exists()


def _odd_row(row: list[Any], odd: str) -> Any:
    """Return the contest's row with something in it that no database takes."""
    wrong = {"time": {"created_at": "yesterday"}, "nothing": {"name": None},
             "column": {"other": 1}}  # fmt: skip
    return {"no row": 5, "no table": ["contest_other", row[1]], "twice": row}.get(
        odd, [row[0], row[1] | wrong.get(odd, {})]
    )


@ON_ONE
@pytest.mark.parametrize(
    "odd", ["time", "nothing", "column", "no row", "no table", "twice", "folder as file"]
)
def test_a_backup_with_rows_that_are_none_makes_nothing(held: Held, tmp_path: Path, odd: str) -> None:
    """Although its manifest fits: whoever writes a backup by hand can make that fit as well."""
    write_backup(held.folder, tmp_path / "good.tar")
    with tarfile.open(tmp_path / "good.tar") as source, tarfile.open(tmp_path / "bad.tar", "w") as target:
        content = {one.name: source.extractfile(one).read() for one in source.getmembers()}  # type: ignore[union-attr]
        lines = content["database.jsonl"].splitlines()
        at = next(at for at, line in enumerate(lines) if line.startswith(b'["contest_contest"'))
        changed = json.dumps(_odd_row(json.loads(lines[at]), odd)).encode()
        lines[at : at + 1] = [lines[at], changed] if odd == "twice" else [changed]
        content["database.jsonl"] = b"\n".join(lines) + b"\n"
        manifest = json.loads(content.pop("manifest.json"))
        if odd == "folder as file":
            content["uploads"] = b"a file where a folder is"
        manifest["files"] = {
            name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in content.items()
        }
        for name, data in (content | {"manifest.json": json.dumps(manifest).encode()}).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            target.addfile(entry, io.BytesIO(data))
    with pytest.raises(TracearenaError):
        restore_backup(tmp_path / "bad.tar", tmp_path / "again")
    configure(held.folder)
    assert not (tmp_path / "again").exists()


def _spoil(good: Path, bad: Path, fault: str) -> None:
    with tarfile.open(good) as source, tarfile.open(bad, "w") as target:
        for entry in source.getmembers():
            content = source.extractfile(entry).read()  # type: ignore[union-attr]
            if fault == "cut" and entry.name == "manifest.json":
                continue
            if fault == "changed" and entry.name == "database.jsonl":
                content = content.replace(b"Test", b"Best", 1)
            if fault == "another program's" and entry.name == "manifest.json":
                content = json.dumps({"format": "other"}).encode()
                entry.size = len(content)
            target.addfile(entry, io.BytesIO(content))
            if entry.name == "server.json" and fault in FOREIGN:
                target.addfile(FOREIGN[fault])
    if fault == "a bomb":
        _blow_up(bad)


def _blow_up(path: Path) -> None:
    """Write a small file that unpacks to twice what is let through without a question."""
    entry = tarfile.TarInfo("uploads/ab/zeros")
    entry.size = 2 * FREE_BYTES
    path.write_bytes(gzip.compress(entry.tobuf() + bytes(entry.size), 1))
    assert path.stat().st_size < entry.size / 200


def _files(folder: Path) -> dict[str, bytes]:
    kept = ("everybody", "sealed", "uploads")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for name in kept
        for path in (folder / name).rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_a_folder_knows_nothing_of_where_it_was(held: Held, tmp_path: Path) -> None:
    """The contest of a backup is in SQLite, wherever the first one was, unless another is named."""
    write_backup(held.folder, tmp_path / "friday.tar")
    restored = restore_backup(tmp_path / "friday.tar", tmp_path / "again")
    assert Folder(restored.path).read_secrets().database is None


@pytest.mark.long
def test_backups_under_load_hold_every_file_that_they_know_of(held: Held, tmp_path: Path) -> None:
    """T39.

    Five backups while two teams hand in as fast as they can; every receipt in each has its very file.
    """
    held.anonymization()
    stop = threading.Event()
    working = [threading.Thread(target=_hand_in_until, args=(held, team, stop)) for team in ("001", "002")]
    for one in working:
        one.start()
    try:
        for number in range(5):
            write_backup(held.folder, tmp_path / f"{number}.tar")
    finally:
        stop.set()
        for one in working:
            one.join()
    counts = []
    for number in range(5):
        restored = restore_backup(tmp_path / f"{number}.tar", tmp_path / f"again-{number}")
        found = list(Submission.objects.all())
        counts.append(len(found))
        bench = JudgeFiles(restored, held.judge_private_key)
        assert all(len(bench.read_upload(one)) == one.size for one in found)
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def _hand_in_until(held: Held, team: str, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        hand_in(held, team, "obfuscated", f"{team} {number}".encode() * 10_000, limit=100_000)
    connections.close_all()
