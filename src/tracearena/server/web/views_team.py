"""A team's pages: what to do next, its data, its submissions and targets, tokens and members, uploads."""

from __future__ import annotations

import io
import json
import shlex
import threading
import uuid
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.core.files import File
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tracearena.contest import Gate, Role, Rules, phase_at
from tracearena.contest.data import REGIONS, SALTS, TIMES, official_file_name
from tracearena.files.io import InMemoryFile
from tracearena.i18n import mark_for_translation
from tracearena.io import pwscup
from tracearena.io.pwscup import PwsName
from tracearena.pages.contest_data import find_liveliest_day
from tracearena.pages.html import format_utc
from tracearena.pages.svg import Picture, crowd_pictures, gauge_picture, losses_picture
from tracearena.pages.svg.maps import build_map_data, true_day_picture
from tracearena.server import accounts, clock, getting_started, own_results, results, submissions, teams
from tracearena.server.errors import RequestRefused, not_found
from tracearena.server.judge.scoring import build_file_name
from tracearena.server.models import Contest, DataSet, Member, Submission, Team, Token, UploadKind
from tracearena.server.store import downloads
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.crypto import CipherFile, unseal
from tracearena.server.store.downloads import stream_zip
from tracearena.server.store.folder import read_grid
from tracearena.server.submissions import UploadRequest
from tracearena.server.uploads import cut_off, too_large
from tracearena.server.web.middleware import (
    find_next_step,
    for_members,
    for_team,
    is_repeated,
    make_form_key,
)
from tracearena.traces import ObfuscatedTraces, Traces

_PAGE_SIZE = 100
_LONGEST_LABEL = 60
_ARCHIVE_NAME = "everybody.zip"
PRACTICE_FOLDER = "contest-data"
DEFENCE, WHO, WHERE = "PL(4,1)", "VisitProb-R", "VisitProb-T"
"""A defence and two attacks to begin with; a team puts its own files in their place."""
CACHE_SIZE = 16
"""Data sets. One of 0.8 million rows takes 6 MB as traces and 4 MB as text."""
WHOLE = "yes"
"""Value of the field behind the file: it is there only if the form has come whole."""
_MISSING = {
    "person": mark_for_translation("There is no person %(wanted)s in this data set."),
    "day": mark_for_translation("There is no day %(wanted)s in this data set."),
}
_read_lock = threading.RLock()
"""One data set is read at a time: memory stays bounded, and nothing is read by two at once."""


@require_safe
@for_team
def show_team_home(request: Any) -> Any:
    """What to do next and until when, own data sets with their utility, targets that are open."""
    team, contest, now = request.user.team, Contest.get_current(), clock.now()
    targets = submissions.describe_attack_progress(team)
    about = {
        "step": find_next_step(team),
        "has_extra_time": phase_at(contest.schedule_of(team.number), now) != phase_at(contest.schedule, now),
        "data_sets": [
            one | {"gauge": gauge_picture(one["utility"], contest.rules, name=f"gauge-{one['number']}")}
            for one in submissions.describe_data_sets(team)
        ],
        "targets": targets,
        "open": sum(one["is_open"] for one in targets),
    }
    return render(request, "team/start.html", about)


@require_safe
@for_team
def show_own_submissions(request: Any) -> Any:
    """Everything the team has handed in, the last one first."""
    page = Paginator(_find_own_submissions(request), _PAGE_SIZE).get_page(request.GET.get("page"))
    contest = Contest.get_current()
    for one in page.object_list:
        one.steps = _list_steps(one, contest)
    return render(request, "team/submissions.html", {"submissions": page.object_list, "page": page})


@require_safe
@for_team
def show_submission(request: Any, number: int) -> Any:
    """One upload: its receipt, its state, what the checker said."""
    found, contest = _find_own_submission(request, number), Contest.get_current()
    about = {
        "submission": found,
        "steps": _list_steps(found, contest),
        "settled": submissions.is_final(found),
        "again": "again" in request.GET,
        "gauge": gauge_picture(found.utility, contest.rules),
    }
    return render(request, "team/submission.html", about)


@require_safe
@for_team
def send_submission_state(request: Any, number: int) -> Any:
    """How far one upload has come, for a page that waits for it."""
    found = _find_own_submission(request, number)
    return JsonResponse({"state": found.state, "settled": submissions.is_final(found)})


