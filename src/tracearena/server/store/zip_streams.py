"""Many files as one archive that is made while it is sent: nothing is put together on the disk."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_PIECE = 2**18
_FAST = 1


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
