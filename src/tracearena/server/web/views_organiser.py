"""The organiser's pages: how everything runs, who takes part, what was handed in, what was done."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Max, Q
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.contest import Role
from tracearena.errors import DataError, ParameterError, TracearenaError
from tracearena.pages.svg import activity_picture, timeline_picture
from tracearena.server import accounts, clock, errors, results, teams
from tracearena.server.errors import RequestRefused, not_found
from tracearena.server.judge import export, scoring, worker
from tracearena.server.models import (
    AuditEntry,
    Contest,
    DataSet,
    Job,
    JobState,
    Member,
    Rescoring,
    Submission,
    Team,
    UploadKind,
)
from tracearena.server.operations import backup, next_phase, schedule, status
from tracearena.server.store import downloads, queue
from tracearena.server.store.audit_log import find_broken_entry, log_act
from tracearena.server.web.middleware import for_organiser, is_repeated, make_form_key

_ROWS_PER_PAGE = 200
_HOURS = 48
_MOST_ERRORS = 10
_MOST_DIFFERENCES = 200
_SHORTEST_REASON, _LONGEST_REASON = 3, 200
_JOB_ACTS = {"again": worker.retry_job, "aside": worker.set_job_aside}
GOOD, WAIT, BAD = "good", "wait", "bad"


@require_safe
@for_organiser
def show_status(request: Any) -> Any:
    """The control room: the queue, the judges, the disk, the backup, the clock, the last errors."""
    now = clock.now()
    lately = Submission.objects.filter(received_at__gte=now - timedelta(hours=_HOURS))
    arrivals = lately.order_by().values_list("received_at", flat=True)
    contest = Contest.get_current()
    about = {
        "status": status.collect_status(settings.CONTEST_FOLDER),
        "disk": shutil.disk_usage(settings.CONTEST_FOLDER.path),
        "failed": Job.objects.filter(state=JobState.FAILED).order_by("pk")[:_ROWS_PER_PAGE],
        "errors": Job.objects.exclude(error="").exclude(state=JobState.FAILED).order_by("-pk")[:_MOST_ERRORS],
        "waiting": Job.objects.filter(state__in=[JobState.WAITING, JobState.RUNNING]).order_by("due_at")[
            :_MOST_ERRORS
        ],
        "activity": activity_picture(arrivals, now, hours=_HOURS),
        "backups": settings.CONTEST_FOLDER.backups,
        "is_backing_up": queue.find_open_jobs(backup.BACKUP_KIND).exists(),
        "unmet": next_phase.list_open_items(settings.CONTEST_FOLDER, contest, now),
    }
    return render(request, "organiser/status.html", about)


@require_POST
@for_organiser
def ask_for_backup(request: Any) -> Any:
    """Let the judge back the contest up."""
    backup.request_backup(request.user.log_name)
    return redirect("/organiser")


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def show_teams(request: Any) -> Any:
    """Every team: who has come in, whether it defends itself, whom it attacks; or a name for another one."""
    if request.method != "POST":
        return _render_teams(request)
    if is_repeated(request):
        return redirect("/organiser/teams")
    given = request.POST
    try:
        made = teams.add_team_without_key(
            given.get("name", "").strip(), request.user.log_name, given.get("team") or None
        )
    except TracearenaError as error:
        return _render_teams(request, None, RequestRefused(409, "team", str(error)))
    return _render_teams(request, made)


@require_POST
@for_organiser
def renew_team_link(request: Any, number: str) -> Any:
    """Make a new link for a team that has lost the old one; the judge wraps the team's key for it."""
    team = Team.objects.filter(number=number, role=Role.TEAM).first()
    if team is None:
        raise not_found()
    if is_repeated(request):
        return redirect("/organiser/teams")
    with transaction.atomic():
        made = teams.renew_link_without_key(team)
        log_act(request.user.log_name, "link renewed", team=number)
    return _render_teams(request, made)


