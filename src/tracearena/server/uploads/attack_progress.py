"""Which targets a team has attacked how, and what has become of its attacks."""

from __future__ import annotations

from typing import Any

from tracearena.contest.data import official
from tracearena.server.models import State, Submission, Team, UploadKind
from tracearena.server.uploads import standing

OFFICIAL_KINDS = {UploadKind.INFERRED_TABLE: "etable", UploadKind.INFERRED_TRACES: "etraces"}
"""What the files of attacks are called, by what they are."""
_IN_VAIN = (State.LATE, State.REFUSED, State.ERROR)


def targets(team: Team) -> list[dict[str, Any]]:
    """Return whom the team may attack, as `standing.targets`, with the attacks that it handed in.

    Each has ``attacks``, one of each kind (``kind``, official ``file`` name, ``last`` upload, and whether a
    good one is there or under way), and ``is_open``: whether one of them is missing and can be handed in.
    """
    found = _attacks_of(team)
    made = []
    for one in standing.targets(team):
        attacks = [_attack(team, one, kind, found) for kind in OFFICIAL_KINDS]
        missing = any(not attack["is_there"] for attack in attacks)
        made.append(one | {"attacks": attacks, "is_open": missing and one["uploads_left"] > 0})
    return made


def _attack(team: Team, target: dict[str, Any], kind: str, found: list[Submission]) -> dict[str, Any]:
    about = (target["team"], target["data_set"], kind)
    own = [one for one in found if (one.data_set.team.number, one.data_set.number, one.kind) == about]
    name = official(OFFICIAL_KINDS[kind], int(target["team"]), target["data_set"], int(team.number))
    return {
        "kind": kind,
        "file": str(name),
        "last": own[0] if own else None,
        "is_there": any(one.state not in _IN_VAIN for one in own),
    }


def _attacks_of(team: Team) -> list[Submission]:
    """Return all attacks of a team, the last one first."""
    found = Submission.objects.filter(team=team, kind__in=list(OFFICIAL_KINDS))
    return list(found.select_related("data_set__team").order_by("-pk"))
