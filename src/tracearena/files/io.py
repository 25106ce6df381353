"""Reading files within limits, and writing files, folders and small tables completely or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, Protocol

from tracearena.errors import FileError
from tracearena.files.atomic import clear_leftovers, name_in_errors, stage_file, stage_folder, stage_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Limits beyond which a file is refused unread.

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


def limit_error(path: str | PathLike[str], max_bytes: int, set_by: str = "") -> FileError:
    """Return the error for a file that is larger than a limit; `set_by` names the setting of the limit."""
    more = f", which {set_by} sets" if set_by else ""
    return FileError.whole(path, f"is larger than the limit of {max_bytes:,} bytes{more}", "too-large")


def require_columns(path: str | PathLike[str], columns: int) -> None:
    """Refuse a table that is wider than any table of traces."""
    if columns > MOST_COLUMNS:
        raise FileError.whole(
            path, f"has {columns:,} columns; at most {MOST_COLUMNS:,} are allowed", "too-wide"
        )


def require_expansion(
    path: str | PathLike[str], packed: int, unpacked: int, most: int = MAX_EXPANSION
) -> None:
    """Refuse a file that unpacks to more than `most` times its size: it was made to do harm."""
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
    """Anything that gives bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""


class _ByteCounter:
    """A file, and how much of it was taken."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self.taken = raw, 0

    def read(self, size: int = -1, /) -> bytes:
        piece = self._raw.read(size)
        self.taken += len(piece)
        return piece


class UnpackingReader:
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
        self._path, self._raw = Path(path), _ByteCounter(raw)
        self._source = unpack(self._raw)
        self._given = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""
        piece = self._source.read(size)
        self._given += len(piece)
        require_expansion(self._path, self._raw.taken, self._given)
        return piece


_PIECE = 2**20


@dataclass(frozen=True)
class InMemoryFile(PathLike[str]):
    """The bytes of a file that are in memory already, under the name that errors show.

    It stands for a path wherever a file is read whole.

    >>> read_bytes(InMemoryFile("upload.csv", b"reg_id"))
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
    """Return the content of a file, unpacked if it is gzip; refuse files beyond the limits.

    Unpacking stops at the limits, so a small file that unpacks to gigabytes does no harm.

    Parameters
    ----------
    max_bytes
        Largest unpacked size in bytes.
    line_end
        Line separator, to limit the length of lines; None for files without lines.
    set_by
        Option that sets the limit, for the error message; empty for none.
    """
    content = io.BytesIO()
    with open_unpacked(path) as source:
        while piece := source.read(_PIECE):
            content.write(piece)
            if content.tell() > max_bytes:
                raise limit_error(path, max_bytes, set_by)
    data = content.getvalue()
    if line_end is not None:
        require_short_lines(path, data, line_end)
    return data


@contextmanager
def open_unpacked(path: str | PathLike[str]) -> Iterator[SupportsRead]:
    """Open a file to read its content piece by piece, unpacked if it is gzip, within reason."""
    with name_in_errors(path), ExitStack() as stack:
        raw: io.BufferedReader
        if isinstance(path, InMemoryFile):
            raw = io.BufferedReader(io.BytesIO(path.content))
        else:
            raw = stack.enter_context(open(path, "rb"))
        # Peeking leaves the bytes where they are, so a pipe can be read as well as a file.
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        try:
            yield UnpackingReader(path, raw, lambda file: gzip.GzipFile(fileobj=file)) if packed else raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileError.whole(path, f"is not a complete gzip file: {error}", "bad-gzip") from None


def digest_file(path: str | PathLike[str]) -> str:
    """Return the SHA-256 digest of a file in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_values(*values: str | bytes | NDArray[Any]) -> str:
    """Return the SHA-256 digest of a sequence of texts, bytes and arrays, in hexadecimal digits.

    >>> digest_values("ab", b"c") == digest_values("abc")
    True
    """
    total = hashlib.sha256()
    for value in values:
        content: Any = value.encode() if isinstance(value, str) else value
        view = memoryview(content)
        total.update(view if view.ndim == 1 and view.contiguous else view.tobytes())
    return total.hexdigest()


def refuse_pipe(path: str | PathLike[str]) -> None:
    """Raise an error for a pipe or device, which cannot be inspected before it is read."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise FileError.whole(path, "is a pipe or a device; save its content to a file first", "not-a-file")


