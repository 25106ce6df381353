"""A contest made anew of its backup: the archive is taken for hostile until all of it is checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.contest.contest_file import NAME as CHARTER
from tracearena.errors import FileError
from tracearena.files import replacing, replacing_folder
from tracearena.files.archives import Member, members
from tracearena.server.operations.backup_layout import FORMAT, KEPT, MANIFEST, ROWS, VERSION
from tracearena.server.settings import configure
from tracearena.server.store.folder import SETTINGS, Folder
from tracearena.server.store.new_database import require_empty

_PIECE = 2**20
_LONGEST_MANIFEST = 2**28


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
        folder.write_secrets(replace(folder.read_secrets(), database=database))
        _fill(folder, rows, Path(path).name)
    restored = Folder(place)
    configure(restored)
    return restored


def _fill(folder: Folder, rows: Path, name: str) -> None:
    configure(folder)
    from django.db import connections

    from tracearena.server.models import Worker
    from tracearena.server.store import contents, jobs
    from tracearena.server.store.audit_log import log

    with open(rows, "rb") as source:
        contents.fill(source)
    # Those who worked on the contest that was backed up do not work on this one.
    Worker.objects.all().delete()
    jobs.take_back_all()
    rows.unlink()
    log("command line", "contest restored", file=name)
    connections.close_all()


def _unpack(path: Path, folder: Folder) -> Path:
    """Write the files of an archive into a folder, each as its manifest has it; return the rows."""
    found: dict[str, dict[str, Any]] = {}
    manifest: dict[str, Any] | None = None
    for member in members(path):
        if manifest is not None:
            raise FileError.whole(path, "goes on after its manifest", "bad-backup")
        if member.name == MANIFEST:
            manifest = _read_manifest(path, member)
            continue
        if member.name in found or not _belongs(member.name):
            raise FileError.whole(path, "holds a file that no backup has", "bad-backup", member.name)
        try:
            found[member.name] = _copied(member, folder.path / member.name)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            problem = "holds a name as a file and as a folder"
            raise FileError.whole(path, problem, "bad-backup", member.name) from None
    if manifest is None:
        raise FileError.whole(path, "is no whole backup: it has no manifest at its end", "bad-backup")
    listed = manifest["files"]
    wrong = sorted(name for name in found.keys() | listed.keys() if found.get(name) != listed.get(name))
    if wrong or not {ROWS, SETTINGS, CHARTER} <= found.keys():
        raise FileError.whole(path, "differs from its manifest", "changed", wrong[0] if wrong else None)
    return folder.path / ROWS


def _read_manifest(path: Path, member: Member) -> dict[str, Any]:
    try:
        manifest = json.loads(member.read(path, _LONGEST_MANIFEST))
        if (manifest["format"], manifest["version"]) == (FORMAT, VERSION):
            return {"files": dict(manifest["files"])}
    except (ValueError, KeyError, TypeError):
        pass
    raise FileError.whole(path, "is no backup of a contest that this version can read", "bad-backup")


def _belongs(name: str) -> bool:
    return name in (ROWS, SETTINGS, CHARTER) or name.partition("/")[0] in KEPT


def _copied(member: Member, target: Path) -> dict[str, Any]:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with replacing(target, private=target.parts[-2] != "everybody") as out:
        while piece := member.content.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            out.write(piece)
    return {"size": size, "sha256": digest.hexdigest()}
