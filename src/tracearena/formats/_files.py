"""How files come in and go out: whole, checked, and never half written."""

from __future__ import annotations

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

MAX_BYTES = 4 * 2**30
_PIECE = 2**20


def read_bytes(path: str | PathLike[str], *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file, unpacked if it is gzip, refusing more than `max_bytes`.

    Unpacking stops at the limit, so a small file that unpacks to gigabytes costs nothing.
    """
    content = io.BytesIO()
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        source: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
        try:
            while piece := source.read(_PIECE):
                content.write(piece)
                if content.tell() > max_bytes:
                    raise FileError.whole(
                        path, f"is larger than the limit of {max_bytes:,} bytes", "too-large"
                    )
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError.whole(path, f"is not a whole gzip file: {error}", "bad-gzip") from None
    return content.getvalue()


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file beside `path` that takes its place only when the block ends well.

    The data is on disk before the name changes, so a reader sees the old file or the new one. A
    path that ends in ``.gz`` is packed.
    """
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            if target.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
