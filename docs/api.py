"""Write the pages of the Python API: for each room what its door shows, from the stub of the door.

``python docs/api.py`` writes them anew; a test holds them to the stubs.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SOURCE = DOCS.parent / "src" / "tracearena"
PAGES = DOCS / "reference" / "api"


def shown(package: str) -> list[tuple[str, str, bool]]:
    """Return what a door shows: the name, where it is defined, and whether it is a module."""
    stub = SOURCE.parent / package.replace(".", "/") / "__init__.pyi"
    found = []
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            home = ".".join([package, *(node.module or "").split(".")]).rstrip(".")
            for alias in node.names:
                found.append((alias.asname or alias.name, f"{home}.{alias.name}", node.module is None))
    return sorted(found, key=lambda one: (one[2], one[0].lower()))


def page(room: str) -> str:
    """Return the page of a room."""
    package = f"tracearena.{room}"
    parts = [f"# {package}", "", "<!-- Written by docs/api.py. -->", ""]
    if not (SOURCE / room / "__init__.pyi").is_file():
        return "\n".join([*parts, f"::: {package}", "    options:", "      show_root_heading: false"]) + "\n"
    parts += [f"::: {package}", "    options:", "      members: false", "      show_root_heading: false"]
    for _, path, _ in shown(package):
        parts += ["", f"::: {path}"]
    return "\n".join(parts) + "\n"


def front_page() -> str:
    """Return the page of the front door."""
    parts = ["# tracearena", "", "<!-- Written by docs/api.py. -->", ""]
    parts += ["What `import tracearena as ta` shows. A name is loaded when it is first used.", ""]
    parts += ["| name | what it is |", "|---|---|"]
    for name, path, is_module in shown("tracearena"):
        thing = importlib.import_module(path) if is_module else _thing(path)
        line = (inspect.getdoc(thing) or "").partition("\n")[0]
        room = path.split(".")[1]
        link = f"{room}.md"
        if not is_module:
            link += f"#{_homes(f'tracearena.{room}')[name]}"
        parts.append(f"| [`ta.{name}`]({link}) | {line} |")
    return "\n".join(parts) + "\n"


def _homes(package: str) -> dict[str, str]:
    return {name: path for name, path, _ in shown(package)}


def _thing(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def written() -> dict[Path, str]:
    """Return every page and its text."""
    rooms = [name for name, _, is_module in shown("tracearena") if is_module]
    pages = {PAGES / f"{room}.md": page(room) for room in rooms}
    return {PAGES / "tracearena.md": front_page()} | pages


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text)