@require_safe
@for_team
def show_targets(request: Any) -> Any:
    """Whom the team may attack, what it handed in against each, and what it may still hand in."""
    contest, found = Contest.get_current(), submissions.describe_attack_progress(request.user.team)
    for attack in (attack for one in found for attack in one["attacks"] if attack["last"]):
        attack["steps"] = _list_steps(attack["last"], contest)
    return render(request, "team/targets.html", {"targets": found})


def _find_own_submissions(request: Any) -> Any:
    return Submission.objects.filter(team=request.user.team).select_related("data_set__team", "member")


def _find_own_submission(request: Any, number: int) -> Submission:
    found = _find_own_submissions(request).filter(pk=number).first()
    if found is None:
        raise not_found()
    return found


def _list_steps(submission: Submission, contest: Contest) -> list[submissions.ProgressStep]:
    published = results.is_published(contest, clock.now())
    return submissions.list_progress_steps(submission, contest.rules, published=published)


@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def show_own_results(request: Any) -> Any:
    """What the published result says of the team; or keep what the team says of itself."""
    contest, team = Contest.get_current(), request.user.team
    final = results.find_final_snapshot()
    if final is None or not results.is_published(contest, clock.now()):
        raise not_found()
    given, status = {"text": team.write_up, "link": team.code_link}, 200
    problem: RequestRefused | None = None
    if request.method == "POST":
        given = {name: request.POST.get(name, "") for name in ("text", "link")}
        try:
            own_results.save_write_up(team, **given)
            return redirect("/team/results")
        except RequestRefused as refused:
            problem, status = refused, refused.status
    drawn = results.draw_snapshot(final, contest.rules)
    about = {
        **given,
        "refused": problem,
        "own": own_results.collect_own_results(drawn, teams.label_party(team)),
        "styles": drawn.styles,
        "longest": own_results.LONGEST_WRITE_UP,
    }
    return render(request, "team/results.html", about, status=status)


# Downloads.


@require_safe
@for_team
def show_data(request: Any) -> Any:
    """What can be downloaded, in groups: for all, of the sample teams, of the targets."""
    samples = set(Team.objects.filter(role=Role.SAMPLE).values_list("number", flat=True))
    groups: dict[str, list[dict[str, Any]]] = {"everybody": [], "samples": [], "targets": []}
    for path in downloads.public_files():
        groups[_find_group(path, samples)].append(downloads.describe_file(path))
    size = sum(file["size"] for files in groups.values() for file in files)
    return render(request, "team/data.html", {"groups": groups, "size": size})


@require_safe
@for_team
def send_own_bundle(request: Any) -> Any:
    """The team's own traces."""
    return downloads.send_bundle(request, request.user.team, accounts.read_team_key(request))


@require_safe
@for_team
def send_all_files(request: Any) -> Any:
    """All of everybody's files in one archive: the judge's, or until it is written one made on the way."""
    files = downloads.public_files()
    path = downloads.find_public_archive(settings.CONTEST_FOLDER, files)
    if path.is_file():
        return downloads.send_archive(request, path, _ARCHIVE_NAME)
    response = StreamingHttpResponse(stream_zip(files), content_type="application/zip")
    response.headers["Content-Disposition"] = content_disposition_header(True, _ARCHIVE_NAME)
    return response


@require_safe
@for_members
def send_public_file(request: Any, name: str) -> Any:
    """One of everybody's files."""
    return downloads.send_public(request, name)


def _find_group(path: Path, samples: set[str]) -> str:
    """Return to which group a file belongs, by its official name."""
    try:
        team = f"{PwsName.parse(path).team:03d}"
    except ValueError:
        return "everybody"
    return "samples" if team in samples else "targets"


# Tokens and members.


@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def show_tokens(request: Any) -> Any:
    """Show the team's tokens, or make one and show its secret this once."""
    secret = None
    if request.method == "POST":
        if is_repeated(request):
            return redirect("/team/tokens")
        label = request.POST.get("label", "").strip()
        if not 1 <= len(label) <= _LONGEST_LABEL or not label.isprintable():
            message = gettext(
                "A label must have 1 to %(longest)s letters, digits, punctuation marks or spaces."
            )
            raise RequestRefused(400, "label", message % {"longest": _LONGEST_LABEL})
        secret = accounts.make_token(request.user, label, accounts.read_team_key(request))
    found = Token.objects.filter(team=request.user.team, revoked_at__isnull=True).select_related("member")
    about = {"tokens": found, "secret": secret, "form_key": make_form_key()}
    return render(request, "team/tokens.html", about)


