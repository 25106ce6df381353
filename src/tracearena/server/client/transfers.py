"""Files up and down, so that a line that breaks costs time and nothing else."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import quote

from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files import make_folder, replacing
from tracearena.server.client.connection import Client

Progress: TypeAlias = Callable[[int, int], None]
_PIECE = 2**18
_NOT_TAKEN = "judge error"
_LARGEST_BUNDLE_BYTES = 2**32


def upload(client: Client, path: str, file: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Hand a file in, and return the receipt.

    What was handed in last for the same purpose, if it has the same content, is not sent again: its
    receipt is the answer, so a command whose line broke can be repeated. Within one call a broken line
    is tried again under the same key.

    Parameters
    ----------
    path
        Where to: ``uploads/obfuscated/1`` or ``uploads/attack/002/1/inferred-table``.
    """
    size = file.stat().st_size
    most = client.get("contest")["rules"]["largest_file_mb"] * 2**20
    if size > most:
        raise FileError.whole(file, f"has {size:,} bytes; the most is {most:,}", "too-large")
    sha256 = _sha256(file)
    before = _last(client, path)
    if before is not None and before["sha256"] == sha256 and before["state"] != _NOT_TAKEN:
        return before
    said = f"{path} {sha256} after {0 if before is None else before['id']}"
    headers = {
        "Idempotency-Key": hashlib.sha256(said.encode()).hexdigest(),
        "X-File-Name": quote(file.name),
        "Content-Type": "application/octet-stream",
        "Content-Length": str(size),
    }
    receipt: dict[str, Any] = client.post(path, lambda: _pieces(file, size, progress), headers)
    if receipt["sha256"] != sha256:
        raise DataError(f"{file}: the server has other bytes than were sent; hand it in again")
    return receipt


def download(
    client: Client, path: str, target: Path, *, sha256: str, size: int, progress: Progress | None = None
) -> bool:
    """Fetch a file whole and checked; False if it is there already.

    What came before the line broke lies beside it, under a name that says of which version it is, and is
    gone on with, by this call or the next.
    """
    if target.is_file() and _sha256(target) == sha256:
        return False
    part = target.with_name(f".{target.name}.{sha256[:16]}.part")
    client.patiently(lambda: _fetched(client, path, part, sha256, size, progress))
    if _sha256(part) != sha256:
        part.unlink()
        raise DataError(f"{target.name}: came otherwise than the server has it; fetch it again")
    with open(part, "rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)
    return True


def download_bundle(client: Client, folder: Path, progress: Progress | None = None) -> list[Path]:
    """Fetch a team's own traces, and unpack them; original traces are for their owner alone."""
    make_folder(folder)
    with client.stream("data/bundle", {"Range": "bytes=0-0"}) as answer:
        sha256 = answer.headers["ETag"].strip('"')
        size = int(answer.headers["Content-Range"].rpartition("/")[2])
    packed = folder / ".bundle.zip"
    download(client, "data/bundle", packed, sha256=sha256, size=size, progress=progress)
    try:
        return _unpacked(packed, folder)
    finally:
        packed.unlink()


def _unpacked(packed: Path, folder: Path) -> list[Path]:
    written = []
    with zipfile.ZipFile(packed) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _LARGEST_BUNDLE_BYTES:
            raise DataError("the bundle unpacks to more than it can hold")
        for entry in archive.infolist():
            if PurePosixPath(entry.filename).name != entry.filename or entry.filename.startswith("."):
                raise DataError(f"the bundle holds a name that is none: {entry.filename!a}")
            target = folder / entry.filename
            with replacing(target, private=target.name.startswith("orgtraces")) as out:
                out.write(archive.read(entry))
            written.append(target)
    return written


def _fetched(
    client: Client, path: str, part: Path, sha256: str, size: int, progress: Progress | None
) -> None:
    """Go on with what is there of a file; a server that sends another version begins anew."""
    have = part.stat().st_size if part.is_file() else 0
    if have == size:
        return
    headers = {"Range": f"bytes={have}-", "If-Range": f'"{sha256}"'} if have else {}
    with (
        client.stream(path, headers) as answer,
        open(part, "ab" if answer.status_code == 206 else "wb") as out,
    ):
        for piece in answer.iter_bytes():
            out.write(piece)
            if out.tell() > size:
                break
            if progress is not None:
                progress(out.tell(), size)


def _last(client: Client, path: str) -> dict[str, Any] | None:
    """Return what was handed in last for a purpose."""
    kind, target, data_set = _purpose(path)
    found = None
    after = 0
    while page := client.get("submissions", after=after):
        after = page[-1]["id"]
        for one in page:
            if (one["kind"], one["target"], one["data_set"]) == (kind, target, data_set):
                found = one
    return found


def _purpose(path: str) -> tuple[str, str | None, int]:
    words = path.split("/")
    if words[:2] == ["uploads", "obfuscated"] and len(words) == 3:
        return "obfuscated", None, int(words[2])
    if words[:2] == ["uploads", "attack"] and len(words) == 5:
        return words[4], words[2], int(words[3])
    raise ParameterError(f"{path}: nothing is handed in there")


def _pieces(file: Path, size: int, progress: Progress | None) -> Iterator[bytes]:
    with open(file, "rb") as content:
        while piece := content.read(_PIECE):
            yield piece
            if progress is not None:
                progress(content.tell(), size)


def _sha256(file: Path) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
