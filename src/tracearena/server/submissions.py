"""From a file that has come in to a receipt: one transaction, for the form and the API alike.

The gate is that of `tracearena.contest.phase_at` for the moment at which the last byte had arrived. The
limit, the row, the job and the name of the file come into being together or not at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import IO, Any

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext

from tracearena.contest import Gate, Role, Rules, Schedule, phase_at
from tracearena.contest.data import DATA_SETS, find_other_name, official_file_name
from tracearena.errors import FileError
from tracearena.files.archives import ArchiveMember, iter_open_members
from tracearena.i18n import mark_for_translation
from tracearena.io.pwscup import PwsName
from tracearena.pages.html import format_utc
from tracearena.server import clock
from tracearena.server.errors import RequestRefused, not_found
from tracearena.server.models import Contest, DataSet, Member, Quota, State, Submission, Team, UploadKind
from tracearena.server.store import queue
from tracearena.server.uploads import UploadStream, open_upload_stream

ATTACK_UPLOADS = (UploadKind.INFERRED_TABLE, UploadKind.INFERRED_TRACES)
OFFICIAL_KINDS = {UploadKind.INFERRED_TABLE: "etable", UploadKind.INFERRED_TRACES: "etraces"}
"""What the files of attacks are called, by what they are."""
MOST_FILES = 1_000
STEPS = (
    (mark_for_translation("received"), mark_for_translation("to be received")),
    (mark_for_translation("checked"), mark_for_translation("to be checked")),
    (mark_for_translation("scored"), mark_for_translation("to be scored")),
    (mark_for_translation("published"), mark_for_translation("to be published")),
)
"""What each step is called once it is done, and before."""
_KEY_PATTERN = re.compile(r"[!-~]{1,100}", re.ASCII)
_LONGEST_NAME = 120
_USELESS_STATES = (State.LATE, State.REFUSED, State.ERROR)
_ARCHIVE_PIECE_BYTES = 2**16
_UPLOAD_KINDS = {name: kind for kind, name in OFFICIAL_KINDS.items()}
_STEPS_DONE = {State.RECEIVED: 1, State.CHECKED: 2, State.SCORED: 3, State.PUBLISHED: 4}
_STEPS_BEFORE_END = {State.LATE: 1, State.REFUSED: 2, State.ERROR: 2}


@dataclass(frozen=True)
class UploadRequest:
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


def find_own_data_set(team: Team, number: int) -> DataSet:
    """Return a data set that the team defends."""
    found = DataSet.objects.select_related("team").filter(team=team, number=number).first()
    if found is None:
        raise not_found()
    return found


def find_target(team: Team, other: str, number: int) -> DataSet:
    """Return a data set that the team may attack, now or later."""
    if other == team.number:
        raise RequestRefused(409, "own-team", gettext("A team does not attack itself."))
    found = DataSet.objects.select_related("team").filter(team__number=other, number=number).first()
    if found is None or found.team.role == Role.SAMPLE:
        raise not_found()
    return found


def check_key(key: str) -> str:
    """Return an idempotency key, if it can be one."""
    if not _KEY_PATTERN.fullmatch(key):
        message = gettext("Idempotency-Key must have 1 to 100 letters, digits or punctuation marks of ASCII.")
        raise RequestRefused(400, "idempotency-key", message)
    return key


def clean_file_name(name: str) -> str:
    """Return a file's name without folders and without letters that change how a text is read.

    >>> clean_file_name("../../etc/a\\u202efdp.csv\\0")
    'a\ufffdfdp.csv\ufffd'
    """
    last = re.split(r"[/\\]", name)[-1].strip()
    shown = "".join("\ufffd" if unicodedata.category(letter)[0] in "CZ" and letter != " " else letter
                    for letter in last[:_LONGEST_NAME])  # fmt: skip
    return shown or "upload"


def check_gate(errand: UploadRequest) -> None:
    """Refuse, before a byte is read, what would be refused after the last one."""
    contest = Contest.get_current()
    if _find_gate(contest.schedule_of(errand.team.number), errand.kind, clock.now()) is Gate.EARLY:
        raise _refuse_early(contest, errand.kind)
    if errand.kind != UploadKind.OBFUSCATED:
        if not contest.is_release_ready():
            message = gettext("The judge is preparing the targets; all of them appear at the same time.")
            raise RequestRefused(409, "not-ready", message)
        if errand.data_set.released_at is None:
            raise not_found()


def is_late_now(kind: str, team: str = "") -> bool:
    """Whether what comes in now is late, for a team that may have extra time or for all others."""
    contest = Contest.get_current()
    return (
        _find_closing_time(contest, kind) is not None
        or _find_gate(contest.schedule_of(team), kind, clock.now()) is Gate.LATE
    )


def check_target(errand: UploadRequest) -> None:
    """Refuse a file whose name says that it is about another team, target or data set."""
    kind = OFFICIAL_KINDS.get(UploadKind(errand.kind), "anotraces")
    data_set, attacker = errand.data_set, int(errand.team.number)
    wanted = find_other_name(errand.file_name, kind, int(data_set.team.number), data_set.number, attacker)
    if wanted is not None:
        said = gettext(
            "The name %(name)s is that of another file than %(wanted)s, which is expected here. Hand it in "
            "where it belongs, or rename it."
        )
        message = said % {"name": errand.file_name, "wanted": wanted}
        raise RequestRefused(409, "other-target", message, wanted=wanted)


def accept_submission(errand: UploadRequest, file: UploadStream) -> Submission:
    """Keep a file whose last byte has arrived, and return what its receipt is made of.

    Anyone who sends the same key twice, even at once, gets the same receipt; so does a team that hands in
    the file again which it handed in last for the same purpose.
    """
    check_target(errand)
    file.finish()
    try:
        with transaction.atomic():
            return _find_same_key(errand, file) or _store_submission(errand, file)
    except (IntegrityError, RequestRefused):
        found = _find_same_key(errand, file)
        if found is None:
            raise
        return found
    finally:
        file.close()


def build_receipt(submission: Submission) -> dict[str, Any]:
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


def find_upload_limit(rules: Rules, kind: str) -> int:
    """Return how many uploads of a kind there are for one data set."""
    return rules.obfuscated_uploads if kind == UploadKind.OBFUSCATED else rules.attack_uploads


def count_uploads_left(team: Team, kind: str, data_set: DataSet, rules: Rules) -> int:
    """Return how many uploads a team still has for a data set."""
    return max(0, find_upload_limit(rules, kind) - count_used(team, name_quota(kind, data_set)))


def _store_submission(errand: UploadRequest, file: UploadStream) -> Submission:
    # Until the commit the judge cannot close the phase; it is read again, now that it stands still.
    DataSet.objects.select_for_update().get(pk=errand.data_set.pk)
    contest = Contest.get_current()
    gate = _find_gate(contest.schedule_of(errand.team.number), errand.kind, file.arrived_at)
    if gate is Gate.EARLY:
        raise _refuse_early(contest, errand.kind)
    closed_at = _find_closing_time(contest, errand.kind)
    late = gate is Gate.LATE or closed_at is not None
    if (before := _find_same_file(errand, file, late=late)) is not None:
        return before
    # A receipt never says that a file came in time and is late: what finds its phase closed came afterwards.
    received_at = file.arrived_at if closed_at is None else max(file.arrived_at, closed_at)
    what = name_quota(errand.kind, errand.data_set, late=late)
    most = find_upload_limit(contest.rules, errand.kind)
    if not take_quota(errand.team, what, most):
        message = (
            gettext("All %(most)s late uploads for this data set are used up.")
            if late
            else gettext("All %(most)s uploads for this data set are used up.")
        )
        raise RequestRefused(409, "quota", message % {"most": most}, limit=most)
    submission = Submission.objects.create(
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
    if not late:
        queue.enqueue("check", f"check/{submission.pk}", {"submission": submission.pk}, team=errand.team)
    # The last act before the commit: should that fail, a file without a row is left, never the reverse.
    file.keep()
    return submission


def _find_same_key(errand: UploadRequest, file: UploadStream) -> Submission | None:
    """Return what was handed in under the same key; the same key for something else is refused."""
    found = Submission.objects.select_related("data_set__team").filter(
        team=errand.team, idempotency_key=errand.key
    ).first()  # fmt: skip
    if found is None:
        return None
    if (found.sha256, found.kind, found.data_set_id) != (file.sha256, errand.kind, errand.data_set.pk):
        message = gettext("This Idempotency-Key was already used for another upload.")
        raise RequestRefused(409, "idempotency-key", message)
    return found


def _find_same_file(errand: UploadRequest, file: UploadStream, *, late: bool) -> Submission | None:
    """Return what was handed in last for the same purpose, if it is the same file and can count as well."""
    last = Submission.objects.select_related("data_set__team").filter(
        team=errand.team, kind=errand.kind, data_set=errand.data_set
    ).first()  # fmt: skip
    useless = (State.ERROR,) if late else (State.ERROR, State.LATE)
    is_same = last is not None and last.sha256 == file.sha256 and last.state not in useless
    return last if is_same else None


def _find_gate(schedule: Schedule, kind: str, at: datetime) -> Gate:
    answer = phase_at(schedule, at)
    return answer.obfuscated if kind == UploadKind.OBFUSCATED else answer.attacks


def _find_closing_time(contest: Contest, kind: str) -> datetime | None:
    """Return when the judge closed the phase of an upload: nothing may slip in behind its back."""
    return contest.anonymization_closed_at if kind == UploadKind.OBFUSCATED else contest.attack_closed_at


def _refuse_early(contest: Contest, kind: str) -> RequestRefused:
    schedule = contest.schedule
    begin = schedule.anonymization_begin if kind == UploadKind.OBFUSCATED else schedule.attack_begin
    message = gettext("You can hand this in from %(begin)s.") % {"begin": format_utc(begin)}
    return RequestRefused(409, "early", message, begin=begin.isoformat())


# Quotas: a conditional update, never a count and then an insert, so that uploads at once cannot pass them.


def name_quota(kind: str, data_set: DataSet, *, late: bool = False) -> str:
    """Return the name of a limit: uploads for one data set of one's own, or against one target.

    Late files do not count, and so have a limit of their own.
    """
    what = "obfuscated" if kind == UploadKind.OBFUSCATED else "attack"
    return f"{'late ' if late else ''}{what} {data_set}"


def take_quota(team: Team, what: str, limit: int) -> bool:
    """Use a limit up by one, inside the caller's transaction; False if nothing is left."""
    Quota.objects.get_or_create(team=team, what=what)
    return bool(Quota.objects.filter(team=team, what=what, used__lt=limit).update(used=F("used") + 1))


