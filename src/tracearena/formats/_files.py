"""How files come in and go out: whole, checked, and never half written."""

from __future__ import annotations

import errno
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

from tracearena.errors import FileError
from tracearena.formats.limits import MAX_BYTES, Unpacked, require_short_lines

_PIECE = 2**20
_PART = ".part"


def read_bytes(
    path: str | PathLike[str], *, max_bytes: int = MAX_BYTES, line_end: bytes | None = b"\n"
) -> bytes:
    """Return the content of a file, unpacked if it is gzip, refusing what is beyond the limits.

    Unpacking stops at the limits, so a small file that unpacks to gigabytes costs nothing.

    Parameters
    ----------
    max_bytes
        The most it may hold, unpacked.
    line_end
        What ends a line, none of which may be endless; None for files without lines.
    """
    content = io.BytesIO()
    with naming(path), open(path, "rb") as raw:
        # Peeking leaves the bytes where they are, so a pipe can be read as well as a file.
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        source = Unpacked(path, raw, lambda file: gzip.GzipFile(fileobj=file)) if packed else raw
        try:
            while piece := source.read(_PIECE):
                content.write(piece)
                if content.tell() > max_bytes:
                    raise FileError.whole(
                        path, f"is larger than the limit of {max_bytes:,} bytes", "too-large"
                    )
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError.whole(path, f"is not a whole gzip file: {error}", "bad-gzip") from None
    data = content.getvalue()
    if line_end is not None:
        require_short_lines(path, data, line_end)
    return data


def require_lasting(path: str | PathLike[str]) -> None:
    """Refuse a pipe or device where a file is looked at before it is read: its start would be gone."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise FileError.whole(path, "is a pipe or a device; save its content to a file first", "not-a-file")


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place only when the block ends well.

    The data is on disk before the name changes, so a reader sees the old file or the new one. A
    path that ends in ``.gz`` is packed. Devices and pipes are written to and never replaced.
    """
    target = Path(path)
    with naming(path):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if target.exists() and not target.is_file():
            with open(target, "wb") as raw, _packing(raw, target) as file:
                yield file
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PART, dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as raw:
                with _packing(raw, target) as file:
                    yield file
                raw.flush()
                os.fsync(raw.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Let an error of the operating system name the user's file, not ours beside it, nor none."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).endswith(_PART):
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def _packing(raw: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix != ".gz":
        yield raw
        return
    with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
