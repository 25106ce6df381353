"""How files come in and go out, whatever stands under their name."""

from __future__ import annotations

import gzip
import os
import stat
import threading
from pathlib import Path

import pytest

from tracearena.errors import FileError
from tracearena.files.io import read_bytes, replacing
from tracearena.io import read


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_is_written_to_and_never_replaced_by_a_file(pipe: Path) -> None:
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"rows\n")
    reader.join()
    assert got == [b"rows\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("content", [b"rows\n", gzip.compress(b"rows\n", mtime=0), b"", b"r"])
def test_a_pipe_can_be_read_like_a_file(pipe: Path, content: bytes) -> None:
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    got = read_bytes(pipe)
    writer.join()
    assert got == (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def test_traces_whose_format_must_be_found_out_cannot_come_from_a_pipe(pipe: Path) -> None:
    with pytest.raises(FileError, match="is a pipe or a device; save its content to a file first"):
        read(pipe)


@pytest.mark.parametrize("name", ["missing/out.csv", "folder", "file/out.csv"])
def test_an_output_that_cannot_be_is_named_as_the_user_wrote_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as caught, replacing(tmp_path / name) as file:
        file.write(b"rows\n")
    assert caught.value.filename == str(tmp_path / name)
    assert not list(tmp_path.rglob("*.part"))


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("old\n")
    writing = replacing(out)
    writing.__enter__().write(b"new")
    assert not writing.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.csv", "old\n")]
