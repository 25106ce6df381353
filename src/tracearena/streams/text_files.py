"""Text files that are one table of points: a file, or those of a folder and of the folders below it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tracearena.errors import FileError
from tracearena.files import archives
from tracearena.formats import recognition
from tracearena.intake.columns import POINTS
from tracearena.intake.layout import Layout
from tracearena.intake.tables import is_parquet
from tracearena.intake.text_rows import Text
from tracearena.intake.text_tables import header_fields
from tracearena.streams.table_files import named_folders, visible_files

TWO_COLUMNS = "has date and time in two columns"
ENDINGS = (".csv", ".csv.gz")
"""How the names of text files in a folder end."""


def is_text(path: Path) -> bool:
    """Whether a path is read as text if it is a table: a file, packed or not, or a folder of CSV alone."""
    if path.is_dir():
        files = visible_files(path, "*")
        return bool(files) and all(file.name.endswith(ENDINGS) for file in files)
    return path.is_file() and not is_parquet(path) and not archives.is_archive(path)


def paths_of(path: Path) -> list[Path]:
    """Return the files of a table that is text, by name."""
    return visible_files(path, "*") if path.is_dir() else [path]


def texts_of(path: Path, layout: Layout) -> tuple[Text, ...]:
    """Return the files of a table that is text, each with its layout."""
    return tuple(Text(file, _layout_of(path, file, layout)) for file in paths_of(path))


def unstreamable_text(path: Path, layout: Layout) -> str | None:
    """Return why the rows of text cannot be read one chunk after the other; None where they can."""
    for file in paths_of(path):
        problem = _problem(path, file, layout)
        if problem is not None:
            return problem if file == path else f"holds {file.name}, which {problem}"
    return None


def lacking(found: dict[str, str]) -> str | None:
    """Return what the columns of a table lack, by their roles, to be read some rows after the others."""
    roles = [role for role in ("user", "time", "lat", "lon") if role not in found]
    if "date" in found:
        return TWO_COLUMNS
    return f"has no column of the {', '.join(roles)}" if roles else None


def _problem(root: Path, file: Path, layout: Layout) -> str | None:
    names, _ = header_fields(recognition.first_line(file), layout)
    said = {name: value for name, value in named_folders(root, file).items() if name not in names}
    found = layout.roles([*names, *said], POINTS)
    others = [role for role, name in found.items() if name in said and role != "user"]
    if others:
        return f"has its {others[0]} in the name of a folder, which only Parquet may have there"
    if found.get("user") in said and not said[found["user"]]:
        problem = f"lies in a folder that names nobody: {found['user']}= must be followed by a user"
        raise FileError.whole(file, problem, "missing-user")
    try:
        formats = recognition.look_at(file, _layout_of(root, file, layout)).formats
    except FileError:
        formats = ()
    if "points" not in formats:
        return f"is read as {formats[0]}" if formats else "is no table of points"
    return lacking(found)


def _layout_of(root: Path, file: Path, layout: Layout) -> Layout:
    """Return the layout of a file: all rows are of one user where a folder says whose they are."""
    said = named_folders(root, file)
    if not said:
        return layout
    names, _ = header_fields(recognition.first_line(file), layout)
    user = layout.roles([*names, *said], POINTS).get("user")
    if user is None or user in names or not said.get(user):
        return layout
    columns = {role: name for role, name in layout.columns.items() if role != "user"}
    return replace(layout, columns=columns, one_user=said[user])
