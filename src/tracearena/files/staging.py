"""Outputs that wait beside their names until all of them are complete.

Every file or folder is written under a name of its own beside its target,
``.NAME.tracearena-XXXXXXXX.part``, and renamed at the end. Such a name is locked as long as its
process lives, so the next run knows what a killed one left, and removes it.

Outputs written inside `replacing_all` are renamed together. One rename is atomic, several are not:
before the first of them a journal of all is written beside the outputs, and what they replace is kept
until the last is done. A rename that fails is undone with those before it. A process killed between
two renames leaves its journal, and the next run that writes one of these outputs undoes them. Until
then some outputs are new and others old: the ``.part`` file beside them is the only sign of it.
"""

from __future__ import annotations

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

try:
    import fcntl
except ImportError:  # without locks nobody can tell a killed run's leftovers: they stay
    fcntl = None  # type: ignore[assignment]

PART = ".part"
_OURS = "tracearena-"
_JOURNAL = re.compile(rf"\.{_OURS}journal-[a-z0-9_]{{8}}{re.escape(PART)}")
_LONGEST_STEM = 50


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Let an error of the operating system name the user's file, not ours beside it, nor none."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).endswith(PART):
            error.filename, error.filename2 = str(path), None
        raise


@dataclass
class Staged:
    """An output that is complete, or being written, under its temporary name.

    Attributes
    ----------
    lock
        Descriptor that holds the lock; None where there are no locks.
    """

    target: Path
    temporary: Path
    is_folder: bool
    lock: int | None

    def put_in_place(self) -> None:
        """Give it its name."""
        os.replace(self.temporary, self.target)

    def close(self) -> None:
        """Remove whatever is still under the temporary name, and the lock."""
        _remove(self.temporary)
        _live.discard(self.temporary)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


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
        if not os.path.lexists(temporary) and _identity(target) == self.identity:
            if self.old is not None and os.path.lexists(self.old):
                os.replace(self.old, target)
            else:
                os.replace(target, temporary)
                if self.old_was_folder:
                    target.mkdir()
        elif self.old is not None:
            _remove(Path(self.old))


_live: set[Path] = set()
_renaming = threading.Lock()


class _Batch:
    """Outputs that are to appear together."""

    def __init__(self) -> None:
        self.staged: list[Staged] = []
        self.streams: list[tuple[Path, IO[bytes]]] = []
        self.folders: list[Path] = []

    def add(self, one: Staged) -> None:
        """Take an output that is complete; a second one of the same name takes the place of the first."""
        for earlier in [other for other in self.staged if other.target == one.target]:
            self.staged.remove(earlier)
            earlier.close()
        self.staged.append(one)

    def put_in_place(self) -> None:
        """Rename all, or none."""
        for path, content in self.streams:
            with naming(path), open(path, "wb") as stream:
                shutil.copyfileobj(content, stream)
        with _renaming:
            if len(self.staged) < 2:
                for one in self.staged:
                    with naming(one.target):
                        one.put_in_place()
            else:
                _rename_all(self.staged)
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
    """Let all outputs that are written inside appear together when the block ends well, or none.

    It reaches every `replacing` and `replacing_folder` of the same thread, at any depth; inside
    another `replacing_all` it adds nothing. What must stay whatever happens, such as a checkpoint, is
    written outside.

    Examples
    --------
    >>> from tracearena.files.whole import replacing
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
def staged_file(target: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `target` when the block, and the batch around it, end well."""
    handle, one = _new_file(target)
    try:
        with os.fdopen(handle, "wb") as raw:
            yield raw
            raw.flush()
            os.fsync(raw.fileno())
        one.temporary.chmod(_mode(target, 0o600 if private else 0o666))
        _finish(one)
    except BaseException:
        one.close()
        raise


