"""The documentation says what the code does, and leads where it says.

``TRACEARENA_UPDATE_DOCS=1 pytest tests/docs`` writes the pages that are made from the code again.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main
from tests.docs.pages import DOCS, PAGES, ROOT
from typer.testing import CliRunner

from tracearena.algorithms import catalogue
from tracearena.cli import COMMANDS, build
from tracearena.io.formats.recognition import FORMAT_TABLE
from tracearena.papers import list_figures

COMMANDS_PAGE = DOCS / "reference" / "commands.md"
MOST_GALLERY_BYTES = 2_000_000


def script(name: str) -> ModuleType:
    """Load a script of docs/."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def held_to(path: Path, text: str) -> None:
    """Compare a page with what it is made from, or write it again."""
    if os.environ.get("TRACEARENA_UPDATE_DOCS"):
        path.write_text(text)
    assert path.read_text() == text


def help_of(*path: str) -> str:
    result = CliRunner().invoke(
        build([*path, "--help"]), [*path, "--help"], prog_name="tracearena", env={"COLUMNS": "100"}
    )
    assert result.exit_code == 0
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def commands_page(helps: Mapping[tuple[str, ...], str]) -> str:
    parts = ["# Commands", "", "What `--help` says, command by command.", "", f"```text\n{help_of()}\n```"]
    for words, text in helps.items():
        parts += ["", f"{'#' * (len(words) + 1)} {' '.join(words)}", "", f"```text\n{text}\n```"]
    return "\n".join(parts) + "\n"


def list_helps(group: Any, *path: str) -> dict[tuple[str, ...], str]:
    """Return the help of every command of a group, and of the groups in it."""
    found = {}
    for name, command in getattr(group, "commands", {}).items():
        here = (*path, name)
        found |= {here: help_of(*here)} | list_helps(command, *here)
    return found


@pytest.mark.slow
def test_the_page_of_commands_and_the_manual_page_are_what_help_says() -> None:
    helps = list_helps(typer.main.get_command(build()))
    held_to(COMMANDS_PAGE, commands_page(helps))
    manual = script("manpage")
    shown = ((f"tracearena {' '.join(words)}", text) for words, text in helps.items())
    held_to(manual.PAGE, manual.build_man_page(help_of(), shown))


def test_the_pages_of_the_api_show_what_the_packages_export() -> None:
    pages = script("api").build_api_pages()
    for path, text in pages.items():
        held_to(path, text)
    assert {path.name for path in (DOCS / "reference" / "api").iterdir()} == {path.name for path in pages}


def test_the_architecture_shows_every_package_in_the_order_of_imports() -> None:
    api = script("api")
    held_to(api.ARCHITECTURE, api.build_architecture_page())
    held_to(api.PICTURE, api.draw_packages())
    packages = {path.parent.name for path in api.SOURCE.glob("*/__init__.py")}
    modules = {path.stem for path in api.SOURCE.glob("*.py") if not path.stem.startswith("__")}
    assert {name for layer in api.list_layers() for name in layer} == packages | modules


def test_the_architecture_names_functions_that_exist() -> None:
    api = script("api")
    text = api.ARCHITECTURE.read_text().replace("\n", " ")
    named = re.findall(r"`([\w/]+\.py)`: +((?:`[\w.]+`(?:,| and| or)? *)+)", text)
    assert len(named) >= 40
    for file, names in named:
        defined = set(_definitions(ast.parse((api.SOURCE / file).read_text())))
        for name in re.findall(r"`([\w.]+)`", names):
            assert name.endswith(".py") or name in defined, f"{file}: {name}"


def _definitions(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """Yield the names of functions and classes, methods with their class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield prefix + child.name
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{child.name}.")


def test_the_page_of_layouts_shows_what_the_tests_of_readers_hold() -> None:
    layouts = script("layouts")
    held_to(layouts.PAGE, layouts.page())
    assert len(list(layouts.rows())) >= 30


def test_the_gallery_shows_every_figure_in_little_space() -> None:
    gallery = script("gallery")
    held_to(gallery.PAGE, gallery.page())
    assert [name for name in list_figures() if not gallery.pictures(name)] == []
    assert sum(path.stat().st_size for path in gallery.PICTURES.iterdir()) < MOST_GALLERY_BYTES


def test_every_algorithm_is_documented() -> None:
    pages = "".join(path.read_text() for path in PAGES)
    missing = [name for name in catalogue.entries() if not re.search(rf"`{re.escape(name)}[`(]", pages)]
    assert missing == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text())
    assert sorted(navigation) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_commands_named_in_the_text_exist(page: Path) -> None:
    assert set(re.findall(r"`tracearena ([a-z][a-z-]*)", page.read_text())) <= set(COMMANDS)


def test_every_picture_is_shown_by_a_page() -> None:
    text = "".join(path.read_text() for path in PAGES)
    pictures = [path for path in (DOCS / "img").rglob("*") if path.is_file()]
    assert [path.name for path in pictures if f"/{path.name})" not in text] == []


def test_the_table_of_formats_is_that_of_the_program() -> None:
    page = (DOCS / "reference" / "formats.md").read_text()
    for row in FORMAT_TABLE.values():
        written, chunked = ("yes" if given else "" for given in (row.writer, row.in_chunks))
        assert f"| `{row.name}` | {row.holds} | {row.signs} | {written} | {chunked} |" in page


def test_every_algorithm_has_a_section_with_formula_paper_and_code() -> None:
    page = (DOCS / "explanation" / "algorithms.md").read_text()
    sections = dict(re.findall(r"^### `(.+)`\n((?:(?!^#).*\n)*)", page, re.MULTILINE))
    assert sections.keys() == catalogue.entries().keys()
    papers = set(
        re.findall(r"^\| (\[[\w-]+\])", (DOCS / "reference" / "papers.md").read_text(), re.MULTILINE)
    )
    for name, entry in catalogue.entries().items():
        text = sections[name]
        assert text.count("```") == 2, f"{name}: one block with a formula or steps"
        assert "Ours" in text or any(paper in text for paper in papers), f"{name}: no paper"
        module, _, algorithm = entry.path.partition(":")
        named = set(_named_code(text))
        assert any(at == module and one.split(".")[0] == algorithm for at, one in named), (
            f"{name}: {entry.path}"
        )
        for at, one in named:
            assert _exists(at, one), f"{name}: {at} has no {one}"


def _named_code(text: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of the functions and classes that a section names as its code."""
    module = ""
    for found in re.findall(r"`([\w./]+)`", text.partition("\nCode: ")[2]):
        if found.endswith(".py"):
            module = f"tracearena.{found.removesuffix('.py').replace('/', '.')}"
        else:
            yield module, found


def _exists(module: str, name: str) -> bool:
    """Whether a module has a function, a class, or a class with that method, its own or inherited."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)