@require_POST
@for_team
def handle_revoke(request: Any, number: int) -> Any:
    """End a token."""
    if not accounts.revoke_token(request.user, number):
        raise not_found()
    return redirect("/team/tokens")


@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def show_members(request: Any) -> Any:
    """Show who is in the team, or make a link for more and show it this once."""
    link = None
    if request.method == "POST":
        if is_repeated(request):
            return redirect("/team/members")
        with transaction.atomic():
            secret = accounts.make_invitation(request.user.team, accounts.read_team_key(request))
            log_act(request.user.log_name, "members invited", team=request.user.team.number)
        link = request.build_absolute_uri(accounts.build_link_path(secret))
    found = Member.objects.filter(team=request.user.team, is_active=True).order_by("pk")
    about = {"members": found, "link": link, "form_key": make_form_key()}
    return render(request, "team/members.html", about)


@require_POST
@for_team
def handle_own_name(request: Any) -> Any:
    """Give one's team a name, if it has none."""
    teams.choose_own_name(request.user.team, request.POST.get("name", "").strip(), request.user.log_name)
    return redirect("/team")


# How a team begins.


@require_safe
@for_team
def show_get_started(request: Any) -> Any:
    """How to install, what files look like, two first programs, and what the sample programs come to."""
    team, folder = request.user.team.number, settings.CONTEST_FOLDER
    others = Team.objects.filter(role=Role.TEAM).exclude(number=team).order_by("number")
    target = others.first() or Team.objects.exclude(number=team).order_by("number")[0]
    url = request.build_absolute_uri("/").rstrip("/")
    wheel = getting_started.find_wheel(folder)
    about = {
        "install": [getting_started.build_install_command(url, wheel)],
        "wheel": wheel,
        "client": [f"tracearena contest client login {shlex.quote(url)}", "tracearena contest client data"],
        "formats": getting_started.list_formats(team, target.number),
        "defence": getting_started.build_defence_program(team),
        "attack": getting_started.build_attack_program(team, target.number),
        "target": target.number,
        "results": getting_started.read_preliminary_results(folder),
        "sample": Team.objects.filter(role=Role.SAMPLE).first(),
        "samples": ["tracearena contest client practise"],
        "threshold": Contest.get_current().rules.utility_threshold,
    }
    return render(request, "team/get_started.html", about)


# How a team tests itself: in sealed mode nobody else tells it how good it is.


@require_safe
@for_team
def show_self_test(request: Any) -> Any:
    """Which commands fetch, defend, attack, check and score, with the names of this contest's files."""
    team, rules = request.user.team.number, Contest.get_current().rules
    sample = Team.objects.filter(role=Role.SAMPLE).first()
    client = "tracearena contest client"
    about = {
        "sample": sample,
        "folder": PRACTICE_FOLDER,
        "fetch": [
            f"{client} login {shlex.quote(request.build_absolute_uri('/').rstrip('/'))}",
            f"{client} data --to {PRACTICE_FOLDER}",
            f"cd {PRACTICE_FOLDER}",
        ],
        "lessons": [] if sample is None else build_practice_commands(team, sample.number, 1, rules),
        "own": [
            f"{client} check {official_file_name('anotraces', int(team), 1)} --data .",
            f"{client} submit {official_file_name('anotraces', int(team), 1)}",
            f"{client} watch",
        ],
    }
    return render(request, "team/self_test.html", about)


# The traces that a team defends, and what it has published.


@require_safe
@for_team
def show_traces(request: Any, number: int) -> Any:
    """One person's day as it is, and a viewer for a file that the browser opens."""
    data_set, original = _load_own_original(request, number)
    people = original.user_ids.tolist()
    days = np.unique(original.clock.day_of(original.instants)).tolist()
    liveliest, on = find_liveliest_day(original)
    person = _read_choice(request, "person", people, people[liveliest])
    day = _read_choice(request, "day", list(range(1, len(days) + 1)), days.index(on) + 1)
    about = {
        "data_set": data_set,
        "rules": Contest.get_current().rules,
        "people": people,
        "days": range(1, len(days) + 1),
        "person": person,
        "day": day,
        "day_picture": true_day_picture(original, people.index(person), days[day - 1]),
    }
    return render(request, "team/traces.html", about)


