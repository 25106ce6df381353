"""Every Python block and every command that the pages print runs, and prints what they show.

``TRACEARENA_UPDATE_DOCS=1 pytest tests/docs`` updates what is shown.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import NO_DATA, SHARED_DATA
from tests.docs.inputs import INPUTS, PUBLISHED
from tests.docs.pages import PAGES, Page, read_page
from tests.docs.running import Session, agrees

RUNNABLE = [page for page in map(read_page, PAGES) if page.runs]
WITH_LONG_PARTS = [page for page in RUNNABLE if page.has_long_parts and "long" not in page.remarks]
LANGUAGES = {"python", "console", "sh", "text", "csv", "diff", "json", "toml", "make"}
NOT_RUN = 25
"""How many fences are not run, each for a reason that stands above it."""


def marked(page: Page) -> object:
    """Leave pages out of an everyday run: what they say changes more seldom than the code does."""
    marks = [pytest.mark.slow, *([pytest.mark.long] if "long" in page.remarks else [])]
    return pytest.param(page, marks=marks, id=page.name)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Inputs by their names, each made when the first page asks for it."""
    made: dict[str, Path] = {}

    def folder_of(name: str) -> Path:
        if name not in made:
            if name in PUBLISHED and not SHARED_DATA.is_dir():
                pytest.skip(f"{NO_DATA}: {SHARED_DATA}")
            made[name] = tmp_path_factory.mktemp(name)
            INPUTS[name](made[name])
        return made[name]

    return folder_of


def run(page: Page, folder: Path, prepared: Callable[[str], Path], *, small: bool) -> None:
    for name in page.inputs:
        shutil.copytree(prepared(name), folder, dirs_exist_ok=True)
    session = Session(page, folder, small)
    session.run()
    if os.environ.get("TRACEARENA_UPDATE_DOCS"):
        text = page.path.read_text()
        for (start, end), shown, printed in sorted(session.said, reverse=True):
            if not agrees(shown, printed):
                text = text[:start] + printed + text[end:]
        page.path.write_text(text)
    else:
        for _, shown, printed in session.said:
            if not agrees(shown, printed):
                assert printed == shown


@pytest.mark.parametrize("page", [marked(page) for page in RUNNABLE])
def test_a_page_runs_and_prints_what_it_shows(
    page: Page, tmp_path: Path, prepared: Callable[[str], Path]
) -> None:
    run(page, tmp_path, prepared, small="long" not in page.remarks)


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_LONG_PARTS, ids=lambda page: page.name)
def test_a_page_runs_at_its_full_length(page: Page, tmp_path: Path, prepared: Callable[[str], Path]) -> None:
    run(page, tmp_path, prepared, small=False)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_fence_says_what_is_in_it(path: Path) -> None:
    page = read_page(path)
    assert page.text.count("\n```") % 2 == 0
    assert {block.language for block in page.blocks} <= LANGUAGES
    hidden = [
        block.line
        for block in page.blocks
        if block.language == "text" and re.search(r"^(\$ |tracearena [a-z])", block.body, re.M)
    ]
    assert hidden == [], "commands in a text fence are not run"


def test_few_fences_are_not_run_and_each_says_why() -> None:
    why_not = [block.why_not for page in map(read_page, PAGES) for block in page.blocks]
    reasons = [why for why in why_not if why is not None]
    assert all(len(why) > 10 for why in reasons)
    assert len(reasons) <= NOT_RUN
