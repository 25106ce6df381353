"""The errors and warnings that users can meet, as one tree.

::

    TracearenaError
    ├── ParameterError       a value or a name that makes no sense
    ├── AlgorithmError       a user's own algorithm that fails or returns something else
    ├── ClusterError         a cluster that is not there, or not as it should be
    └── DataError            traces, places or tables that contradict themselves
        └── FileError        a file that breaks its format; lists the faults with their rows

    TracearenaWarning        something that the user should know, though the work continues

The command line turns each of them into one message and exit status 2. Anything else that
reaches the user is our own fault: exit status 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

SHOWN_FAULTS = 10
_SHOWN_CHARACTERS = 60


class TracearenaError(Exception):
    """Base of every error that is the caller's to mend.

    Of an error about a file, `path` is the file, with which the message begins, and `problem` the rest.
    """

    path: str | None = None
    problem = ""

    @classmethod
    def about(cls, path: str | PathLike[str], problem: str) -> Self:
        """Make an error about a file."""
        error = cls(f"{path}: {problem}")
        error.path, error.problem = str(path), problem
        return error

    def with_path(self, path: str | PathLike[str]) -> TracearenaError:
        """Return the error under another name of its file."""
        return type(self).about(path, self.problem)


class TracearenaWarning(UserWarning):
    """Something the user should know; the command line prints it as a sentence."""


class ParameterError(TracearenaError, ValueError):
    """A parameter has a value that is not allowed."""

    @classmethod
    def of(cls, name: str, value: Any, allowed: str) -> ParameterError:
        """State the parameter, the value got and what is allowed."""
        return cls(f"{name} = {value!r} is not allowed; it must be {allowed}")


class AlgorithmError(TracearenaError, RuntimeError):
    """A user's own algorithm failed, or returned what is not asked of its kind."""


class ClusterError(TracearenaError, RuntimeError):
    """A cluster cannot be reached, or cannot do the work."""


class DataError(TracearenaError, ValueError):
    """Data contradicts itself or its surroundings."""


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a file.

    Attributes
    ----------
    row
        Data row, counted from 1 below the header; 0 is the header, None the file as a whole.
    column
        Name of the column, if the fault has one.
    value
        What stood there, as text.
    problem
        What is wrong, and what is allowed.
    code
        A fixed word for the kind of fault, for programs.
    header_lines
        Lines above the first data row; None if rows are not lines, as in JSON.
    """

    row: int | None
    column: str | None
    value: str | None
    problem: str
    code: str
    header_lines: int | None = 1

    def __str__(self) -> str:
        where = []
        if self.row is not None:
            line = "" if self.header_lines is None else f" (line {self.row + self.header_lines})"
            where.append("header" if self.row == 0 else f"row {self.row}{line}")
        if self.column is not None:
            where.append(f"column {self.column}")
        got = "" if self.value is None else f"got {shorten(self.value)}: "
        return (", ".join(where) + ": " if where else "") + got + self.problem

    def to_dict(self) -> dict[str, Any]:
        """Return the fault as plain values for JSON."""
        return {
            "row": self.row,
            "column": self.column,
            "value": None if self.value is None else self.value[:_SHOWN_CHARACTERS],
            "problem": self.problem,
            "code": self.code,
        }


def shorten(value: str) -> str:
    """Quote a value so that it fits a line and cannot disturb a terminal.

    >>> shorten("4" * 100)
    "'444444444444444444444444444444444444444444444444444444444444'… (100 characters)"
    """
    if len(value) <= _SHOWN_CHARACTERS:
        return ascii(value)
    return f"{value[:_SHOWN_CHARACTERS]!a}… ({len(value)} characters)"


class FileError(DataError):
    """A file breaks its format.

    Attributes
    ----------
    path
        The file.
    faults
        The first faults found, in file order.
    total
        How many there are in all.
    """

    path: str

    def __init__(self, path: str | PathLike[str], faults: Iterable[Fault], total: int | None = None) -> None:
        self.path = str(path)
        self.faults: Sequence[Fault] = tuple(faults)[:SHOWN_FAULTS]
        self.total = len(self.faults) if total is None else total
        lines = [f"{self.path}: {fault}" for fault in self.faults]
        hidden = self.total - len(self.faults)
        if hidden > 0:
            lines.append(f"{self.path}: … and {hidden:,} more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, tuple(self.faults), self.total)

    @classmethod
    def whole(cls, path: str | PathLike[str], problem: str, code: str, value: str | None = None) -> FileError:
        """Make the error for a file that cannot be read at all."""
        return cls(path, [Fault(None, None, value, problem, code)])

    def with_path(self, path: str | PathLike[str]) -> FileError:
        """Return the error under another name of its file."""
        return FileError(path, self.faults, self.total)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        return {
            "file": self.path,
            "faults": [fault.to_dict() for fault in self.faults],
            "total": self.total,
        }
