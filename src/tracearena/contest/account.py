"""What is told of a contest that was held, by files or as a rehearsal: all that a page needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracearena.arena.claims import correlation
from tracearena.arena.sweep import SweepRow
from tracearena.contest.awards import Award, attack_sums, make_awards
from tracearena.contest.board import Board, BoardRow
from tracearena.contest.commitment import Commitment
from tracearena.contest.records import AttackKind, Role
from tracearena.contest.refusal import Refusal
from tracearena.contest.rules import Rules
from tracearena.contest.sample_teams import Player
from tracearena.traces import ObfuscatedTraces, Traces

FAIR_AT_2000 = 0.01
"""Spread of a privacy score between teams of 2,000 users with the same defence ([contest] Table 2)."""


@dataclass(frozen=True, eq=False)
class Sight:
    """A data set that can be looked at: what was true, and what was handed in."""

    team: str
    data_set: int
    original: Traces
    obfuscated: ObfuscatedTraces


@dataclass(frozen=True, eq=False)
class Account:
    """A contest that was held.

    Attributes
    ----------
    title, lead
        What stands above the page.
    board, awards
        The result.
    players
        How teams play, where that is known.
    look
        Gives the data set behind a row of the board to look at; None where there are scores only.
    samples, cheating
        Sample defences, and the cheating anonymization with more and more people, where they were tried.
    afterwards
        The teams' defences of a few people, met by every attack that there is, where that was tried.
    commitments
        Hash and salt of every ID table, by whose it is.
    refused
        Files that do not count.
    command, seed
        What makes the same page again.
    """

    title: str
    lead: str
    board: Board
    awards: tuple[Award, ...]
    command: str
    players: Mapping[str, Player] = field(default_factory=dict)
    look: Callable[[BoardRow], Sight | None] | None = None
    samples: tuple[SweepRow, ...] = ()
    cheating: tuple[SweepRow, ...] = ()
    afterwards: tuple[SweepRow, ...] = ()
    commitments: Mapping[str, Commitment] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    seed: int | None = None

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.board.rules

    @property
    def margin(self) -> float:
        """How much luck is in a score: how far teams of this size with the same defence differ."""
        return margin(self.rules.users)

    def label(self, team: str, data_set: int) -> str:
        """Return how a data set is called: by its team, and by its number where there are two."""
        return team if self.rules.data_sets == 1 else f"{team} / {data_set}"

    def method(self, team: str, attribute: str) -> str | None:
        """Return what a team does, if it is known: its idea, defence, identification or inference."""
        player = self.players.get(team)
        return None if player is None else getattr(player, attribute)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON."""
        return {"title": self.title} | summary(self.board, self.awards, self.refused)


def margin(users: int) -> float:
    """Return the spread of a score between teams of this many users.

    The published spread belongs to teams of 2,000 users and grows as that of a mean does.
    """
    return FAIR_AT_2000 * float(np.sqrt(2000 / users))


def compared(board: Board) -> list[BoardRow]:
    """Return the valid data sets of the trace-inference challenge and the pseudonymised team.

    These are the points of [contest] Figure 9.
    """
    last = board.rules.data_sets
    return [
        row
        for row in board.rows
        if row.valid and (row.role is Role.PSEUDONYMISED or (row.role is Role.TEAM and row.data_set == last))
    ]


def summary(board: Board, awards: Sequence[Award], refused: Sequence[Refusal] = ()) -> dict[str, Any]:
    """Return a board with everything that follows from it, as plain values for JSON."""
    points = compared(board)
    valid = [row for row in points if row.role is Role.TEAM]
    return {
        "challenge": board.rules.challenge,
        "valid": len(valid),
        "compared": len(points),
        "correlation": correlation((row.s_R_min, row.s_T_min) for row in points),
        "awards": [award.to_dict() for award in awards],
        "sums": {kind.value: attack_sums(board, kind) for kind in AttackKind},
        "board": board.to_dict()["rows"],
        "attacks": board.to_dict()["attacks"],
        "refused": [one.to_dict() for one in refused],
    }


def account_of(
    board: Board,
    *,
    title: str,
    command: str,
    names: Mapping[str, str] | None = None,
    preliminary: Mapping[str, float] | None = None,
    **more: Any,
) -> Account:
    """Tell of a board, with the teams called by their names.

    Parameters
    ----------
    names
        What parties of the board are called on the page.
    preliminary
        As in `make_awards`.
    **more
        What else an `Account` has; `look` is asked for rows under their names on the page.
    """
    called = dict(names or {})
    board = board.renamed(called)
    before = None if preliminary is None else {called.get(team, team): s for team, s in preliminary.items()}
    awards = make_awards(board, before)
    return Account(title, _lead(board, awards), board, awards, command, **more)


def _lead(board: Board, awards: Sequence[Award]) -> str:
    teams = len(board.roster.teams)
    taking_part = len({row.team for row in board.rows if row.role is Role.TEAM and row.utility is not None})
    valid = len([row for row in compared(board) if row.role is Role.TEAM])
    winners = " and ".join(awards[0].winners) or "Nobody"
    return (
        f"The {board.rules.challenge}. {taking_part} of {teams} teams handed in traces that were to stay "
        f"useful to a planner and be useless to a spy, and attacked each other's; {valid} of them count. "
        f"{winners} defended best."
    )
