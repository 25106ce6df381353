"""Outputs that wait beside their names until all of them are complete.

Every file or folder is written under a temporary name and renamed at the end; what a killed run left
under such names is removed by the next. Outputs written inside `replacing_all` are renamed together, by
a journal. Until the next run settles the journal of a killed one, some outputs are new and others old:
the ``.part`` file beside them is the only sign of it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import IO

from tracearena.files.journal import JOURNAL, rename_all, settle
from tracearena.files.temporary import (
    LOCKS,
    OURS,
    PART,
    Staged,
    is_inside_live,
    live,
    naming,
    new_file,
    new_folder,
    owned,
    pattern_of,
    remove,
)

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
    handle, one = new_file(target)
    with _put_in_place(one, 0o600 if private else 0o666), os.fdopen(handle, "wb") as raw:
        yield raw
        raw.flush()
        os.fsync(raw.fileno())


@contextmanager
def staged_folder(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a new folder that takes the place of `target`, which is not there or empty."""
    one = new_folder(target)
    with _put_in_place(one, 0o700 if private else 0o777):
        yield one.temporary


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
            in_use |= settle(target.parent / name, target)
    mine = pattern_of(target)
    for name in names:
        path = target.parent / name
        if mine.fullmatch(name) and str(path) not in in_use and path not in live:
            with owned(path) as is_ours:
                if is_ours:
                    remove(path)


@contextmanager
def _put_in_place(one: Staged, most: int) -> Iterator[None]:
    """Give an output that the block completes its name, or to the batch; one that it fails, to nobody."""
    try:
        yield
        one.temporary.chmod(_mode(one.target, most))
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


def _mode(target: Path, most: int) -> int:
    """Return the permissions of what is replaced, within `most`; of something new, as the umask has it."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode) & most
    mask = os.umask(0o077)
    os.umask(mask)
    return most & ~mask