@require_POST
@for_organiser
def handle_rename(request: Any, number: str) -> Any:
    """Give a team another name."""
    if not Team.objects.filter(number=number, role=Role.TEAM).exists():
        raise not_found()
    try:
        teams.rename_teams({number: request.POST.get("name", "").strip()}, request.user.log_name)
    except TracearenaError as error:
        return _render_teams(request, None, RequestRefused(409, "name", str(error)))
    return redirect("/organiser/teams")


@require_POST
@for_organiser
def handle_own_names(request: Any) -> Any:
    """Let teams that have no name give themselves one, or forbid it."""
    teams.let_teams_choose_names(request.POST.get("allowed") == "yes", request.user.log_name)
    return redirect("/organiser/teams")


@require_safe
@for_organiser
def show_all_submissions(request: Any) -> Any:
    """What all teams have handed in, the last one first; of one team if that is asked for."""
    found = Submission.objects.select_related("team", "data_set__team").order_by("-pk")
    team = request.GET.get("team", "")
    if team:
        found = found.filter(team__number=team)
    about = {
        "page": _paginate(request, found),
        "team": team,
        "teams": list(Team.objects.filter(role=Role.TEAM)),
        "styles": teams.build_party_styles(),
    }
    return render(request, "organiser/submissions.html", about)


@require_safe
@for_organiser
def show_audit_log(request: Any) -> Any:
    """Who did what, the last act first, and whether the log is whole."""
    about = {
        "page": _paginate(request, AuditEntry.objects.order_by("-pk")),
        "broken": find_broken_entry(),
        "people": {member.log_name: member.username for member in Member.objects.all()},
    }
    return render(request, "organiser/log.html", about)


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def publish_results(request: Any) -> Any:
    """Open the results once all scores are there: now, also where the schedule says later."""
    final = results.find_final_snapshot()
    if request.method != "POST":
        return render(request, "organiser/publish.html", {"final": final})
    contest, now = Contest.get_current(), clock.now()
    if final is None:
        message = _("The judge is still scoring: publish when the final board is ready.")
        raise RequestRefused(409, "not-final", message)
    if now < contest.schedule.results_begin:
        try:
            schedule.move_to_now("results_begin", actor=request.user.log_name)
        except TracearenaError as error:
            raise RequestRefused(409, "not-moved", str(error)) from None
        return redirect("/organiser/publish")
    with transaction.atomic():
        if Contest.objects.filter(pk=contest.pk, published_at__isnull=True).update(published_at=now):
            log_act(request.user.log_name, "results published")
    return redirect("/board")


def _render_teams(
    request: Any, made: teams.TeamLink | None = None, refused: RequestRefused | None = None
) -> Any:
    about = {
        "teams": list_team_statuses(),
        "styles": teams.build_party_styles(),
        "free": teams.list_free_places(),
        "refused": refused,
        "given": request.POST,
        "made": made,
        "link": None if made is None else request.build_absolute_uri(accounts.build_link_path(made.secret)),
        "form_key": make_form_key(),
    }
    return render(request, "organiser/teams.html", about, status=refused.status if refused else 200)


def _paginate(request: Any, found: Any) -> Any:
    return Paginator(found, _ROWS_PER_PAGE).get_page(request.GET.get("page"))


# The schedule.


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def show_phases(request: Any) -> Any:
    """Show schedule and checklist, or move a point of the schedule with a reason."""
    if request.method != "POST":
        return _render_phases(request)
    try:
        if "now" in request.POST:
            _move_to_now_by_form(request)
        else:
            _move_point_by_form(request)
    except RequestRefused as refused:
        return _render_phases(request, refused)
    return redirect("/organiser/phases")


def _move_to_now_by_form(request: Any) -> None:
    given = request.POST
    try:
        schedule.move_to_now(given["now"], actor=request.user.log_name, reason=given.get("reason", ""))
    except TracearenaError as error:
        raise RequestRefused(409, "not-moved", str(error)) from None


