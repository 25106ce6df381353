from .awards import Award, Standing, attack_sums, make_awards
from .board import Board, BoardRow, make_board
from .commitment import Commitment, commit, id_table_text, verify
from .data import ContestPlan, team_traces, write_contest_data
from .phases import Gate, Phase, PhaseAnswer, Schedule, phase_at
from .records import AttackKind, AttackRecord, Role, Roster, UtilityRecord
from .rehearsal import Entrant, Rehearsal, rehearse
from .rules import Rules
from .sample_teams import CAST, Player
from .team_clock import contest_training
from .team_walk import ShortWalk

__all__ = [
    "CAST",
    "AttackKind",
    "AttackRecord",
    "Award",
    "Board",
    "BoardRow",
    "Commitment",
    "ContestPlan",
    "Entrant",
    "Gate",
    "Phase",
    "PhaseAnswer",
    "Player",
    "Rehearsal",
    "Role",
    "Roster",
    "Rules",
    "Schedule",
    "ShortWalk",
    "Standing",
    "UtilityRecord",
    "attack_sums",
    "commit",
    "contest_training",
    "id_table_text",
    "make_awards",
    "make_board",
    "phase_at",
    "rehearse",
    "team_traces",
    "verify",
    "write_contest_data",
]
