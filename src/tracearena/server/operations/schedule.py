"""The schedule and the status of a contest, as the organiser sees and moves them.

A point of the schedule moves only into the future: what everybody has seen happen is not taken back. The
checklist says what must be true before the next phase, the dry run what would come of it if that began now.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tracearena.contest import Phase, Role, Schedule, phase_at
from tracearena.contest.phases import ENDS
from tracearena.errors import DataError, ParameterError
from tracearena.server import clock, results, submissions, teams
from tracearena.server.errors import translate_point
from tracearena.server.models import (
    Contest,
    DataSet,
    Job,
    JobState,
    Member,
    State,
    Submission,
    Team,
    UploadKind,
    Worker,
)
from tracearena.server.store import queue
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.database import format_database_url
from tracearena.server.store.folder import Folder

POINTS = tuple(Schedule.__dataclass_fields__)
ALIVE_S = 60
"""A judge that has not been seen for this long does not work."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SHORTEST_REASON, _LONGEST_REASON = 3, 200
_OLDEST_BACKUP = timedelta(days=1)
_FILES_A_TEAM = 10
_FINAL_TIMES = ("anonymization_closed_at", "attack_closed_at", "published_at")


def move_point(point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
    """Move one point of the schedule, and write down who did it and why.

    What has begun or ended cannot be undone, and nothing can be made to have happened already: both the
    old and the new time must lie ahead. An end that has passed may still be put off until the judge closes
    the phase, a minute later.

    Parameters
    ----------
    point
        One of `POINTS`.
    to
        The new time, with its zone.
    reason
        For the audit log.
    actor
        Who moves it.
    """
    _check_move(point, POINTS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        before = contest.schedule
        # First what can be moved at all: an order that does not fit would only hide that.
        _require_movable(contest, point)
        after = before.with_time(point, to)
        _require_future(point, getattr(after, point))
        for ends in contest.extra_time.values():
            after.with_extra_time(ends)
        contest.schedule_values = after.to_dict()
        contest.save(update_fields=["schedule_values"])
        moved = {"from": before.to_dict()[point], "to": after.to_dict()[point]}
        log_act(actor, "schedule moved", point=point, reason=reason.strip(), **moved)
    return after


def give_extra_time(team: str, point: str, to: datetime, *, reason: str, actor: str) -> Schedule:
    """Let a phase end later for one team than for the others, and return the schedule of that team.

    The judge closes the phase for everybody when the last team has come to its end, so that has to be before
    the next phase begins.

    Parameters
    ----------
    team
        Its number, such as ``"003"``.
    point
        One of `ENDS`.
    to
        The new time, with its zone; later than everybody's.
    reason
        For the audit log.
    actor
        Who gives it.
    """
    _check_move(point, ENDS, reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        numbers = list(Team.objects.filter(role=Role.TEAM).values_list("number", flat=True))
        if team not in numbers:
            raise ParameterError.of("team", team, f"one of {', '.join(numbers)}")
        _require_movable(contest, point)
        _require_future(point, to)
        following = POINTS[POINTS.index(point) + 1]
        end, begin = getattr(contest.schedule, point), getattr(contest.schedule, following)
        about = {"point": point, "end": end.isoformat(), "next": following, "begin": begin.isoformat()}
        if to <= end:
            raise DataError(_("%(point)s: everybody has until %(end)s; extra time ends later") % about)
        if to > begin:
            said = _("%(point)s: the next phase begins at %(begin)s; move %(next)s to a later time first")
            raise DataError(said % about)
        before = getattr(contest.schedule_of(team), point)
        contest.extra_time.setdefault(team, {})[point] = to.astimezone(UTC).isoformat()
        contest.save(update_fields=["extra_time"])
        after = contest.schedule_of(team)
        moved = {"from": before.isoformat(), "to": getattr(after, point).isoformat()}
        log_act(actor, "extra time given", team=team, point=point, reason=reason.strip(), **moved)
    return after


def label_points() -> list[tuple[str, Any]]:
    """Return begin and end of each phase, by name, and what comes later for one team."""
    contest = Contest.get_current()
    points = [(translate_point(name), getattr(contest.schedule, name)) for name in contest.schedule.to_dict()]
    for team, ends in sorted(contest.extra_time.items()):
        own = contest.schedule_of(team)
        about = _("%(point)s of team %(team)s, which has extra time")
        points += [
            (about % {"point": translate_point(name), "team": team}, getattr(own, name))
            for name in sorted(ends)
        ]
    return points


def list_movable_points(contest: Contest) -> list[str]:
    """Return the points that can be moved now: those that lie ahead first, then ends to be put off."""
    points = [point for point in POINTS if _explain_closed(contest, point) is None]
    now, schedule = clock.now(), contest.schedule
    return sorted(points, key=lambda point: getattr(schedule, point) <= now)


def _check_move(point: str, points: Sequence[str], reason: str) -> None:
    if point not in points:
        raise ParameterError.of("point", point, f"one of {', '.join(points)}")
    _check_reason(reason)


def _check_reason(reason: str) -> None:
    if not _SHORTEST_REASON <= len(reason.strip()) <= _LONGEST_REASON:
        wanted = f"a text of {_SHORTEST_REASON} to {_LONGEST_REASON} characters"
        raise ParameterError.of("reason", reason, wanted)


def _require_movable(contest: Contest, point: str) -> None:
    why = _explain_closed(contest, point)
    if why is not None:
        raise DataError(why)


def _explain_closed(contest: Contest, point: str) -> str | None:
    """Return why a point cannot be moved: it has passed, and something hangs on it."""
    before = getattr(contest.schedule, point)
    if before > clock.now():
        return None
    if point.endswith("_begin"):
        said = _("%(point)s: has passed, %(at)s; what has begun is not taken back")
        return said % {"point": point, "at": before.isoformat()}
    closed_at = {
        "anonymization_end": contest.anonymization_closed_at,
        "attack_end": contest.attack_closed_at,
    }.get(point)
    if closed_at is not None:
        said = _("%(point)s: the judge closed this phase on %(at)s; it cannot go on")
        return said % {"point": point, "at": closed_at.isoformat()}
    return None


def _require_future(point: str, after: datetime) -> None:
    now = clock.now()
    if after <= now:
        said = _("%(point)s: %(at)s is past, it is %(now)s; points are moved into the future")
        raise DataError(said % {"point": point, "at": after.isoformat(), "now": now.isoformat()})


# The checklist: what must be true before the next phase begins, and whether it is.


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
    """Return what of the checklist is not true yet and does not come by itself."""
    return [one for one in build_checklist(folder, contest, now) if not one.met and not one.comes_by_itself]


def _check_server(folder: Folder, contest: Contest, now: datetime) -> list[ChecklistItem]:
    teams = Team.objects.filter(role=Role.TEAM).count()
    wanted = _FILES_A_TEAM * teams * contest.rules.largest_file_mb * 2**20
    failed = Job.objects.filter(state=JobState.FAILED).count()
    backed_up = contest.backed_up_at is not None and now - contest.backed_up_at < _OLDEST_BACKUP
    return [
        ChecklistItem(
            _("A judge works."), not is_judge_away(), _("Start the server again: it starts its judges.")
        ),
        ChecklistItem(
            _("No job has failed."),
            failed == 0,
            _("%(failed)s failed: the control room says why.") % {"failed": failed},
        ),
        ChecklistItem(
            _("The disk has room for %(files)s files of the largest size from every team.")
            % {"files": _FILES_A_TEAM},
            shutil.disk_usage(folder.path).free >= wanted,
            _("Free some room: %(gigabytes).1f GB are wanted.") % {"gigabytes": wanted / 2**30},
        ),
        ChecklistItem(
            _("There is a backup that is less than a day old."),
            backed_up,
            _("Make one: tracearena contest backup."),
        ),
    ]


def _check_before_anonymization(contest: Contest) -> list[ChecklistItem]:
    teams = Team.objects.filter(role=Role.TEAM)
    absent = teams.exclude(members__is_active=True).values_list("number", flat=True)
    advice = _("Not yet: %(teams)s. Send them their links, or make new ones on the page of the teams.")
    return [
        ChecklistItem(
            _("Somebody of every team has come in."), not absent, advice % {"teams": ", ".join(absent)}
        )
    ]


def _check_before_attack(contest: Contest) -> list[ChecklistItem]:
    own = DataSet.objects.filter(team__role=Role.TEAM).select_related("team")
    invalid = [str(one) for one in own if one.utility is None or not contest.rules.is_valid(one.utility)]
    over = clock.is_over(contest.schedule.anonymization_end)
    unclosed = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True).exists()
    return [
        ChecklistItem(
            _("Every team has handed in a valid data set."),
            not invalid,
            _("Not yet: %(sets)s. Without one a team's privacy scores are 0.") % {"sets": ", ".join(invalid)},
        ),
        _check_uploads_done(),
        ChecklistItem(
            _("The judge has drawn the pseudonyms and published every valid data set."),
            not unclosed,
            _("It does so within minutes.")
            if over
            else _("It does so when the anonymization phase is over."),
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
            _("The judge is still scoring.") if over else _("It is when the attack phase is over."),
            comes_by_itself=not over,
        ),
    ]


def _check_uploads_done() -> ChecklistItem:
    waiting = queue.find_open_jobs("check").count()
    advice = _("%(waiting)s wait for the judge.") % {"waiting": waiting}
    return ChecklistItem(_("Every upload is checked."), waiting == 0, advice)


# The dry run, from the rows of the database alone; nothing is done.


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
        return DryRun(phase, list(_simulate_registration()), [_("Nothing: teams begin to hand in.")])
    if phase is Phase.ATTACK:
        return DryRun(phase, list(_simulate_anonymization(contest)), _describe_publishing(contest))
    if phase is Phase.RESULTS:
        return DryRun(phase, list(_simulate_attacks()), _describe_scoring())
    return DryRun(None, [], [])


def _simulate_registration() -> Iterable[DryRunOutcome]:
    for team in Team.objects.filter(role=Role.TEAM).prefetch_related("members"):
        fate, words = OutcomeLevel.BAD, _("nobody has come in")
        if team.members.all():
            fate, words = OutcomeLevel.GOOD, _("can begin")
        yield DryRunOutcome(teams.label_party(team), "", fate, words)


def _simulate_anonymization(contest: Contest) -> Iterable[DryRunOutcome]:
    unseen = set(_find_unchecked().values_list("data_set_id", flat=True))
    own = DataSet.objects.filter(team__role=Role.TEAM).select_related("team", "counts")
    for data_set in own:
        about = _("data set %(number)s") % {"number": data_set.number}
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
        words = _("would be missing: nothing good was handed in, and its privacy scores would be 0")
        return OutcomeLevel.BAD, words
    if not contest.rules.is_valid(data_set.utility):
        words = _("would be invalid: the utility of receipt %(receipt)s is below the threshold")
        return OutcomeLevel.BAD, words % receipt
    return OutcomeLevel.GOOD, _("would be published, by receipt %(receipt)s") % receipt


def _describe_publishing(contest: Contest) -> list[str]:
    unclosed = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True)
    left = unclosed.select_related("team")
    good = [
        one
        for one in left
        if one.team.role == Role.PSEUDONYMISED
        or (one.utility is not None and contest.rules.is_valid(one.utility))
    ]
    closed, names = len(left) - len(good), ", ".join(contest.rules.sample_attacks) or "–"
    return [
        _describe_checking(_find_unchecked().count()),
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
        _("Attack what is published by the sample attacks: %(names)s.") % {"names": names},
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
            fate, words = OutcomeLevel.GOOD, _("all %(wanted)s attacks are there")
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
            "Score %(count)s attack: the last good one of every team, target and kind.",
            "Score %(count)s attacks: the last good one of every team, target and kind.",
            count,
        )
        % {"count": count},
        _("The final board is frozen already.") if frozen else _("Freeze the final board."),
        _("Open ID tables and salts when the results begin."),
    ]


