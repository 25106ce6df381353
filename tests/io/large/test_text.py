"""Text that is read piece by piece is what it is as a whole, faults included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracearena.engine import use
from tracearena.errors import FileError
from tracearena.files.io import LONGEST_LINE
from tracearena.io import large, points
from tracearena.io.inputs import Input
from tracearena.io.large.table_files import find_points_obstacle, has_many_rows
from tracearena.io.options import AS_NAMED, Layout
from tracearena.io.text_rows import read_text_pieces

HEADER = "uid,time,lat,lon,traj"


def lines(count: int = 1_000) -> list[str]:
    """Make rows of a few users, in no order of their own."""
    return [
        f"{7 * row % 5},2024-05-{1 + row % 28:02}T{row % 24:02}:{row % 60:02}:00Z,"
        f"{35 + row / 10_000},{139 - row / 10_000},{row % 3}"
        for row in range(count)
    ]


def written(folder: Path, rows: list[str], header: str = HEADER, encoding: str = "utf-8") -> Path:
    path = folder / "points.csv"
    path.write_bytes("\n".join([*([header] if header else []), *rows, ""]).encode(encoding))
    return path


def require_same(path: Path, scratch: Path, layout: Layout = AS_NAMED) -> dict[str, Any]:
    """Read it by pieces and as a whole, compare all that is known, and return what was reported."""
    expected, report = points.read(path, layout=layout)
    report.noticed.pop("same time", None)  # what is done with the portions tells
    for chunk in (40, 1 << 20):
        with use(chunk_rows=300):
            table, found = large.open_point_chunks(Input(path, layout), scratch, chunk=chunk)
        assert len(table.chunks) > 20 or chunk > 40
        for one in table.portions:
            own = expected.take_users(slice(one.first_user, one.stop_user))
            assert table.traces(one.number) == own
        assert found.report.to_dict() == report.to_dict()
        assert [str(one.fault) for one in found.report.examples if one.reason in report.dropped] == [
            str(one.fault) for one in report.examples if one.reason in report.dropped
        ]
    return report.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "reason", "value"),
    [
        ("3,2024-05-01T00:00:00Z,95,139.5,1", "bad latitude", "95.0"),
        ("3,2024-05-01T00:00:00Z,north,139.5,1", "bad latitude", "north"),
        ("3,yesterday,35,139.5,1", "unparsable time", "yesterday"),
        ("3,2024-05-01T00:00:00Z,35", "missing fields", "3, 2024-05-01T00:00:00Z, 35.0, "),
        ("3,2024-05-01T00:00:00Z,35,139.5,1,9,9", "too many fields", "9"),
        (f"{'x' * 300},2024-05-01T00:00:00Z,35,139.5,1", "overlong id", "x" * 100),
    ],
)
def test_a_bad_row_in_the_middle_is_named_as_by_reading_all(
    broken: str, reason: str, value: str, tmp_path: Path
) -> None:
    rows = lines()
    rows[734] = broken
    (example,) = require_same(written(tmp_path, rows), tmp_path)["examples"][reason]
    assert example["row"] == 735
    assert example["value"] == value


@pytest.mark.slow
def test_one_word_among_numbers_makes_all_of_them_text(tmp_path: Path) -> None:
    rows = lines()
    rows[10] = "3,2024-05-01T00:00:00Z,95,139.5,1"
    rows[900] = "3,2024-05-01T00:00:00Z,north,139.5,1"
    values = require_same(written(tmp_path, rows), tmp_path)["examples"]["bad latitude"]
    assert [one["value"] for one in values] == ["95", "north"]


@pytest.mark.slow
def test_a_file_of_windows_and_one_with_a_few_broken_letters(tmp_path: Path) -> None:
    rows = [f"Müller {row}" for row in lines()]
    report = require_same(written(tmp_path, rows, encoding="cp1252"), tmp_path)
    assert any("Windows-1252" in reason for reason in report["noticed"])
    path = written(tmp_path, rows)
    path.write_bytes(path.read_bytes().replace("Müller 4".encode(), b"M\xfcller 4"))
    report = require_same(path, tmp_path)
    assert not any("Windows-1252" in reason for reason in report["noticed"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "header", "layout"),
    [
        (lines(), "", Layout.parse(columns="user=1,time=2,lat=3,lng=4", header=False)),
        ([row.replace(",", ";").replace(".", ",") for row in lines()], HEADER.replace(",", ";"),
         Layout(decimal=",")),
        ([row.replace(",", "|") for row in lines()], HEADER.replace(",", "|"), AS_NAMED),
        ([row.partition(",")[2] for row in lines()], HEADER.partition(",")[2], Layout(one_user="me")),
        ([row.replace("Z,", ",") for row in lines()], HEADER, AS_NAMED),
        ([row.replace("Z,", "," if number % 3 else "Z,") for number, row in enumerate(lines())], HEADER,
         AS_NAMED),
        ([line for row in lines() for line in ("", row)], HEADER, AS_NAMED),
        ([f'"a\n""{row[0]}"{row[1:]}' for row in lines()], HEADER, AS_NAMED),
        ([f"0{row}" if row_number > 750 else row for row_number, row in enumerate(lines())], HEADER,
         AS_NAMED),
        ([f"{row}\r" for row in lines()], f"\ufeff{HEADER}\r", AS_NAMED),
    ],
    ids=["no header", "decimal commas", "bars", "one user", "no zone", "some zones", "blank lines",
         "line ends in quotes", "text ids later", "Windows"],
)  # fmt: skip
def test_tables_of_every_layout_are_what_they_are_as_a_whole(
    rows: list[str], header: str, layout: Layout, tmp_path: Path
) -> None:
    require_same(written(tmp_path, rows, header), tmp_path, layout)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([row.replace("T", " at ") for row in lines(100)], "no time could be read"),
        ([row.replace(",1", ",north", 1).replace(",35", ",east") for row in lines(100)], "bad latitude"),
        ([], "a header and no rows"),
        ([*lines(100), "3,2024\0"], "zero bytes"),
    ],
)
def test_a_file_that_is_refused_as_a_whole_is_refused_in_the_same_words(
    rows: list[str], problem: str, tmp_path: Path
) -> None:
    path = written(tmp_path, rows)
    with pytest.raises(FileError, match=problem) as whole:
        points.read(path)
    with pytest.raises(FileError) as streamed:
        large.open_point_chunks(path, tmp_path, chunk=20)
    assert str(streamed.value) == str(whole.value)


def test_a_quote_that_is_never_closed_is_named_with_its_line(tmp_path: Path) -> None:
    rows = lines(40_000)
    rows[99] = f'"{rows[99]}'
    with pytest.raises(FileError, match=f"not closed within {LONGEST_LINE:,} bytes, in line 101"):
        large.open_point_chunks(written(tmp_path, rows), tmp_path, chunk=1_000)


def test_pieces_are_the_file_cut_where_rows_end(tmp_path: Path) -> None:
    rows = [f'"a\n{row[0]}"{row[1:]}' if row[0] == "3" else row for row in lines()]
    path = written(tmp_path, rows)
    found = list(read_text_pieces(path, 500))
    assert b"".join(found) == path.read_bytes()
    assert len(found) > 50
    assert all(piece.count(b'"') % 2 == 0 and piece.endswith(b"\n") for piece in found)


def test_what_is_no_table_of_points_is_not_streamed(tmp_path: Path) -> None:
    path = written(tmp_path, lines())
    assert find_points_obstacle(Input(path)) is None
    assert has_many_rows(Input(path), 1_000)
    assert not has_many_rows(Input(path), 1_100)
    for header in ("uid,time,venue,lat,lon", "uid,date,clock,lat,lon", "reg_id,a,b,c,d"):
        there = find_points_obstacle(Input(written(tmp_path, lines(), header))) is None
        assert there == (header == "uid,time,venue,lat,lon")
