"""Secret tables of the numbers that users get in formats whose user ids are numbers.

The key of a file stands next to it as ``NAME.users.csv`` (``user_id,original_id``). Two files whose
users were numbered by one key can be compared; `check_same_numbers` finds those that were not.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracearena.errors import DataError, Fault, FileError, ParameterError
from tracearena.files import csv_text, is_stream, read_bytes, replacing
from tracearena.traces.row_table import EventTable

HEADER = ("user_id", "original_id")
HIGHEST = 999_999_999
LOWEST = {"pwscup": 1, "peopleflow": 1, "ppmtf": 0}
"""The formats that hold numbers only, and the smallest number of each."""

_PLAIN = re.compile(r"0|[1-9][0-9]{0,8}")
_Table = TypeVar("_Table", bound=EventTable)


class UserKey:
    """Numbers of users by their own ids; it grows with the files that are numbered by it.

    >>> key = UserKey()
    >>> key.assign_numbers(["ann", "7", "bob"], lowest=1).tolist()
    [8, 7, 9]
    >>> key.assign_numbers(["eve", "ann"], lowest=1).tolist()
    [10, 8]
    """

    def __init__(self, numbers: Mapping[str, int] | None = None) -> None:
        self.numbers = dict(numbers or {})

    @classmethod
    def read(cls, path: str | PathLike[str], *, lowest: int = 0) -> UserKey:
        """Read a key; a row that is not one new number and one new id is refused."""
        try:
            text = read_bytes(path).decode("utf-8-sig")
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileError.whole(path, f"is not a key of users: {error}", "bad-key") from None
        if not rows or tuple(rows[0]) != HEADER:
            got = ",".join(rows[0]) if rows else ""
            raise FileError(path, [Fault(0, None, got, f"the header must be {','.join(HEADER)}", "bad-key")])
        numbers: dict[str, int] = {}
        taken: dict[int, str] = {}
        faults = []
        for row, cells in enumerate(rows[1:], 1):
            fault = _find_key_fault(row, cells, lowest, numbers, taken)
            if fault is not None:
                faults.append(fault)
                continue
            numbers[cells[1]] = int(cells[0])
            taken[int(cells[0])] = cells[1]
        if faults:
            raise FileError(path, faults, len(faults))
        return cls(numbers)

    @property
    def changes_ids(self) -> bool:
        """Whether some number is not the user's own id."""
        return any(own != str(number) for own, number in self.numbers.items())

    def assign_numbers(self, ids: Iterable[Any], *, lowest: int, keep: bool = True) -> NDArray[np.int64]:
        """Return the number of each id, after giving one to those that had none.

        Known ids have theirs; with `keep` an id that is a number the format can hold stays what it
        is, unless it is somebody's already. The others get the numbers after the largest.
        """
        names = [str(own) for own in ids]
        taken = set(self.numbers.values())
        new = [own for own in dict.fromkeys(names) if own not in self.numbers]
        for own in new if keep else ():
            if _PLAIN.fullmatch(own) and int(own) >= lowest and int(own) not in taken:
                self.numbers[own] = int(own)
                taken.add(int(own))
        new = [own for own in new if own not in self.numbers]
        after = max(taken, default=lowest - 1) + 1
        if after + len(new) > HIGHEST + 1:
            after = lowest
        for own in new:
            while after in taken:
                after += 1
            if after > HIGHEST:
                raise DataError(f"there are more users than numbers from {lowest} to {HIGHEST}")
            self.numbers[own] = after
            taken.add(after)
        return np.array([self.numbers[own] for own in names], np.int64)

    def number_users(self, traces: _Table, to: str) -> _Table:
        """Return traces under the numbers that a format gives their users, in ascending order.

        The files of the PPMTF tools number users from 0 without gaps, whatever their ids.
        """
        numbers = self.assign_numbers(traces.user_ids.tolist(), lowest=LOWEST[to], keep=to != "ppmtf")
        order = np.argsort(numbers)
        if (order == np.arange(len(order))).all():
            return traces.with_user_ids(numbers)
        return traces.take_users(order).with_user_ids(numbers[order])

    def restore_ids(self, traces: _Table, source: str | PathLike[str], to: str) -> _Table:
        """Return traces that a key next to their file has numbered under the users' own ids.

        The numbers they had stay theirs here, if they are nobody else's.
        """
        if to not in LOWEST or not find_key_path(source).is_file():
            return traces
        known = UserKey.read(find_key_path(source)).numbers
        owners = {number: own for own, number in known.items()}
        taken = set(self.numbers.values())
        if to != "ppmtf":
            for own, number in known.items():
                if own not in self.numbers and number not in taken and number >= LOWEST[to]:
                    self.numbers[own] = number
        return traces.with_user_ids([owners.get(int(n), str(n)) for n in traces.user_ids.tolist()])

    def only(self, numbers: Iterable[int]) -> UserKey:
        """Return the part of the key that concerns some numbers."""
        wanted = set(numbers)
        return UserKey({own: number for own, number in self.numbers.items() if number in wanted})

    def text(self) -> bytes:
        """Return the key as its file, by number."""
        rows = sorted((number, own) for own, number in self.numbers.items())
        return csv_text(HEADER, rows, exact=True).encode()

    def find_contradiction(self, other: UserKey) -> str | None:
        """Return which user has another number, or which number another user, in another key."""
        for own, number in self.numbers.items():
            if other.numbers.get(own, number) != number:
                return f"user {own!r} is {number} in one and {other.numbers[own]} in the other"
        owners = {number: own for own, number in other.numbers.items()}
        for own, number in self.numbers.items():
            if owners.get(number, own) != own:
                return f"{number} is user {own!r} in one and {owners[number]!r} in the other"
        return None