def _load_own_original(request: Any, number: int) -> tuple[DataSet, Traces]:
    """Return a data set of the caller's team, and the traces that the team defends in it."""
    team = request.user.team
    data_set = submissions.find_own_data_set(team, number)
    return data_set, load_original(team, data_set, accounts.read_team_key(request))


@require_safe
@for_team
def show_release(request: Any, number: int) -> Any:
    """What was published of a data set: crowds at noon before and after, and where usefulness was lost."""
    data_set, original = _load_own_original(request, number)
    about = {"data_set": data_set, "release": draw_release(data_set, original)}
    return render(request, "team/released.html", about)


@require_safe
@for_team
def send_trace_events(request: Any, number: int) -> Any:
    """All original traces of a data set as plain numbers, for the viewer in the browser."""
    data_set = submissions.find_own_data_set(request.user.team, number)
    text = load_events_text(request.user.team, data_set, accounts.read_team_key(request))
    return HttpResponse(text, content_type="application/json")


def _read_choice(request: Any, name: str, among: list[int], otherwise: int) -> int:
    """Return what a form chose, or what stands there if it chose nothing."""
    wanted = request.GET.get(name, str(otherwise))
    found = [one for one in among if str(one) == wanted]
    if not found:
        raise RequestRefused(400, name, gettext(_MISSING[name]) % {"wanted": ascii(wanted[:20])})
    return found[0]


class ReleasePictures(NamedTuple):
    """Pictures of what was published: the crowds at noon before and after, and what was lost where."""

    before: Picture
    after: Picture
    losses: Picture | None


def draw_release(data_set: DataSet, original: Traces) -> ReleasePictures | None:
    """Draw what became of a data set, None before it is published."""
    contest = Contest.get_current()
    if data_set.released_at is None or not contest.has_targets(clock.now()):
        return None
    everybody = settings.CONTEST_FOLDER.everybody
    public = pwscup.read_anonymized(
        everybody / build_file_name("pubtraces", data_set),
        original.places,
        pwscup.read_times(everybody / TIMES),
        allow_repetition=contest.rules.utility_rule == "2019",
    )
    # Crowds do not depend on who is who.
    before, after = crowd_pictures(original, public.with_user_ids(original.user_ids))
    own = None
    if results.is_published(contest, clock.now()):
        own = _restore_user_order(data_set, original, public)
    losses = None if own is None else losses_picture(original, own, contest.rules.utility_limit_km)
    return ReleasePictures(before, after, losses)


def _restore_user_order(
    data_set: DataSet, original: Traces, public: ObfuscatedTraces
) -> ObfuscatedTraces | None:
    """Return published traces under the people they are of, None while the judge opens the tables."""
    everybody = settings.CONTEST_FOLDER.everybody
    path = everybody / build_file_name("ptable", data_set)
    if not (everybody / SALTS).is_file() or not path.is_file():
        return None
    table = pwscup.read_id_table(path)
    whose = table.pseudonyms[np.argsort(table.user_ids)]
    order = np.searchsorted(public.user_ids, whose)
    return public.take_users(order).with_user_ids(original.user_ids)


class _TraceSource(NamedTuple):
    """Where traces are read from, in which version of the file, and what opens it."""

    bundle: Path
    changed_at_ns: int
    size: int
    name: str
    team_key: bytes


def load_original(team: Team, data_set: DataSet, team_key: bytes) -> Traces:
    """Return the original traces of one of the team's data sets."""
    with _read_lock:
        return _read_original(_find_source(team, data_set, team_key))


def load_events_text(team: Team, data_set: DataSet, team_key: bytes) -> bytes:
    """Return the same as JSON, for the viewer in the browser.

    Everybody has an event at each of the instants, so these are said once.
    """
    with _read_lock:
        return _encode_events(_find_source(team, data_set, team_key))


def _find_source(team: Team, data_set: DataSet, team_key: bytes) -> _TraceSource:
    bundle = settings.CONTEST_FOLDER.for_team(team.number)
    state = bundle.stat()
    name = str(official_file_name("orgtraces", int(team.number), data_set.number))
    return _TraceSource(bundle, state.st_mtime_ns, state.st_size, name, team_key)


