"""Where a team stands: its own data sets and its targets, for page and API alike."""

from __future__ import annotations

from typing import Any

from tracearena.contest import Role
from tracearena.contest.data import official
from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Submission, Team, UploadKind
from tracearena.server.uploads.submitting import receipt, uploads_left


def data_sets(team: Team) -> list[dict[str, Any]]:
    """Return what the team defends: utility of what counts, uploads left, whether it is valid."""
    rules = Contest.now_held().rules
    return [
        {
            "number": one.number,
            "utility": one.utility,
            "valid": None if one.utility is None else rules.is_valid(one.utility),
            "counts": one.counts_id,
            "threshold": rules.utility_threshold,
            "uploads_left": uploads_left(team, UploadKind.OBFUSCATED, one, rules),
            "released_at": None if one.released_at is None else one.released_at.isoformat(),
        }
        for one in DataSet.objects.filter(team=team)
    ]


def targets(team: Team) -> list[dict[str, Any]]:
    """Return whom the team may attack, with the names of their files; nobody before the attack phase."""
    contest = Contest.now_held()
    if clock.now() < contest.schedule.attack_begin:
        return []
    released = DataSet.objects.select_related("team").filter(released_at__isnull=False)
    return [
        {
            "team": one.team.number,
            "name": one.team.name,
            "data_set": one.number,
            "reference": str(official("reftraces", int(one.team.number), one.number)),
            "anonymized": str(official("pubtraces", int(one.team.number), one.number)),
            "commitment": one.commitment,
            "uploads_left": uploads_left(team, UploadKind.INFERRED_TABLE, one, contest.rules),
        }
        for one in released.exclude(team=team).exclude(team__role=Role.SAMPLE)
    ]


def submission(found: Submission) -> dict[str, Any]:
    """Return a receipt and what has become of it; nothing that depends on whether an attack is right."""
    return receipt(found) | {
        "file_name": found.file_name,
        "verdict": found.verdict,
        "reason": found.reason,
        "utility": found.utility if found.kind == UploadKind.OBFUSCATED else None,
        "finished_at": None if found.finished_at is None else found.finished_at.isoformat(),
    }