def _describe_checking(count: int) -> str:
    words = ngettext(
        "Check %(count)s upload that came before the end.",
        "Check %(count)s uploads that came before the end.",
        count,
    )
    return words % {"count": count}


def _find_unchecked() -> Any:
    return Submission.objects.filter(kind=UploadKind.OBFUSCATED, state=State.RECEIVED)


# The status, for people and for Prometheus.


def collect_status(folder: Folder) -> dict[str, Any]:
    """Return everything an organiser looks at, as plain values for JSON."""
    contest, now = Contest.get_current(), clock.now()
    answer = phase_at(contest.schedule, now)
    due = Job.objects.filter(state=JobState.WAITING, due_at__lte=now).order_by("due_at").first()
    counts = _count_states(Job.objects.all())
    waiting: dict[str, float] = {state: counts.get(state, 0) for state in JobState.values}
    waiting["oldest_s"] = 0.0 if due is None else (now - due.due_at).total_seconds()
    judges = []
    for one in Worker.objects.annotate(now=Now()).order_by("name"):
        # Signs of life are dated by the database's clock, which all machines share and nobody drives.
        seen_s = (one.now - one.seen_at).total_seconds()
        about = {"name": one.name, "works": seen_s < ALIVE_S, "seen_s": seen_s, "doing": one.doing}
        judges.append({**about, "error": one.error, "missing_guards": one.missing_guards})
    backup = contest.backed_up_at
    return {
        "contest": contest.name,
        "clock": now.isoformat(),
        "clock_is_driven": clock.is_driven(),
        "clock_ahead_s": (now - clock.read_clock()).total_seconds(),
        "phase": None if answer.phase is None else answer.phase.value,
        "next_change": None if answer.next_change is None else answer.next_change.isoformat(),
        "teams": Team.objects.filter(role="team").count(),
        "members": Member.objects.filter(team__isnull=False, is_active=True).count(),
        "uploads": _count_states(Submission.objects.all()),
        "queue": waiting,
        "last_error": _find_last_error(),
        "judges": judges,
        "disk_free_bytes": shutil.disk_usage(folder.path).free,
        "backup_age_s": None if backup is None else (now - backup).total_seconds(),
        "published": contest.published_at is not None,
        "database": format_database_url(folder.read_secrets().database),
    }


