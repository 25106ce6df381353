"""The form by which a team hands in attacks on many targets at once."""

from __future__ import annotations

import io
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from tracearena.contest import Gate, phase_at
from tracearena.server import clock
from tracearena.server.models import Contest
from tracearena.server.refused import Refused
from tracearena.server.site.views.roles import for_team
from tracearena.server.site.views.uploading import WHOLE, empty_form, takes_a_file
from tracearena.server.store.enciphered import EncipheredFile
from tracearena.server.uploads import attack_archives, submitting
from tracearena.server.uploads.receiving import cut_off, too_large


class Handler(FileUploadHandler):
    """Keeps one archive while its files are handed in, enciphered by a key that is in memory alone."""

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self._archive: EncipheredFile | None = None
        self._most_bytes = _most_bytes(request)

    def new_file(self, *args: Any, **named: Any) -> None:
        """Begin with a file, if it is the one that is asked for and its sender may send one."""
        super().new_file(*args, **named)
        if self._most_bytes is None or self._archive is not None:
            raise SkipFile
        self._archive = EncipheredFile(settings.CONTEST_FOLDER.incoming)

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
        return File(io.BufferedReader(self._archive), submitting.harmless_name(self.file_name or ""))

    def upload_interrupted(self) -> None:
        """Leave nothing behind."""
        if self._archive is not None:
            self._archive.close()


@takes_a_file
@csrf_exempt  # only until the way in which the form is read is set: `_archive` is protected
@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: Any) -> Any:
    """Hand in one archive for many targets, and see what became of each of its files."""
    request.upload_handlers = [Handler(request)]
    return _archive(request)


@csrf_protect
@for_team
def _archive(request: Any) -> Any:
    contest = Contest.now_held()
    if phase_at(contest.schedule, clock.now()).attacks is Gate.EARLY:
        begin = contest.schedule.attack_begin.isoformat()
        raise Refused(409, "early", gettext("Attacks are taken from %(begin)s on.") % {"begin": begin})
    if request.method != "POST":
        return render(request, "team/archive.html", {"accept": ".zip", **empty_form(contest.rules)})
    file = _file(request)
    outcomes = attack_archives.hand_in_all(request.user, file.name, file, request.POST.get("key", ""))
    taken = [one for one in outcomes if one.submission is not None]
    about = {"outcomes": outcomes, "taken": len(taken)}
    return render(request, "team/archive_outcome.html", about, status=200 if taken else 400)


def _file(request: Any) -> Any:
    # Asked for first: the form is read when its fields are, and a refusal is known then.
    is_whole = request.POST.get("whole") == WHOLE
    file = request.FILES.get("file")
    refusal = getattr(request, "refusal", None)
    if refusal is not None:
        raise refusal
    if file is None:
        raise Refused(400, "no-file", gettext("No file was chosen."))
    if not is_whole:
        raise cut_off()
    return file


def _most_bytes(request: Any) -> int | None:
    """Return how large an archive this request may bring, None if it may bring none."""
    if getattr(request.user, "team", None) is None:
        return None
    return Contest.now_held().rules.largest_file_mb * 2**20