def find_key_path(path: str | PathLike[str]) -> Path:
    """Return where the key of a file stands.

    >>> str(find_key_path("org.csv"))
    'org.csv.users.csv'
    """
    return Path(f"{path}.users.csv")


@contextmanager
def write_keys_beside(
    key: UserKey, outputs: Mapping[Path, Iterable[int]], file: Path | None = None
) -> Iterator[list[Path]]:
    """Write the key next to outputs, and back to its own file, if the block that writes them ends well.

    Where all users keep their ids and no file is named there is no key. One that stands next to an
    output already and says otherwise is not replaced: it is the way back from other files.

    Parameters
    ----------
    outputs
        The files, and the numbers of the users in each.
    file
        The file of the whole key, if there is one.

    Yields
    ------
    list
        The keys that will be written.
    """
    parts = {find_key_path(out): key.only(numbers) for out, numbers in outputs.items() if not is_stream(out)}
    if file is None and key.changes_ids and len(parts) < len(outputs):
        raise ParameterError("a pipe or a device needs a file for the key of users: name it with --user-key")
    for path, part in parts.items():
        if path.is_file() and (file is None or path.resolve() != file.resolve()):
            problem = part.find_contradiction(UserKey.read(path))
            if problem:
                raise FileError.whole(
                    path,
                    f"has other numbers for the users ({problem}); name it with "
                    "--user-key, or choose another output",
                    "other-key",
                )
    if file is None and not key.changes_ids:
        yield []
        return
    if file is not None:
        parts = {path: part for path, part in parts.items() if path.resolve() != file.resolve()}
        parts[file] = key
    with ExitStack() as stack:
        for path, part in parts.items():
            stack.enter_context(replacing(path, private=True)).write(part.text())
        yield list(parts)


def check_no_stale_key(source: Path, target: Path) -> None:
    """Refuse an output next to which the key of another file stands, where its source has none."""
    stale = find_key_path(target)
    if stale.is_file() and not find_key_path(source).is_file():
        raise FileError.whole(stale, "is the key of another file; remove it", "other-key")


@contextmanager
def copy_key_beside(source: Path, target: Path) -> Iterator[None]:
    """Write the key next to a source next to a target too, if there is one and the block ends well."""
    if not find_key_path(source).is_file():
        yield
        return
    with replacing(find_key_path(target), private=True) as out:
        out.write(UserKey.read(find_key_path(source)).text())
        yield


def check_same_numbers(
    first: Path,
    second: Path,
    *,
    users: tuple[Iterable[int], Iterable[int]] | None = None,
    same_users: bool = False,
) -> None:
    """Refuse two files whose keys give a user two numbers, or two users one.

    Parameters
    ----------
    users
        The users of both files. Then a file without a key counts as one whose users kept their
        ids; without them, it is left alone.
    same_users
        Refuse keys of different users too, because rows are compared in the order of users.
    """
    paths = (first, second)
    keys = [UserKey.read(find_key_path(path)) if find_key_path(path).is_file() else None for path in paths]
    if (users is None and None in keys) or keys == [None, None]:
        return
    known = [
        UserKey({str(number): number for number in (users or ((), ()))[at]}) if key is None else key
        for at, key in enumerate(keys)
    ]
    alone = sorted(set(known[0].numbers) ^ set(known[1].numbers)) if same_users else []
    if alone:
        raise DataError(f"{first} and {second} do not have the same users: only one has user {alone[0]!r}")
    problem = known[0].find_contradiction(known[1])
    if problem:
        raise DataError(
            f"{first} and {second} have different numbers for users: {problem}; "
            "convert both with the same --user-key"
        )


def _find_key_fault(
    row: int, cells: list[str], lowest: int, numbers: Mapping[str, int], taken: Mapping[int, str]
) -> Fault | None:
    if len(cells) != len(HEADER):
        problem = f"a row must have two cells, {' and '.join(HEADER)}, not {len(cells)}"
        return Fault(row, None, ",".join(cells), problem, "bad-key")
    number, own = cells
    if not _PLAIN.fullmatch(number) or int(number) < lowest:
        problem = f"must be a whole number from {lowest} to {HIGHEST}"
        return Fault(row, HEADER[0], number, problem, "bad-key")
    if int(number) in taken:
        problem = f"is already the number of user {taken[int(number)]!r}"
        return Fault(row, HEADER[0], number, problem, "bad-key")
    if not own:
        return Fault(row, HEADER[1], own, "must name a user", "bad-key")
    if own in numbers:
        return Fault(row, HEADER[1], own, f"already has the number {numbers[own]}", "bad-key")
    return None