def return_quota(team: Team, what: str) -> None:
    """Give back what was taken in vain, as by a failure of the judge."""
    Quota.objects.filter(team=team, what=what, used__gt=0).update(used=F("used") - 1)


def count_used(team: Team, what: str) -> int:
    """Return how much of a limit is used up."""
    found = Quota.objects.filter(team=team, what=what).values_list("used", flat=True).first()
    return found or 0


def find_unchecked() -> QuerySet[Submission]:
    """Return the obfuscated traces that the judge has not looked at yet."""
    return Submission.objects.filter(kind=UploadKind.OBFUSCATED, state=State.RECEIVED)


# A team's data sets, targets and attacks, for page and API alike.


def describe_data_sets(team: Team) -> list[dict[str, Any]]:
    """Return what the team defends: utility of what counts, uploads left, whether it is valid."""
    rules = Contest.get_current().rules
    return [
        {
            "number": one.number,
            "utility": one.utility,
            "valid": None if one.utility is None else rules.is_valid(one.utility),
            "counts": one.counts_id,
            "threshold": rules.utility_threshold,
            "uploads_left": count_uploads_left(team, UploadKind.OBFUSCATED, one, rules),
            "released_at": None if one.released_at is None else one.released_at.isoformat(),
        }
        for one in DataSet.objects.filter(team=team)
    ]