def is_stream(path: str | PathLike[str]) -> bool:
    """Whether a path is a pipe, a device or an open file of a process, which is written to directly.

    ``/dev/stdout`` looks like a plain file if the shell redirects it to one. Replacing it would remove the
    name for everybody on the machine.
    """
    target = Path(path)
    if not target.exists():
        return False
    link = os.readlink(target) if target.is_symlink() else ""
    inside = str(target.parent.resolve())
    return not target.is_file() or link.startswith("/proc/") or inside.startswith("/proc/")


@contextmanager
def replacing(path: str | PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file under a temporary name, which is renamed to `path` if the block succeeds.

    The data is on disk before the name changes, so a reader sees either the old file or the new one. A path
    that ends in ``.gz`` is compressed. Devices and pipes are written to directly. Inside `replacing_all`, the
    file is renamed when all others are complete.

    Parameters
    ----------
    private
        Only the owner may read or write the file, from its first byte on. Other files keep the permissions of
        the file that they replace, or get those of the umask.
    """
    target = Path(path)
    clear_leftovers(target)
    with name_in_errors(path):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        stage = stage_stream(target) if is_stream(target) else stage_file(target, private=private)
        with stage as raw:
            if target.suffix != ".gz":
                yield raw
                return
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                yield packed  # type: ignore[misc]


@contextmanager
def replacing_folder(path: str | PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Yield a folder under a temporary name, which is renamed to `path` if the block succeeds.

    A folder that is not empty is never replaced. Inside `replacing_all`, the folder is renamed when all other
    outputs are complete.

    Parameters
    ----------
    private
        Only the owner may open the folder.
    """
    target = Path(path)
    require_new(target)
    with name_in_errors(target), stage_folder(target, private=private) as folder:
        yield folder


def require_new(path: str | PathLike[str]) -> None:
    """Raise an error if a folder is not empty or cannot be written.

    Leftovers of a killed run of tracearena do not count.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError.whole(target, f"the folder {target.parent} does not exist", "no-folder")
    clear_leftovers(target)
    if target.exists() and (not target.is_dir() or next(target.iterdir(), None) is not None):
        raise FileError.whole(target, "exists and is not an empty folder; choose another name", "exists")


# Small tables as CSV; large ones are written by `tracearena.io`.

_FORMULA = re.compile(r"(?![+-]\d[\d.]*(?:[eE][+-]?\d+)?\Z)'*[=+\-@\t\r].", re.ASCII | re.DOTALL)
"""How a text begins that a spreadsheet may take for a formula; numbers and single signs are none."""


def csv_text(header: Sequence[str] | None, rows: Iterable[Iterable[Any]], *, exact: bool = False) -> str:
    r"""Return a table as CSV: lines end in LF, cells are quoted where necessary, None is an empty cell.

    A text that a spreadsheet would read as a formula gets an apostrophe, which `csv_rows` removes.

    Parameters
    ----------
    header
        Names of the columns; None for a format without a header.
    exact
        Whether to write texts unchanged, for files that only programs read.

    Examples
    --------
    >>> csv_text(["name", "share"], [["a, b", 0.5], ["=1+1", None]])
    'name,share\n"a, b",0.5\n\'=1+1,\n'
    """
    written: list[str] = []
    # Python before 3.13 quotes a cell with CR or LF only if the end of a line has both.
    writer = csv.writer(SimpleNamespace(write=written.append), lineterminator="\r\n")
    lines = rows if header is None else itertools.chain([header], rows)
    writer.writerows(lines if exact else ([_escape_formula(cell) for cell in line] for line in lines))
    return "".join(f"{line[:-2]}\n" for line in written)


def csv_rows(text: str) -> list[list[str]]:
    """Return the cells of a table from `csv_text`, the header first.

    >>> csv_rows(csv_text(["name"], [["=1+1"], ["-0.5"], ["'@x"]]))
    [['name'], ['=1+1'], ['-0.5'], ["'@x"]]
    """
    lines = csv.reader(io.StringIO(text, newline=""))
    return [[cell[cell[:1] == "'" and bool(_FORMULA.match(cell)) :] for cell in line] for line in lines]


def _escape_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def write_csv(path: str | PathLike[str], header: Sequence[str] | None, rows: Iterable[Iterable[Any]]) -> Path:
    """Write `csv_text` completely or not at all, and return the path."""
    content = csv_text(header, rows).encode()
    with replacing(path) as file:
        file.write(content)
    return Path(path)
