"""The figures of fake traces, on a handful of people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracearena.figures import figure
from tracearena.figures.data import Size


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sglt-similarity", "sglt-tables", "sglt-qq", "sglt-lbs", "sglt-classes"])
def test_every_figure_has_a_picture_and_its_numbers(name: str, tmp_path: Path) -> None:
    less: dict[str, Any] = {"counts": (2,)} if name == "sglt-lbs" else {}
    picture, table = figure(name)(tmp_path, seed=1, size=Size(30), **less)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(table.read_text().splitlines()) > 3