@lru_cache(maxsize=CACHE_SIZE)
def _read_original(place: _TraceSource) -> Traces:
    packed = unseal(place.team_key, place.bundle.read_bytes())
    with zipfile.ZipFile(io.BytesIO(packed)) as bundle:
        held = InMemoryFile(place.name, bundle.read(place.name))
    return pwscup.read_traces(held, *read_grid(settings.CONTEST_FOLDER))


@lru_cache(maxsize=CACHE_SIZE)
def _encode_events(place: _TraceSource) -> bytes:
    original = _read_original(place)
    said = {
        **build_map_data(original),
        "people": original.user_ids.tolist(),
        "instants": original.instants[: original.offsets[1]].tolist(),
        "places": original.place_index.tolist(),
    }
    return json.dumps(said, separators=(",", ":")).encode()


class PracticeCommands(NamedTuple):
    """Commands that belong together, and what they are for."""

    title: str
    commands: list[str]


def build_practice_commands(team: str, sample: str, number: int, rules: Rules) -> list[PracticeCommands]:
    """Return the commands of a defence and of both attacks on a sample team, in their order.

    Parameters
    ----------
    team
        Who practises.
    sample
        The sample team, whose originals everybody has.
    number
        The data set.
    rules
        Those of the contest: the scores are computed by them.
    """
    kinds = ("orgtraces", "reftraces", "anotraces", "pubtraces", "ptable")
    file = {kind: str(official_file_name(kind, int(sample), number)) for kind in kinds}
    file |= {
        kind: str(official_file_name(kind, int(sample), number, int(team))) for kind in ("etable", "etraces")
    }
    places, original = ("--places", REGIONS), ("--original", file["orgtraces"])
    attacker = (*places, "--reference", file["reftraces"], "--anonymized", file["pubtraces"])
    by_rule = ("--rule", rules.utility_rule, "--threshold", f"{rules.utility_threshold:g}")
    weight = ("--sensitive-weight", f"{rules.sensitive_weight:g}")
    released, table, traces = file["anotraces"], file["etable"], file["etraces"]
    return [
        PracticeCommands(
            gettext("Defend, and check whether the result is useful enough"),
            [
                _join_command("obfuscate", DEFENCE, file["orgtraces"], released, *places),
                _join_command("check", "obfuscated", released, *places, *original),
                _join_command("score", "utility", *places, *original, "--obfuscated", released, *by_rule),
            ],
        ),
        PracticeCommands(
            gettext("Be the judge: draw pseudonyms"),
            [
                _join_command(
                    "pseudonymise",
                    released,
                    file["pubtraces"],
                    *original,
                    "--id-table",
                    file["ptable"],
                    *places,
                )
            ],
        ),
        PracticeCommands(
            gettext("Attack: who is who"),
            [
                _join_command("attack", WHO, table, *attacker),
                _join_command("check", "inferred-table", table, *attacker),
                _join_command("score", "reidentification", "--id-table", file["ptable"], "--inferred", table),
            ],
        ),
        PracticeCommands(
            gettext("Attack: who was where"),
            [
                _join_command("attack", WHERE, traces, *attacker),
                _join_command("check", "inferred-traces", traces, *attacker),
                _join_command("score", "trace-inference", *places, *original, "--inferred", traces, *weight),
            ],
        ),
    ]


def _join_command(*words: str) -> str:
    return shlex.join(("tracearena", *words))


# The forms by which a team hands in files.


