"""Everybody's files as one archive: the judge writes it once, and the web sends that file.

What an archive is called follows from names, sizes and times of the files in it. So the web knows one that
is out of date, and does not send it.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tracearena.files import replacing
from tracearena.server.store import downloads
from tracearena.server.store.folder import Folder

_PIECE = 2**18
_FAST = 1


def path_of(folder: Folder, files: Sequence[Path]) -> Path:
    """Return where the archive of some files lies, if it is written."""
    states = ((path.name, path.stat()) for path in files)
    listed = "".join(f"{name} {state.st_size} {state.st_mtime_ns}\n" for name, state in states)
    return folder.packed / f"{hashlib.sha256(listed.encode()).hexdigest()}.zip"


def write(folder: Folder) -> None:
    """Write what is missing: an archive with the targets and one without; remove those out of date."""
    wanted = set()
    for with_targets in (False, True):
        files = downloads.public_files(with_targets=with_targets)
        path = path_of(folder, files)
        wanted.add(path)
        if not path.exists():
            folder.packed.mkdir(exist_ok=True)
            with replacing(path) as file:
                for piece in zip_stream(files):
                    file.write(piece)
    for path in folder.packed.glob("*.zip"):
        if path not in wanted:
            path.unlink(missing_ok=True)


class _Sink:
    """Takes what the archive is made of, until somebody takes it on."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes, /) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Do nothing: there is nothing behind it."""

    def close(self) -> None:
        """Do nothing likewise."""

    def taken(self) -> bytes:
        whole, self._pieces = b"".join(self._pieces), []
        return whole


def zip_stream(files: Iterable[Path]) -> Iterator[bytes]:
    """Yield a ZIP archive of some files, piece by piece."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=_FAST) as archive:
        for path in files:
            info = zipfile.ZipInfo.from_file(path, path.name)
            info.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, archive.open(info, "w") as member:
                while piece := file.read(_PIECE):
                    member.write(piece)
                    yield sink.taken()
    yield sink.taken()
