from .account import Account, Sight, account_of, compared, summary
from .archive import Archive, read_archive, write_archive
from .awards import Award, Standing, attack_sums, make_awards, totals
from .board import Board, BoardRow, make_board
from .charter import Charter, charter_text, read_charter
from .commitment import Commitment, commit, id_table_text, verify
from .data import ContestPlan, team_traces, write_contest_data
from .data_source import DataSource
from .desk import Judged, judge
from .differences import Finding
from .intake import Intake, read_submissions
from .live import draw_live_users, live_day, live_users, refresh_at
from .phases import Gate, Phase, PhaseAnswer, Schedule, phase_at
from .records import AttackKind, AttackRecord, Role, Roster, UtilityRecord
from .refusal import Refusal
from .rehearsal import Entrant, Rehearsal, rehearse
from .releasing import Released, release_all
from .results import write_results
from .rules import Rules
from .sample_answers import attack_all
from .sample_teams import CAST, Player
from .score_tables import ScoreTables, read_score_tables
from .team_clock import contest_training
from .team_walk import ShortWalk
from .verification import Verification, verify_archive

__all__ = [
    "Account",
    "Archive",
    "AttackKind",
    "AttackRecord",
    "Award",
    "Board",
    "BoardRow",
    "CAST",
    "Charter",
    "Commitment",
    "ContestPlan",
    "DataSource",
    "Entrant",
    "Finding",
    "Gate",
    "Intake",
    "Judged",
    "Phase",
    "PhaseAnswer",
    "Player",
    "Refusal",
    "Rehearsal",
    "Released",
    "Role",
    "Roster",
    "Rules",
    "Schedule",
    "ScoreTables",
    "ShortWalk",
    "Sight",
    "Standing",
    "UtilityRecord",
    "Verification",
    "account_of",
    "attack_all",
    "attack_sums",
    "charter_text",
    "commit",
    "compared",
    "contest_training",
    "draw_live_users",
    "id_table_text",
    "judge",
    "live_day",
    "live_users",
    "make_awards",
    "make_board",
    "phase_at",
    "read_archive",
    "read_charter",
    "read_score_tables",
    "read_submissions",
    "refresh_at",
    "rehearse",
    "release_all",
    "summary",
    "team_traces",
    "totals",
    "verify",
    "verify_archive",
    "write_archive",
    "write_contest_data",
    "write_results",
]