def describe_targets(team: Team) -> list[dict[str, Any]]:
    """Return whom the team may attack, with the names of their files; nobody before the targets are out."""
    contest = Contest.get_current()
    if not contest.has_targets(clock.now()):
        return []
    released = DataSet.objects.select_related("team").filter(released_at__isnull=False)
    return [
        {
            "team": one.team.number,
            "name": one.team.name,
            "data_set": one.number,
            "reference": str(official_file_name("reftraces", int(one.team.number), one.number)),
            "anonymized": str(official_file_name("pubtraces", int(one.team.number), one.number)),
            "commitment": one.commitment,
            "uploads_left": count_uploads_left(team, UploadKind.INFERRED_TABLE, one, contest.rules),
        }
        for one in released.exclude(team=team).exclude(team__role=Role.SAMPLE)
    ]


def describe_submission(found: Submission) -> dict[str, Any]:
    """Return a receipt and what has become of it; nothing that depends on whether an attack is right."""
    return build_receipt(found) | {
        "file_name": found.file_name,
        "verdict": found.verdict,
        "reason": found.reason,
        "utility": found.utility if found.kind == UploadKind.OBFUSCATED else None,
        "finished_at": None if found.finished_at is None else found.finished_at.isoformat(),
    }


def describe_attack_progress(team: Team) -> list[dict[str, Any]]:
    """Return whom the team may attack, as `describe_targets`, with the attacks that it handed in.

    Each has ``attacks``, one of each kind (``kind``, official ``file`` name, ``last`` upload, and whether a
    good one is there or under way), and ``is_open``: whether one of them is missing and can be handed in.
    """
    own = Submission.objects.filter(team=team, kind__in=list(OFFICIAL_KINDS))
    uploads: dict[tuple[str, int, str], list[Submission]] = {}
    for one in own.select_related("data_set__team").order_by("-pk"):
        uploads.setdefault((one.data_set.team.number, one.data_set.number, one.kind), []).append(one)
    targets = describe_targets(team)
    for target in targets:
        target["attacks"] = []
        for kind, official in OFFICIAL_KINDS.items():
            number, data_set = target["team"], target["data_set"]
            found = uploads.get((number, data_set, kind), [])
            attack = {
                "kind": kind,
                "file": str(official_file_name(official, int(number), data_set, int(team.number))),
                "last": found[0] if found else None,
                "is_there": any(one.state not in _USELESS_STATES for one in found),
            }
            target["attacks"].append(attack)
        missing = any(not attack["is_there"] for attack in target["attacks"])
        target["is_open"] = missing and target["uploads_left"] > 0
    return targets


