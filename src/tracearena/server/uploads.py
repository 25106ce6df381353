"""A file while it comes in: sealed to the judge's key, counted and hashed on the way to the disk.

The clear text is in memory for a chunk's length and never on the disk. A file that breaks off, that is
too large or that finds the disk full leaves nothing behind; what a kill leaves behind is swept later.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.utils.translation import gettext

from tracearena.server import clock
from tracearena.server.errors import API, RequestRefused, disk_full, is_disk_full, read_only, render_refusal
from tracearena.server.store.crypto import CHUNK_BYTES, Sealer
from tracearena.server.store.folder import Folder

_STALE_S = 3600
_MB = 2**20
FORM_BYTES = 64 * 1024
"""What a form may bring, besides its file if it has one."""
GIVEN_UP = "tracearena.given_up"
"""Where the environment of a request says why its body was not read to the end: `too_slow`, `too_many`."""


class UploadStream:
    """Takes a file in pieces; `keep` makes it the contest's, and without that nothing stays.

    Parameters
    ----------
    folder
        The contest.
    public_key
        To whom the file is sealed.
    most_bytes
        How large it may be.

    Attributes
    ----------
    name
        As the sender calls it, where a form says so.
    size
        Clear bytes so far.
    sha256
        Their hash, once the file is finished.
    arrived_at
        When the last byte had come.
    """

    def __init__(self, folder: Folder, public_key: bytes, most_bytes: int) -> None:
        self.name = ""
        self.size = 0
        self.sha256 = ""
        self.arrived_at = clock.now()
        self._most_bytes = most_bytes
        self._folder = folder
        self._hash = hashlib.sha256()
        self._part = folder.incoming / secrets.token_hex(16)
        try:
            self._file = open(self._part, "xb", opener=_open_for_group)  # noqa: SIM115
            self._forget = weakref.finalize(self, _remove_part, self._file, self._part)
            self._sealer = Sealer(public_key, self._file)
        except OSError as error:
            raise _explain_error(error) from error

    def write(self, chunk: bytes) -> None:
        """Take some more bytes."""
        self.size += len(chunk)
        if self.size > self._most_bytes:
            self.close()
            raise too_large(self._most_bytes)
        self._hash.update(chunk)
        try:
            self._sealer.write(chunk)
        except OSError as error:
            self.close()
            raise _explain_error(error) from error

    def finish(self) -> None:
        """Take note of the time, and put the file on the disk for good, still under a name of its own."""
        self.arrived_at = clock.now()
        self.sha256 = self._hash.hexdigest()
        try:
            self._sealer.finish()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            self.close()
            raise _explain_error(error) from error

    def keep(self) -> None:
        """Give the finished file the name of its hash; it survives a power cut from here on."""
        place = self._folder.upload(self.sha256)
        try:
            place.parent.mkdir(mode=0o750, exist_ok=True)
            self._part.rename(place)
            for folder in (place.parent, self._folder.uploads, self._folder.incoming):
                descriptor = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise _explain_error(error) from error

    def close(self) -> None:
        """Leave nothing of it behind, unless it was kept."""
        self._forget()


def open_upload_stream(most_mb: int) -> UploadStream:
    """Begin to take in a file for the contest that is held."""
    folder = settings.CONTEST_FOLDER
    remove_stale_uploads(folder)
    return UploadStream(folder, bytes.fromhex(settings.CONTEST_SECRETS.judge_public_key), most_mb * _MB)


def read_body(request: Any, most_mb: int) -> Iterator[bytes]:
    """Yield the body of a request; one that breaks off is an error, not a short file."""
    length = _parse_length(request)
    if length > most_mb * _MB:
        raise too_large(most_mb * _MB)
    come = 0
    while True:
        try:
            chunk = request.read(CHUNK_BYTES)
        except OSError:
            raise cut_off() from None
        if not chunk:
            break
        come += len(chunk)
        yield chunk
    if come != length:
        raise cut_off()


def too_large(most_bytes: int) -> RequestRefused:
    """Say how large a file may be."""
    most_mb = most_bytes // _MB
    message = gettext("A file has at most %(most)s MiB; this one is larger.") % {"most": most_mb}
    return RequestRefused(413, "too-large", message, most_mb=most_mb)


def remove_stale_uploads(folder: Folder) -> None:
    """Remove what uploads left behind that were killed an hour ago or earlier."""
    for part in folder.incoming.iterdir():
        try:
            if time.time() - part.stat().st_mtime > _STALE_S:
                part.unlink()
        except FileNotFoundError:
            continue


class BodyLimitMiddleware:
    """Decides by the header of a request whether its body is read: where to, how large, from whom.

    The API reads its bodies itself, and only those of uploads.
    """

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        why = request.environ.get(GIVEN_UP)
        return self._get_response(request) if why is None else render_refusal(request, why())

    def process_view(self, request: Any, *_: Any) -> Any:
        """Answer instead of the view where the body is not wanted."""
        if request.path.startswith(API) or request.method in ("GET", "HEAD"):
            return None
        try:
            _check_form(request)
        except RequestRefused as refused:
            return render_refusal(request, refused)
        return None


def _check_form(request: Any) -> None:
    is_empty = not request.META.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" not in request.META
    length = 0 if is_empty else _parse_length(request)
    if length <= FORM_BYTES:
        return
    if not getattr(request.resolver_match.func, "takes_a_file", False):
        raise RequestRefused(
            413, "too-large", gettext("A form without a file has at most 64 KB; this one is larger.")
        )
    most_mb = _find_limit_mb(request)
    if most_mb is None:
        raise RequestRefused(
            403, "not-a-team", gettext("Only members of a team can hand in files. Log in first.")
        )
    if length > most_mb * _MB + FORM_BYTES:
        raise too_large(most_mb * _MB)


class SealingUploadHandler(FileUploadHandler):
    """Takes the file of a form in, by Django's way of handing it over.

    A form that takes no file, or somebody who may not upload, gets nothing onto the disk. Why a file was
    not taken is left in ``request.refusal``, for the view to say.
    """

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self._receiving: UploadStream | None = None
        self._is_done = False

    def new_file(self, *args: Any, **named: Any) -> None:
        """Begin with a file."""
        super().new_file(*args, **named)
        most_mb = _find_limit_mb(self.request)
        if most_mb is None or self._is_done:
            raise SkipFile
        self._is_done = True
        try:
            self._receiving = open_upload_stream(most_mb)
        except RequestRefused as refusal:
            self._stop(refusal)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a piece of it."""
        assert self._receiving is not None
        try:
            self._receiving.write(raw_data)
        except RequestRefused as refusal:
            self._stop(refusal)

    def file_complete(self, file_size: int) -> UploadStream | None:
        """Hand over the file, not yet finished."""
        received, self._receiving = self._receiving, None
        if received is not None:
            received.name = self.file_name or ""
        return received

    def upload_interrupted(self) -> None:
        """Leave nothing behind."""
        if self._receiving is not None:
            self._receiving.close()

    def _stop(self, refusal: RequestRefused) -> None:
        self.request.refusal = refusal
        self.upload_interrupted()
        raise StopUpload(connection_reset=True)


