"""One file that holds a whole contest (`backup_layout`), made while it runs.

A file is there before the database knows of it, so a database that is read first finds all its files.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import IO, Any

from tracearena.errors import FileError, ParameterError
from tracearena.files import replacing
from tracearena.server import clock
from tracearena.server.models import Contest
from tracearena.server.operations.backup_layout import FORMAT, KEPT, MANIFEST, ROWS, VERSION
from tracearena.server.store import contents
from tracearena.server.store.audit_log import log
from tracearena.server.store.folder import SETTINGS, Folder


def backup(folder: Folder, path: str | PathLike[str], stored: dict[str, Any] | None = None) -> dict[str, Any]:
    """Write everything of the contest to one new archive, for its owner alone; return its manifest.

    Parameters
    ----------
    folder
        The contest, which may be served meanwhile.
    path
        The archive, whose name ends in ``.tar``.
    stored
        Tables of an older version, as `schema.stored_tables` gives them: then nothing is written to them.
    """
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
                rows.writelines(contents.lines(stored))
            writer.add(ROWS, rows)
        secrets = replace(folder.read_secrets(), database=None)
        writer.add_bytes(SETTINGS, json.dumps(asdict(secrets)).encode())
        for one in _files(folder):
            with open(one, "rb") as content:
                writer.add(one.relative_to(folder.path).as_posix(), content)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "made_at": made_at.isoformat(),
            "files": writer.known,
        }
        writer.add_bytes(MANIFEST, json.dumps(manifest).encode())
    if stored is None:
        Contest.objects.filter(pk=1).update(backed_up_at=made_at)
        log("command line", "backup made", file=target.name, files=len(writer.known))
    return manifest


class _Writer:
    """Adds files to an archive, and keeps their sizes and hashes."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self.known: dict[str, dict[str, Any]] = {}

    def add(self, name: str, content: IO[bytes]) -> None:
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        digest = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
        content.seek(0)
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        self._archive.addfile(entry, content)
        self.known[name] = {"size": size, "sha256": digest}

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content))


def _files(folder: Folder) -> Iterator[Path]:
    yield folder.charter
    for name in KEPT:
        for path in sorted((folder.path / name).rglob("*")):
            # What stands under a temporary name is not there yet.
            if path.is_file() and not path.name.startswith("."):
                yield path
