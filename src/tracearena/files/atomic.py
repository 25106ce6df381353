"""Atomic outputs: files that appear under their names only when all of them are complete.

Every file or folder is written under a temporary name and renamed at the end; the next run removes the
leftovers of a killed run. Outputs written inside `replacing_all` are renamed together, with a journal. If a
run is killed during the renaming, some outputs are new and others old until the next run has undone the
journal. The ``.part`` file next to them shows this.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import IO

_renaming = threading.Lock()


class _Batch:
    """Outputs that are to appear together."""

    def __init__(self) -> None:
        self.staged: list[PendingOutput] = []
        self.streams: list[tuple[Path, IO[bytes]]] = []
        self.folders: list[Path] = []

    def add(self, one: PendingOutput) -> None:
        """Take an output that is complete; a second one of the same name takes the place of the first."""
        for earlier in [other for other in self.staged if other.target == one.target]:
            self.staged.remove(earlier)
            earlier.close()
        self.staged.append(one)

    def put_in_place(self) -> None:
        """Rename all, or none."""
        for path, content in self.streams:
            with name_in_errors(path), open(path, "wb") as stream:
                shutil.copyfileobj(content, stream)
        with _renaming:
            if len(self.staged) < 2:
                for one in self.staged:
                    with name_in_errors(one.target):
                        one.put_in_place()
            else:
                rename_all(self.staged)
        self.folders.clear()

    def close(self) -> None:
        """Forget what has not been put in place."""
        for one in self.staged:
            one.close()
        for _, content in self.streams:
            content.close()
        for folder in reversed(self.folders):
            with suppress(OSError):
                folder.rmdir()


_batch: ContextVar[_Batch | None] = ContextVar("batch of outputs", default=None)


@contextmanager
def replacing_all() -> Iterator[None]:
    """Let all outputs written in the block appear together if it succeeds, or none of them.

    This applies to every `replacing` and `replacing_folder` of the same thread, at any depth; inside another
    `replacing_all` it has no effect. Write files that must stay in any case, such as checkpoints, outside the
    block.

    Examples
    --------
    >>> from tracearena.files.io import replacing
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing_all():
    ...     with replacing(folder / "a.csv") as file:
    ...         _ = file.write(b"1")
    ...     with replacing(folder / "b.csv") as file:
    ...         _ = file.write(b"2")
    ...     (folder / "a.csv").exists()
    False
    >>> sorted(path.name for path in folder.iterdir())
    ['a.csv', 'b.csv']
    """
    if _batch.get() is not None:
        yield
        return
    batch = _Batch()
    before = _batch.set(batch)
    try:
        yield
        batch.put_in_place()
    finally:
        _batch.reset(before)
        batch.close()


@contextmanager
def stage_file(target: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `target` when the block, and the batch around it, end well."""
    handle, one = new_file(target)
    with _put_in_place(one, 0o600 if private else 0o666), os.fdopen(handle, "wb") as raw:
        yield raw
        raw.flush()
        os.fsync(raw.fileno())


