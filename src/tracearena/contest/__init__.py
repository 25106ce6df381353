"""The contest as a pure domain: rules, phases, release, board and awards; no web, no database.

`Rules` and `Schedule` say what holds and when (`phase_at`). At the end of the anonymization phase
`pseudonymise` makes the release and `commit` fixes its ID table. From `UtilityRecord` and
`AttackRecord` comes the `Board` (`make_board`), and from the board come the `awards`. `run_sweep`
tries many defences against an `Ensemble` of attacks; `rehearse` holds a whole contest with invented
teams; `write_contest_data` makes every team's traces, `fairness` tells how equal they are.
"""

from tracearena.contest.awards import Award, Place, attack_sums, awards
from tracearena.contest.board import Board, BoardRow, make_board
from tracearena.contest.casting import CAST, Player
from tracearena.contest.commitment import Commitment, commit, id_table_text, verify
from tracearena.contest.data import ContestPlan, team_traces, write_contest_data
from tracearena.contest.ensemble import AttackScores, Ensemble, all_attacks, make_attacks, strongest
from tracearena.contest.fairness import Fairness, fairness
from tracearena.contest.journal import begun_with, unfinished
from tracearena.contest.phases import Gate, Phase, PhaseAnswer, Schedule, phase_at
from tracearena.contest.pseudonyms import Release, pseudonymise, pseudonymise_users
from tracearena.contest.records import AttackKind, AttackRecord, Role, Roster, UtilityRecord
from tracearena.contest.rehearsal import Entrant, Rehearsal, rehearse
from tracearena.contest.rules import Rules
from tracearena.contest.sweep import (
    ATTACKS_2019,
    SAMPLE_ATTACKS,
    SAMPLE_DEFENCES,
    SweepRow,
    best_defences,
    run_sweep,
    succeeded,
    write_table,
)
from tracearena.contest.team_clock import contest_training

__all__ = [
    "ATTACKS_2019",
    "CAST",
    "SAMPLE_ATTACKS",
    "SAMPLE_DEFENCES",
    "AttackKind",
    "AttackRecord",
    "AttackScores",
    "Award",
    "Board",
    "BoardRow",
    "Commitment",
    "ContestPlan",
    "Ensemble",
    "Entrant",
    "Fairness",
    "Gate",
    "Phase",
    "PhaseAnswer",
    "Place",
    "Player",
    "Rehearsal",
    "Release",
    "Role",
    "Roster",
    "Rules",
    "Schedule",
    "SweepRow",
    "UtilityRecord",
    "all_attacks",
    "attack_sums",
    "awards",
    "begun_with",
    "best_defences",
    "commit",
    "contest_training",
    "fairness",
    "id_table_text",
    "make_attacks",
    "make_board",
    "phase_at",
    "pseudonymise",
    "pseudonymise_users",
    "rehearse",
    "run_sweep",
    "strongest",
    "succeeded",
    "team_traces",
    "unfinished",
    "verify",
    "write_contest_data",
    "write_table",
]