def takes_a_file(view: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a view as one whose form may bring a file; others take small forms alone."""
    view.takes_a_file = True  # type: ignore[attr-defined]
    return view


@takes_a_file
@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def submit_obfuscated_form(request: Any, number: int) -> Any:
    """Hand in obfuscated traces of a data set of one's own."""
    data_set = submissions.find_own_data_set(request.user.team, number)
    return _handle_upload_form(request, UploadKind.OBFUSCATED, data_set)


@takes_a_file
@require_http_methods(["GET", "HEAD", "POST"])
@for_team
def submit_attack_form(request: Any, team: str, number: int, kind: str) -> Any:
    """Hand in an attack on a target."""
    if kind not in submissions.ATTACK_UPLOADS:
        raise not_found()
    return _handle_upload_form(request, kind, submissions.find_target(request.user.team, team, number))


def build_empty_form(rules: Rules) -> dict[str, Any]:
    """Return what a form for a file holds: a key of its own, so that it is handed in once."""
    most_mb = rules.largest_file_mb
    return {"key": uuid.uuid4().hex, "limit_mb": most_mb, "most_bytes": most_mb * 2**20, "whole": WHOLE}


def _handle_upload_form(request: Any, kind: str, data_set: DataSet) -> Any:
    team, key = request.user.team, request.POST.get("key", "")
    errand = UploadRequest(team, request.user, kind, data_set, key, "")
    submissions.check_gate(errand)
    if request.method != "POST":
        rules = Contest.get_current().rules
        about = {
            "errand": errand,
            "left": submissions.count_uploads_left(team, kind, data_set, rules),
            "is_late": submissions.is_late_now(kind, team.number),
        }
        return render(request, "team/upload.html", about | build_empty_form(rules))
    file = _read_form_file(request)
    name = submissions.clean_file_name(file.name)
    errand = UploadRequest(team, request.user, kind, data_set, submissions.check_key(key), name)
    found = submissions.accept_submission(errand, file)
    again = "" if found.idempotency_key == errand.key else "?again"
    return redirect(f"/team/submissions/{found.pk}{again}")


def _read_form_file(request: Any) -> Any:
    """Return the file of the form, or say why there is none."""
    # Asked for first: the form is read when its fields are, and a refusal is known then.
    is_whole = request.POST.get("whole") == WHOLE
    file = request.FILES.get("file")
    refusal = getattr(request, "refusal", None)
    if refusal is not None:
        raise refusal
    if file is None:
        raise RequestRefused(400, "no-file", gettext("No file was chosen."))
    if not is_whole:
        raise cut_off()
    return file


class ArchiveUploadHandler(FileUploadHandler):
    """Keeps one archive while its files are handed in, enciphered by a key that is in memory alone."""

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self._archive: CipherFile | None = None
        self._most_bytes: int | None = None
        if getattr(request.user, "team", None) is not None:
            self._most_bytes = Contest.get_current().rules.largest_file_mb * 2**20

    def new_file(self, *args: Any, **named: Any) -> None:
        """Begin with a file, if it is the one that is asked for and its sender may send one."""
        super().new_file(*args, **named)
        if self._most_bytes is None or self._archive is not None:
            raise SkipFile
        self._archive = CipherFile(settings.CONTEST_FOLDER.incoming)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a piece of it."""
        assert self._most_bytes is not None
        assert self._archive is not None
        if start + len(raw_data) > self._most_bytes:
            self.upload_interrupted()
            self.request.refusal = too_large(self._most_bytes)
            raise StopUpload(connection_reset=True)
        self._archive.write(raw_data)

    def file_complete(self, file_size: int) -> File:
        """Hand over the file."""
        assert self._archive is not None
        return File(io.BufferedReader(self._archive), submissions.clean_file_name(self.file_name or ""))

    def upload_interrupted(self) -> None:
        """Leave nothing behind."""
        if self._archive is not None:
            self._archive.close()


@takes_a_file
@csrf_exempt  # only until the way in which the form is read is set: `_handle_archive` is protected
@require_http_methods(["GET", "HEAD", "POST"])
def submit_archive(request: Any) -> Any:
    """Hand in one archive for many targets, and see what became of each of its files."""
    request.upload_handlers = [ArchiveUploadHandler(request)]
    return _handle_archive(request)


@csrf_protect
@for_team
def _handle_archive(request: Any) -> Any:
    contest = Contest.get_current()
    if phase_at(contest.schedule, clock.now()).attacks is Gate.EARLY:
        begin = format_utc(contest.schedule.attack_begin)
        raise RequestRefused(
            409, "early", gettext("You can hand in attacks from %(begin)s.") % {"begin": begin}
        )
    if request.method != "POST":
        return render(request, "team/archive.html", {"accept": ".zip", **build_empty_form(contest.rules)})
    file = _read_form_file(request)
    outcomes = submissions.accept_archive(request.user, file.name, file, request.POST.get("key", ""))
    taken = [one for one in outcomes if one.submission is not None]
    about = {"outcomes": outcomes, "taken": len(taken)}
    return render(request, "team/archive_outcome.html", about, status=200 if taken else 400)