@contextmanager
def stage_folder(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a new folder that takes the place of `target`, which is not there or empty."""
    one = new_folder(target)
    with _put_in_place(one, 0o700 if private else 0o777):
        yield one.temporary


@contextmanager
def stage_stream(target: Path) -> Iterator[IO[bytes]]:
    """Open a device or pipe; inside a batch it gets its content when everything else is complete."""
    batch = _batch.get()
    if batch is None:
        with open(target, "wb") as stream:
            yield stream
        return
    content = tempfile.TemporaryFile()  # noqa: SIM115 - the batch closes it
    batch.streams.append((target, content))
    yield content
    content.seek(0)


def make_folder(path: str | PathLike[str]) -> None:
    """Make a folder for outputs and its parents; it is removed if the surrounding batch fails."""
    folder, batch = Path(path), _batch.get()
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if batch is not None:
        batch.folders += reversed(missing)


def abandon(wait_s: float = 5.0) -> None:
    """Remove everything that is under a temporary name, for a process that ends at once."""
    _renaming.acquire(timeout=wait_s)
    for path in sorted(live):
        remove(path)


def clear_leftovers(target: Path) -> None:
    """Remove what killed runs left of an output, and undo renames that they did not finish."""
    if not LOCKS or is_inside_live(target):
        return
    try:
        names = [name for name in os.listdir(target.parent) if OURS in name and name.endswith(PART)]
    except OSError:
        return
    in_use: set[str] = set()
    for name in names:
        if JOURNAL.fullmatch(name):
            in_use |= recover_journal(target.parent / name, target)
    mine = re.compile(re.escape(_prefix(target)) + r"[a-z0-9_]{8}" + re.escape(PART))
    for name in names:
        path = target.parent / name
        if mine.fullmatch(name) and str(path) not in in_use and path not in live:
            with try_lock(path) as is_ours:
                if is_ours:
                    remove(path)


@contextmanager
def _put_in_place(one: PendingOutput, most: int) -> Iterator[None]:
    """Give an output its name when the block completes it, or hand it to the batch; else remove it."""
    try:
        yield
        # The permissions of what is replaced, within `most`; of something new, as the umask has it.
        mask = os.umask(0o077)
        os.umask(mask)
        mode = most & ~mask
        with suppress(OSError):
            mode = stat.S_IMODE(one.target.stat().st_mode) & most
        one.temporary.chmod(mode)
        batch = _batch.get()
        if batch is not None and not is_inside_live(one.target):
            batch.add(one)
            return
        with _renaming:
            one.put_in_place()
    except BaseException:
        one.close()
        raise
    one.close()


# Temporary names in the folder of an output, locked as long as their process lives.

try:
    import fcntl
except ImportError:  # without locks nobody can tell a killed run's leftovers: they stay
    fcntl = None  # type: ignore[assignment]

PART = ".part"
OURS = "tracearena-"
LOCKS = fcntl is not None
"""Whether this system can tell a living run's names from a dead one's."""
_LONGEST_STEM = 50
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

live: set[Path] = set()
"""The temporary names of this process."""


@contextmanager
def name_in_errors(path: str | PathLike[str]) -> Iterator[None]:
    """Make errors of the operating system name the user's file instead of a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None and (number := _full_disk_errno(error)) is not None:
            raise OSError(number, os.strerror(number), str(path)) from error
        name = error.filename
        if name is None or any(OURS in part and part.endswith(PART) for part in Path(str(name)).parts):
            error.filename, error.filename2 = str(path), None
        raise
    except Exception as error:
        number = _full_disk_errno(error)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder for temporary files, which is removed at the end; the error of a full disk names it."""
    with tempfile.TemporaryDirectory(prefix=OURS) as name:
        try:
            yield Path(name)
        except OSError as error:
            if error.errno in _FULL and str(error.filename).startswith(name):
                words = f"{error.strerror} for temporary files; TMPDIR names another folder for them"
                raise OSError(error.errno, words, str(Path(name).parent)) from error
            raise


def _full_disk_errno(error: Exception) -> int | None:
    """Return the number of the system's error if a library says in its own words that a disk is full.

    Polars and Arrow pass on the system's sentence, in an error of their own or in an `OSError` without a
    number.
    """
    words = str(error)
    return next((number for number in _FULL if os.strerror(number) in words), None)


@dataclass
class PendingOutput:
    """An output that is complete, or being written, under its temporary name.

    Attributes
    ----------
    lock
        Descriptor that holds the lock; None where there are no locks.
    """

    target: Path
    temporary: Path
    lock: int | None

    def put_in_place(self) -> None:
        """Give it its name."""
        os.replace(self.temporary, self.target)

    def close(self) -> None:
        """Remove whatever is still under the temporary name, and the lock."""
        remove(self.temporary)
        live.discard(self.temporary)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


def new_file(target: Path, prefix: str | None = None) -> tuple[int, PendingOutput]:
    """Make an empty file under a temporary name; return its descriptor too."""
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix or _prefix(target), suffix=PART, dir=target.parent)
        live.add(Path(name))
        lock = None if fcntl is None else os.dup(handle)
        if lock is None or (_lock(lock), os.path.exists(name))[1]:
            return handle, PendingOutput(target, Path(name), lock)
        os.close(handle)  # cleared by another process before it was locked
        os.close(lock)


def new_folder(target: Path) -> PendingOutput:
    """Make an empty folder under a temporary name."""
    while True:
        name = tempfile.mkdtemp(prefix=_prefix(target), suffix=PART, dir=target.parent)
        live.add(Path(name))
        if fcntl is None:
            return PendingOutput(target, Path(name), None)
        with suppress(FileNotFoundError):
            lock = os.open(name, os.O_RDONLY)
            if (_lock(lock), os.path.exists(name))[1]:
                return PendingOutput(target, Path(name), lock)
            os.close(lock)


def new_temporary_name(target: Path) -> Path:
    """Return a new temporary name for what `target` holds now; nobody locks it."""
    return target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}{PART}")


def is_inside_live(target: Path) -> bool:
    """Return whether an output goes into a folder that is itself under a temporary name of ours."""
    return any(folder in live for folder in target.parents)


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take the lock of something whose process may be dead; False if it lives."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        yield _lock(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file or a whole folder, if it is there and may be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _prefix(target: Path) -> str:
    return f".{target.name[:_LONGEST_STEM]}.{OURS}"


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# Several renames as one: with a journal, the next run can undo what a killed one began.

_PREFIX = f".{OURS}journal-"
JOURNAL = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}" + re.escape(PART))
"""What the name of a journal looks like."""


@dataclass
class _Rename:
    """One line of a journal: what is renamed to what, and where the old content is kept."""

    temporary: str
    target: str
    old: str | None
    old_was_folder: bool
    identity: list[int]

    def undo(self) -> None:
        """Put the old content back, or nothing; what somebody has changed since is left to them."""
        temporary, target = Path(self.temporary), Path(self.target)
        if not os.path.lexists(temporary) and _file_identity(target) == self.identity:
            if self.old is not None and os.path.lexists(self.old):
                os.replace(self.old, target)
            else:
                os.replace(target, temporary)
                if self.old_was_folder:
                    target.mkdir()
        elif self.old is not None:
            remove(Path(self.old))


def rename_all(staged: list[PendingOutput]) -> None:
    """Give all outputs their names, or none of them."""
    renames: list[_Rename] = []
    journals: list[PendingOutput] = []
    try:
        for one in staged:
            with name_in_errors(one.target):
                # What the output replaces is kept under another name, so that it can come back.
                is_folder = one.target.is_dir()
                old = _back_up_file(one.target) if one.target.is_file() else None
                paths = os.path.abspath(one.temporary), os.path.abspath(one.target)
                renames.append(_Rename(*paths, old, is_folder, _file_identity(one.temporary)))
        journals += _write_journals(renames)
        for one in staged:
            with name_in_errors(one.target):
                one.put_in_place()
    except BaseException:
        for rename in reversed(renames):
            with suppress(OSError):
                rename.undo()
        raise
    finally:
        for journal in journals:
            journal.close()
    for rename in renames:
        if rename.old is not None:
            remove(Path(rename.old))


def recover_journal(journal: Path, target: Path) -> set[str]:
    """Undo the renames of a killed run that concern `target`; return what a living one has in use."""
    try:
        renames = [_Rename(**entry) for entry in json.loads(journal.read_bytes())]
    except (OSError, ValueError, TypeError):
        renames = []  # killed while it wrote the journal, before any rename
    names = {name for one in renames for name in (one.temporary, one.old) if name is not None}
    if renames and os.path.abspath(target) not in {one.target for one in renames}:
        return names
    with try_lock(journal) as is_ours:
        if not is_ours:
            return names
        if any(os.path.lexists(one.temporary) for one in renames):
            for rename in reversed(renames):
                rename.undo()
        for name in names:
            remove(Path(name))
        for folder in {Path(one.target).parent for one in renames}:
            for copy in folder.glob(f"{_PREFIX}*{PART}"):
                with suppress(OSError):
                    if copy != journal and copy.read_bytes() == journal.read_bytes():
                        copy.unlink()
        remove(journal)
    return set()


def _back_up_file(path: Path) -> str:
    name = new_temporary_name(path)
    try:
        os.link(path, name)
    except OSError:  # a file system without links
        handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as copy, open(path, "rb") as original:
            shutil.copyfileobj(original, copy)
        shutil.copystat(path, name)
    return os.path.abspath(name)


def _write_journals(renames: list[_Rename]) -> list[PendingOutput]:
    """Write the journal into every folder that has one of the outputs."""
    text = json.dumps([asdict(rename) for rename in renames]).encode()
    written: list[PendingOutput] = []
    for folder in dict.fromkeys(Path(rename.target).parent for rename in renames):
        with name_in_errors(folder):
            handle, journal = new_file(folder / "journal", prefix=_PREFIX)
        written.append(journal)
        with name_in_errors(folder), os.fdopen(handle, "wb") as file:
            file.write(text)
    return written


def _file_identity(path: Path) -> list[int]:
    try:
        found = path.lstat()
    except OSError:
        return []
    return [found.st_dev, found.st_ino, found.st_mtime_ns]
