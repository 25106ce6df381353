"""The forms by which a team hands in files."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from tracearena.contest import Gate, Rules, phase_at
from tracearena.server import clock, submissions
from tracearena.server.errors import RequestRefused, not_found
from tracearena.server.models import Contest, DataSet, UploadKind
from tracearena.server.store.crypto import CipherFile
from tracearena.server.submissions import UploadRequest
from tracearena.server.uploads import UploadStream, cut_off, too_large
from tracearena.server.web.middleware import for_team

WHOLE = "yes"
"""Value of the field behind the file: it is there only if the form has come whole."""


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
    given = request.POST
    team = request.user.team
    errand = UploadRequest(team, request.user, kind, data_set, given.get("key", ""), "")
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
    key = submissions.check_key(given.get("key", ""))
    found = submissions.accept_submission(UploadRequest(team, request.user, kind, data_set, key, name), file)
    return redirect(f"/team/submissions/{found.pk}")


def _read_form_file(request: Any) -> UploadStream:
    """Return the file of the form, or say why there is none."""
    refusal = getattr(request, "refusal", None)
    if refusal is not None:
        raise refusal
    file = request.FILES.get("file")
    if file is None:
        raise RequestRefused(400, "no-file", gettext("No file was chosen."))
    if request.POST.get("whole") != WHOLE:
        raise cut_off()
    return file


# The form by which a team hands in attacks on many targets at once.


class ArchiveUploadHandler(FileUploadHandler):
    """Keeps one archive while its files are handed in, enciphered by a key that is in memory alone."""

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self._archive: CipherFile | None = None
        self._most_bytes = _find_archive_limit(request)

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
        begin = contest.schedule.attack_begin.isoformat()
        raise RequestRefused(409, "early", gettext("Attacks are taken from %(begin)s on.") % {"begin": begin})
    if request.method != "POST":
        return render(request, "team/archive.html", {"accept": ".zip", **build_empty_form(contest.rules)})
    file = _read_archive_file(request)
    outcomes = submissions.accept_archive(request.user, file.name, file, request.POST.get("key", ""))
    taken = [one for one in outcomes if one.submission is not None]
    about = {"outcomes": outcomes, "taken": len(taken)}
    return render(request, "team/archive_outcome.html", about, status=200 if taken else 400)


def _read_archive_file(request: Any) -> Any:
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


def _find_archive_limit(request: Any) -> int | None:
    """Return how large an archive this request may bring, None if it may bring none."""
    if getattr(request.user, "team", None) is None:
        return None
    return Contest.get_current().rules.largest_file_mb * 2**20
