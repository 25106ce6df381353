"""Read ZIP and tar archives file by file, within limits, with plain files and plain names only."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tracearena.errors import FileError
from tracearena.files.atomic import name_in_errors, scratch_folder
from tracearena.files.io import MAX_BYTES, SupportsRead, UnpackingReader, limit_error, require_expansion

TAR_NAMES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
NAMES = (*TAR_NAMES, ".zip")
"""How the names of archives end."""

ZIP_STARTS = (b"PK\3\4", b"PK\5\6")
"""The first bytes of a ZIP archive."""

MAX_ARCHIVE_BYTES = 64 * 2**30
"""Bytes of all files of an archive that is read as a stream."""

MAX_UNPACKED_BYTES = 16 * 2**30
"""Bytes of all files of an archive that is unpacked to disk."""

MOST_FILES = 1_000_000
_OTHERS = (".7z", ".rar", ".kmz")
_LONGEST_NAME = 1000
_PIECE = 2**20
_ENTRY = b"PK\1\2"
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, NotImplementedError,
           RuntimeError, ValueError, OSError)  # fmt: skip


@dataclass(frozen=True)
class ArchiveMember:
    """One file of an archive: its path inside, its size, and its content, to be read before the next."""

    name: str
    size: int
    content: SupportsRead

    def read(self, place: Path, most: int) -> bytes:
        """Return the content, or raise an error if it is too long."""
        data = self.content.read(most + 1)
        if len(data) > most:
            raise limit_error(f"{place}: {self.name}", most)
        return data


class _MemberContent:
    """The content of a file in an archive; what is broken there is an error of the archive."""

    def __init__(self, place: Path, kind: str, content: SupportsRead) -> None:
        self._place, self._kind, self._content = place, kind, content

    def read(self, size: int = -1, /) -> bytes:
        with _refuse_broken(self._place, self._kind):
            return self._content.read(size)


@contextmanager
def _refuse_broken(place: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        # What is unpacked badly is an error of the system without a number.
        if isinstance(error, FileError) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise FileError.whole(place, f"is not a complete {kind} archive: {error}", "bad-archive") from None


def is_archive(path: str | PathLike[str]) -> bool:
    """Whether a file is called like an archive, or begins as one."""
    place = Path(path)
    if not place.is_file():
        return False
    if place.name.endswith(NAMES):
        return True
    with open(place, "rb") as file:
        return file.read(4) in ZIP_STARTS


def iter_members(path: str | PathLike[str], *, most_files: int = MOST_FILES) -> Iterator[ArchiveMember]:
    """Give the files of an archive, without unpacking it to disk.

    Folders, and files that systems add (hidden ones, ``__MACOSX``), are passed over.

    Parameters
    ----------
    most_files
        How many it may hold, folders and hidden ones included.

    Raises
    ------
    FileError
        For an archive that is broken or encrypted, unpacks beyond all proportion, or holds links,
        devices, other archives, names that lead out of it, or too many files.
    """
    place = Path(path)
    found = _iter_tar_members(place) if place.name.endswith(TAR_NAMES) else _iter_zip_members(place)
    yield from _iter_plain_members(place, found, most_files)


def iter_open_members(name: str, file: IO[bytes], most_files: int) -> Iterator[ArchiveMember]:
    """Give the files of a ZIP archive that is open already, as `iter_members` does.

    Parameters
    ----------
    name
        What errors call it.
    file
        The archive, read at any place.
    most_files
        How many it may hold, folders and hidden ones included: their list alone takes memory.
    """
    place = Path(name)
    # How often an entry of a list of files begins; elsewhere its four bytes come once in 4 GB.
    entries, before = 0, b""
    file.seek(0)
    while piece := file.read(_PIECE):
        piece = before + piece
        entries += piece.count(_ENTRY)
        before = piece[1 - len(_ENTRY) :]
    if entries > most_files:
        raise FileError.whole(place, f"has more than {most_files:,} files", "too-large")
    yield from _iter_plain_members(place, _iter_zip_members(place, file), most_files)


def _iter_plain_members(
    place: Path, found: Iterator[ArchiveMember], most_files: int
) -> Iterator[ArchiveMember]:
    """Give the files of an archive without those that systems add, and refuse what is no plain file."""
    for number, member in enumerate(found, 1):
        if number > most_files:
            raise FileError.whole(place, f"has more than {most_files:,} files", "too-large")
        parts = PurePosixPath(member.name).parts
        if not _is_plain(member.name, parts):
            problem = "has a file name that is not allowed or leads out of the archive; it is refused"
            raise FileError.whole(place, problem, "bad-name", member.name[:_LONGEST_NAME])
        if any(part.startswith((".", "__MACOSX")) for part in parts):
            continue
        if member.name.lower().endswith((*NAMES, *_OTHERS)):
            problem = "contains another archive; unpack the outer one first"
            raise FileError.whole(place, problem, "nested-archive", member.name)
        yield member


@contextmanager
def unpack_archive(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder with the files of an archive, which is removed after the block."""
    total = 0
    with scratch_folder() as folder:
        for member in iter_members(path):
            target = folder / member.name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                total += _copy_member(member, target, path, MAX_UNPACKED_BYTES - total)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                raise FileError.whole(
                    path, "has two files with the same name", "bad-name", member.name
                ) from None
        yield folder


