"""Sentences that pictures of a contest say, whatever they are drawn with."""

from __future__ import annotations

from collections.abc import Sequence

from tracearena.arena.claims import STRONG, Finding, privacies_together, privacy_costs_usefulness
from tracearena.arena.sweep import SweepRow
from tracearena.contest.board import Award, Board, BoardRow, Role
from tracearena.contest.report_data import compared
from tracearena.language import counted, in_a_row, said

DEFENCES = ("best-anonymization", "best-anonymization-reidentification")
"""Awards whose scores are uncertain by the luck of the people drawn."""


def privacies_told(board: Board, samples: Sequence[SweepRow]) -> str:
    """Say whether both kinds of privacy go together, over sample defences and over teams."""
    rows = compared(board)
    told = []
    if samples:
        found = privacies_together(row.scores.minima for row in samples)
        told.append(_over(said("the sample defences (grey)"), found))
    if len(rows) > 2:
        extra = any(row.role is not Role.TEAM for row in rows)
        number = len(rows)
        which = (
            said("{number} data sets, the pseudonymised team's among them,", number=number)
            if extra
            else counted("{count} team", "{count} teams", number)
        )
        told.append(_over(which, privacies_together((row.s_R_min, row.s_T_min) for row in rows)))
    return in_a_row(told) if told else ""


def _over(which: str, found: Finding) -> str:
    measured = (
        said(found.measured)
        if found.number is None
        else said("R = {r}, it takes {least}", r=f"{found.number:.3f}", least=f"{STRONG:g}")
    )
    about = {"which": which, "statement": said(found.statement), "measured": measured}
    if found.holds:
        return said("Over {which} it holds: {statement} ({measured}).", **about)
    return said("Over {which} it does not hold here: {statement} ({measured}).", **about)


def challenge_rows(board: Board) -> list[BoardRow]:
    """Return the data sets of the trace-inference challenge, valid or not, and the pseudonymised team's."""
    last = board.rules.data_sets
    return [
        row
        for row in board.rows
        if row.role is Role.PSEUDONYMISED or (row.role is Role.TEAM and row.data_set == last)
    ]


def costs_told(board: Board, samples: Sequence[SweepRow]) -> str:
    """Say what privacy costs over sample defences, and how many teams paid too much."""
    threshold = board.rules.utility_threshold
    shown = [row for row in challenge_rows(board) if row.utility is not None]
    invalid = sum(not row.valid for row in shown)
    if not shown:
        return said("Nothing was handed in yet.")
    fate = (
        counted(
            "One team overdid it: below {threshold} the data is not published and privacy counts 0 (hollow).",
            "{count} teams overdid it: below {threshold} the data is not published and privacy counts 0 "
            "(hollow).",
            invalid,
            threshold=f"{threshold:g}",
        )
        if invalid
        else said("Everybody stayed above {threshold}.", threshold=f"{threshold:g}")
    )
    costs = f"Over the sample defences (grey) it {privacy_costs_usefulness(samples)}. " if samples else ""
    return f"{costs}{fate}"


def tied(award: Award, margin: float) -> list[str]:
    """Return the teams behind the winner that luck alone may have kept from winning.

    Two scores that are each uncertain by the margin differ only beyond its double.
    """
    if not award.places:
        return []
    best = award.places[0].value
    return [p.team for p in award.places if p.place > 1 and abs(p.value - best) <= 2 * margin]
