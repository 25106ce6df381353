"""How folders go out: whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from tracearena.errors import FileError
from tracearena.files.staging import clear_leftovers, staged_folder
from tracearena.files.temporary import naming


@contextmanager
def replacing_folder(path: str | PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Give a folder beside `path` that gets its name only when the block ends well.

    A folder that has something in it is never replaced. Inside `replacing_all` the folder waits until
    all other outputs are complete.

    Parameters
    ----------
    private
        For secrets: nobody but the owner may look into the folder.
    """
    target = Path(path)
    require_new(target)
    with naming(target), staged_folder(target, private=private) as folder:
        yield folder


def require_new(path: str | PathLike[str]) -> None:
    """Refuse a folder with something in it, and one that nothing can be put into.

    What a killed run of ours did not finish does not count.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileError.whole(target, f"there is no folder {target.parent}", "no-folder")
    clear_leftovers(target)
    if target.exists() and (not target.is_dir() or next(target.iterdir(), None) is not None):
        raise FileError.whole(target, "exists and is not an empty folder; choose another name", "exists")
