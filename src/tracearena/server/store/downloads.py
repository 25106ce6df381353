"""Files for download: everybody's, and a team's own, whole or in part."""

from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from django.conf import settings
from django.http import HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.utils.http import content_disposition_header, parse_etags

from tracearena.contest import ContestFile, Role, format_contest_file, read_contest_file
from tracearena.contest.contest_file import NAME as CHARTER
from tracearena.contest.data import (
    ATTACK_LETTER,
    COMMITMENTS,
    LETTER,
    format_public_letter,
    format_team_letter,
)
from tracearena.files import digest_file, digest_values, replacing
from tracearena.io.pwscup import PwsName
from tracearena.pages.svg.canvas import replace_invisible
from tracearena.server import clock
from tracearena.server.errors import not_found
from tracearena.server.models import Contest, DataSet, Team
from tracearena.server.store.crypto import unseal
from tracearena.server.store.folder import Folder

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_FILE_PIECE_BYTES = 2**18
_LONGEST_NAME = 60
_hash_lock = threading.Lock()


def public_files(*, with_targets: bool | None = None) -> list[Path]:
    """Return what everybody who takes part may have now; targets come when the attack phase begins.

    All of them at once, when the judge has the last one ready: so nobody starts earlier than others.

    Parameters
    ----------
    with_targets
        Whether the targets are among them; by default the clock decides.
    """
    if with_targets is None:
        with_targets = Contest.get_current().has_targets(clock.now())
    targets = set(Team.objects.exclude(role=Role.SAMPLE).values_list("number", flat=True))
    found = (path for path in settings.CONTEST_FOLDER.everybody.iterdir() if path.is_file())
    # What stands under a temporary name is not there yet, and does not say whose it is.
    files = sorted(path for path in found if not path.name.startswith("."))
    return [path for path in files if with_targets or not _comes_with_targets(path, targets)]


def describe_file(path: Path) -> dict[str, Any]:
    """Return name, size and hash of a file."""
    state = path.stat()
    # One at a time: many who ask for the same page at once do not all read the same files.
    with _hash_lock:
        sha256 = _hash_file_cached(path, state.st_mtime_ns, state.st_size)
    return {"name": path.name, "size": state.st_size, "sha256": sha256}


def send_public(request: Any, name: str) -> Any:
    """Answer with one of everybody's files."""
    path = next((path for path in public_files() if path.name == name), None)
    if path is None:
        raise not_found()
    return send_file(request, path)


def send_file(request: Any, path: Path) -> Any:
    """Answer with a file that anybody may have who asks for it; who that is, is for the caller to know."""
    about = describe_file(path)
    return _send_pieces(request, path.name, about["size"], about["sha256"], partial(_read_file_pieces, path))


def send_archive(request: Any, path: Path, name: str) -> Any:
    """Answer with an archive whose own name says what is in it, under a name for people."""
    return _send_pieces(request, name, path.stat().st_size, path.stem, partial(_read_file_pieces, path))


def send_bundle(request: Any, team: Team, team_key: bytes) -> Any:
    """Answer with the files of a team's own, opened by its key."""
    path = settings.CONTEST_FOLDER.for_team(team.number)
    charter = build_contest_file(Contest.get_current()).for_everybody
    texts = format_contest_file(charter), format_team_letter(charter, team.number)
    with _bundle_lock:
        place = path, path.stat().st_mtime_ns, team_key, texts
        bundle = _bundles.get(place)
        if bundle is None:
            content = _add_texts(unseal(team_key, path.read_bytes()), *texts)
            bundle = _bundles[place] = _Bundle(content)
    return _send_pieces(request, f"team{team.number}.zip", len(bundle.content), bundle.tag, bundle.pieces)