def _move_point_by_form(request: Any) -> None:
    given = request.POST
    try:
        to = datetime.fromisoformat(given.get("to", ""))
    except ValueError:
        message = _("The new time must be a date and a time, such as 2026-05-01T09:00.")
        raise RequestRefused(400, "time", message) from None
    to = to.replace(tzinfo=UTC) if to.tzinfo is None else to
    team, point = given.get("team", ""), given.get("point", "")
    why = {"reason": given.get("reason", ""), "actor": request.user.log_name}
    try:
        if team:
            schedule.give_extra_time(team, point, to, **why)
        else:
            schedule.move_point(point, to, **why)
    except TracearenaError as error:
        raise RequestRefused(409, "not-moved", str(error)) from None


def _render_phases(request: Any, refused: RequestRefused | None = None) -> Any:
    contest, now = Contest.get_current(), clock.now()
    about = {
        "timeline": timeline_picture(contest.schedule, now),
        "points": schedule.label_points(),
        "next_point": schedule.find_next_point(contest, now),
        "movable": [
            (errors.translate_point(name), name, getattr(contest.schedule, name))
            for name in schedule.list_movable_points(contest)
        ],
        "following": next_phase.find_next_phase(contest, now),
        "teams": Team.objects.filter(role=Role.TEAM),
        "checks": next_phase.build_checklist(settings.CONTEST_FOLDER, contest, now),
        "refused": refused,
        "given": request.POST,
    }
    return render(request, "organiser/phases.html", about, status=refused.status if refused else 200)


# Re-scoring.


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def show_rescorings(request: Any) -> Any:
    """All re-scorings, or the start of another one."""
    refused = None
    if request.method == "POST":
        try:
            started = scoring.start_rescoring(request.user.log_name, _read_reason(request))
            return redirect(f"/organiser/rescoring/{started.pk}")
        except RequestRefused as problem:
            refused = problem
        except TracearenaError as error:
            refused = RequestRefused(409, "rescoring", str(error))
    about = {"rescorings": Rescoring.objects.order_by("-pk"), "refused": refused, "given": request.POST}
    return render(request, "organiser/rescorings.html", about, status=refused.status if refused else 200)


@require_safe
@for_organiser
def show_rescoring(request: Any, number: int) -> Any:
    """One re-scoring: how far it is, and what came out otherwise."""
    return _render_rescoring(request, _find_rescoring(number))


@require_POST
@for_organiser
def handle_apply(request: Any, number: int) -> Any:
    """Let the new scores count."""
    return _decide_rescoring(request, number, scoring.apply_rescoring)


@require_POST
@for_organiser
def handle_cancel(request: Any, number: int) -> Any:
    """Leave all as it was."""
    return _decide_rescoring(request, number, scoring.cancel_rescoring)


def _read_reason(request: Any) -> str:
    reason: str = request.POST.get("reason", "").strip()
    if not _SHORTEST_REASON <= len(reason) <= _LONGEST_REASON:
        message = _(
            "Give a reason of %(shortest)s to %(longest)s characters: it is written to the audit log."
        )
        limits = {"shortest": _SHORTEST_REASON, "longest": _LONGEST_REASON}
        raise RequestRefused(400, "reason", message % limits)
    return reason


def _decide_rescoring(request: Any, number: int, act: Callable[[Rescoring, str], None]) -> Any:
    found = _find_rescoring(number)
    try:
        act(found, request.user.log_name)
    except TracearenaError as error:
        refused = RequestRefused(409, "rescoring", str(error))
        return _render_rescoring(request, _find_rescoring(number), refused)
    return redirect(f"/organiser/rescoring/{number}")


def _render_rescoring(request: Any, found: Rescoring, refused: RequestRefused | None = None) -> Any:
    changed = scoring.compare_scores(found)
    # While it runs, a missing score does not count as a difference.
    shown = [one for one in changed if found.state != "running" or one.after is not None]
    about = {
        "rescoring": found,
        "differences": shown[:_MOST_DIFFERENCES],
        "more": max(0, len(changed) - _MOST_DIFFERENCES),
        "failed": sum(one.after is None for one in changed),
        "left": queue.find_open_jobs("rescore").filter(key__startswith=f"rescore/{found.pk}/").count(),
        "result": [] if found.state == "running" else scoring.compare_results(found),
        "refused": refused,
    }
    return render(request, "organiser/rescoring.html", about, status=refused.status if refused else 200)


