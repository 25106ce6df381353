"""Write the pages that follow from the packages: the Python API, and table and picture of the architecture.

``python docs/api.py`` writes them again; a test compares them with the code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import tomllib
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SOURCE = DOCS.parent / "src" / "tracearena"
PAGES = DOCS / "reference" / "api"
ARCHITECTURE = DOCS / "explanation" / "architecture.md"
PICTURE = DOCS / "img" / "packages.svg"
TABLE_BEGIN, TABLE_END = "<!-- Written by docs/api.py: begin. -->", "<!-- Written by docs/api.py: end. -->"
GROUPS = {
    "cli": ("Entry points", "#cce3f1"),
    "jobs": ("Tasks", "#cdebe1"),
    "attacks": ("Algorithms of the papers", "#faecc8"),
    "cities": ("Data: input, output, metrics, simulation", "#f7dfcb"),
    "algorithms": ("Foundations", "#e6e6e6"),
}
"""First package of each row of the picture, from above, with the row's title and colour."""


def list_public_names(package: str) -> list[tuple[str, str, bool]]:
    """Return what a package exports: the name, where it is defined, and whether it is a module."""
    stub = SOURCE.parent / package.replace(".", "/") / "__init__.pyi"
    found = []
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            home = ".".join([package, *(node.module or "").split(".")]).rstrip(".")
            for alias in node.names:
                found.append((alias.asname or alias.name, f"{home}.{alias.name}", node.module is None))
    return sorted(found, key=lambda one: (one[2], one[0].lower()))


def build_package_page(name: str) -> str:
    """Return the page of a package."""
    package = f"tracearena.{name}"
    parts = [f"# {package}", "", "<!-- Written by docs/api.py. -->", ""]
    if not (SOURCE / name / "__init__.pyi").is_file():
        return "\n".join([*parts, f"::: {package}", "    options:", "      show_root_heading: false"]) + "\n"
    parts += [f"::: {package}", "    options:", "      members: false", "      show_root_heading: false"]
    for _, path, _ in list_public_names(package):
        parts += ["", f"::: {path}"]
    return "\n".join(parts) + "\n"


def build_front_page() -> str:
    """Return the page of `tracearena` itself."""
    parts = ["# tracearena", "", "<!-- Written by docs/api.py. -->", ""]
    parts += ["What `import tracearena as ta` shows. A name is loaded when it is first used.", ""]
    parts += ["| name | what it is |", "|---|---|"]
    for name, path, is_module in list_public_names("tracearena"):
        module, _, attribute = path.rpartition(".")
        thing = (
            importlib.import_module(path)
            if is_module
            else getattr(importlib.import_module(module), attribute)
        )
        line = (inspect.getdoc(thing) or "").partition("\n")[0]
        package = path.split(".")[1]
        link = f"{package}.md"
        if not is_module:
            homes = {one: home for one, home, _ in list_public_names(f"tracearena.{package}")}
            link += f"#{homes.get(name, module)}"
        parts.append(f"| [`ta.{name}`]({link}) | {line} |")
    return "\n".join(parts) + "\n"


def list_layers() -> list[list[str]]:
    """Return the packages and top-level modules by the import contract: each may import those after it."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.split(" : ") for layer in layers]


def build_package_table() -> str:
    """Return the table of packages, those that import nothing first, with what their docstrings say."""
    rows = ["| package | what it is for |", "|---|---|"]
    for name in (name for layer in reversed(list_layers()) for name in layer):
        place = SOURCE / name / "__init__.py"
        tree = ast.parse((place if place.is_file() else SOURCE / f"{name}.py").read_text())
        line = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
        has_page = (PAGES / f"{name}.md").is_file()
        shown = f"[`{name}`](../reference/api/{name}.md)" if has_page else f"`{name}`"
        rows.append(f"| {shown} | {line} |")
    return "\n".join(rows)


def build_architecture_page() -> str:
    """Return the page of the architecture with its table as it should be."""
    before, _, rest = ARCHITECTURE.read_text().partition(TABLE_BEGIN)
    after = rest.partition(TABLE_END)[2]
    return f"{before}{TABLE_BEGIN}\n\n{build_package_table()}\n\n{TABLE_END}{after}"


def draw_packages() -> str:
    """Return the picture of the packages: rows of boxes, in the order of the import contract."""
    rows: list[tuple[str, str, list[str]]] = []
    for name in (name for layer in list_layers() for name in layer):
        if name in GROUPS:
            rows.append((*GROUPS[name], []))
        rows[-1][2].append(name)
    height, step, width = 30, 66, 96
    size = (20 + max(len(names) for *_, names in rows) * width, 24 + len(rows) * step)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        'font-family="system-ui, sans-serif" font-size="14">',
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>',
    ]
    for at, (title, colour, names) in enumerate(rows):
        top = 12 + at * step
        parts.append(f'<text x="12" y="{top + 14}" fill="#555555" font-size="12">{title}</text>')
        for place, name in enumerate(names):
            left = 12 + place * width
            parts += [
                f'<rect x="{left}" y="{top + 22}" width="{width - 8}" height="{height}" rx="4" '
                f'fill="{colour}" stroke="#777777"/>',
                f'<text x="{left + (width - 8) / 2:g}" y="{top + 42}" fill="#111111" '
                f'text-anchor="middle">{name}</text>',
            ]
    return "\n".join([*parts, "</svg>", ""])


def build_api_pages() -> dict[Path, str]:
    """Return every page of the API and its text."""
    packages = [name for name, _, is_module in list_public_names("tracearena") if is_module]
    pages = {PAGES / f"{name}.md": build_package_page(name) for name in packages}
    return {PAGES / "tracearena.md": build_front_page()} | pages


if __name__ == "__main__":
    for path, text in build_api_pages().items():
        path.write_text(text)
    ARCHITECTURE.write_text(build_architecture_page())
    PICTURE.write_text(draw_packages())
