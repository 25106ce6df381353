"""From a file that has come in to a receipt: one transaction, for the form and the API alike.

The gate is that of `tracearena.contest.phase_at` for the moment at which the last byte had arrived. The
limit, the row, the job and the name of the file come into being together or not at all.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from tracearena.contest import Gate, Role, Rules, Schedule, phase_at
from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Member, State, Submission, Team, UploadKind
from tracearena.server.refused import Refused, not_found
from tracearena.server.store import jobs
from tracearena.server.uploads import quota
from tracearena.server.uploads.receiving import Receiving

ATTACKS = (UploadKind.INFERRED_TABLE, UploadKind.INFERRED_TRACES)
_KEY = re.compile(r"[!-~]{1,100}", re.ASCII)
_LONGEST_NAME = 120


@dataclass(frozen=True)
class Errand:
    """Who hands in what, for which data set.

    Attributes
    ----------
    team, member
        Whose it is, by login or token; the member is None for a token without one.
    kind, data_set
        What it is, and of whom.
    key
        The idempotency key: the same one gives the same receipt.
    file_name
        As the sender calls it; shown, and used for nothing else.
    """

    team: Team
    member: Member | None
    kind: str
    data_set: DataSet
    key: str
    file_name: str


def own_data_set(team: Team, number: int) -> DataSet:
    """Return a data set that the team defends."""
    found = DataSet.objects.select_related("team").filter(team=team, number=number).first()
    if found is None:
        raise not_found()
    return found


def target(team: Team, other: str, number: int) -> DataSet:
    """Return a data set that the team may attack, now or later."""
    if other == team.number:
        raise Refused(409, "own-team", gettext("A team does not attack itself."))
    found = DataSet.objects.select_related("team").filter(team__number=other, number=number).first()
    if found is None or found.team.role == Role.SAMPLE:
        raise not_found()
    return found


def checked_key(key: str) -> str:
    """Return an idempotency key, if it can be one."""
    if not _KEY.fullmatch(key):
        message = gettext("Idempotency-Key must have 1 to 100 letters, digits or signs of ASCII.")
        raise Refused(400, "idempotency-key", message)
    return key


def harmless_name(name: str) -> str:
    """Return a file's name without folders and without letters that change how a text is read.

    >>> harmless_name("../../etc/a\\u202efdp.csv\\0")
    'a\ufffdfdp.csv\ufffd'
    """
    last = re.split(r"[/\\]", name)[-1].strip()
    shown = "".join("\ufffd" if unicodedata.category(letter)[0] in "CZ" and letter != " " else letter
                    for letter in last[:_LONGEST_NAME])  # fmt: skip
    return shown or "upload"


def check_gate(errand: Errand) -> None:
    """Refuse, before a byte is read, what would be refused after the last one."""
    contest = Contest.now_held()
    if _gate(contest.schedule_of(errand.team.number), errand.kind, clock.now()) is Gate.EARLY:
        raise _early(contest, errand.kind)
    if errand.kind != UploadKind.OBFUSCATED and errand.data_set.released_at is None:
        raise not_found()


def is_late_now(kind: str, team: str = "") -> bool:
    """Whether what comes in now is late, for a team that may have extra time or for all others."""
    contest = Contest.now_held()
    return (
        _closed_at(contest, kind) is not None
        or _gate(contest.schedule_of(team), kind, clock.now()) is Gate.LATE
    )


def hand_in(errand: Errand, file: Receiving) -> Submission:
    """Keep a file whose last byte has arrived, and return what its receipt is made of.

    Whoever sends the same key twice, even at once, gets the same receipt.
    """
    file.finish()
    try:
        with transaction.atomic():
            return _with_key(errand, file) or _taken(errand, file)
    except (IntegrityError, Refused):
        found = _with_key(errand, file)
        if found is None:
            raise
        return found
    finally:
        file.close()


def receipt(submission: Submission) -> dict[str, Any]:
    """Return what the sender gets; nothing in it depends on what is in the file but its hash and size."""
    data_set = submission.data_set
    return {
        "id": submission.pk,
        "kind": submission.kind,
        "target": None if submission.kind == UploadKind.OBFUSCATED else data_set.team.number,
        "data_set": data_set.number,
        "sha256": submission.sha256,
        "salt": submission.salt,
        "size": submission.size,
        "received_at": submission.received_at.isoformat(),
        "state": submission.state,
        "late": submission.is_late,
    }


def limit(rules: Rules, kind: str) -> int:
    """Return how many uploads of a kind there are for one data set."""
    return rules.obfuscated_uploads if kind == UploadKind.OBFUSCATED else rules.attack_uploads


def uploads_left(team: Team, kind: str, data_set: DataSet, rules: Rules) -> int:
    """Return how many uploads a team still has for a data set."""
    return max(0, limit(rules, kind) - quota.used(team, quota.purpose(kind, data_set)))


def _taken(errand: Errand, file: Receiving) -> Submission:
    # Until the commit the judge cannot close the phase; it is read again, now that it stands still.
    DataSet.objects.select_for_update().get(pk=errand.data_set.pk)
    contest = Contest.now_held()
    gate = _gate(contest.schedule_of(errand.team.number), errand.kind, file.arrived_at)
    if gate is Gate.EARLY:
        raise _early(contest, errand.kind)
    closed_at = _closed_at(contest, errand.kind)
    late = gate is Gate.LATE or closed_at is not None
    # A receipt never says that a file came in time and is late: what finds its phase closed came afterwards.
    received_at = file.arrived_at if closed_at is None else max(file.arrived_at, closed_at)
    what = quota.purpose(errand.kind, errand.data_set, late=late)
    most = limit(contest.rules, errand.kind)
    if not quota.take(errand.team, what, most):
        raise _used_up(most, late)
    submission = _row(errand, file, what, late, received_at)
    if not late:
        jobs.enqueue("check", f"check/{submission.pk}", {"submission": submission.pk}, team=errand.team)
    # The last act before the commit: should that fail, a file without a row is left, never the reverse.
    file.keep()
    return submission


def _row(errand: Errand, file: Receiving, what: str, late: bool, received_at: datetime) -> Submission:
    return Submission.objects.create(
        team=errand.team,
        member=errand.member,
        kind=errand.kind,
        data_set=errand.data_set,
        file_name=errand.file_name,
        sha256=file.sha256,
        size=file.size,
        received_at=received_at,
        idempotency_key=errand.key,
        quota=what,
        state=State.LATE if late else State.RECEIVED,
        finished_at=received_at if late else None,
    )


def _with_key(errand: Errand, file: Receiving) -> Submission | None:
    """Return what was handed in under the same key; the same key for something else is refused."""
    found = Submission.objects.select_related("data_set__team").filter(
        team=errand.team, idempotency_key=errand.key
    ).first()  # fmt: skip
    if found is None:
        return None
    if (found.sha256, found.kind, found.data_set_id) != (file.sha256, errand.kind, errand.data_set.pk):
        message = gettext("This Idempotency-Key was used for another upload already.")
        raise Refused(409, "idempotency-key", message)
    return found


def _gate(schedule: Schedule, kind: str, at: datetime) -> Gate:
    answer = phase_at(schedule, at)
    return answer.obfuscated if kind == UploadKind.OBFUSCATED else answer.attacks


def _closed_at(contest: Contest, kind: str) -> datetime | None:
    """Return when the judge closed the phase of an upload: nothing may slip in behind its back."""
    return contest.anonymization_closed_at if kind == UploadKind.OBFUSCATED else contest.attack_closed_at


def _early(contest: Contest, kind: str) -> Refused:
    schedule = contest.schedule
    begin = schedule.anonymization_begin if kind == UploadKind.OBFUSCATED else schedule.attack_begin
    message = gettext("This is taken from %(begin)s on.") % {"begin": begin.isoformat()}
    return Refused(409, "early", message, begin=begin.isoformat())


def _used_up(most: int, late: bool) -> Refused:
    message = (
        gettext("All %(most)s late uploads for this data set are used up.")
        if late
        else gettext("All %(most)s uploads for this data set are used up.")
    )
    return Refused(409, "quota", message % {"most": most}, limit=most)