def is_judge_away() -> bool:
    """Whether no judge has shown a sign of life within a minute."""
    return not Worker.objects.filter(seen_at__gte=Now() - timedelta(seconds=ALIVE_S)).exists()


def _count_states(rows: Any) -> dict[str, int]:
    return {row["state"]: row["n"] for row in rows.values("state").annotate(n=Count("pk")).order_by("state")}


def _find_last_error() -> dict[str, Any] | None:
    job = Job.objects.exclude(error="").order_by("-finished_at", "-taken_at", "-pk").first()
    if job is None:
        return None
    at = job.finished_at or job.taken_at
    return {"job": job.key, "state": job.state, "error": job.error, "at": at and at.isoformat()}


def reset_clock(*, reason: str, actor: str) -> datetime:
    """Let the contest's time be what the clock shows, where it is ahead of it, and return that.

    What was closed or published by the wrong time was seen by everybody and cannot be taken back: then a
    backup from before is the only way.

    Parameters
    ----------
    reason
        For the audit log.
    actor
        Who sets it back.
    """
    _check_reason(reason)
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        shown, seen = clock.read_clock(), contest.seen_at
        if seen is None or seen <= shown:
            said = _("the contest's time is not ahead of the clock, which shows %(now)s")
            raise DataError(said % {"now": shown.isoformat()})
        for point in _FINAL_TIMES:
            at = getattr(contest, point)
            if at is not None and at > shown:
                said = _(
                    "%(point)s is %(at)s, and it is %(now)s: what was done by a wrong clock is not taken "
                    "back; restore a backup from before"
                )
                raise DataError(said % {"point": point, "at": at.isoformat(), "now": shown.isoformat()})
        Contest.objects.filter(pk=1).update(seen_at=shown)
        clock.clear_time_cache()
        moved = {"from": seen.isoformat(), "to": shown.isoformat()}
        log_act(actor, "clock set back", reason=reason.strip(), **moved)
    return shown


