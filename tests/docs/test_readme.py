"""What the README shows is what happens.

``TRACEARENA_UPDATE_DOCS=1 pytest tests/docs`` writes the transcripts of the README anew.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracearena.cli import build

README = Path(__file__).resolve().parents[2] / "README.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.S | re.M)


def replay(transcript: str) -> str:
    """Run the commands of a transcript in this folder; what follows ``cat`` becomes the file."""
    lines = []
    for command, shown in re.findall(r"^\$ ([^\n]+)\n((?:(?!\$ )[^\n]*\n)*)", transcript, re.M):
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text(shown)
            printed = shown
        else:
            result = CliRunner().invoke(build(words[1:]), words[1:])
            assert result.exception is None, result.output
            printed = result.output
        lines.append(f"$ {command}\n{printed}")
    return "".join(lines)


@pytest.mark.parametrize("number", range(len(CONSOLE.findall(README.read_text()))))
def test_a_transcript_is_what_the_commands_print(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text()
    shown = CONSOLE.findall(text)[number]
    printed = replay(shown)
    if os.environ.get("TRACEARENA_UPDATE_DOCS"):
        README.write_text(text.replace(shown, printed))
    else:
        assert printed == shown


def test_the_contests_day_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"### A contest's day\n\n```\n(.*?)```", README.read_text(), re.S)
    for command in block.splitlines():
        small = command.replace("--users 2000 --days 20", "--users 40 --days 4")
        result = CliRunner().invoke(build(shlex.split(small)[1:]), shlex.split(small)[1:])
        assert result.exit_code == 0, result.output
    assert (tmp_path / "pub.csv").is_file()


def test_the_python_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.S | re.M)
    exec(compile(code, "README.md", "exec"), {})
    assert "UtilityScore(utility=0.7" in capsys.readouterr().out
