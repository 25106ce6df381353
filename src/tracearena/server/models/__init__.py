"""What the database holds: people, uploads, the judge's work, and the record of it all."""

from tracearena.server.models.judging import Job, JobState, Rescoring, RescoringState, Score, Worker
from tracearena.server.models.people import Link, LinkKind, LoginTry, Member, Team, Token
from tracearena.server.models.record import AuditEntry, Contest, Snapshot
from tracearena.server.models.uploads import DataSet, Quota, State, Submission, UploadKind

__all__ = [
    "AuditEntry",
    "Contest",
    "DataSet",
    "Job",
    "JobState",
    "Link",
    "LinkKind",
    "LoginTry",
    "Member",
    "Quota",
    "Rescoring",
    "RescoringState",
    "Score",
    "Snapshot",
    "State",
    "Submission",
    "Team",
    "Token",
    "UploadKind",
    "Worker",
]
