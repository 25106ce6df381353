"""Small tables as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tracearena.files import csv_text, write_csv


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rows = [["a, b", 'say "no"', None], ["two\nlines", 0.1, -3]]
    path = write_csv(tmp_path / "table.csv", ["one", "two", "three"], rows)
    assert path.read_bytes() == b'one,two,three\n"a, b","say ""no""",\n"two\nlines",0.1,-3\n'
    read = list(csv.reader(io.StringIO(path.read_text(), newline="")))
    assert read[1:] == [["a, b", 'say "no"', ""], ["two\nlines", "0.1", "-3"]]


def test_a_format_may_have_no_header() -> None:
    assert csv_text(None, [(1, 2), ("-", "-", 3)]) == "1,2\n-,-,3\n"


def test_rows_that_fail_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")

    def rows():
        yield [1]
        raise ValueError("no more rows")

    with pytest.raises(ValueError, match="no more rows"):
        write_csv(path, ["a"], rows())
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]
