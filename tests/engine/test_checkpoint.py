"""A checkpoint keeps the finished pieces of one run, and of no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena.engine import Checkpoint, check_resume, get_checkpoint_path, read_checkpoint_seed
from tracearena.errors import ParameterError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A checkpoint of two pieces."""
    path = tmp_path / "table.csv.unfinished"
    checkpoint = Checkpoint(path, "inputs", 7)
    checkpoint.add("a", {"x": 1})
    checkpoint.add("b", {"x": 2})
    return path


def test_pieces_are_there_again_with_their_seed(path: Path) -> None:
    assert Checkpoint(path, "inputs", 7).rows == {"a": {"x": 1}, "b": {"x": 2}}
    assert read_checkpoint_seed(path) == 7


@pytest.mark.parametrize("end", [b'{"key": "c", "ro', b"\xff", b"[1]", b"[" * 100_000])
def test_a_torn_last_line_is_dropped_and_later_pieces_follow_whole_ones(path: Path, end: bytes) -> None:
    with open(path, "ab") as file:
        file.write(end)
    Checkpoint(path, "inputs", 7).add("c", {"x": 3})
    assert list(Checkpoint(path, "inputs", 7).rows) == ["a", "b", "c"]


def test_a_piece_takes_the_place_of_an_earlier_one(path: Path) -> None:
    Checkpoint(path, "inputs", 7).add("a", {"x": 9})
    assert Checkpoint(path, "inputs", 7).rows == {"a": {"x": 9}, "b": {"x": 2}}
    assert len(path.read_bytes().splitlines()) == 3


def test_rows_can_be_sorted_and_left_out(path: Path) -> None:
    checkpoint = Checkpoint(path, "inputs", 7)
    checkpoint.replace_rows({"b": checkpoint.rows["b"], "a": checkpoint.rows["a"]})
    assert list(Checkpoint(path, "inputs", 7).rows) == ["b", "a"]
    checkpoint.replace_rows({"a": checkpoint.rows["a"]})
    assert list(Checkpoint(path, "inputs", 7).rows) == ["a"]


@pytest.mark.parametrize(("depends_on", "seed"), [("others", 7), ("inputs", 8), ("inputs", None)])
def test_other_inputs_are_refused_on_resume_and_start_again_otherwise(
    path: Path, depends_on: str, seed: int | None
) -> None:
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="out: belongs to a run with other"):
        Checkpoint(path, depends_on, seed, refuse_as=Path("out"))
    assert path.read_bytes() == before
    assert Checkpoint(path, depends_on, seed).rows == {}
    assert Checkpoint(path, "inputs", 7).rows == {}


def test_a_resumed_run_must_have_been_begun(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="belongs to a run with other"):
        Checkpoint(tmp_path / "none", "inputs", refuse_as=tmp_path)
    assert not (tmp_path / "none").exists()
    out = tmp_path / "out.csv"
    with pytest.raises(ParameterError, match="there is no interrupted run to resume"):
        check_resume(out, resume=True)
    check_resume(out, resume=False)
    get_checkpoint_path(out).mkdir()
    check_resume(out, resume=True)
    with pytest.raises(ParameterError, match="remove the folder to start again"):
        check_resume(out, resume=False)