def iter_unpacked_files(path: str | PathLike[str]) -> Iterator[Path]:
    """Give the files of an archive as files, of which each is gone when the next comes."""
    for member in iter_members(path):
        with scratch_folder() as folder:
            target = folder / PurePosixPath(member.name).name
            _copy_member(member, target, path, MAX_UNPACKED_BYTES)
            yield target


def _copy_member(member: ArchiveMember, target: Path, path: str | PathLike[str], left: int) -> int:
    """Write a file of an archive, and return its length."""
    with open(target, "xb") as out:
        while piece := member.content.read(_PIECE):
            if out.tell() + len(piece) > min(left, MAX_BYTES):
                raise limit_error(f"{path}: {member.name}", MAX_BYTES)
            out.write(piece)
        return out.tell()


def _is_plain(name: str, parts: Sequence[str]) -> bool:
    if not parts or len(name) > _LONGEST_NAME or any(len(part.encode()) > 255 for part in parts):
        return False
    return not (name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0] or "\0" in name)


def _iter_tar_members(place: Path) -> Iterator[ArchiveMember]:
    total = 0
    with name_in_errors(place), _refuse_broken(place, "tar"), open(place, "rb") as raw:
        stream: Any = UnpackingReader(place, raw, _find_unpacker(raw))
        # A name in another encoding would hold halves of letters, which no report can print.
        archive = tarfile.open(fileobj=stream, mode="r|", errors="replace")  # noqa: SIM115 (it holds `raw` only)
        for member in archive:
            if member.isdir():
                continue
            if not member.isfile():
                problem = "contains a link or a device; it is refused"
                raise FileError.whole(place, problem, "link", member.name[:_LONGEST_NAME])
            total += member.size
            if total > MAX_ARCHIVE_BYTES:
                raise limit_error(place, MAX_ARCHIVE_BYTES)
            content = archive.extractfile(member)
            if content is not None:
                yield ArchiveMember(
                    member.name.removeprefix("./"), member.size, _MemberContent(place, "tar", content)
                )


def _find_unpacker(raw: IO[bytes]) -> Callable[[Any], Any]:
    """Return what unpacks the tar archive in a file, by the first bytes of the file."""
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return lambda file: gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        return bz2.BZ2File
    return lzma.LZMAFile if start.startswith(b"\xfd7zXZ\0") else lambda file: file


def _iter_zip_members(place: Path, file: IO[bytes] | None = None) -> Iterator[ArchiveMember]:
    with (
        name_in_errors(place),
        _refuse_broken(place, "zip"),
        zipfile.ZipFile(place if file is None else file) as archive,
    ):
        size = place.stat().st_size if file is None else file.seek(0, io.SEEK_END)
        # Sizes that an archive does not keep to are cut off where they are read.
        total = sum(member.file_size for member in archive.infolist())
        require_expansion(place, size, total)
        if total > MAX_ARCHIVE_BYTES:
            raise limit_error(place, MAX_ARCHIVE_BYTES)
        for member in archive.infolist():
            if member.is_dir():
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                raise FileError.whole(place, "has a link, which is not allowed", "link", member.filename)
            if member.flag_bits & 1:
                problem = "is encrypted; unpack it with its password first"
                raise FileError.whole(place, problem, "encrypted", member.filename)
            with archive.open(member) as content:
                yield ArchiveMember(member.filename, member.file_size, _MemberContent(place, "zip", content))