def _add_texts(packed: bytes, charter: str, letter: str) -> bytes:
    """Add the contest's file and the letter, as they are now, to the traces of a team."""
    whole = io.BytesIO(packed)
    with zipfile.ZipFile(whole, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ((CHARTER, charter), (LETTER, letter)):
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def build_contest_file(contest: Contest) -> ContestFile:
    """Return the contest as it stands now, with the schedule and the names that it has by now."""
    teams = Team.objects.filter(role=Role.TEAM)
    names = {team.number: _fit_name(team.name) for team in teams if team.is_named}
    made = read_contest_file(settings.CONTEST_FOLDER.contest_file)
    return replace(made, schedule=contest.schedule, extra_time=contest.extra_time, names=names)


def _fit_name(name: str) -> str:
    """Return a name; one that the contest's file cannot hold, made so: it must not stop the judge."""
    is_fit = name.isprintable() and len(name) <= _LONGEST_NAME
    return name if is_fit else replace_invisible(name[:_LONGEST_NAME])


def write_public_texts(folder: Folder, contest: Contest) -> None:
    """Bring the contest's file, and once all targets are there the letter about them, up to date."""
    charter = build_contest_file(contest).for_everybody
    texts = {CHARTER: format_contest_file(charter)}
    if not DataSet.objects.filter(closed_at__isnull=True).exists():
        released = DataSet.objects.filter(released_at__isnull=False).order_by("team__number")
        targets = list(dict.fromkeys(released.values_list("team__number", flat=True)))
        texts[ATTACK_LETTER] = format_public_letter(charter, targets)
    for name, text in texts.items():
        path, content = folder.everybody / name, text.encode()
        if not path.is_file() or path.read_bytes() != content:
            with replacing(path) as file:
                file.write(content)


class _Bundle:
    """A bundle that was opened: it is in memory once for all who read it at the same time."""

    def __init__(self, content: bytes) -> None:
        self.content, self.tag = content, digest_values(content)

    def pieces(self, start: int, stop: int) -> Iterator[bytes]:
        for at in range(start, stop, _FILE_PIECE_BYTES):
            yield self.content[at : min(stop, at + _FILE_PIECE_BYTES)]


_bundle_lock = threading.Lock()
_bundles: WeakValueDictionary[tuple[Path, int, bytes, tuple[str, str]], _Bundle] = WeakValueDictionary()
"""Those that somebody reads, by place, time of change, the key that opens them, and the texts in them."""


def _send_pieces(request: Any, name: str, size: int, tag: str, pieces: Any) -> Any:
    etag = f'"{tag}"'
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if etag in known or known == ["*"]:
        response = HttpResponseNotModified()
    else:
        response = _build_range_response(request, name, size, etag, pieces)
    response.headers["ETag"] = etag
    response.headers["Accept-Ranges"] = "bytes"
    return response


def _build_range_response(request: Any, name: str, size: int, etag: str, pieces: Any) -> Any:
    wanted = _parse_range(request, size, etag)
    if wanted is None:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    start, stop, is_part = wanted
    response = StreamingHttpResponse(pieces(start, stop), status=206 if is_part else 200)
    response.headers["Content-Type"] = (
        "application/zip" if name.endswith((".zip", ".whl")) else "text/plain; charset=utf-8"
    )
    response.headers["Content-Length"] = str(stop - start)
    response.headers["Content-Disposition"] = content_disposition_header(True, name)
    if is_part:
        response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return response


def _parse_range(request: Any, size: int, etag: str) -> tuple[int, int, bool] | None:
    """Return begin, end, and whether it is a part; None for a part that the file does not have.

    A part is sent only of the version that the client has the beginning of (If-Range).
    """
    match = _RANGE.fullmatch(request.headers.get("Range", ""))
    same = request.headers.get("If-Range", etag) == etag
    if match is None or match[0] == "bytes=-" or not same:
        return 0, size, False
    first, last = match.groups()
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    return None if start >= stop else (start, stop, True)


def _read_file_pieces(path: Path, start: int, stop: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < stop and (piece := file.read(min(_FILE_PIECE_BYTES, stop - start))):
            start += len(piece)
            yield piece


@lru_cache(maxsize=1_000)
def _hash_file_cached(path: Path, changed_at: int, size: int) -> str:
    return digest_file(path)


def _comes_with_targets(path: Path, teams: set[str]) -> bool:
    if path.name in (COMMITMENTS, ATTACK_LETTER):
        return path.name == ATTACK_LETTER
    try:
        return f"{PwsName.parse(path).team:03d}" in teams
    except ValueError:
        return False


# Everybody's files as one archive: the judge writes it once, and the web sends that file.


def find_public_archive(folder: Folder, files: Sequence[Path]) -> Path:
    """Return where the archive of some files lies, if it is written."""
    states = ((path.name, path.stat()) for path in files)
    listed = "".join(f"{name} {state.st_size} {state.st_mtime_ns}\n" for name, state in states)
    return folder.public_archives / f"{digest_values(listed)}.zip"


def write_public_archives(folder: Folder) -> None:
    """Write what is missing: an archive with the targets and one without; remove those out of date."""
    wanted = set()
    for with_targets in (False, True):
        files = public_files(with_targets=with_targets)
        path = find_public_archive(folder, files)
        wanted.add(path)
        if not path.exists():
            folder.public_archives.mkdir(exist_ok=True)
            with replacing(path) as file:
                for piece in stream_zip(files):
                    file.write(piece)
    for path in folder.public_archives.glob("*.zip"):
        if path not in wanted:
            path.unlink(missing_ok=True)


class _Sink:
    """Takes what the archive is made of, until somebody takes it on."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes, /) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Do nothing: there is nothing behind it."""

    def close(self) -> None:
        """Do nothing likewise."""

    def take(self) -> bytes:
        whole, self._pieces = b"".join(self._pieces), []
        return whole


def stream_zip(files: Iterable[Path]) -> Iterator[bytes]:
    """Yield a ZIP archive of some files, piece by piece."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in files:
            info = zipfile.ZipInfo.from_file(path, path.name)
            info.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as file, archive.open(info, "w") as member:
                while piece := file.read(_FILE_PIECE_BYTES):
                    member.write(piece)
                    yield sink.take()
    yield sink.take()
