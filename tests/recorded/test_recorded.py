"""What commands say and write is on record; a change shows as a difference of the record.

``python -m pytest tests/recorded --record`` writes the record again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import typer.main
from tests.recorded.transcripts import replay

from tracearena.cli import build

TRANSCRIPTS = sorted(Path(__file__).with_name("record").glob("*.txt"))


@pytest.mark.slow
@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_commands_do_what_they_did(
    transcript: Path,
    prepared: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # where nobody has logged in to a server
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    found = replay(transcript.read_text(), folder)
    if request.config.getoption("--record"):
        transcript.write_text(found)
    assert found == transcript.read_text()


def test_every_command_is_on_record() -> None:
    """Those that serve, or talk to a server, by their refusals; more is tested where there is one."""
    said = "\n".join(path.read_text() for path in TRANSCRIPTS)
    for name, command in typer.main.get_command(build()).commands.items():  # type: ignore[attr-defined]
        inside = getattr(command, "commands", None)
        for words in [name] if inside is None else [f"{name} {one}" for one in inside]:
            assert f"\n$ {words} " in f"\n{said}", words
