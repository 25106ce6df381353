"""The figures of fake traces, on a handful of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena.figures import _fake_traces, figure
from tracearena.figures.sglt import classes as sglt_classes
from tracearena.figures.sglt import service as sglt_service


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sglt-similarity", "sglt-tables", "sglt-qq", "sglt-lbs", "sglt-classes"])
def test_every_figure_has_a_picture_and_its_numbers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fake_traces.real_traces, "__defaults__", (30,))
    monkeypatch.setattr(sglt_service, "USERS", 20)
    monkeypatch.setattr(sglt_service, "COUNTS", (2,))
    monkeypatch.setattr(sglt_classes, "USERS", 30)
    picture, table = figure(name)(tmp_path, seed=1)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(table.read_text().splitlines()) > 3
