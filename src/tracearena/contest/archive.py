"""Archives of finished contests: zip files with which anyone can judge the contest again.

Inside is a contest's folder as `tracearena.contest.data` lays it out, with the results, and a manifest with
the hash of every file::

    manifest.json       versions, who was released, the awards, SHA-256 of every other file
    manifest.json.sig   the contest's public key and its signature, where it was held on a server
    contest.toml        name, rules, schedule
    preliminary.csv     totals of a round before this one, where there was one
    judge/              ID tables, salts, users of live boards, what was released, answers of the judge's
                        attacks; original traces only where they may be given away, and without them no
                        obfuscated traces but the released ones
    everybody/          what everybody had, the commitments among it
    submissions/        what the teams handed in and what counts, with the times of arrival
    results/            board, matrices, sums, awards; the audit log of a contest on a server
"""

from __future__ import annotations

import json
import shutil
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from tracearena import __version__
from tracearena.contest import contest_file
from tracearena.contest.commitments import sign
from tracearena.contest.contest_file import read_contest_file
from tracearena.contest.data import EVERYBODY, JUDGE, MANIFEST, SUBMISSIONS
from tracearena.contest.file_judge import SCORER_VERSION
from tracearena.contest.submissions import SCORE_CACHE
from tracearena.errors import FileError
from tracearena.files import digest_file, digest_values, read_bytes, replacing
from tracearena.files.archives import unpack_archive

RESULTS, BOARD, PRELIMINARY = "results", "board.json", "preliminary.csv"
WRITE_UPS = "write_ups.json"
"""What teams say of their defences and attacks, and where their code is."""
SIGNATURE, AUDIT_LOG = f"{MANIFEST}.sig", "audit_log.json"
FORMAT, VERSION = "tracearena-contest-archive", 1
_FOLDERS = (JUDGE, EVERYBODY, SUBMISSIONS, RESULTS)
_FILES = (contest_file.NAME, PRELIMINARY)
_KEPT_BACK = (f"{JUDGE}/{SCORE_CACHE}", f"{JUDGE}/{MANIFEST}")
"""Scores that would be believed and not found again, and seeds that would give originals away."""
_HANDED_IN = "anotraces"
_EVERY_DATE = (1980, 1, 1, 0, 0, 0)
_MOST_FILES = 100_000


@dataclass(frozen=True)
class Archive:
    """An unpacked archive: the folder of the contest, and its manifest."""

    folder: Path
    manifest: Mapping[str, Any]

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of every file, from the manifest."""
        return dict(self.manifest["sha256"])

    def files(self) -> list[str]:
        """Return all files except the manifest, by their names in the archive."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        names = sorted(path.relative_to(self.folder).as_posix() for path in found)
        return [name for name in names if name not in (MANIFEST, SIGNATURE)]


