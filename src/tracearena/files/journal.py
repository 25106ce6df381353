"""Several renames as one: a journal beside the outputs lets the next run undo what a killed one began.

One rename is atomic, several are not: before the first of them a journal of all is written into every
folder that has one of the outputs, and what they replace is kept until the last is done. A rename that
fails is undone with those before it. A process killed between two renames leaves its journal, and the
next run that writes one of these outputs undoes them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tracearena.files.temporary import OURS, PART, Staged, beside, naming, new_file, owned, remove

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
        if not os.path.lexists(temporary) and _identity(target) == self.identity:
            if self.old is not None and os.path.lexists(self.old):
                os.replace(self.old, target)
            else:
                os.replace(target, temporary)
                if self.old_was_folder:
                    target.mkdir()
        elif self.old is not None:
            remove(Path(self.old))


def rename_all(staged: list[Staged]) -> None:
    """Give all outputs their names, or none of them."""
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
            remove(Path(rename.old))


def settle(journal: Path, target: Path) -> set[str]:
    """Undo the renames of a killed run that concern `target`; return what a living one has in use."""
    try:
        renames = [_Rename(**entry) for entry in json.loads(journal.read_bytes())]
    except (OSError, ValueError, TypeError):
        renames = []  # killed while it wrote the journal, before any rename
    names = {name for one in renames for name in (one.temporary, one.old) if name is not None}
    if renames and os.path.abspath(target) not in {one.target for one in renames}:
        return names
    with owned(journal) as is_ours:
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


def _prepared(one: Staged) -> _Rename:
    """Keep what the output replaces under another name, so that it can come back."""
    old = None
    is_folder = one.target.is_dir()
    if one.target.is_file():
        old = _kept(one.target)
    paths = os.path.abspath(one.temporary), os.path.abspath(one.target)
    return _Rename(*paths, old, is_folder, _identity(one.temporary))


def _kept(path: Path) -> str:
    name = beside(path)
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
            handle, journal = new_file(folder / "journal", prefix=_PREFIX)
        written.append(journal)
        with naming(folder), os.fdopen(handle, "wb") as file:
            file.write(text)
    return written


def _identity(path: Path) -> list[int]:
    try:
        found = path.lstat()
    except OSError:
        return []
    return [found.st_dev, found.st_ino, found.st_mtime_ns]
