"""The page "Write your own attack in 20 lines" keeps its word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, read_page

from tracearena.algorithms import catalogue

PAGE = read_page(DOCS / "how-to" / "your-own-attack.md")
ATTACK = next(block.body for block in PAGE.blocks if block.title == "same_places.py")


def test_twenty_lines_are_twenty_lines() -> None:
    lines = [line for line in ATTACK.splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith(("from ", "import "))]) <= 20


def test_an_entry_point_gives_it_a_plain_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "same_places.py").write_text(ATTACK)
    monkeypatch.syspath_prepend(tmp_path)
    name, value = re.findall(r'^(\w+) = "(same_places:\w+)"$', PAGE.text, re.M)[0]

    class Point:
        pass

    point = Point()
    point.name, point.value = name, value  # type: ignore[attr-defined]
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [point])
    catalogue.entries.cache_clear()
    try:
        assert name in catalogue.names("reidentification")
        assert str(catalogue.create(name, "reidentification")) == name
    finally:
        catalogue.entries.cache_clear()
