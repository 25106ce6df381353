"""The score of every attack as a table: rows attacked, columns attacking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracearena.contest.board import NOT_ATTACKED, SAME, AttackKind, Board, BoardRow, Role, attack_sums
from tracearena.contest.report_data import margin
from tracearena.language import in_a_row, marked, said

QUESTIONS = {
    AttackKind.REIDENTIFICATION: (marked("Who is who?"), marked("people not identified")),
    AttackKind.TRACE_INFERENCE: (marked("Who was where?"), marked("whereabouts hidden")),
}
"""What an attack asks, and what its score says."""

_FEWEST = 4
_FENCE = 1.5


@dataclass(frozen=True, eq=False)
class AttackTable:
    """All attacks of one kind.

    Attributes
    ----------
    kind
        What the attacks ask.
    rows, targets
        The valid data sets, best first, and what each is called.
    attackers
        The teams, and the judge's own attacks.
    scores
        For each target what each attacker left; None where there was no attack.
    sums
        For each attacker the sum that ranks it; None for the judge's own.
    margin
        How much luck is in a score.
    """

    kind: AttackKind
    rows: tuple[BoardRow, ...]
    targets: tuple[str, ...]
    attackers: tuple[str, ...]
    scores: tuple[tuple[float | None, ...], ...]
    sums: tuple[float | None, ...]
    margin: float

    def is_own(self, row: int, column: int) -> bool:
        """Whether a team would attack itself."""
        return self.attackers[column] == self.rows[row].team

    @cached_property
    def minima(self) -> tuple[float, ...]:
        """What the strongest attack left to each target."""
        known = ([score for score in row if score is not None] for row in self.scores)
        return tuple(min(row, default=NOT_ATTACKED) for row in known)

    def is_least(self, row: int, column: int) -> bool:
        """Whether this is the strongest attack on its target, or one of several equal ones."""
        score = self.scores[row][column]
        return score is not None and score <= self.minima[row] + SAME

    @cached_property
    def fences(self) -> tuple[float, ...]:
        """Below which score an attack on each target is worth a question.

        Tukey's fence, the lower quartile less 1.5 times the distance of the quartiles, and lower by more
        than the luck of two scores; a row of fewer than four attacks has none.
        """
        known = ([score for score in row if score is not None] for row in self.scores)
        return tuple(self._fence(row) if len(row) >= _FEWEST else 0.0 for row in known)

    def _fence(self, scores: list[float]) -> float:
        lower, upper = np.quantile(scores, (0.25, 0.75))
        return float(lower - max(_FENCE * (upper - lower), 2 * self.margin))

    def is_far_below(self, row: int, column: int) -> bool:
        """Whether an attack left far less than the others on its target did."""
        score = self.scores[row][column]
        return score is not None and score < self.fences[row]

    def cells(self) -> list[tuple[int, int]]:
        """Return all cells but those in which a team would attack itself."""
        shape = np.ndindex(len(self.targets), len(self.attackers))
        return [(row, column) for row, column in shape if not self.is_own(row, column)]


def attack_table(board: Board, kind: AttackKind) -> AttackTable:
    """Return the table of all attacks of a kind on the valid data sets of a board."""
    rows = tuple(row for row in board.rows if row.valid and row.role is not Role.SAMPLE)
    judge = sorted({attacker for attacker, _, _, of_kind in board.attacks
                    if of_kind is kind and board.roster.role(attacker) is Role.SAMPLE})  # fmt: skip
    attackers = (*board.roster.teams, *judge)
    sums = attack_sums(board, kind)
    return AttackTable(
        kind,
        rows,
        tuple(data_set_label(board, row) for row in rows),
        attackers,
        tuple(
            tuple(board.attacks.get((attacker, row.team, row.data_set, kind)) for attacker in attackers)
            for row in rows
        ),
        tuple(sums.get(attacker) for attacker in attackers),
        margin(board.rules.users),
    )


def data_set_label(board: Board, row: BoardRow) -> str:
    """Return how a data set is called: by its team, and by its number where there are two."""
    return row.team if board.rules.data_sets == 1 else f"{row.team} / {row.data_set}"


def table_message(board: Board, table: AttackTable, called: Callable[[str], str] = str) -> str:
    """Say how many attackers were ever the strongest, who is no target and who did not attack.

    Parameters
    ----------
    called
        Writes a name as it may stand in a sentence.
    """
    framed = {table.attackers[column] for row, column in table.cells() if table.is_least(row, column)}
    active = {attacker for attacker, _, _, of_kind in board.attacks if of_kind is table.kind}
    idle = [called(team) for team in board.roster.teams if team not in active]
    invalid = [
        called(data_set_label(board, row)) for row in board.rows if row.role is Role.TEAM and not row.valid
    ]
    told = [
        said(
            "{best} of {attackers} attackers did best on at least one of {targets} targets.",
            best=len(framed),
            attackers=len(table.attackers),
            targets=len(table.targets),
        )
    ]
    if invalid:
        told.append(said("Not a target, because invalid: {names}.", names=said(", ").join(invalid)))
    if idle:
        told.append(said("Did not attack in this way: {names}.", names=said(", ").join(idle)))
    return in_a_row(told)
