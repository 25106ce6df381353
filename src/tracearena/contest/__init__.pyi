from .archive import Archive, read_archive, write_archive
from .board import (
    AttackKind,
    AttackRecord,
    Award,
    Board,
    BoardRow,
    Role,
    Roster,
    Standing,
    UtilityRecord,
    attack_sums,
    make_awards,
    make_board,
    totals,
)
from .commitments import (
    Commitment,
    commit,
    draw_live_users,
    id_table_text,
    live_day,
    live_users,
    refresh_at,
    verify,
)
from .contest_file import Charter, DataSource, charter_text, read_charter
from .data import ContestPlan, team_traces, write_contest_data
from .differences import Finding
from .file_judge import Judged, judge
from .phases import Gate, Phase, PhaseAnswer, Schedule, phase_at
from .release import Released, release_all
from .report_data import (
    Account,
    ScoreTables,
    Sight,
    account_of,
    compared,
    read_score_tables,
    summary,
    write_results,
)
from .rules import Rules
from .sample_teams import CAST, Player
from .simulation import Entrant, Rehearsal, attack_all, rehearse
from .submissions import Intake, Refusal, read_submissions
from .verification import Verification, verify_archive
from .virtual_days import ShortWalk, contest_training

__all__ = [
    "CAST",
    "Account",
    "Archive",
    "AttackKind",
    "AttackRecord",
    "Award",
    "Board",
    "BoardRow",
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
