"""What a picture is said to show, and whether it does."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Finding:
    """A statement about data, tested on the data at hand.

    Attributes
    ----------
    statement
        The claim, usually of a paper; without a full stop.
    holds
        Whether it is true here.
    measured
        The number behind it in words, with what it takes for the statement to hold.
    number
        The same as a plain value; None if there was nothing to measure, and then nothing holds.

    Examples
    --------
    >>> print(Finding("the two go together", False, "R = 0.318, it takes 0.7", 0.318))
    does not hold here: the two go together (R = 0.318, it takes 0.7)
    """

    statement: str
    holds: bool
    measured: str
    number: float | None

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'does not hold here'}: {self.statement} ({self.measured})"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return asdict(self)


Tell: TypeAlias = Callable[[Finding], None]
"""What a figure calls with each of its findings."""


def counted(statement: str, kept: Iterable[bool], what: str, *, least: float = 1.0) -> Finding:
    """Return a finding that must be true of a share of several cases; all of them by default.

    >>> print(counted("it is better", [True, False], "settings are"))
    does not hold here: it is better (1 of 2 settings are)
    """
    cases = list(kept)
    good = sum(cases)
    holds = bool(cases) and good >= least * len(cases)
    return Finding(statement, holds, f"{good} of {len(cases)} {what}", good / len(cases) if cases else None)


def titled(title: str, findings: Iterable[Finding], *, width: int = 90) -> str:
    """Return a neutral title, and below it what was found, in lines of at most `width` characters."""
    lines = [title]
    for finding in findings:
        # A symbol and its number stay in one line.
        whole = str(finding).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
        lines += [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(whole, width)]
    return "\n".join(lines)


def announce(findings: Iterable[Finding], tell: Tell | None) -> None:
    """Hand each finding on, if anybody listens."""
    if tell is not None:
        for finding in findings:
            tell(finding)
