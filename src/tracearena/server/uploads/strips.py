"""How far an upload has come, as a strip of four steps: received, checked, scored, published."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext

from tracearena.i18n import marked
from tracearena.server.models import State, Submission, UploadKind

STEPS = (
    marked("received"),
    marked("checked"),
    marked("scored"),
    marked("published"),
)
_REACHED = {State.RECEIVED: 1, State.CHECKED: 2, State.SCORED: 3, State.PUBLISHED: 4}
_BROKEN_OFF = {State.LATE: 1, State.REFUSED: 2, State.ERROR: 2}


class Look(StrEnum):
    """What there is to say of a step."""

    DONE = "done"
    NEXT = "next"
    LATER = "later"
    BROKEN = "broken"


@dataclass(frozen=True)
class Step:
    """One step of a strip: what it is called, and how it stands."""

    name: str
    look: Look
    said: str


def strip(submission: Submission, *, published: bool) -> list[Step]:
    """Return the steps of an upload.

    Parameters
    ----------
    published
        Whether the results are out: an attack is published with them.

    Notes
    -----
    Nothing in it depends on whether an attack is right.
    """
    if submission.state in _BROKEN_OFF:
        return _broken_off(submission)
    reached = _REACHED[State(submission.state)]
    if published and reached == 3 and submission.kind != UploadKind.OBFUSCATED:
        reached = 4
    looks = [Look.DONE if i < reached else Look.NEXT if i == reached else Look.LATER for i in range(4)]
    steps = [_step(name, look) for name, look in zip(STEPS, looks, strict=True)]
    instead = _never_published(submission)
    return [*steps[:3], Step(instead, Look.BROKEN, gettext("ended here"))] if instead else steps


def is_settled(submission: Submission) -> bool:
    """Whether nothing becomes of an upload before its phase is over."""
    if submission.kind == UploadKind.OBFUSCATED:
        return submission.state not in (State.RECEIVED, State.CHECKED)
    return submission.state != State.RECEIVED


def _broken_off(submission: Submission) -> list[Step]:
    at = _BROKEN_OFF[State(submission.state)]
    words = {
        State.LATE: gettext("late: it is kept and does not count"),
        State.REFUSED: gettext("refused"),
        State.ERROR: gettext("judge error: it costs no upload"),
    }
    done = [_step(name, Look.DONE) for name in STEPS[:at]]
    # What was refused was looked at: the broken step is the check itself.
    kept = done if submission.state == State.LATE else done[:-1]
    return [*kept, Step(words[State(submission.state)], Look.BROKEN, gettext("ended here"))]


def _never_published(submission: Submission) -> str:
    """Return why scored traces of one's own are not the ones that are published, if so."""
    own = submission.data_set
    if submission.kind != UploadKind.OBFUSCATED or submission.state != State.SCORED:
        return ""
    if own.counts_id != submission.pk:
        return gettext("another upload counts")
    return gettext("not valid, not published") if own.closed_at is not None and not own.released_at else ""


def _step(name: str, look: Look) -> Step:
    words = {Look.DONE: gettext("done"), Look.NEXT: gettext("comes next"), Look.LATER: gettext("not yet")}
    return Step(gettext(name), look, words[look])