def _find_rescoring(number: int) -> Rescoring:
    found = Rescoring.objects.filter(pk=number).first()
    if found is None:
        raise not_found()
    return found


# Archives of this contest.


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def show_exports(request: Any) -> Any:
    """Show the archives that were made, or have one made."""
    if request.method != "POST":
        return _render_exports(request)
    try:
        export.request_export(request.user.log_name, for_everybody=request.POST.get("for") == "everybody")
    except TracearenaError as error:
        return _render_exports(request, RequestRefused(409, "export", str(error)))
    return redirect("/organiser/export")


@require_safe
@for_organiser
def send_export(request: Any, name: str) -> Any:
    """An archive that the judge made."""
    path = next((path for path in export.list_exports(settings.CONTEST_FOLDER) if path.name == name), None)
    if path is None:
        raise not_found()
    return downloads.send_file(request, path)


def _render_exports(request: Any, refused: RequestRefused | None = None) -> Any:
    contest = Contest.get_current()
    try:
        export.require_exportable(contest)
        not_yet = ""
    except TracearenaError as error:
        not_yet = str(error)
    about = {
        "made": [downloads.describe_file(path) for path in export.list_exports(settings.CONTEST_FOLDER)],
        "is_being_made": export.is_export_pending(),
        "failed": Job.objects.filter(kind=export.EXPORT_KIND, state=JobState.FAILED).exists(),
        "not_yet": not_yet,
        "is_real": contest.people == "real",
        "refused": refused,
    }
    return render(request, "organiser/export.html", about, status=refused.status if refused else 200)


@require_POST
@for_organiser
def decide_failed_job(request: Any, number: int) -> Any:
    """Give a failed job to the judge once more, or let the contest go on without it; with a reason."""
    job, act = Job.objects.filter(pk=number).first(), _JOB_ACTS.get(request.POST.get("act", ""))
    if job is None or act is None:
        raise not_found()
    reason = _read_reason(request)
    try:
        act(job, request.user.log_name, reason)
    except ParameterError as error:
        raise RequestRefused(409, "job", str(error)) from None
    return redirect("/organiser")


@require_safe
@for_organiser
def show_dry_run(request: Any) -> Any:
    """What would be published, invalid or missing, and what the judge would do; nothing is done."""
    run = next_phase.simulate_next_phase(Contest.get_current(), clock.now())
    return render(request, "organiser/dry_run.html", {"run": run, "styles": teams.build_party_styles()})


@require_http_methods(["GET", "HEAD", "POST"])
@gzip_page
@for_organiser
def show_ceremony(request: Any) -> Any:
    """Say what is about to be shown, or show it."""
    final = results.find_final_snapshot()
    if request.method != "POST":
        return render(request, "organiser/ceremony_door.html", {"final": final})
    if final is None:
        message = _("The judge is still scoring: the ceremony can begin when the final board is ready.")
        raise RequestRefused(409, "not-final", message)
    log_act(request.user.log_name, "ceremony opened", sha256=final.sha256)
    drawn = results.draw_snapshot(final, Contest.get_current().rules)
    about = {"drawn": drawn, "matrices": results.draw_closed_matrices(drawn)}
    return render(request, "organiser/ceremony.html", about)


# How every team fares: who never logged in, never handed in, is not valid.


@dataclass(frozen=True)
class TeamStatus:
    """One team.

    Attributes
    ----------
    number, label
        What it is called.
    name
        The name, empty if there is none.
    people, last_login, last_upload
        Who has come in, when somebody logged in last and handed something in last.
    utilities
        Those of the uploads that count.
    came, defence, attacks
        A rating each (`GOOD`, `WAIT` or `BAD`), and why.
    """

    number: str
    label: str
    name: str
    people: int
    last_login: datetime | None
    last_upload: datetime | None
    came: tuple[str, str]
    defence: tuple[str, str]
    utilities: list[float]
    attacks: tuple[str, str]


