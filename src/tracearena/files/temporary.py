"""Temporary names beside an output, locked as long as their process lives.

Every file or folder is written under a name of its own beside its target,
``.NAME.tracearena-XXXXXXXX.part``, and renamed when it is complete. The lock tells the next run whether
such a name is still written to, or is what a killed run left.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

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
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Let an error of the operating system name the user's file, not ours beside it, nor none."""
    try:
        yield
    except OSError as error:
        if error.errno is None and (number := _full_disk(error)) is not None:
            raise OSError(number, os.strerror(number), str(path)) from error
        if error.filename is None or _is_ours(str(error.filename)):
            error.filename, error.filename2 = str(path), None
        raise
    except Exception as error:
        number = _full_disk(error)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), str(path)) from error


def _is_ours(name: str) -> bool:
    """Whether a file has, or is below, a temporary name."""
    return any(OURS in part and part.endswith(PART) for part in Path(name).parts)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder for temporary files, which is removed at the end; a full disk is told of as theirs."""
    with tempfile.TemporaryDirectory(prefix=OURS) as name:
        try:
            yield Path(name)
        except OSError as error:
            if error.errno in _FULL and str(error.filename).startswith(name):
                words = f"{error.strerror} for temporary files; TMPDIR names another folder for them"
                raise OSError(error.errno, words, str(Path(name).parent)) from error
            raise


def _full_disk(error: Exception) -> int | None:
    """Return the number of the system's error if a library says in its own words that a disk is full.

    Polars and Arrow pass on the system's sentence, in an error of their own or in an `OSError` without a
    number.
    """
    words = str(error)
    return next((number for number in _FULL if os.strerror(number) in words), None)


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


def new_file(target: Path, prefix: str | None = None) -> tuple[int, Staged]:
    """Make an empty file under a temporary name; return its descriptor too."""
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix or _prefix(target), suffix=PART, dir=target.parent)
        live.add(Path(name))
        lock = None if fcntl is None else os.dup(handle)
        if lock is None or (_lock(lock), os.path.exists(name))[1]:
            return handle, Staged(target, Path(name), lock)
        os.close(handle)  # cleared by another process before it was locked
        os.close(lock)


def new_folder(target: Path) -> Staged:
    """Make an empty folder under a temporary name."""
    while True:
        name = tempfile.mkdtemp(prefix=_prefix(target), suffix=PART, dir=target.parent)
        live.add(Path(name))
        if fcntl is None:
            return Staged(target, Path(name), None)
        with suppress(FileNotFoundError):
            lock = os.open(name, os.O_RDONLY)
            if (_lock(lock), os.path.exists(name))[1]:
                return Staged(target, Path(name), lock)
            os.close(lock)


def beside(target: Path) -> Path:
    """Return a new temporary name for what `target` holds now; nobody locks it."""
    return target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}{PART}")


def pattern_of(target: Path) -> re.Pattern[str]:
    """Return what the temporary names of an output look like."""
    return re.compile(re.escape(_prefix(target)) + r"[a-z0-9_]{8}" + re.escape(PART))


def is_inside_live(target: Path) -> bool:
    """Return whether an output goes into a folder that is itself under a temporary name of ours."""
    return any(folder in live for folder in target.parents)


@contextmanager
def owned(path: Path) -> Iterator[bool]:
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
