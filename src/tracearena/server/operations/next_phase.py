"""What comes when the next phase begins.

The checklist says what must be true before, the dry run what would come of it if the phase began now. Both
read the rows of the database alone; nothing is done.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tracearena.contest import Phase, Role
from tracearena.contest.data import PURPOSES
from tracearena.server import clock, results, submissions, teams
from tracearena.server.models import (
    Contest,
    DataSet,
    Job,
    JobState,
    State,
    Submission,
    Team,
    UploadKind,
)
from tracearena.server.operations.status import is_judge_away
from tracearena.server.store import queue
from tracearena.server.store.folder import Folder

_OLDEST_BACKUP = timedelta(days=1)
_FILES_A_TEAM = 10


class ChecklistItem(NamedTuple):
    """Something that must be true, whether it is, and what to do if not.

    `comes_by_itself` says that nobody can do anything about it now: it comes true with time.
    """

    words: str
    met: bool
    advice: str
    comes_by_itself: bool = False


def find_next_phase(contest: Contest, now: datetime) -> Phase | None:
    """Return the phase that begins next; the results have begun when they are published."""
    schedule = contest.schedule
    if now < schedule.anonymization_begin:
        return Phase.ANONYMIZATION
    if now < schedule.attack_begin:
        return Phase.ATTACK
    return None if results.is_published(contest, now) else Phase.RESULTS


def build_checklist(folder: Folder, contest: Contest, now: datetime) -> list[ChecklistItem]:
    """Return what must be true before the next phase, or stay true once the results are open."""
    own = {
        Phase.ANONYMIZATION: _check_before_anonymization,
        Phase.ATTACK: _check_before_attack,
        Phase.RESULTS: _check_before_results,
    }
    phase = find_next_phase(contest, now)
    return [*(own[phase](contest) if phase else ()), *_check_server(folder, contest, now)]


def list_open_items(folder: Folder, contest: Contest, now: datetime) -> list[ChecklistItem]:
    """Return the items of the checklist that are not done and will not be done automatically."""
    return [one for one in build_checklist(folder, contest, now) if not one.met and not one.comes_by_itself]


def _check_server(folder: Folder, contest: Contest, now: datetime) -> list[ChecklistItem]:
    teams = Team.objects.filter(role=Role.TEAM).count()
    wanted = _FILES_A_TEAM * teams * contest.rules.largest_file_mb * 2**20
    failed = Job.objects.filter(state=JobState.FAILED).count()
    backed_up = contest.backed_up_at is not None and now - contest.backed_up_at < _OLDEST_BACKUP
    return [
        ChecklistItem(
            _("A judge is running."), not is_judge_away(), _("Restart the server: it starts its judges.")
        ),
        ChecklistItem(
            _("No failed job is left."),
            failed == 0,
            _("%(failed)s failed: the control room says why.") % {"failed": failed},
        ),
        ChecklistItem(
            _("The disk has room for %(files)s files of the largest size from every team.")
            % {"files": _FILES_A_TEAM},
            shutil.disk_usage(folder.path).free >= wanted,
            _("Free some disk space: %(gigabytes).1f GB are needed.") % {"gigabytes": wanted / 2**30},
        ),
        ChecklistItem(
            _("There is a backup that is less than a day old."),
            backed_up,
            _("Make one in the control room or with tracearena contest backup."),
        ),
    ]


def _check_before_anonymization(contest: Contest) -> list[ChecklistItem]:
    teams = Team.objects.filter(role=Role.TEAM)
    absent = teams.exclude(members__is_active=True).values_list("number", flat=True)
    advice = _("Not yet: %(teams)s. Send them their links, or make new ones on the page of the teams.")
    return [
        ChecklistItem(
            _("At least one member of every team has joined."),
            not absent,
            advice % {"teams": ", ".join(absent)},
        )
    ]


def _check_before_attack(contest: Contest) -> list[ChecklistItem]:
    own = DataSet.objects.filter(team__role=Role.TEAM).select_related("team")
    has_two = contest.rules.data_sets > 1
    invalid = [
        f"{one.team.number} {PURPOSES[one.number - 1]}" if has_two else one.team.number
        for one in own
        if not one.is_valid(contest.rules)
    ]
    over = clock.is_over(contest.schedule.anonymization_end)
    unclosed = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True).exists()
    return [
        ChecklistItem(
            _("Every team has handed in a valid data set."),
            not invalid,
            _("Not yet: %(sets)s. Without a valid data set, a team's privacy scores are 0.")
            % {"sets": ", ".join(invalid)},
        ),
        _check_uploads_done(),
        ChecklistItem(
            _("The judge has drawn the pseudonyms and published every valid data set."),
            not unclosed,
            _("This happens within minutes.")
            if over
            else _("This happens when the anonymization phase is over."),
            comes_by_itself=not over,
        ),
    ]


def _check_before_results(contest: Contest) -> list[ChecklistItem]:
    over = clock.is_over(contest.schedule.attack_end)
    return [
        _check_uploads_done(),
        ChecklistItem(
            _("Every attack is scored and the final board is frozen."),
            results.find_final_snapshot() is not None,
            _("The judge is still scoring.") if over else _("This happens when the attack phase is over."),
            comes_by_itself=not over,
        ),
    ]


def _check_uploads_done() -> ChecklistItem:
    waiting = queue.find_open_jobs("check").count()
    advice = _("%(waiting)s are waiting for the judge.") % {"waiting": waiting}
    return ChecklistItem(_("Every upload is checked."), waiting == 0, advice)


# The dry run.


class OutcomeLevel(StrEnum):
    """How well something would end."""

    GOOD = "good"
    WAIT = "wait"
    BAD = "bad"


class DryRunOutcome(NamedTuple):
    """What would become of one team or one of its data sets."""

    label: str
    about: str
    fate: OutcomeLevel
    words: str


class DryRun(NamedTuple):
    """The end of a phase, as if it were now.

    Attributes
    ----------
    phase
        What would begin; None once the results are open.
    outcomes
        What would become of everybody.
    work
        What the judge would do, in order.
    """

    phase: Phase | None
    outcomes: list[DryRunOutcome]
    work: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """How many would end how."""
        return {fate.value: sum(one.fate is fate for one in self.outcomes) for fate in OutcomeLevel}


def simulate_next_phase(contest: Contest, now: datetime) -> DryRun:
    """Return what would happen if the next phase began now."""
    phase = find_next_phase(contest, now)
    if phase is Phase.ANONYMIZATION:
        return DryRun(phase, list(_simulate_start()), [_("Nothing: teams begin to hand in.")])
    if phase is Phase.ATTACK:
        return DryRun(phase, list(_simulate_anonymization(contest)), _describe_publishing(contest))
    if phase is Phase.RESULTS:
        return DryRun(phase, list(_simulate_attacks()), _describe_scoring())
    return DryRun(None, [], [])


def _simulate_start() -> Iterable[DryRunOutcome]:
    for team in Team.objects.filter(role=Role.TEAM).prefetch_related("members"):
        fate, words = OutcomeLevel.BAD, _("nobody has joined")
        if team.members.all():
            fate, words = OutcomeLevel.GOOD, _("can begin")
        yield DryRunOutcome(teams.label_party(team), "", fate, words)


def _simulate_anonymization(contest: Contest) -> Iterable[DryRunOutcome]:
    unseen = set(submissions.find_unchecked().values_list("data_set_id", flat=True))
    own = DataSet.objects.filter(team__role=Role.TEAM).select_related("team", "counts")
    for data_set in own:
        about = contest.rules.name_data_set(data_set.number)
        yield DryRunOutcome(
            teams.label_party(data_set.team), about, *_predict_data_set_outcome(contest, data_set, unseen)
        )


def _predict_data_set_outcome(
    contest: Contest, data_set: DataSet, unseen: set[int]
) -> tuple[OutcomeLevel, str]:
    """Say what becomes of a data set when the phase ends: published, invalid, missing or not yet known."""
    receipt = {"receipt": data_set.counts_id}
    if data_set.released_at is not None:
        return OutcomeLevel.GOOD, _("is published, by receipt %(receipt)s") % receipt
    if data_set.closed_at is not None:
        return OutcomeLevel.BAD, _("is not valid and was not published: its privacy scores are 0")
    if data_set.pk in unseen:
        return OutcomeLevel.WAIT, _("depends on an upload that the judge has not checked yet")
    if data_set.utility is None:
        words = _("would be missing: no accepted file was handed in, and its privacy scores would be 0")
        return OutcomeLevel.BAD, words
    if not data_set.is_valid(contest.rules):
        words = _("would be invalid: the utility of receipt %(receipt)s is below the threshold")
        return OutcomeLevel.BAD, words % receipt
    return OutcomeLevel.GOOD, _("would be published, by receipt %(receipt)s") % receipt


def _describe_publishing(contest: Contest) -> list[str]:
    unclosed = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True)
    left = unclosed.select_related("team")
    good = [one for one in left if one.is_valid(contest.rules)]
    closed, names = len(left) - len(good), ", ".join(contest.rules.sample_attacks) or "–"
    return [
        _describe_checking(submissions.find_unchecked().count()),
        ngettext(
            "Draw the pseudonyms of %(count)s data set, once and for all, and publish it with the salted "
            "hash of its ID table.",
            "Draw the pseudonyms of %(count)s data sets, once and for all, and publish them with the salted "
            "hashes of their ID tables.",
            len(good),
        )
        % {"count": len(good)},
        ngettext(
            "Close %(count)s data set without publishing it.",
            "Close %(count)s data sets without publishing them.",
            closed,
        )
        % {"count": closed},
        _("Run the sample attacks on what is published: %(names)s.") % {"names": names},
    ]  # fmt: skip


def _simulate_attacks() -> Iterable[DryRunOutcome]:
    for team in Team.objects.filter(role=Role.TEAM):
        wanted = [
            attack for target in submissions.describe_attack_progress(team) for attack in target["attacks"]
        ]
        made = sum(attack["is_there"] for attack in wanted)
        about = {"made": made, "wanted": len(wanted), "missing": len(wanted) - made}
        fate, words = OutcomeLevel.BAD, _("no attack: all %(wanted)s would count as failed")
        if made == len(wanted):
            fate, words = OutcomeLevel.GOOD, _("all %(wanted)s attacks were made")
        elif made:
            words = _("%(made)s of %(wanted)s attacks; %(missing)s would count as failed")
            fate = OutcomeLevel.WAIT
        yield DryRunOutcome(teams.label_party(team), "", fate, words % about)


def _describe_scoring() -> list[str]:
    waiting = queue.find_open_jobs("check").count()
    attacks = Submission.objects.exclude(kind=UploadKind.OBFUSCATED)
    good = attacks.filter(state__in=(State.CHECKED, State.RECEIVED)).order_by()
    count = good.values("team", "data_set", "kind").distinct().count()
    frozen = results.find_final_snapshot() is not None
    return [
        _describe_checking(waiting),
        ngettext(
            "Score %(count)s attack: the last accepted one of every team, target and kind.",
            "Score %(count)s attacks: the last accepted one of every team, target and kind.",
            count,
        )
        % {"count": count},
        _("The final board is frozen already.") if frozen else _("Freeze the final board."),
        _("Publish ID tables and salts when the results begin."),
    ]


def _describe_checking(count: int) -> str:
    words = ngettext(
        "Check %(count)s upload that arrived before the end.",
        "Check %(count)s uploads that arrived before the end.",
        count,
    )
    return words % {"count": count}
