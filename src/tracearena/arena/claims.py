"""Claims of papers, tested on the data at hand.

A `ClaimResult` has a statement, whether it holds here, and the number behind it; figures print it below their
title. `tracearena.papers.published_claims` lists the claims of the papers with the commands that test them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from tracearena.arena.sweep import SweepRow
from tracearena.i18n import mark_for_translation
from tracearena.traces._arrays import correlate


@dataclass(frozen=True)
class ClaimResult:
    """A statement about data, tested on the data at hand.

    Attributes
    ----------
    statement
        The claim, usually of a paper; without a full stop.
    holds
        Whether it is true here.
    measured
        The number behind it in words, with what is required for the statement to hold.
    number
        The same as a plain value; None if there was nothing to measure, and then nothing holds.

    Examples
    --------
    >>> print(ClaimResult("the two go together", False, "R = 0.318, required: 0.7", 0.318))
    does not hold here: the two go together (R = 0.318, required: 0.7)
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


Tell: TypeAlias = Callable[[ClaimResult], None]
"""What a figure calls with each of its findings."""


def check_share(statement: str, kept: Iterable[bool], what: str, *, least: float = 1.0) -> ClaimResult:
    """Return a finding that must be true of a share of several cases; all of them by default.

    >>> print(check_share("it is better", [True, False], "settings are"))
    does not hold here: it is better (1 of 2 settings are)
    """
    cases = list(kept)
    good = sum(cases)
    holds = bool(cases) and good >= least * len(cases)
    return ClaimResult(
        statement, holds, f"{good} of {len(cases)} {what}", good / len(cases) if cases else None
    )


def format_title(title: str, findings: Iterable[ClaimResult], *, width: int = 90) -> str:
    """Return a neutral title, and below it what was found, in lines of at most `width` characters."""
    lines = [title]
    for finding in findings:
        # A symbol and its number stay in one line.
        whole = str(finding).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
        lines += [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(whole, width)]
    return "\n".join(lines)


# Claims of [contest], tested on the releases at hand.

STRONG = 0.7
"""Correlation from which two scores are said to go together; [contest] Figure 9 has 0.895."""
NEAR_ONE = 0.9
"""[contest] Figure 8: s_R,min of the cheating anonymization is near 1; from here on we call it so."""
UNCHANGED = 0.022
"""s_T,min counts as unchanged up to here: twice its spread over undefended teams, [contest] Table 2."""


def correlation(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Return Pearson's R of the pairs that have both scores; None where it is not defined.

    >>> correlation([(0, 1), (1, 2), (2, 3.0)])
    1.0
    >>> correlation([(0, 1), (1, 1), (2, 1)]) is None
    True
    """
    found = correlate(*np.array([*pairs], float).reshape(-1, 2).T)
    return None if found is None else float(np.round(found, 12))


def check_privacies_correlate(pairs: Iterable[tuple[float | None, float | None]]) -> ClaimResult:
    """Test whether releases that are safe from trace inference are safe from re-identification.

    [contest] Figure 9 says so from a correlation of 0.895 over 18 data sets; 0.7 is required here.
    """
    found = correlation(pairs)
    statement = mark_for_translation("who is safe from trace inference is safe from re-identification")
    if found is None:
        return ClaimResult(
            statement,
            False,
            mark_for_translation("R is not defined: too few releases, or all are equal"),
            None,
        )
    return ClaimResult(statement, found >= STRONG, f"R = {found:.3f}, required: {STRONG:g}", found)


def check_shuffling_hides_names(rows: Sequence[SweepRow]) -> ClaimResult:
    """Test whether shuffling whole traces hides true identities, and nothing else.

    [contest] Figure 8: s_R,min of Cheat(1) is near 1 while s_T,min stays that of no defence. It
    takes s_R,min of at least 0.9, and s_T,min at most 0.022 above that of ``No`` (or, without such a
    row, of the release with the fewest traces shuffled).
    """
    statement = (
        f"shuffling whole traces hides who is who, and hides almost nothing else (at most {UNCHANGED:g})"
    )
    scored = _keep_scored(rows)
    cheats = [row for row in scored if row.defence.startswith("Cheat(")]
    cheats.sort(key=lambda row: float(row.defence.partition("(")[2].rstrip(")")))
    plain = [row for row in scored if row.defence == "No"] or cheats[:1]
    if not cheats or plain[0] is cheats[-1]:
        return ClaimResult(statement, False, "no two releases to compare", None)
    (before_r, before_t), (after_r, after_t) = plain[0].scores.minima, cheats[-1].scores.minima
    gain = after_t - before_t
    return ClaimResult(
        statement,
        after_r >= NEAR_ONE and gain <= UNCHANGED,
        f"{cheats[-1].defence}: s_R,min from {before_r:.3f} to {after_r:.3f}, required: "
        f"{NEAR_ONE:g}; s_T,min from {before_t:.3f} to {after_t:.3f}, at most {UNCHANGED:g} more",
        gain,
    )


def check_privacy_costs_utility(rows: Sequence[SweepRow]) -> ClaimResult:
    """Test whether defences that change the data more hide whereabouts better.

    The trade-off that every contest is about. It takes a correlation of s_U
    and s_T,min of at most -0.7.
    """
    found = correlation((row.utility, row.scores.s_T_min) for row in _keep_scored(rows))
    statement = "the more the data is changed, the less it tells of people's whereabouts"
    if found is None:
        return ClaimResult(statement, False, "the correlation is not defined", None)
    measured = f"R of usefulness and privacy = {found:.2f}, required: {-STRONG:g}"
    return ClaimResult(statement, found <= -STRONG, measured, found)


def _keep_scored(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """Leave out the releases that were not attacked in both ways."""
    return [row for row in rows if row.scores.s_R_min is not None and row.scores.s_T_min is not None]