def list_team_statuses() -> list[TeamStatus]:
    """Return how every team fares."""
    contest = Contest.get_current()
    found = Team.objects.filter(role=Role.TEAM).annotate(
        people=Count("members", filter=Q(members__is_active=True), distinct=True),
        login=Max("members__last_login"),
    )
    handed_in = dict(Submission.objects.order_by().values_list("team").annotate(Max("received_at")))
    targets = DataSet.objects.filter(released_at__isnull=False)
    attacks = Submission.objects.exclude(kind=UploadKind.OBFUSCATED).exclude(state="late").order_by()
    attacked = dict(attacks.values_list("team").annotate(Count("data_set", distinct=True)))
    return [
        TeamStatus(
            number=team.number,
            label=teams.label_party(team),
            name=team.name if team.is_named else "",
            people=team.people,
            last_login=team.login,
            last_upload=handed_in.get(team.pk),
            came=(GOOD, _("active")) if team.people else (BAD, _("never logged in")),
            defence=_rate_defence(contest, team),
            utilities=[one.utility for one in DataSet.objects.filter(team=team) if one.utility is not None],
            attacks=_rate_attacks(attacked.get(team.pk, 0), targets.exclude(team=team).count()),
        )
        for team in found
    ]


def _rate_defence(contest: Contest, team: Team) -> tuple[str, str]:
    own = list(DataSet.objects.filter(team=team).select_related("team"))
    if not Submission.objects.filter(team=team, kind=UploadKind.OBFUSCATED).exists():
        return BAD, _("never uploaded")
    valid = [one for one in own if one.is_valid(contest.rules)]
    if len(valid) == len(own):
        return GOOD, _("valid")
    some = _("%(valid)s of %(all)s valid") % {"valid": len(valid), "all": len(own)}
    return (WAIT, some) if valid else (BAD, _("invalid"))


def _rate_attacks(made: int, targets: int) -> tuple[str, str]:
    if targets == 0:
        return WAIT, _("not yet")
    rating = GOOD if made >= targets else WAIT if made else BAD
    return rating, _("%(made)s of %(targets)s") % {"made": made, "targets": targets}


# Accounts of organisers and members.


@require_http_methods(["GET", "HEAD", "POST"])
@for_organiser
def show_accounts(request: Any) -> Any:
    """Everybody who has an account; or a link for one more organiser."""
    if request.method != "POST":
        return _render_people(request, None)
    if is_repeated(request):
        return redirect("/organiser/people")
    return _render_people(request, accounts.add_organiser(request.user.log_name))


@require_POST
@for_organiser
def handle_disable(request: Any, number: int) -> Any:
    """Shut somebody else out."""
    return _end_access(request, number, accounts.shut_out_member)


@require_POST
@for_organiser
def handle_delete(request: Any, number: int) -> Any:
    """Delete somebody else: shut out for good, and the name replaced."""
    return _end_access(request, number, accounts.delete_member)


def _end_access(request: Any, number: int, act: Callable[[Member, str], None]) -> Any:
    try:
        act(_find_other_member(request, number), request.user.log_name)
    except DataError as error:
        raise RequestRefused(409, "last-organiser", str(error)) from None
    return redirect("/organiser/people")


@require_POST
@for_organiser
def handle_reset(request: Any, number: int) -> Any:
    """Make a link by which somebody else gets a new password."""
    member = _find_other_member(request, number)
    if is_repeated(request):
        return redirect("/organiser/people")
    return _render_people(request, accounts.reset_password(member, request.user.log_name), member)


def _find_other_member(request: Any, number: int) -> Member:
    member = Member.objects.select_related("team").filter(pk=number).first()
    if member is None:
        raise not_found()
    if member == request.user:
        message = _("This is your own account: change its password, or ask another organiser to do this.")
        raise RequestRefused(409, "own-account", message)
    return member


def _render_people(request: Any, secret: str | None, member: Member | None = None) -> Any:
    about = {
        "groups": [
            (_("Organisers"), accounts.describe_members(organisers=True)),
            (_("Members of teams"), accounts.describe_members(organisers=False)),
        ],
        "link": None if secret is None else request.build_absolute_uri(accounts.build_link_path(secret)),
        "renewed": member,
        "form_key": make_form_key(),
    }
    return render(request, "organiser/people.html", about)
