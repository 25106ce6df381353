"""One archive with attacks on many targets: each file in it becomes an upload of its own.

The target and the kind come from the official name of a file, the attacker from the login alone. The
archive is read as hostile bytes: within limits, and never put on the disk in clear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from django.utils.translation import gettext

from tracearena.contest.data import DATA_SETS
from tracearena.errors import FileError
from tracearena.files.archives import Member as Packed
from tracearena.files.archives import open_members
from tracearena.formats.pwscup import PwsName
from tracearena.server.models import Contest, Member, Submission
from tracearena.server.refused import Refused
from tracearena.server.uploads import submitting
from tracearena.server.uploads.attack_progress import OFFICIAL_KINDS
from tracearena.server.uploads.receiving import receiving
from tracearena.server.uploads.submitting import Errand, harmless_name

MOST_FILES = 1_000
_PIECE = 2**16
_KINDS = {name: kind for kind, name in OFFICIAL_KINDS.items()}


@dataclass(frozen=True)
class Outcome:
    """What became of one file of an archive: a submission, or a sentence that says why not."""

    name: str
    submission: Submission | None = None
    problem: str = ""


def hand_in_all(member: Member, name: str, archive: IO[bytes], key: str) -> list[Outcome]:
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
    submitting.checked_key(key)
    return list(_outcomes(member, name, archive, key))


def _outcomes(member: Member, archive_name: str, archive: IO[bytes], key: str) -> Iterator[Outcome]:
    seen: set[str] = set()
    try:
        # What is wrong with the archive keeps all of it out, wherever in it that stands.
        for _ in open_members(archive_name, archive, MOST_FILES):
            pass
        for packed in open_members(archive_name, archive, MOST_FILES):
            name = harmless_name(packed.name)
            if name in seen:
                twice = gettext("This name comes twice in the archive; only the first one was looked at.")
                yield Outcome(name, problem=twice)
                continue
            seen.add(name)
            yield _outcome(member, packed, name, key)
    except FileError as error:
        yield Outcome(archive_name, problem=_said(error))


def _outcome(member: Member, packed: Packed, name: str, key: str) -> Outcome:
    try:
        return Outcome(name, submission=_handed_in(member, packed, name, key))
    except FileError as error:
        return Outcome(name, problem=_said(error))
    except Refused as refused:
        if refused.status == 404:
            return Outcome(name, problem=gettext("There is no such target."))
        return Outcome(name, problem=refused.message)


def _handed_in(member: Member, packed: Packed, name: str, key: str) -> Submission:
    kind, target, number = _about(member, name)
    data_set = submitting.target(member.team, target, number)
    errand = Errand(member.team, member, kind, data_set, submitting.checked_key(f"{key}/{name}"), name)
    submitting.check_gate(errand)
    file = receiving(Contest.now_held().rules.largest_file_mb)
    try:
        while piece := packed.content.read(_PIECE):
            file.write(piece)
        return submitting.hand_in(errand, file)
    finally:
        file.close()


def _about(member: Member, name: str) -> tuple[str, str, int]:
    """Return kind, target and data set that an official name says; the attacker must be who is logged in."""
    example = f"etable_team{member.team.number}-002_data01_IDP.csv"
    try:
        official = PwsName.parse(PurePosixPath(name))
    except ValueError:
        said = gettext("This is not the name of an attack; it must be like %(example)s.")
        raise Refused(400, "name", said % {"example": example}) from None
    if official.attacker is None:
        raise Refused(
            400, "name", gettext("This is no attack: only etable and etraces files are taken here.")
        )
    if f"{official.attacker:03d}" != member.team.number:
        said = gettext("The name says that team %(other)s attacks; you are logged in as team %(own)s.")
        raise Refused(
            403, "attacker", said % {"other": f"{official.attacker:03d}", "own": member.team.number}
        )
    return _KINDS[official.kind], f"{official.team:03d}", DATA_SETS[official.purpose]


def _said(error: FileError) -> str:
    """Return what is wrong with an archive or a file in it, without the name that stands beside it."""
    return "; ".join(str(fault) for fault in error.faults)
