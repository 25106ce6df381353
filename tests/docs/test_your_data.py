"""The transcripts of docs/your-data.md are what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracearena.cli import build

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-data.md"
FILES = re.findall(r'^```csv title="([^"]+)"\n(.*?)^```', PAGE.read_text(), re.S | re.M)
RUNS = re.findall(r"^```console\n\$ tracearena ([^\n]+)\n(.*?)^```", PAGE.read_text(), re.S | re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("your-data")
    for name, text in FILES:
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("command", "printed"), RUNS)
def test_a_command_prints_what_the_page_shows(
    command: str, printed: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(build(shlex.split(command)), shlex.split(command))
    assert result.exception is None
    assert result.output == printed
    wanted = re.findall(r"\S+\.(?:csv|parquet|html)", command)
    assert all((folder / name).is_file() for name in wanted)


def test_the_page_runs_two_commands_for_each_file() -> None:
    assert len(RUNS) == 2 * len(FILES) == 4


def test_the_python_of_the_page_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    exec(source, names)
    assert names["frame"].height == 9  # type: ignore[attr-defined]
