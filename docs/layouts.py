"""Write the page of real-world layouts from the tables that the tests of readers use.

``python docs/layouts.py`` writes it; a test compares it with the tables.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tracearena.io.fields.columns import NAMES, OPTIONS

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "reference" / "layouts.md"
MODULES = ("tests.io.formats.layouts", "tests.io.formats.json_layouts")
"""Where the layouts stand: tables, and files beyond plain tables."""
LONGEST = 90


class Row(NamedTuple):
    """A line of the page."""

    name: str
    looks: str
    options: str
    refusal: str


def rows() -> Iterator[Row]:
    """Return every layout that the tests know."""
    for module in MODULES:
        try:
            layouts = importlib.import_module(module).LAYOUTS
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            continue
        for layout in layouts:
            looks = getattr(layout, "columns", None) or layout.structure
            yield Row(layout.name, looks, _options(layout), layout.refusal)


def page() -> str:
    """Return the page."""
    found = list(rows())
    plain = [row for row in found if not row.options and not row.refusal]
    optional = [row for row in found if row.options]
    refused = [row for row in found if not row.options and row.refusal]
    parts = [
        "# Real-world layouts",
        "",
        "<!-- Written by docs/layouts.py. -->",
        "",
        f"This page lists {len(found)} layouts of real files and the options that each needs. The tests of",
        "tracearena read a small file of each layout. Every command that reads traces, and `ta.read` in",
        "Python, takes the options. For an introduction, see [Read your own data](../how-to/your-data.md).",
        "",
        f"## Read without options: {len(plain)}",
        "",
        "`tracearena describe FILE` reads these files unchanged.",
        "",
        "| source | columns or structure |",
        "|---|---|",
        *(f"| {row.name} | {_code(row.looks)} |" for row in plain),
        "",
        f"## Read with options: {len(optional)}",
        "",
        "| source | columns or structure | options |",
        "|---|---|---|",
        *(f"| {row.name} | {_code(row.looks)} | {_code(row.options, LONGEST * 2)} |" for row in optional),
        "",
        f"## Refused: {len(refused)}",
        "",
        "A file is refused if reading it would need a guess. The message says what you can do.",
        "",
        "| source | columns or structure | message |",
        "|---|---|---|",
        *(f"| {row.name} | {_code(row.looks)} | {_cell(row.refusal)} |" for row in refused),
        "",
        "## Names of columns that are known",
        "",
        "If a file has several of these names for one role, the first in the table is used. Case, accents,",
        "blanks and the characters `_ - . : / #` are ignored: `Base DateTime` is `basedatetime`. Set any",
        "other name with `--columns ROLE=NAME,…` (`columns=` in Python). If the date and the time of day are",
        "in two columns, they are combined.",
        "",
        "| role in `--columns` | names |",
        "|---|---|",
        *(
            f"| `{_role(role)}` | {', '.join(f'`{name}`' for name in names)} |"
            for role, names in NAMES.items()
        ),
    ]
    return "\n".join(parts) + "\n"


def _role(role: str) -> str:
    return next(option for option, meant in OPTIONS.items() if meant == role)


def _options(layout: Any) -> str:
    """Return the options as a command line has them."""
    written = getattr(layout, "command_line", None)
    if written is not None:
        return str(written)
    parts = []
    for name, value in layout.options.items():
        if isinstance(value, dict):
            value = ",".join(f"{role}={column}" for role, column in value.items())
        parts.append(f"--{name.replace('_', '-')} {value}")
    return " ".join(parts)


def _code(text: str, longest: int = LONGEST) -> str:
    shown = text if len(text) <= longest else text[:longest].rsplit(",", 1)[0] + ",…"
    return f"`{_cell(shown)}`"


def _cell(text: str) -> str:
    return text.replace("\t", " ⇥ ").replace("|", "\\|").replace("`", "'")


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    PAGE.write_text(page())
