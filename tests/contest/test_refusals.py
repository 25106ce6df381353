"""Tables and settings of a contest that contradict themselves are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena.contest import ContestFile, read_score_tables, verify_archive
from tracearena.errors import FileError, ParameterError

MATRIX = "target,data_set,001,002\n001,1,-,0.5\n002,1,0.5,-\n"
UTILITY = "team,data_set,utility\n001,1,0.8\n002,1,0.8\n"


@pytest.mark.parametrize(
    ("matrix", "utility", "message"),
    [
        (MATRIX + "001,1,-,0.5\n", UTILITY, "occurs in two rows"),
        (MATRIX, "team,data_set,utility,more\n001,1,0.8,1\n", "the header is not team,data_set,utility"),
    ],
)
def test_a_broken_table_of_scores_is_refused(matrix: str, utility: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_text(matrix)
    (tmp_path / "utility.csv").write_text(utility)
    with pytest.raises(FileError) as refused:
        read_score_tables(tmp_path / "matrix.csv", tmp_path / "matrix.csv", tmp_path / "utility.csv")
    assert message in str(refused.value)


def test_extra_time_needs_a_schedule() -> None:
    with pytest.raises(ParameterError, match="extra_time needs a"):
        ContestFile(extra_time={"001": {"attack_end": "2030-01-01T00:00:00Z"}})


def test_a_key_that_is_no_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="64 hexadecimal digits in lower case"):
        verify_archive(tmp_path / "contest.zip", key="AB")
