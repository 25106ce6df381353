"""What must be true before the next phase begins, and whether it is."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils.translation import gettext as _

from tracearena.contest import Phase, Role
from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Job, JobState, Team
from tracearena.server.operations.status import judge_is_away
from tracearena.server.results import boards
from tracearena.server.store import jobs
from tracearena.server.store.folder import Folder

_OLDEST_BACKUP = timedelta(days=1)
_FILES_A_TEAM = 10


class Check(NamedTuple):
    """Something that must be true, whether it is, and what to do if not.

    `comes_by_itself` says that nobody can do anything about it now: it comes true with time.
    """

    words: str
    met: bool
    advice: str
    comes_by_itself: bool = False


def next_phase(contest: Contest, now: datetime) -> Phase | None:
    """Return the phase that begins next; the results have begun when they are published."""
    schedule = contest.schedule
    if now < schedule.anonymization_begin:
        return Phase.ANONYMIZATION
    if now < schedule.attack_begin:
        return Phase.ATTACK
    return None if boards.is_published(contest, now) else Phase.RESULTS


def checklist(folder: Folder, contest: Contest, now: datetime) -> list[Check]:
    """Return what must be true before the next phase, or stay true once the results are open."""
    own = {
        Phase.ANONYMIZATION: _before_anonymization,
        Phase.ATTACK: _before_attack,
        Phase.RESULTS: _before_results,
    }
    phase = next_phase(contest, now)
    return [*(own[phase](contest) if phase else ()), *_always(folder, contest, now)]


def to_do(folder: Folder, contest: Contest, now: datetime) -> list[Check]:
    """Return what of the checklist is not true yet and does not come by itself."""
    return [one for one in checklist(folder, contest, now) if not one.met and not one.comes_by_itself]


def _always(folder: Folder, contest: Contest, now: datetime) -> list[Check]:
    teams = Team.objects.filter(role=Role.TEAM).count()
    wanted = _FILES_A_TEAM * teams * contest.rules.largest_file_mb * 2**20
    failed = Job.objects.filter(state=JobState.FAILED).count()
    backed_up = contest.backed_up_at is not None and now - contest.backed_up_at < _OLDEST_BACKUP
    return [
        Check(_("A judge works."), not judge_is_away(), _("Start the server again: it starts its judges.")),
        Check(
            _("No job has failed."),
            failed == 0,
            _("%(failed)s failed: the control room says why.") % {"failed": failed},
        ),
        Check(
            _("The disk has room for %(files)s files of the largest size from every team.")
            % {"files": _FILES_A_TEAM},
            shutil.disk_usage(folder.path).free >= wanted,
            _("Free some room: %(gigabytes).1f GB are wanted.") % {"gigabytes": wanted / 2**30},
        ),
        Check(
            _("There is a backup that is less than a day old."),
            backed_up,
            _("Make one: tracearena contest backup."),
        ),
    ]


def _before_anonymization(contest: Contest) -> list[Check]:
    teams = Team.objects.filter(role=Role.TEAM)
    absent = teams.exclude(members__is_active=True).values_list("number", flat=True)
    advice = _("Not yet: %(teams)s. Send them their links, or make new ones on the page of the teams.")
    return [
        Check(_("Somebody of every team has come in."), not absent, advice % {"teams": ", ".join(absent)})
    ]


def _before_attack(contest: Contest) -> list[Check]:
    own = DataSet.objects.filter(team__role=Role.TEAM).select_related("team")
    invalid = [str(one) for one in own if one.utility is None or not contest.rules.is_valid(one.utility)]
    over = clock.is_over(contest.schedule.anonymization_end)
    unclosed = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True).exists()
    return [
        Check(
            _("Every team has handed in a valid data set."),
            not invalid,
            _("Not yet: %(sets)s. Without one a team's privacy scores are 0.") % {"sets": ", ".join(invalid)},
        ),
        _all_checked(),
        Check(
            _("The judge has drawn the pseudonyms and published every valid data set."),
            not unclosed,
            _("It does so within minutes.")
            if over
            else _("It does so when the anonymization phase is over."),
            comes_by_itself=not over,
        ),
    ]


def _before_results(contest: Contest) -> list[Check]:
    over = clock.is_over(contest.schedule.attack_end)
    return [
        _all_checked(),
        Check(
            _("Every attack is scored and the final board is frozen."),
            boards.final_snapshot() is not None,
            _("The judge is still scoring.") if over else _("It is when the attack phase is over."),
            comes_by_itself=not over,
        ),
    ]


def _all_checked() -> Check:
    waiting = jobs.open_jobs("check").count()
    advice = _("%(waiting)s wait for the judge.") % {"waiting": waiting}
    return Check(_("Every upload is checked."), waiting == 0, advice)
