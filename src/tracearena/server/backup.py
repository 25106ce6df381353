"""One file that holds a whole contest, made while it runs; the judge's private key is not in it.

A tar archive::

    database.jsonl      every row of every table, as they were at one moment (`contents`)
    contest.toml, server.json, everybody/, sealed/, uploads/
                        the folder, as it was then or a little later; server.json names no database
    manifest.json       last: what the archive is, and size and SHA-256 of everything before

A file is there before the database knows of it, so a database that is read first finds all its files.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import IO, Any

from django.db import connections

from tracearena.errors import FileError, ParameterError
from tracearena.files import replacing, replacing_folder
from tracearena.files.archives import Member, members
from tracearena.server import clock, contents
from tracearena.server.audit_log import log
from tracearena.server.folder import SETTINGS, Folder
from tracearena.server.models import Contest
from tracearena.server.new_database import require_empty
from tracearena.server.settings import configure

_ROWS, _MANIFEST = "database.jsonl", "manifest.json"
_FORMAT = "tracearena-contest-backup"
_KEPT = ("everybody", "sealed", "uploads")
_PIECE = 2**20
_LONGEST_MANIFEST = 2**28


def backup(folder: Folder, path: str | PathLike[str]) -> dict[str, Any]:
    """Write everything of the contest to one new archive, for its owner alone; return its manifest."""
    target = Path(path)
    if not target.name.endswith(".tar"):
        raise ParameterError(f"{path}: a backup is a tar archive; let its name end in .tar")
    if target.exists():
        raise FileError.whole(path, "is there already; a backup is never written over", "exists")
    made_at = clock.now()
    with replacing(target, private=True) as file, tarfile.open(fileobj=file, mode="w|") as archive:
        writer = _Writer(archive)
        with tempfile.TemporaryFile() as rows:
            with contents.at_one_moment():
                rows.writelines(contents.lines())
            writer.add(_ROWS, rows)
        secrets = replace(folder.read_secrets(), database=None)
        writer.add_bytes(SETTINGS, json.dumps(asdict(secrets)).encode())
        for one in _files(folder):
            with open(one, "rb") as content:
                writer.add(one.relative_to(folder.path).as_posix(), content)
        manifest = {"format": _FORMAT, "version": 1, "made_at": made_at.isoformat(), "files": writer.known}
        writer.add_bytes(_MANIFEST, json.dumps(manifest).encode())
    Contest.objects.filter(pk=1).update(backed_up_at=made_at)
    log("command line", "backup made", file=target.name, files=len(writer.known))
    return manifest


def restore(path: str | PathLike[str], place: str | PathLike[str], *, database: str | None = None) -> Folder:
    """Make a contest's folder and database anew of a backup; all of it, or nothing.

    Parameters
    ----------
    path
        The archive.
    place
        A new folder.
    database
        URL of an empty PostgreSQL database; SQLite in the folder if left out.
    """
    require_empty(database)
    with replacing_folder(place, private=True) as new:
        folder = Folder(new)
        folder.make()
        rows = _unpack(Path(path), folder)
        held = folder.read_secrets()
        folder.write_secrets(replace(held, database=database))
        configure(folder)
        with open(rows, "rb") as source:
            contents.fill(source)
        rows.unlink()
        log("command line", "contest restored", file=Path(path).name)
        connections.close_all()
    restored = Folder(place)
    configure(restored)
    return restored


class _Writer:
    """Adds files to an archive, and keeps their sizes and hashes."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self.known: dict[str, dict[str, Any]] = {}

    def add(self, name: str, content: IO[bytes]) -> None:
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
        size = content.tell()
        content.seek(0)
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        self._archive.addfile(entry, content)
        self.known[name] = {"size": size, "sha256": digest}

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content))


def _files(folder: Folder) -> Iterator[Path]:
    yield folder.charter
    for name in _KEPT:
        for path in sorted((folder.path / name).rglob("*")):
            # What stands under a temporary name is not there yet.
            if path.is_file() and not path.name.startswith("."):
                yield path


def _unpack(path: Path, folder: Folder) -> Path:
    """Write the files of an archive into a folder, each as its manifest has it; return the rows."""
    found: dict[str, dict[str, Any]] = {}
    manifest: dict[str, Any] | None = None
    for member in members(path):
        if manifest is not None:
            raise FileError.whole(path, "goes on after its manifest", "bad-backup")
        if member.name == _MANIFEST:
            manifest = _read_manifest(path, member)
            continue
        if member.name in found or not _belongs(member.name):
            raise FileError.whole(path, "holds a file that no backup has", "bad-backup", member.name)
        found[member.name] = _copied(member, folder.path / member.name)
    if manifest is None:
        raise FileError.whole(path, "is no whole backup: it has no manifest at its end", "bad-backup")
    wrong = sorted(
        name for name in found.keys() | manifest["files"] if found.get(name) != manifest["files"].get(name)
    )
    if wrong or _ROWS not in found or SETTINGS not in found:
        raise FileError.whole(path, "differs from its manifest", "changed", wrong[0] if wrong else None)
    return folder.path / _ROWS


def _read_manifest(path: Path, member: Member) -> dict[str, Any]:
    try:
        manifest = json.loads(member.read(path, _LONGEST_MANIFEST))
        if manifest["format"] == _FORMAT and manifest["version"] == 1 and isinstance(manifest["files"], dict):
            return dict(manifest)
    except (ValueError, KeyError, TypeError):
        pass
    raise FileError.whole(path, "is no backup of a contest that this version can read", "bad-backup")


def _belongs(name: str) -> bool:
    return name in (_ROWS, SETTINGS, "contest.toml") or name.partition("/")[0] in _KEPT


def _copied(member: Member, target: Path) -> dict[str, Any]:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with replacing(target, private=target.parts[-2] != "everybody") as out:
        while piece := member.content.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return {"size": size, "sha256": digest.hexdigest()}