# One archive with attacks on many targets: each file in it becomes an upload of its own.


@dataclass(frozen=True)
class ArchiveFileOutcome:
    """What became of one file of an archive: a submission, or a sentence that says why not."""

    name: str
    submission: Submission | None = None
    problem: str = ""


def accept_archive(member: Member, name: str, archive: IO[bytes], key: str) -> list[ArchiveFileOutcome]:
    """Hand in every attack of an archive; one that is refused keeps no other from being taken.

    Parameters
    ----------
    member
        Who hands it in, for their team.
    name, archive
        The archive, read at any place, and what it is called.
    key
        The idempotency key of the archive: the same archive under the same key gives the same receipts.
    """
    check_key(key)
    return list(_accept_files(member, name, archive, key))


def _accept_files(
    member: Member, archive_name: str, archive: IO[bytes], key: str
) -> Iterator[ArchiveFileOutcome]:
    seen: set[str] = set()
    try:
        # What is wrong with the archive keeps all of it out, wherever in it that stands.
        for _ in iter_open_members(archive_name, archive, MOST_FILES):
            pass
        for packed in iter_open_members(archive_name, archive, MOST_FILES):
            name = clean_file_name(packed.name)
            if name in seen:
                twice = gettext("This name occurs twice in the archive; only the first one was read.")
                yield ArchiveFileOutcome(name, problem=twice)
                continue
            seen.add(name)
            yield _accept_file(member, packed, name, key)
    except FileError as error:
        yield ArchiveFileOutcome(archive_name, problem=_format_faults(error))


def _accept_file(member: Member, packed: ArchiveMember, name: str, key: str) -> ArchiveFileOutcome:
    try:
        return ArchiveFileOutcome(name, submission=_store_attack(member, packed, name, key))
    except FileError as error:
        return ArchiveFileOutcome(name, problem=_format_faults(error))
    except RequestRefused as refused:
        if refused.status == 404:
            return ArchiveFileOutcome(name, problem=gettext("There is no such target."))
        return ArchiveFileOutcome(name, problem=refused.message)


def _store_attack(member: Member, packed: ArchiveMember, name: str, key: str) -> Submission:
    kind, target, number = _parse_attack_name(member, name)
    data_set = find_target(member.team, target, number)
    errand = UploadRequest(member.team, member, kind, data_set, check_key(f"{key}/{name}"), name)
    check_gate(errand)
    file = open_upload_stream(Contest.get_current().rules.largest_file_mb)
    try:
        while piece := packed.content.read(_ARCHIVE_PIECE_BYTES):
            file.write(piece)
        return accept_submission(errand, file)
    finally:
        file.close()


