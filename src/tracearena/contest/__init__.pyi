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
from .contest_file import ContestFile, DataSource, format_contest_file, read_contest_file
from .data import ContestPlan, team_traces, write_contest_data
from .differences import Discrepancy
from .file_judge import Judgement, judge
from .phases import Gate, Phase, PhaseAnswer, Schedule, phase_at
from .release import ContestRelease, attack_all, release_all
from .report_data import (
    DataSetView,
    ReportData,
    ScoreTables,
    build_report_data,
    read_score_tables,
    select_compared_rows,
    summary,
    write_results,
)
from .rules import Rules
from .simulated_teams import SIMULATED_TEAMS, SimulatedTeam
from .simulation import Entrant, SimulatedContest, simulate_contest
from .submissions import ContestFolder, Refusal, read_submissions
from .verification import Verification, verify_archive
from .virtual_days import ShortWalk, contest_training

__all__ = [
    "SIMULATED_TEAMS",
    "Archive",
    "AttackKind",
    "AttackRecord",
    "Award",
    "Board",
    "BoardRow",
    "Commitment",
    "ContestFile",
    "ContestFolder",
    "ContestPlan",
    "ContestRelease",
    "DataSetView",
    "DataSource",
    "Discrepancy",
    "Entrant",
    "Gate",
    "Judgement",
    "Phase",
    "PhaseAnswer",
    "Refusal",
    "ReportData",
    "Role",
    "Roster",
    "Rules",
    "Schedule",
    "ScoreTables",
    "ShortWalk",
    "SimulatedContest",
    "SimulatedTeam",
    "Standing",
    "UtilityRecord",
    "Verification",
    "attack_all",
    "attack_sums",
    "build_report_data",
    "commit",
    "contest_training",
    "draw_live_users",
    "format_contest_file",
    "id_table_text",
    "judge",
    "live_day",
    "live_users",
    "make_awards",
    "make_board",
    "phase_at",
    "read_archive",
    "read_contest_file",
    "read_score_tables",
    "read_submissions",
    "refresh_at",
    "release_all",
    "select_compared_rows",
    "simulate_contest",
    "summary",
    "team_traces",
    "totals",
    "verify",
    "verify_archive",
    "write_archive",
    "write_contest_data",
    "write_results",
]
