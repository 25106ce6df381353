"""What does not count, and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """A file that does not count, and why.

    Attributes
    ----------
    file
        Its path inside the contest's folder.
    code
        A fixed word: one of the checker's verdicts, or ``late``, ``early``, ``wrong-name``, ``twice``, …
    reason
        The same for people, with the row where there is one.
    """

    file: str
    code: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain values for JSON."""
        return {"file": self.file, "code": self.code, "reason": self.reason}


def visible(path: Path, folder: Path) -> str:
    """Return a path inside a folder as text that disturbs no terminal and fits every file."""
    return printable(path.relative_to(folder).as_posix())


def printable(text: str) -> str:
    """Return a text with its control characters, and others that do not show, spelt out.

    >>> printable("a\\x1bb")
    'a\\\\x1bb'
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