def _parse_attack_name(member: Member, name: str) -> tuple[str, str, int]:
    """Return kind, target and data set that an official name says; the attacker must be who is logged in."""
    example = f"etable_team{member.team.number}-002_data01_IDP.csv"
    try:
        official = PwsName.parse(PurePosixPath(name))
    except ValueError:
        said = gettext("This is not the name of an attack; it must be like %(example)s.")
        raise RequestRefused(400, "name", said % {"example": example}) from None
    if official.attacker is None:
        raise RequestRefused(
            400, "name", gettext("This is not an attack: only etable and etraces files are accepted here.")
        )
    if f"{official.attacker:03d}" != member.team.number:
        said = gettext(
            "The name says that team %(other)s makes this attack, but you are logged in as team %(own)s."
        )
        raise RequestRefused(
            403, "attacker", said % {"other": f"{official.attacker:03d}", "own": member.team.number}
        )
    return _UPLOAD_KINDS[official.kind], f"{official.team:03d}", DATA_SETS[official.purpose]


def _format_faults(error: FileError) -> str:
    """Return what is wrong with an archive or a file in it, without its name, which is shown next to it."""
    return "; ".join(str(fault) for fault in error.faults)


# How far an upload has come: received, checked, scored, published.


class StepState(StrEnum):
    """What there is to say of a step."""

    DONE = "done"
    NEXT = "next"
    LATER = "later"
    BROKEN = "broken"


@dataclass(frozen=True)
class ProgressStep:
    """One step of an upload's progress: what it is called, and how far it is."""

    name: str
    look: StepState
    said: str


def list_progress_steps(submission: Submission, rules: Rules, *, published: bool) -> list[ProgressStep]:
    """Return the steps of an upload.

    Parameters
    ----------
    rules
        Those of the contest, which say which utility is enough.
    published
        Whether the results are out: an attack is published with them.

    Notes
    -----
    Nothing in it depends on whether an attack is right.
    """
    if submission.state in _STEPS_BEFORE_END:
        return _list_failure_steps(submission)
    reached = _STEPS_DONE[State(submission.state)]
    if published and reached == 3 and submission.kind != UploadKind.OBFUSCATED:
        reached = 4
    looks = [
        StepState.DONE if i < reached else StepState.NEXT if i == reached else StepState.LATER
        for i in range(4)
    ]
    steps = [_make_step(names, look) for names, look in zip(STEPS, looks, strict=True)]
    instead = _explain_unpublished(submission, rules)
    return [*steps[:3], ProgressStep(instead, StepState.BROKEN, gettext("ended here"))] if instead else steps


def is_final(submission: Submission) -> bool:
    """Whether nothing becomes of an upload before its phase is over."""
    if submission.kind == UploadKind.OBFUSCATED:
        return submission.state not in (State.RECEIVED, State.CHECKED)
    return submission.state != State.RECEIVED


def _list_failure_steps(submission: Submission) -> list[ProgressStep]:
    at = _STEPS_BEFORE_END[State(submission.state)]
    words = {
        State.LATE: gettext("late: it is kept and does not count"),
        State.REFUSED: gettext("refused"),
        State.ERROR: gettext("judge error: it costs no upload"),
    }
    done = [_make_step(names, StepState.DONE) for names in STEPS[:at]]
    # What was refused was looked at: the broken step is the check itself.
    kept = done if submission.state == State.LATE else done[:-1]
    return [*kept, ProgressStep(words[State(submission.state)], StepState.BROKEN, gettext("ended here"))]


def _explain_unpublished(submission: Submission, rules: Rules) -> str:
    """Return why scored traces of one's own are not published, if so."""
    own = submission.data_set
    if submission.kind != UploadKind.OBFUSCATED or submission.state != State.SCORED:
        return ""
    if own.counts_id != submission.pk:
        return gettext("another upload counts")
    return "" if own.is_valid(rules) else gettext("not valid, not published")


def _make_step(names: tuple[str, str], look: StepState) -> ProgressStep:
    words = {
        StepState.DONE: gettext("done"),
        StepState.NEXT: gettext("comes next"),
        StepState.LATER: gettext("not yet"),
    }
    return ProgressStep(gettext(names[look is not StepState.DONE]), look, words[look])
