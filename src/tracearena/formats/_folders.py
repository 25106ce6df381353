"""How folders go out: whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from tracearena.errors import FileError


@contextmanager
def replacing_folder(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a folder beside `path` that gets its name only when the block ends well.

    A folder that has something in it is never replaced.
    """
    target = Path(path)
    if target.exists() and (not target.is_dir() or next(target.iterdir(), None) is not None):
        raise FileError.whole(target, "exists and is not an empty folder; choose another name", "exists")
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        inner = temporary / "folder"  # mkdtemp's own folder is private; this one follows the umask
        inner.mkdir()
        yield inner
        if target.exists():
            target.rmdir()
        os.replace(inner, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
