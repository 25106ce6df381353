"""What a team should do next, in one sentence, and until when: a function of its state and the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, ngettext

from tracearena.contest import Gate, phase_at
from tracearena.server import clock
from tracearena.server.models import Contest, State, Submission, Team, UploadKind
from tracearena.server.results import boards
from tracearena.server.uploads import attack_progress, standing


@dataclass(frozen=True)
class NextStep:
    """What to do.

    Attributes
    ----------
    sentence
        For a person.
    address, action
        The page where it is done, and what its link says.
    until
        When something changes; None once the results are open.
    is_done
        Whether nothing has to be done now.
    """

    sentence: str
    address: str
    action: str
    until: datetime | None = None
    is_done: bool = False


def next_step(team: Team) -> NextStep:
    """Return what a team should do now."""
    contest, now = Contest.now_held(), clock.now()
    schedule = contest.schedule_of(team.number)
    phase = phase_at(schedule, now)
    if phase.obfuscated is Gate.EARLY:
        return _prepare(schedule.anonymization_begin)
    if phase.obfuscated is Gate.OPEN:
        return _defend(team, schedule.anonymization_end)
    if phase.attacks is Gate.EARLY:
        sentence = gettext("Nothing to do: the judge gets the targets ready, then the attack phase begins.")
        return NextStep(sentence, "/team/self-test", gettext("Practise attacks"), schedule.attack_begin, True)
    if phase.attacks is Gate.OPEN:
        return _attack(team, schedule.attack_end)
    return _look(boards.is_published(contest, now), schedule.results_begin if phase.next_change else None)


def _prepare(until: datetime) -> NextStep:
    sentence = gettext("Fetch your data and practise: obfuscated traces are taken when the phase begins.")
    return NextStep(sentence, "/team/data", gettext("Fetch the data"), until)


def _defend(team: Team, until: datetime) -> NextStep:
    steps = [_of_data_set(team, one, until) for one in standing.data_sets(team)]
    return next((step for step in steps if not step.is_done), steps[0])


def _of_data_set(team: Team, one: dict[str, Any], until: datetime) -> NextStep:
    """Return what to do about one data set: hand something in, mend it, wait, or be content."""
    number, last = one["number"], _last(team, one["number"])
    upload, again = f"/team/uploads/obfuscated/{number}", gettext("Hand in obfuscated traces")
    if last is None:
        sentence = gettext("Hand in obfuscated traces of data set %(number)s: nothing was handed in yet.")
        return NextStep(sentence % {"number": number}, upload, again, until)
    receipt = f"/team/submissions/{last.pk}"
    if last.state == State.RECEIVED:
        sentence = gettext("Wait a moment: the judge is looking at your upload for data set %(number)s.")
        return NextStep(sentence % {"number": number}, receipt, gettext("See the receipt"), until)
    if one["utility"] is None:
        sentence = gettext("See why your upload for data set %(number)s was not taken, and hand it in again.")
        return NextStep(sentence % {"number": number}, receipt, gettext("See what is wrong"), until)
    if not one["valid"]:
        sentence = gettext(
            "Hand in more useful traces of data set %(number)s: the utility is below %(threshold)s."
        )
        return NextStep(sentence % one, upload, again, until)
    sentence = gettext("What you handed in is valid; you may hand in something better.")
    return NextStep(sentence, upload, again, until, True)


def _attack(team: Team, until: datetime) -> NextStep:
    targets = attack_progress.targets(team)
    left = sum(one["is_open"] for one in targets)
    if left:
        sentence = ngettext(
            "Attack the %(count)s target that still lacks an inferred ID table or inferred traces of yours.",
            "Attack the %(count)s targets that still lack an inferred ID table or inferred traces of yours.",
            left,
        )
        return NextStep(sentence % {"count": left}, "/team/targets", gettext("See the targets"), until)
    sentence = gettext("All done: every target has both attacks of yours; you may hand in better ones.")
    return NextStep(sentence, "/team/targets", gettext("See the targets"), until, True)


def _look(published: bool, until: datetime | None) -> NextStep:
    if published:
        return NextStep(gettext("The results are out."), "/board", gettext("See the board"), None, True)
    sentence = gettext("Nothing to do: everything is handed in, and the results come next.")
    return NextStep(sentence, "/team/submissions", gettext("See what you handed in"), until, True)


def _last(team: Team, number: int) -> Submission | None:
    """Return what was handed in last for a data set, late files apart: they change nothing."""
    found = Submission.objects.filter(team=team, kind=UploadKind.OBFUSCATED, data_set__number=number)
    return found.exclude(state=State.LATE).order_by("-pk").first()
