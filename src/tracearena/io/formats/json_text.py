"""JSON in pieces, within limits: the elements of the outer arrays one at a time.

A file of hundreds of megabytes stands in memory as text and never as objects. What no reader of
traces can use is refused in a sentence: text that is no JSON, objects nested without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from os import PathLike
from typing import Any, NamedTuple

import polars as pl

from tracearena.errors import FileError
from tracearena.io.fields.columns import NAMES, find_roles
from tracearena.io.tables import ROW, read_utf8_bytes

MAX_BYTES = 2 * 2**30
"""Bytes of a JSON file, unpacked."""

TWICE = "\0twice"
"""Where an object tells which of its keys it has twice."""

_BLANK = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)"
)
_PLAIN = {int, float, type(None)}


class Piece(NamedTuple):
    """One value of a document.

    Attributes
    ----------
    key
        Of what member of the outer object; None where the document is an array.
    number
        Which element of an array, from 1; None for what is no array.
    value
        The value itself. ``NaN`` and ``Infinity``, which are no JSON, are text.
    """

    key: str | None
    number: int | None
    value: Any


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        made[TWICE] = _find_repeated_key(key for key, _ in pairs)
    return made


def _find_repeated_key(keys: Iterable[str]) -> str | None:
    """Return the first key that was there before."""
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


_decode = JSONDecoder(object_pairs_hook=_build_object, parse_constant=str).raw_decode


def read_json_text(path: str | PathLike[str]) -> str:
    """Return the text of a JSON file, packed or not; broken letters are replaced."""
    return _replace_half_letters(
        read_utf8_bytes(path, max_bytes=MAX_BYTES, line_end=b",").decode("utf-8", "replace")
    )


def _replace_half_letters(text: str) -> str:
    """Replace escapes that are half of a letter (``\\ud800`` alone), which no table and no report can hold.

    >>> _replace_half_letters(r'["\\ud83d\\ude00", "\\ud83d"]')
    '["\\\\ud83d\\\\ude00", "\\\\ufffd"]'
    """
    if _SURROGATE.search(text) is None:
        return text
    return _ESCAPES.sub(lambda found: r"\ufffd" if found[1] else found[0], text)


def iterate_json_pieces(path: str | PathLike[str], text: str) -> Iterator[Piece]:
    """Give the members of the outer object, or the elements of the outer array; inner arrays by element."""
    try:
        end = yield from _iterate_outer(text, _skip_blanks(text, 0))
        if end != len(text):
            raise JSONDecodeError("Extra data", text, end)
    except RecursionError:
        raise FileError.whole(path, "is nested too deeply; it is refused", "too-deep") from None
    except ValueError as error:
        raise FileError.whole(path, f"is not whole JSON: {error}", "bad-json") from None


def parse_json_line(line: str) -> Any:
    """Return the one value of a line; a `ValueError` says why there is none."""
    line = _replace_half_letters(line)
    try:
        value, end = _decode(line, _skip_blanks(line, 0))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if _skip_blanks(line, end) != len(line):
        raise ValueError("more than one value in the line")
    return value


def parse_json_start(start: str) -> tuple[str, list[Piece]]:
    """Look at the first characters of a file: ``object`` or ``array``, and the pieces that are whole.

    An array whose first element is cut off is there as its key, with the value None.
    """
    start = _replace_half_letters(start)
    at, found = _skip_blanks(start, 0), []
    kind = {"{": "object", "[": "array"}.get(start[at : at + 1], "")
    try:
        for piece in _iterate_outer(start, at, opened=True):
            found.append(piece)
    except (ValueError, RecursionError):
        pass
    return kind, found


def _skip_blanks(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]


def _iterate_outer(text: str, at: int, opened: bool = False) -> Any:
    if text.startswith("{", at):
        end = yield from _iterate_members(text, at, opened)
    elif text.startswith("[", at):
        end = yield from _iterate_elements(text, at, None)
    else:
        value, end = _decode(text, at)
        yield Piece(None, None, value)
    return _skip_blanks(text, end)


def _iterate_members(text: str, at: int, opened: bool) -> Any:
    seen: set[str] = set()
    at = _skip_blanks(text, at + 1)
    while not (text.startswith("}", at) and not seen):
        key, at = _decode(text, at)
        if not isinstance(key, str):
            raise JSONDecodeError("Expecting a key in double quotes", text, at)
        if key in seen:
            raise ValueError(f"it has the key {key[:40]!a} twice")
        seen.add(key)
        at = _skip_blanks(text, _skip_sign(text, _skip_blanks(text, at), ":"))
        if opened:
            yield Piece(key, None, None)
        if text.startswith("[", at):
            at = yield from _iterate_elements(text, at, key)
        else:
            value, at = _decode(text, at)
            yield Piece(key, None, value)
        at = _skip_blanks(text, at)
        if text.startswith("}", at):
            break
        at = _skip_blanks(text, _skip_sign(text, at, ","))
    return at + 1


def _iterate_elements(text: str, at: int, key: str | None) -> Any:
    at, index = _skip_blanks(text, at + 1), 0
    if text.startswith("]", at):
        return at + 1
    while True:
        value, at = _decode(text, at)
        index += 1
        yield Piece(key, index, value)
        at = _skip_blanks(text, at)
        if text.startswith("]", at):
            return at + 1
        at = _skip_blanks(text, _skip_sign(text, at, ","))


def _skip_sign(text: str, at: int, sign: str) -> int:
    if not text.startswith(sign, at):
        raise JSONDecodeError(f"Expecting {sign!r}", text, at)
    return at + 1


class JsonRows:
    """Rows as they are found in a document, with the number that the document has for each.

    Parameters
    ----------
    *columns
        Their names, under which `add` takes the values.
    """

    def __init__(self, *columns: str) -> None:
        self._numbers: list[int] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in columns}
        self._lists = list(self._columns.values())

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, *values: Any) -> None:
        """Add one row."""
        self._numbers.append(number)
        for column, value in zip(self._lists, values, strict=True):
            column.append(value)

    def frame(self, *optional: str) -> pl.DataFrame:
        """Return the rows, without those `optional` columns that hold nothing."""
        made = [build_json_column(name, values) for name, values in self._columns.items()]
        kept = [values for values in made if values.name not in optional or values.null_count() < len(self)]
        return pl.DataFrame([pl.Series(ROW, self._numbers, dtype=pl.Int64), *kept])


def build_json_column(name: str, values: list[Any]) -> pl.Series:
    """Return values as numbers if all are, and otherwise as text; objects and arrays as their JSON."""
    kinds = set(map(type, values))
    if kinds <= _PLAIN:
        try:
            return pl.Series(name, values, dtype=pl.Float64 if float in kinds else pl.Int64)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            pass  # a whole number of more than 64 bits
    return pl.Series(name, [_format_json_text(value) for value in values], dtype=pl.String)


def _format_json_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    import json

    try:
        return json.dumps(value)[:200]
    except (ValueError, RecursionError):
        return "a number or a nesting beyond measure"


# Rows of which each names its columns itself, as the objects of JSON lines and GeoJSON do.


MOST_NAMES = 128
"""Names of columns in all; each costs a cell in every row, whichever row has it."""

_KEPT_NAMES = 64


class NamedRows:
    """Rows as they come, each with names of its own.

    The first 64 names are columns; later ones only if they can be a user, a time or a position.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self.numbers: list[int] = []
        """The number of each row in the file."""
        self._columns: dict[str, tuple[list[int], list[Any]]] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """Add one row with its number in the file."""
        at = len(self.numbers)
        self.numbers.append(number)
        for name, value in row.items():
            known = self._columns.get(name)
            if known is None:
                if not self._is_wanted(name):
                    continue
                known = self._columns[name] = ([], [])
            known[0].append(at)
            known[1].append(value)

    def _is_wanted(self, name: str) -> bool:
        if len(self._columns) < _KEPT_NAMES:
            return True
        if not find_roles([name], tuple(NAMES)):
            return False
        if len(self._columns) >= MOST_NAMES:
            problem = f"has more than {MOST_NAMES} names of columns that could be of use; it is refused"
            raise FileError.whole(self._path, problem, "too-wide")
        return True

    def frame(self) -> pl.DataFrame:
        """Return all rows, with nothing where a row has no such column."""
        height = len(self.numbers)
        made = [pl.Series(ROW, self.numbers, dtype=pl.Int64)]
        for name, (at, values) in self._columns.items():
            if name == ROW:
                continue
            given = build_json_column(name, values)
            if len(at) < height:
                given = pl.repeat(None, height, dtype=given.dtype, eager=True).scatter(at, given).alias(name)
            made.append(given)
        return pl.DataFrame(made)
