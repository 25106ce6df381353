"""How large a file may be, in each direction, before it is refused unread."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO, Any, Protocol

from tracearena.errors import FileError

MAX_BYTES = 4 * 2**30
"""Bytes of a file, unpacked."""

MAX_EXPANSION = 200
"""How many times its packed size a gzip file or an archive may unpack to; text reaches 10 to 30."""

MAX_TABLE_EXPANSION = 1000
"""The same for a Parquet file, whose columns may hold one value a million times."""

FREE_BYTES = 64 * 2**20
"""Up to here a file may unpack at any rate."""

LONGEST_LINE = 2**20
"""Bytes of a line of text, and of a tag or a text between tags in XML."""

MOST_COLUMNS = 20_000
"""Columns of a table."""


def beyond(path: str | PathLike[str], max_bytes: int, set_by: str = "") -> FileError:
    """Return the error for a file that is larger than a limit, and than whatever sets it."""
    more = f", which {set_by} sets" if set_by else ""
    return FileError.whole(path, f"is larger than the limit of {max_bytes:,} bytes{more}", "too-large")


def require_columns(path: str | PathLike[str], columns: int) -> None:
    """Refuse a table that is wider than any table of traces."""
    if columns > MOST_COLUMNS:
        raise FileError.whole(path, f"has {columns:,} columns; {MOST_COLUMNS:,} are the most", "too-wide")


def require_expansion(
    path: str | PathLike[str], packed: int, unpacked: int, most: int = MAX_EXPANSION
) -> None:
    """Refuse to unpack more than `most` times what was packed: such a file was made to do harm."""
    if unpacked > max(FREE_BYTES, most * packed):
        problem = f"unpacks to more than {most:,} times its size, beyond {FREE_BYTES:,} bytes; it is refused"
        raise FileError.whole(path, problem, "too-large")


def require_short_lines(
    path: str | PathLike[str], data: bytes, end: bytes = b"\n", *, lines_before: int = 0
) -> None:
    """Refuse a line (or whatever else `end` ends) of more than `LONGEST_LINE` bytes.

    The last `end` within reach is looked for each time, so that hardly any of the data is.

    Parameters
    ----------
    lines_before
        Lines of the file before `data`.
    """
    at = 0
    while len(data) - at > LONGEST_LINE:
        found = data.rfind(end, at, at + LONGEST_LINE + 1)
        if found < 0:
            what = "line" if end == b"\n" else "tag or text"
            line = lines_before + data.count(b"\n", 0, at) + 1
            problem = f"has a {what} of more than {LONGEST_LINE:,} bytes, in line {line:,}"
            raise FileError.whole(path, problem, "long-line")
        at = found + 1


class SupportsRead(Protocol):
    """Whatever gives bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""


class _Counted:
    """A file, and how much of it was taken."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self.taken = raw, 0

    def read(self, size: int = -1, /) -> bytes:
        piece = self._raw.read(size)
        self.taken += len(piece)
        return piece


class Unpacked:
    """The unpacked content of a file, which is cut off when it grows beyond all proportion.

    Parameters
    ----------
    raw
        The packed file, or a pipe.
    unpack
        Makes of it what gives the unpacked bytes.
    """

    def __init__(
        self, path: str | PathLike[str], raw: IO[bytes], unpack: Callable[[Any], SupportsRead]
    ) -> None:
        self._path, self._raw = Path(path), _Counted(raw)
        self._source = unpack(self._raw)
        self._given = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        piece = self._source.read(size)
        self._given += len(piece)
        require_expansion(self._path, self._raw.taken, self._given)
        return piece
