"""The worked example of docs/explanation/risk-figures.md gives the numbers printed there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.command_line import tracearena

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "risk-figures.md"


@pytest.mark.long
def test_the_commands_of_the_page_give_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    found: dict[str, dict[str, object]] = {}
    for line in re.findall(r"^\$ tracearena (.*)$", text, re.MULTILINE):
        words = [*shlex.split(line), "--json"]
        done = tracearena(*words)
        assert done.status == 0, done.err
        name = f"{words[1]} {words[-2]}" if words[0] == "applications" else words[0]
        found[name] = done.json
    printed = dict(re.findall(r"^\| `([a-z ]+)`(?:, \d known points?)? \| ([\d.]+) \|", text, re.MULTILINE))
    linked = dict(re.findall(r"^\| `linked`, (\d) known points? \| ([\d.]+) \|", text, re.MULTILINE))
    before, after = found["error released.csv"], found["error guess.csv"]
    assert before["mean_m"] == pytest.approx(float(printed["mean m"]), abs=2)
    assert after["mean_m"] == pytest.approx(108, abs=2)
    unique = found["uniqueness 3"]
    assert {k: unique["linked"][k] for k in linked} == pytest.approx(
        {k: float(v) for k, v in linked.items()}, abs=0.005
    )
    assert unique["chance"] == float(printed["chance"])
    homes = found["homes released.csv"]
    assert homes["home_found"] == pytest.approx(float(printed["home found"]), abs=0.03)
    assert homes["home_chance"] == pytest.approx(float(printed["home chance"]), abs=0.002)
