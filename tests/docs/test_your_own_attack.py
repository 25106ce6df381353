"""The page "Your own attack in 20 lines" does what it says.

``TRACEARENA_UPDATE_DOCS=1 pytest tests/docs`` writes what it prints anew.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracearena.algorithms import catalogue
from tracearena.arena import pseudonymise
from tracearena.cli import build
from tracearena.formats import pwscup
from tracearena.obfuscation import PlanarLaplace
from tracearena.traces import Traces

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-own-attack.md"
TEXT = PAGE.read_text()
ATTACK, CONTEST = re.findall(r"```python\n(.*?)```", TEXT, re.S)
(PRINTED,) = re.findall(r"```text\n(.*?)```", TEXT, re.S)
(COMMANDS,) = re.findall(r"```console\n(.*?)```", TEXT, re.S)


@pytest.fixture(autouse=True)
def _module_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "same_places.py").write_text(ATTACK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "same_places", raising=False)


def test_twenty_lines_are_twenty_lines() -> None:
    lines = [line for line in ATTACK.splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith(("from ", "import "))]) <= 20


def test_it_competes_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(CONTEST, PAGE.name, "exec"), {})
    printed = capsys.readouterr().out
    if os.environ.get("TRACEARENA_UPDATE_DOCS"):
        PAGE.write_text(TEXT.replace(f"```text\n{PRINTED}```", f"```text\n{printed}```"))
    else:
        assert printed == PRINTED


def test_the_commands_run_as_printed(make_walks: Callable[..., Traces]) -> None:
    reference, original = make_walks(users=30, days=4).split_days(2)
    release = pseudonymise(PlanarLaplace(l=4, r=1).transform(original, seed=1), seed=2)
    pwscup.write_places(original.places, "info_region.csv")
    pwscup.write_traces(reference, "reftraces.csv")
    pwscup.write_traces(original, "orgtraces.csv")
    pwscup.write_anonymized(release.anonymized, "pubtraces.csv")
    pwscup.write_id_table(release.id_table, "ptable.csv")
    for line in COMMANDS.splitlines():
        words = shlex.split(line.removeprefix("$ "))
        if words[0] == "tracearena":
            result = CliRunner().invoke(build(words[1:]), words[1:])
            assert result.exit_code == 0, result.output
    header = Path("table.csv").read_text().partition("\n")[0].split(",")
    assert {"SamePlaces", "VisitProb-R", "FuzzyCount-T"} <= set(header)


def test_an_entry_point_gives_it_a_plain_name(monkeypatch: pytest.MonkeyPatch) -> None:
    name, value = re.findall(r'^(\w+) = "(same_places:\w+)"$', TEXT, re.M)[0]

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
