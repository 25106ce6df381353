"""The Python of the page about GPS traces runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tracearena.traces import GpsTraces

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gps.md"


@pytest.mark.slow
def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(source, names)
    assert isinstance(names["traces"], GpsTraces)
    assert names["traces"] == names["released"]
    assert names["report"].dropped == {}
