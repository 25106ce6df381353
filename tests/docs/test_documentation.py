"""The documentation says what the code does.

``TRACEARENA_UPDATE_DOCS=1 pytest tests/docs`` writes docs/commands.md anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from tracearena.algorithms import catalogue
from tracearena.cli import build
from tracearena.figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
COMMANDS_PAGE = ROOT / "docs" / "commands.md"


def help_of(*path: str) -> str:
    result = CliRunner().invoke(
        build([*path, "--help"]), [*path, "--help"], prog_name="tracearena", env={"COLUMNS": "100"}
    )
    assert result.exit_code == 0
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def commands_page() -> str:
    group = typer.main.get_command(build())
    parts = ["# Commands", "", "What `--help` says, command by command.", "", f"```\n{help_of()}\n```"]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        parts += ["", f"## {name}", "", f"```\n{help_of(name)}\n```"]
        for sub in getattr(command, "commands", {}):
            parts += ["", f"### {name} {sub}", "", f"```\n{help_of(name, sub)}\n```"]
    return "\n".join(parts) + "\n"


def test_the_page_of_commands_is_what_help_says() -> None:
    page = commands_page()
    if os.environ.get("TRACEARENA_UPDATE_DOCS"):
        COMMANDS_PAGE.write_text(page)
    assert COMMANDS_PAGE.read_text() == page


def test_every_algorithm_is_documented() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    missing = [name for name in catalogue.entries() if not re.search(rf"`{re.escape(name)}[`(]", pages)]
    assert missing == []


def test_every_figure_is_documented() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md") if path != COMMANDS_PAGE)
    assert [name for name in FIGURES if not re.search(rf"{re.escape(name)}(?![\w-])", pages)] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {page for page in pages if page not in navigation} == set()
    assert set(re.findall(r"[\w-]+\.md", navigation)) <= pages


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_data_model_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "data-model.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    exec(compile(code, "data-model.md", "exec"), {})
    assert capsys.readouterr().out == printed
