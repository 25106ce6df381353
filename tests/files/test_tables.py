"""Small tables as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tracearena.files import csv_rows, csv_text, write_csv


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rows = [["a, b", 'say "no"', None], ["two\nlines", 0.1, -3]]
    path = write_csv(tmp_path / "table.csv", ["one", "two", "three"], rows)
    assert path.read_bytes() == b'one,two,three\n"a, b","say ""no""",\n"two\nlines",0.1,-3\n'
    read = list(csv.reader(io.StringIO(path.read_text(), newline="")))
    assert read[1:] == [["a, b", 'say "no"', ""], ["two\nlines", "0.1", "-3"]]


def test_a_format_may_have_no_header() -> None:
    assert csv_text(None, [(1, 2), ("-", "-", 3)]) == "1,2\n-,-,3\n"


FORMULAS = ('=HYPERLINK("http://evil.example")', "+1+cmd|' /C calc'!A0", "-1-1", "@SUM(A1)", "\t=1", "\r=1")
NO_FORMULAS = ("", "-", "+", "-0.5", "+81", "-1e-05", "a=1", "'", "'a'", "team 1")


@pytest.mark.parametrize("text", FORMULAS)
def test_no_spreadsheet_takes_a_text_for_a_formula(text: str) -> None:
    """In a cell and in the header; the reader gets back what was written, apostrophes of its own included."""
    for own in (text, f"'{text}", f"''{text}"):
        written = csv_text([own], [[own, 1]])
        cells = [cell for line in csv.reader(io.StringIO(written, newline="")) for cell in line]
        assert cells == [f"'{own}", f"'{own}", "1"]
        assert csv_rows(written) == [[own], [own, "1"]]


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_other_texts_stand_as_they_are(text: str) -> None:
    written = csv_text(None, [[text, "x"]])
    assert written == f"{text},x\n"
    assert csv_rows(written) == [[text, "x"]]


def test_a_file_to_look_things_up_has_every_text_as_it_is() -> None:
    assert csv_text(["user"], [["@ann"]], exact=True) == "user\n@ann\n"


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
