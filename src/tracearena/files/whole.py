"""How files come in and go out: whole, checked, and never half written."""

from __future__ import annotations

import errno
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import IO

from tracearena.errors import FileError
from tracearena.files.limits import MAX_BYTES, SupportsRead, Unpacked, beyond, require_short_lines
from tracearena.files.staging import clear_leftovers, staged_file, staged_stream
from tracearena.files.temporary import naming

_PIECE = 2**20


@dataclass(frozen=True)
class Held(PathLike[str]):
    """The bytes of a file that are in memory already, under the name that errors show.

    It stands for a path wherever a file is read whole.

    >>> read_bytes(Held("upload.csv", b"reg_id"))
    b'reg_id'
    """

    name: str
    content: bytes = field(repr=False)

    def __fspath__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


def read_bytes(
    path: str | PathLike[str],
    *,
    max_bytes: int = MAX_BYTES,
    line_end: bytes | None = b"\n",
    set_by: str = "",
) -> bytes:
    """Return the content of a file, unpacked if it is gzip, refusing what is beyond the limits.

    Unpacking stops at the limits, so a small file that unpacks to gigabytes costs nothing.

    Parameters
    ----------
    max_bytes
        The most it may hold, unpacked.
    line_end
        What ends a line, none of which may be endless; None for files without lines.
    set_by
        What sets the limit, for the error; nothing does if empty.
    """
    content = io.BytesIO()
    with unpacking(path) as source:
        while piece := source.read(_PIECE):
            content.write(piece)
            if content.tell() > max_bytes:
                raise beyond(path, max_bytes, set_by)
    data = content.getvalue()
    if line_end is not None:
        require_short_lines(path, data, line_end)
    return data


@contextmanager
def unpacking(path: str | PathLike[str]) -> Iterator[SupportsRead]:
    """Open a file to read its content piece by piece, unpacked if it is gzip, within reason."""
    with naming(path), _opened(path) as raw:
        # Peeking leaves the bytes where they are, so a pipe can be read as well as a file.
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        try:
            yield Unpacked(path, raw, lambda file: gzip.GzipFile(fileobj=file)) if packed else raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError.whole(path, f"is not a whole gzip file: {error}", "bad-gzip") from None


def _opened(path: str | PathLike[str]) -> io.BufferedReader:
    if isinstance(path, Held):
        return io.BufferedReader(io.BytesIO(path.content))
    return open(path, "rb")


def require_lasting(path: str | PathLike[str]) -> None:
    """Refuse a pipe or device where a file is looked at before it is read: its start would be gone."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise FileError.whole(path, "is a pipe or a device; save its content to a file first", "not-a-file")


def is_stream(path: str | PathLike[str]) -> bool:
    """Whether a path is a pipe, a device or a process's open file: written to, with nothing beside it.

    ``/dev/stdout`` looks like a plain file where the shell sends it to one; to replace it would take
    the name away from everybody on the machine.
    """
    target = Path(path)
    if not target.exists():
        return False
    link = os.readlink(target) if target.is_symlink() else ""
    inside = str(target.parent.resolve())
    return not target.is_file() or link.startswith("/proc/") or inside.startswith("/proc/")


@contextmanager
def replacing(path: str | PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place only when the block ends well.

    The data is on disk before the name changes, so a reader sees the old file or the new one. A
    path that ends in ``.gz`` is packed. Devices and pipes are written to and never replaced. Inside
    `replacing_all` the file waits until all others are complete.

    Parameters
    ----------
    private
        For secrets: nobody but the owner may read or write the file, from its first byte on. Other
        files keep the permissions of what they replace, or get those of the umask.
    """
    target = Path(path)
    clear_leftovers(target)
    with naming(path):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if is_stream(target):
            with staged_stream(target) as raw, _packing(raw, target) as file:
                yield file
            return
        with staged_file(target, private=private) as raw, _packing(raw, target) as file:
            yield file


@contextmanager
def _packing(raw: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix != ".gz":
        yield raw
        return
    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
        yield packed  # type: ignore[misc]