def format_metrics(status: dict[str, Any]) -> str:
    """Return what `collect_status` says as text in the format of Prometheus; nothing in it is a secret."""
    lines: list[str] = []
    for name, words, values in _list_gauges(status):
        lines += [f"# HELP tracearena_{name} {words}", f"# TYPE tracearena_{name} gauge"]
        lines += [f"tracearena_{name}{labels} {value}" for labels, value in values.items()]
    return "\n".join([*lines, ""])


def _list_gauges(status: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield name, meaning and numbers of every gauge; one that has no number yet is left out."""
    queue = dict(status["queue"])
    oldest = queue.pop("oldest_s")
    yield "jobs", "Jobs of the judges, by state.", _label_counts("state", queue)
    yield "queue_age_seconds", "How long the oldest job that is due has waited.", {"": oldest}
    yield "uploads", "Uploads, by state.", _label_counts("state", status["uploads"])
    working = sum(one["works"] for one in status["judges"])
    yield "judges", "Judges that have shown a sign of life within a minute.", {"": working}
    failing = sum(bool(one["error"]) for one in status["judges"])
    yield "judge_errors", "Judges whose last job failed.", {"": failing}
    yield "disk_free_bytes", "Bytes that are free where the contest lies.", {"": status["disk_free_bytes"]}
    if status["backup_age_s"] is not None:
        yield "backup_age_seconds", "Age of the last backup.", {"": status["backup_age_s"]}
    yield "members", "Members of teams who can log in.", {"": status["members"]}
    yield "published", "Whether the results are published.", {"": int(status["published"])}


def _label_counts(label: str, counts: dict[str, int]) -> dict[str, float]:
    return {f'{{{label}="{name}"}}': count for name, count in counts.items()}
