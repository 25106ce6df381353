"""Which files of a folder are read, and whose each is: one rule for all formats."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from os.path import commonpath
from pathlib import Path


def files_of(folder: Path) -> list[Path]:
    """Return the files below a folder by name, without those that begin with ``.`` or ``_``."""
    return [file for file in _all_of(folder) if not is_hidden(file.relative_to(folder).parts)]


def hidden_files_of(folder: Path) -> list[Path]:
    """Return the files below a folder that `files_of` passes over, without those that macOS adds."""
    passed = [file for file in _all_of(folder) if is_hidden(file.relative_to(folder).parts)]
    return [file for file in passed if not file.name.startswith("._") and "__MACOSX" not in file.parts]


def _all_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_hidden(parts: Sequence[str]) -> bool:
    """Whether the name of a file, or of a folder that it is in, begins with ``.`` or ``_``."""
    return any(part.startswith((".", "_")) for part in parts)


def owners_of(files: Sequence[Path]) -> dict[Path, str]:
    """Return whose file each is, where it does not say so.

    >>> list(owners_of([Path("x/data/1.txt"), Path("x/data/2.txt")]).values())
    ['1', '2']
    >>> list(owners_of([Path("x/ann/Records.json"), Path("x/bob/Records.json")]).values())
    ['ann', 'bob']
    """
    if not files:
        return {}
    top = Path(commonpath([file.parent for file in files]))
    return {file: file.relative_to(top).parts[0] if file.parent != top else name_of(file) for file in files}


def name_of(path: str | PathLike[str]) -> str:
    """Return the name of a file without its endings.

    >>> name_of("people/ann.json.gz")
    'ann'
    """
    return Path(Path(path).name.removesuffix(".gz")).stem
