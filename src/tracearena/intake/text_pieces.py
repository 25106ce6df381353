"""A text file of any size, packed or not, as pieces of whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracearena.errors import FileError
from tracearena.files.io import LONGEST_LINE, require_short_lines, unpacking
from tracearena.intake.delimited import BOM, require_text

_LOOKED_AT = 1 << 20
_QUOTE = b'"'
_PACKED_TO = 4
"""How many times smaller text is when it is packed, at least: a guess that only tells large from small."""


def pieces(path: Path, size: int) -> Iterator[bytes]:
    """Yield a file about `size` bytes at a time, cut where a row ends; a row may go on within quotes."""
    rest, lines = b"", 0
    with unpacking(path) as source:
        begin = source.read(size).removeprefix(BOM)
        while data := begin or source.read(size):
            begin = b""
            require_text(path, data)
            data = rest + data
            end = _end_of_rows(data)
            piece, rest = data[:end], data[end:]
            require_short_lines(path, piece, lines_before=lines)
            lines += piece.count(b"\n")
            _require_end(path, rest, lines)
            if piece:
                yield piece
    if rest:
        yield rest


def estimated_lines(path: Path) -> float:
    """Return about how many lines a file has, by its size and its first lines."""
    with unpacking(path) as source:
        begin = source.read(_LOOKED_AT)
    found = begin.count(b"\n")
    if len(begin) < _LOOKED_AT:
        return found
    return found * estimated_bytes(path) / len(begin)


def estimated_bytes(path: Path) -> int:
    """Return about how many bytes a file has, unpacked."""
    return path.stat().st_size * (_PACKED_TO if _is_packed(path) else 1)


def _is_packed(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _end_of_rows(data: bytes) -> int:
    """Return where the last row ends that is whole: after a line end with an even number of quotes before."""
    quotes, end = data.count(_QUOTE), len(data)
    while True:
        at = data.rfind(b"\n", 0, end)
        if at < 0:
            return 0
        quotes -= data.count(_QUOTE, at, end)
        if quotes % 2 == 0:
            return at + 1
        end = at


def _require_end(path: Path, rest: bytes, lines: int) -> None:
    """Refuse a row that does not end: its line is too long, or a quote in it is not closed."""
    if len(rest) <= LONGEST_LINE:
        return
    require_short_lines(path, rest, lines_before=lines)
    problem = f"has a quote that is not closed within {LONGEST_LINE:,} bytes, in line {lines + 1:,}"
    raise FileError.whole(path, problem, "open-quote")