def _find_limit_mb(request: Any) -> int | None:
    """Return how large a file this request may bring, None if it may bring none."""
    from tracearena.server.models import Contest

    view = getattr(request.resolver_match, "func", None)
    if not getattr(view, "takes_a_file", False) or getattr(request.user, "team", None) is None:
        return None
    return Contest.get_current().rules.largest_file_mb


def _parse_length(request: Any) -> int:
    try:
        # A body in chunks has no length that counts, whatever else its header says.
        return int("" if "HTTP_TRANSFER_ENCODING" in request.META else request.META["CONTENT_LENGTH"])
    except (KeyError, ValueError):
        raise RequestRefused(
            411,
            "no-length",
            gettext("The request does not state the length of its body: send Content-Length."),
        ) from None


def cut_off() -> RequestRefused:
    """Say that a file did not come whole."""
    message = gettext("The connection broke before the end of the file. Nothing was kept: send it again.")
    return RequestRefused(400, "cut-off", message)


def too_slow() -> RequestRefused:
    """Say that a body came too slowly to be waited for."""
    message = gettext("This upload was too slow, under 16 KB per second. Nothing was kept: send it again.")
    return RequestRefused(408, "too-slow", message)


def too_many() -> RequestRefused:
    """Say that a body waited too long for others to come in."""
    message = gettext(
        "Your team, or all teams together, are sending too many files at once. Send it again later."
    )
    return RequestRefused(429, "too-many", message)


def _explain_error(error: OSError) -> Exception:
    if error.errno == errno.EROFS:
        return read_only()
    return disk_full() if is_disk_full(error) else error


def _open_for_group(path: str, flags: int) -> int:
    """Open a file that the folder's group may read: it is sealed, and the judge may be another user."""
    return os.open(path, flags, 0o640)


def _remove_part(file: Any, part: Path) -> None:
    try:
        file.close()
    except OSError:  # what is still in the buffer finds the disk as full as before
        pass
    finally:
        part.unlink(missing_ok=True)