def write_archive(
    folder: str | PathLike[str],
    path: str | PathLike[str],
    *,
    originals: bool = False,
    signing_key: bytes | None = None,
) -> dict[str, Any]:
    """Write the folder of a contest with its results as one ZIP file, and return the manifest.

    The same folder gives the same bytes.

    Parameters
    ----------
    folder
        The folder of the contest, with ``results`` from `write_results`.
    path
        The archive; it appears when it is complete.
    originals
        Whether to include the original traces. Without them, utilities and s_T cannot be computed again, but
        everything else can. Obfuscated traces that were not released are then left out too, because a team
        may have handed in its unchanged originals.
    signing_key
        The private key of the contest (32 bytes), to sign the manifest.
    """
    place = Path(folder)
    for needed in (contest_file.NAME, *_FOLDERS, f"{RESULTS}/{BOARD}"):
        if not (place / needed).exists():
            raise FileError.whole(
                place / needed, "is missing; the archive of a finished contest must have it", "missing"
            )
    names = [name for name in _list_files(place) if _is_archivable(place, name, originals)]
    tables = [PurePosixPath(name).name for name in names if name.startswith(f"{JUDGE}/ptable_")]
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "tracearena": __version__,
        "scorer": SCORER_VERSION,
        "name": read_contest_file(place / contest_file.NAME).name,
        "originals": originals,
        "released": sorted(tables),
        "awards": {one["name"]: one["winners"] for one in read_json(place / RESULTS / BOARD)["awards"]},
        "sha256": {name: digest_file(place / name) for name in names},
    }
    with replacing(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        listed = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
        archive.writestr(_make_zip_entry(MANIFEST), listed)
        if signing_key is not None:
            archive.writestr(_make_zip_entry(SIGNATURE), sign(signing_key, MANIFEST, listed))
        for name in names:
            with (
                archive.open(_make_zip_entry(name), "w", force_zip64=True) as member,
                open(place / name, "rb") as file,
            ):
                shutil.copyfileobj(file, member, 2**20)
    return manifest


@contextmanager
def read_archive(path: str | PathLike[str]) -> Iterator[Archive]:
    """Unpack an archive into a temporary folder, which is removed after the block.

    Raises
    ------
    FileError
        If the file is not an archive of a contest, is damaged, or contains links, names that lead out of it
        or differ only in case, or more data than the limits allow.
    """
    place = Path(path)
    place.stat()
    if not zipfile.is_zipfile(place):
        raise FileError.whole(place, "is not an archive of a contest (a zip file)", "bad-archive")
    try:
        with zipfile.ZipFile(place) as archive:
            count = len(archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise FileError.whole(place, f"is not a complete zip archive: {error}", "bad-archive") from None
    if count > _MOST_FILES:
        raise FileError.whole(place, f"has {count:,} files; at most {_MOST_FILES:,} are allowed", "too-large")
    with unpack_archive(place) as folder:
        seen: set[str] = set()
        for name in _list_files(folder):
            if name not in (MANIFEST, SIGNATURE) and not _is_archive_name(name):
                raise FileError.whole(
                    place, "has a file that does not belong in an archive", "bad-name", name
                )
            # Such names are one name on some systems.
            alike = unicodedata.normalize("NFC", name).casefold()
            if alike in seen:
                raise FileError.whole(place, "has file names that differ only in case", "bad-name", name)
            seen.add(alike)
        for name in _FOLDERS:
            # A zip has no empty folders.
            (folder / name).mkdir(exist_ok=True)
        if not (folder / MANIFEST).is_file():
            raise FileError.whole(
                place, f"is not an archive of a contest: it has no {MANIFEST}", "bad-archive"
            )
        found = read_json(folder / MANIFEST)
        digests = found.get("sha256") if isinstance(found, dict) else None
        is_ours = isinstance(digests, dict) and all(isinstance(digest, str) for digest in digests.values())
        if not is_ours or found.get("format") != FORMAT or found.get("version") != VERSION:
            problem = f"its {MANIFEST} is not that of an archive of a contest, version {VERSION}"
            raise FileError.whole(place, problem, "bad-archive")
        yield Archive(folder, dict(found))


def read_json(path: Path) -> Any:
    """Read JSON that somebody else wrote."""
    try:
        return json.loads(read_bytes(path, max_bytes=2**26).decode(), parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise FileError.whole(path, f"is not JSON: {error}", "not-json") from None


def _reject_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def _list_files(folder: Path) -> list[str]:
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def _is_archive_name(name: str) -> bool:
    parts = PurePosixPath(name).parts
    if any(part.startswith(".") for part in parts) or name in _KEPT_BACK:
        return False
    return name in _FILES or (len(parts) > 1 and parts[0] in _FOLDERS)


def _is_archivable(folder: Path, name: str, originals: bool) -> bool:
    """Whether a file goes into the archive; originals of sample teams are everybody's anyway."""
    path = PurePosixPath(name)
    # A page of results has pictures of original traces.
    is_original = path.name.startswith("orgtraces") or path.suffix == ".html"
    is_public = (folder / EVERYBODY / path.name).is_file()
    is_secret = is_original and not is_public
    if path.name.startswith(_HANDED_IN):
        # Obfuscated traces that nobody was given may be the originals, unchanged.
        about = path.name.removeprefix(_HANDED_IN).partition(".")[0]
        released = map(digest_file, (folder / JUDGE).glob(f"{_HANDED_IN}{about}.*"))
        has_table = any((folder / JUDGE).glob(f"ptable{about}.*"))
        is_secret |= not has_table or digest_file(folder / path) not in released
    return _is_archive_name(name) and (originals or not is_secret)


def _make_zip_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EVERY_DATE)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
    return entry


# The audit log of a contest on a server: each entry has the hash of the one before.

BEGINNING = 64 * "0"
"""What the first entry has instead of the hash of the one before."""
FIELDS = ("at", "actor", "act", "details", "before", "sha256")


def entry_digest(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry, that of the one before included."""
    said = [entry[name] for name in ("before", "at", "actor", "act", "details")]
    return digest_values(json.dumps(said, sort_keys=True, ensure_ascii=True))


def find_broken_log_entry(entries: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the position of the first entry that does not follow from the one before, None if all do.

    An entry whose details are left out, since they are nobody else's business, has its hash still.
    """
    before = BEGINNING
    for position, entry in enumerate(entries):
        is_whole = entry["details"] is not None
        if entry["before"] != before or (is_whole and entry_digest(entry) != entry["sha256"]):
            return position
        before = entry["sha256"]
    return None


def read_audit_log(path: Path) -> list[dict[str, Any]]:
    """Read the log of an archive."""
    if not path.is_file():
        raise FileError.whole(
            path, "is missing; the archive of a contest on a server must have it", "missing"
        )
    found = read_json(path)
    if not isinstance(found, list) or not all(
        isinstance(entry, dict) and sorted(entry) == sorted(FIELDS) for entry in found
    ):
        raise FileError.whole(path, "is not an audit log", "not-a-log")
    return found