@contextmanager
def staged_folder(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a new folder that takes the place of `target`, which is not there or empty."""
    one = _new_folder(target)
    try:
        yield one.temporary
        one.temporary.chmod(_mode(target, 0o700 if private else 0o777))
        _finish(one)
    except BaseException:
        one.close()
        raise


@contextmanager
def staged_stream(target: Path) -> Iterator[IO[bytes]]:
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
    """Make a folder for outputs, with those above it; it goes again if the batch around it fails."""
    folder, batch = Path(path), _batch.get()
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if batch is not None:
        batch.folders += reversed(missing)


def abandon(patience_s: float = 5.0) -> None:
    """Remove everything that is under a temporary name, for a process that ends at once."""
    _renaming.acquire(timeout=patience_s)
    for path in sorted(_live):
        _remove(path)


def clear_leftovers(target: Path) -> None:
    """Remove what killed runs left of an output, and undo renames that they did not finish."""
    if fcntl is None or _is_inside_live(target):
        return
    try:
        names = [name for name in os.listdir(target.parent) if _OURS in name and name.endswith(PART)]
    except OSError:
        return
    in_use: set[str] = set()
    for name in names:
        if _JOURNAL.fullmatch(name):
            in_use |= _settle(target.parent / name, target)
    mine = re.compile(re.escape(f".{_stem(target)}.{_OURS}") + r"[a-z0-9_]{8}" + re.escape(PART))
    for name in names:
        path = target.parent / name
        if mine.fullmatch(name) and str(path) not in in_use and path not in _live:
            with _owned(path) as is_ours:
                if is_ours:
                    _remove(path)


def _finish(one: Staged) -> None:
    batch = _batch.get()
    if batch is not None and not _is_inside_live(one.target):
        batch.add(one)
        return
    with _renaming:
        one.put_in_place()
    one.close()


def _rename_all(staged: list[Staged]) -> None:
    renames: list[_Rename] = []
    journals: list[Staged] = []
    try:
        for one in staged:
            with naming(one.target):
                renames.append(_prepared(one))
        journals += _journals(renames)
        for one in staged:
            with naming(one.target):
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
            _remove(Path(rename.old))


def _prepared(one: Staged) -> _Rename:
    """Keep what the output replaces under another name, so that it can come back."""
    old = None
    is_folder = one.target.is_dir()
    if one.target.is_file():
        old = _kept(one.target)
    paths = os.path.abspath(one.temporary), os.path.abspath(one.target)
    return _Rename(*paths, old, is_folder, _identity(one.temporary))


def _kept(path: Path) -> str:
    name = path.with_name(f".{_stem(path)}.{_OURS}{secrets.token_hex(4)}{PART}")
    try:
        os.link(path, name)
    except OSError:  # a file system without links
        handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as copy, open(path, "rb") as original:
            shutil.copyfileobj(original, copy)
        shutil.copystat(path, name)
    return os.path.abspath(name)


def _journals(renames: list[_Rename]) -> list[Staged]:
    """Write the journal into every folder that has one of the outputs."""
    text = json.dumps([asdict(rename) for rename in renames]).encode()
    written: list[Staged] = []
    for folder in dict.fromkeys(Path(rename.target).parent for rename in renames):
        with naming(folder):
            handle, journal = _new_file(folder / "journal", prefix=f".{_OURS}journal-")
        written.append(journal)
        with naming(folder), os.fdopen(handle, "wb") as file:
            file.write(text)
    return written


def _settle(journal: Path, target: Path) -> set[str]:
    """Undo the renames of a killed run that concern `target`; return what a living one has in use."""
    try:
        renames = [_Rename(**entry) for entry in json.loads(journal.read_bytes())]
    except (OSError, ValueError, TypeError):
        renames = []  # killed while it wrote the journal, before any rename
    names = {name for one in renames for name in (one.temporary, one.old) if name is not None}
    if renames and os.path.abspath(target) not in {one.target for one in renames}:
        return names
    with _owned(journal) as is_ours:
        if not is_ours:
            return names
        if any(os.path.lexists(one.temporary) for one in renames):
            for rename in reversed(renames):
                rename.undo()
        for name in names:
            _remove(Path(name))
        for folder in {Path(one.target).parent for one in renames}:
            for copy in folder.glob(f".{_OURS}journal-*{PART}"):
                with suppress(OSError):
                    if copy != journal and copy.read_bytes() == journal.read_bytes():
                        copy.unlink()
        _remove(journal)
    return set()


@contextmanager
def _owned(path: Path) -> Iterator[bool]:
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


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _new_file(target: Path, prefix: str | None = None) -> tuple[int, Staged]:
    prefix = f".{_stem(target)}.{_OURS}" if prefix is None else prefix
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=PART, dir=target.parent)
        _live.add(Path(name))
        lock = None if fcntl is None else os.dup(handle)
        if lock is None or (_lock(lock), os.path.exists(name))[1]:
            return handle, Staged(target, Path(name), False, lock)
        os.close(handle)  # cleared by another process before it was locked
        os.close(lock)


def _new_folder(target: Path) -> Staged:
    while True:
        name = tempfile.mkdtemp(prefix=f".{_stem(target)}.{_OURS}", suffix=PART, dir=target.parent)
        _live.add(Path(name))
        if fcntl is None:
            return Staged(target, Path(name), True, None)
        with suppress(FileNotFoundError):
            lock = os.open(name, os.O_RDONLY)
            if (_lock(lock), os.path.exists(name))[1]:
                return Staged(target, Path(name), True, lock)
            os.close(lock)


def _stem(target: Path) -> str:
    return target.name[:_LONGEST_STEM]


def _is_inside_live(target: Path) -> bool:
    return any(folder in _live for folder in target.parents)


def _identity(path: Path) -> list[int]:
    try:
        found = path.lstat()
    except OSError:
        return []
    return [found.st_dev, found.st_ino, found.st_mtime_ns]


def _mode(target: Path, most: int) -> int:
    """Return the permissions of what is replaced, within `most`; of something new, as the umask has it."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode) & most
    mask = os.umask(0o077)
    os.umask(mask)
    return most & ~mask


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
