"""Bad files: for each the one verdict it gets, and the row."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.io.pwscup.small_contest import VALID, Reader

from tracearena.errors import FileError
from tracearena.io import pwscup
from tracearena.io.pwscup import VERDICTS
from tracearena.traces import Traces

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "files-pwscup.md"

# What stands in row 3 of obfuscated traces, and the verdict.
BAD_CELLS = [
    (b"", "blank-line"),
    (b" ", "stray-blank"),
    (b" 5", "stray-blank"),
    (b"5 ", "stray-blank"),
    (b"1  2", "stray-blank"),
    (b"1\t2", "stray-blank"),
    (b"\t5", "stray-blank"),
    (b"5\x0b", "not-a-number"),
    (b"+5", "sign"),
    (b"-1", "sign"),
    (b"-0", "sign"),
    (b"1 -2", "sign"),
    (b"\xe2\x88\x921", "not-ascii"),
    (b"0", "out-of-range"),
    (b"1025", "out-of-range"),
    (b"1 1025", "out-of-range"),
    (b"9223372036854775807", "out-of-range"),
    (b"9223372036854775808", "out-of-range"),
    (b"18446744073709551617", "out-of-range"),
    (b"4294967297", "out-of-range"),
    (b"1" + b"0" * 40, "out-of-range"),
    (b"7" * 500, "out-of-range"),
    (b"7" * 10**6, "line-too-long"),
    (b"1 " * 500_000 + b"1", "line-too-long"),
    (b"05", "leading-zero"),
    (b"00", "leading-zero"),
    (b"0410", "leading-zero"),
    (b"1 02", "leading-zero"),
    (b"5.0", "not-a-number"),
    (b"5.", "not-a-number"),
    (b"1e3", "not-a-number"),
    (b"1_000", "not-a-number"),
    (b"0x10", "not-a-number"),
    (b"NaN", "not-a-number"),
    (b"inf", "not-a-number"),
    (b"None", "not-a-number"),
    (b"five", "not-a-number"),
    (b"-", "not-a-number"),
    (b"1;2", "not-a-number"),
    (b"=1+1", "not-a-number"),
    (b"\xef\xbc\x95", "not-ascii"),
    (b"\xd9\xa3", "not-ascii"),
    (b"5\xc2\xa06", "not-ascii"),
    (b"\xef\xbb\xbf5", "not-ascii"),
    (b"\xff", "not-utf8"),
    (b"5\xe9", "not-utf8"),
    (b"5\x00", "nul-byte"),
    (b"\x00", "nul-byte"),
    (b'"5"', "quotes"),
    (b"'5'", "quotes"),
    (b'"', "quotes"),
    (b"* 5", "mixed-star"),
    (b"5 *", "mixed-star"),
    (b"**", "mixed-star"),
    (b"* *", "mixed-star"),
    (b" *", "mixed-star"),
    (b"410 410", "repeated-id"),
    (b"1 2 1", "repeated-id"),
    (b"5\r6", "stray-cr"),
    (b"5\r", None),
    (b"5\r\r", "stray-cr"),
    (b"1,2", "column-count"),
    (b"5,", "column-count"),
    (b",", "column-count"),
    (b"reg_id", "second-header"),
]


def parquet(cells: list[Any], name: str = "reg_id") -> bytes:
    """Return a column as a Parquet file."""
    file = io.BytesIO()
    pl.DataFrame({name: cells}, schema=None if cells else {name: pl.String}).write_parquet(file)
    return file.getvalue()


# Whole files: reader, bytes, verdict, row (None is the file as a whole, 0 the header).
ANO, PUB, ORG, TABLE = VALID["obfuscated"], VALID["anonymized"], VALID["traces"], VALID["id_table"]
GUESS, INFERRED, REGIONS, TIMES = (
    VALID[kind] for kind in ("inferred_table", "inferred_traces", "places", "times")
)
BAD_FILES = [
    ("obfuscated", b"", "empty-file", None),
    ("obfuscated", b"\xef\xbb\xbf", "empty-file", None),
    ("obfuscated", b"\n", "wrong-header", 0),
    ("obfuscated", b"reg_id", "no-rows", None),
    ("obfuscated", b"reg_id\n", "no-rows", None),
    ("obfuscated", b"reg_id\r\n", "no-rows", None),
    ("obfuscated", ANO.decode().encode("utf-16"), "utf-16", None),
    ("obfuscated", ANO.decode().encode("utf-16-be"), "nul-byte", 0),
    ("obfuscated", ANO.decode().encode("utf-16-le"), "nul-byte", 0),
    ("obfuscated", ANO.replace(b"\n", b"\r"), "cr-line-ends", 0),
    ("obfuscated", b"\x00" * 1000, "nul-byte", 0),
    ("obfuscated", b"PAR1\x15\x04\x15", "bad-parquet", None),
    ("obfuscated", parquet(["1"] * 6)[:-1], "bad-parquet", None),
    ("obfuscated", parquet([0.5] * 6), "column-type", None),
    ("obfuscated", parquet(["1", "2\n3", "4", "5", "6", "7"]), "line-break", 2),
    ("obfuscated", parquet(["1", "2", "3", "4", "5\r", "6"]), "line-break", 5),
    ("obfuscated", parquet(["1", "2", "3 3", "4", "5", "6"]), "repeated-id", 3),
    ("obfuscated", parquet([1, 2, 3, 4, 5, 1025]), "out-of-range", 6),
    ("obfuscated", parquet([1, 2, None, 4, 5, 6]), "blank-line", 3),
    ("obfuscated", parquet([1, 2, 3, 4, 5]), "row-count", 6),
    ("obfuscated", parquet([1] * 7), "row-count", 7),
    ("obfuscated", parquet([]), "no-rows", None),
    ("obfuscated", parquet([1] * 6, "user_id"), "other-file", 0),
    ("obfuscated", parquet([1] * 6, "place"), "wrong-header", 0),
    ("inferred_traces", parquet(["1", "2", "*", "4", "5", "6"]), "star-not-allowed", 3),
    ("inferred_table", parquet([2, 3], "user_id"), "unknown-user", 2),
    ("id_table", b"PAR1", "wrong-header", 0),
    ("obfuscated", gzip.compress(ANO, mtime=0)[:-9], "bad-gzip", None),
    ("obfuscated", b"\x1f\x8b and no more", "bad-gzip", None),
    ("obfuscated", b"PK\x03\x04\x14\x00 a workbook", "no-table", None),
    ("obfuscated", b"\xd0\xcf\x11\xe0 an old one", "no-table", None),
    ("inferred_table", b"\x89PNG\r\n\x1a\n", "no-table", None),
    ("inferred_traces", b"%PDF-1.7\n", "no-table", None),
    ("obfuscated", ANO.removeprefix(b"reg_id\n"), "missing-header", 0),
    ("obfuscated", ANO.replace(b"reg_id", b"Reg_id"), "wrong-header", 0),
    ("obfuscated", ANO.replace(b"reg_id", b" reg_id"), "wrong-header", 0),
    ("obfuscated", ANO.replace(b"reg_id", b'"reg_id"'), "wrong-header", 0),
    ("obfuscated", ANO.replace(b"reg_id", b"reg_id,"), "wrong-header", 0),
    ("obfuscated", ANO.replace(b"reg_id", b",reg_id"), "row-numbers", 0),
    ("obfuscated", b"\xef\xbb\xbf\xef\xbb\xbf" + ANO, "wrong-header", 0),
    ("obfuscated", b"reg_id\n" + ANO, "second-header", 1),
    ("obfuscated", PUB, "other-file", 0),
    ("obfuscated", ORG, "other-file", 0),
    ("obfuscated", TABLE, "other-file", 0),
    ("obfuscated", ANO[: ANO.rindex(b"281")], "row-count", 6),
    ("obfuscated", ANO + b"5\n", "row-count", 7),
    ("obfuscated", ANO + b"\n", "blank-line", 7),
    ("obfuscated", ANO.replace(b"*\n", b"*\n\n"), "blank-line", 3),
    ("obfuscated", ANO.rstrip(b"\n") + b"\r", "stray-cr", 6),
    ("inferred_traces", INFERRED.replace(b"\n5\n", b"\n*\n"), "star-not-allowed", 2),
    ("inferred_traces", INFERRED.replace(b"\n5\n", b"\n5 6\n"), "list-not-allowed", 2),
    ("inferred_traces", INFERRED.replace(b"\n5\n", b"\n\n"), "blank-line", 2),
    ("inferred_traces", INFERRED.replace(b"\n5\n", b"\n0\n"), "out-of-range", 2),
    ("inferred_traces", INFERRED.replace(b"8\n", b""), "row-count", 6),
    ("inferred_traces", GUESS, "other-file", 0),
    ("inferred_table", GUESS.replace(b"2\n2", b"2\n3"), "unknown-user", 2),
    ("inferred_table", GUESS.replace(b"2\n2", b"2\n9999999999"), "out-of-range", 2),
    ("inferred_table", GUESS.replace(b"2\n2", b"2\n*"), "star-not-allowed", 2),
    ("inferred_table", GUESS.replace(b"2\n2", b"2\n1 2"), "list-not-allowed", 2),
    ("inferred_table", GUESS + b"1\n", "row-count", 3),
    ("inferred_table", b"user_id\n2\n", "row-count", 2),
    ("inferred_table", TABLE, "other-file", 0),
    ("id_table", TABLE.replace(b"4,1", b"4,2"), "repeated-user", 2),
    ("id_table", TABLE.replace(b"4,1", b"3,1"), "duplicate-row", 2),
    ("id_table", TABLE.replace(b"4,1", b"2,1"), "unsorted-row", 2),
    ("id_table", TABLE.replace(b"4,1", b"4,"), "empty-cell", 2),
    ("id_table", TABLE.replace(b"4,1", b"4"), "column-count", 2),
    ("id_table", TABLE.replace(b"4,1", b"4,1,1"), "column-count", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,4,316"), "duplicate-row", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,3,316"), "unsorted-row", 2),
    ("traces", ORG.replace(b"2,4,1\n", b"1,1,1\n"), "unsorted-row", 4),
    ("traces", ORG.replace(b"1,5,316", b"1,5,*"), "star-not-allowed", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,5,1 2"), "list-not-allowed", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,0,316"), "out-of-range", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,1000001,316"), "out-of-range", 2),
    ("traces", ORG.replace(b"1,5,316", b",5,316"), "empty-cell", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,5"), "column-count", 2),
    ("traces", ORG.replace(b"1,5,316", b"1, 5,316"), "stray-blank", 2),
    ("traces", ORG.replace(b"1,5,316", b"1,05,316"), "leading-zero", 2),
    ("traces", ORG.replace(b",", b";"), "wrong-header", 0),
    ("anonymized", PUB.replace(b"3,6,1 2 33", b"3,6,1 2 2"), "repeated-id", 3),
    ("anonymized", PUB.replace(b"3,6,1 2 33", b"3,6,"), "empty-cell", 3),
    ("anonymized", PUB.replace(b"3,6,1 2 33", b"*,6,1"), "star-not-allowed", 3),
    ("anonymized", PUB.replace(b"3,5,", b"3,6,"), "duplicate-row", 3),
    ("anonymized", ORG, "other-file", 0),
    ("places", REGIONS.replace(b"136.5,1", b"136.5,2"), "unknown-word", 2),
    ("places", REGIONS.replace(b"35.5,135.5", b"NaN,135.5"), "not-a-decimal", 3),
    ("places", REGIONS.replace(b"35.5,135.5", b"3.55e1,135.5"), "not-a-decimal", 3),
    ("places", REGIONS.replace(b"3,2,1", b"3,2,2"), "not-a-grid", 3),
    ("places", REGIONS.replace(b"3,2,1", b"2,2,1"), "not-a-grid", 3),
    ("places", REGIONS.replace(b"35.5,135.5", b"35.6,135.5"), "not-a-grid", 3),
    ("places", REGIONS[: REGIONS.index(b"3,2")], "not-a-grid", None),
    ("places", REGIONS.replace(b"35.5,136.5", b"90.5,136.5"), "out-of-range", 4),
    ("places", REGIONS.replace(b"35.5,", b"34.5,"), "not-a-grid", None),
    ("times", TIMES.replace(b"ref,2", b"res,2"), "unknown-word", 2),
    ("times", TIMES.replace(b"2,1,8,30", b"2,1,24,30"), "unknown-word", 2),
    ("times", TIMES.replace(b"org,3,2,8,0", b"org,3,2,8,1"), "not-a-clock", 3),
    ("times", TIMES.replace(b"org,4,2,8,30\n", b""), "not-a-clock", 4),
    ("times", TIMES.replace(b"2,1,8,30", b"2,1,7,30"), "not-a-clock", 1),
]


def verdict(reader: Reader, path: Path, content: bytes) -> FileError | None:
    path.write_bytes(content)
    try:
        reader(path)
    except FileError as error:
        return error
    return None


@pytest.mark.parametrize(("cell", "code"), BAD_CELLS, ids=[ascii(cell[:20]) for cell, _ in BAD_CELLS])
def test_a_bad_cell_has_one_verdict_and_its_row(
    readers: dict[str, Reader], tmp_path: Path, cell: bytes, code: str | None
) -> None:
    content = ANO.replace(b"281 282 313 314", cell, 1)
    error = verdict(readers["obfuscated"], tmp_path / "ano.csv", content)
    assert (error and error.faults[0].code) == code
    if error is not None:
        assert (error.total, error.faults[0].row) == (1, 3)
        assert "ano.csv: row 3 (line 4)" in str(error)
        assert len(str(error)) < 400


@pytest.mark.parametrize(("kind", "content", "code", "row"), BAD_FILES)
def test_a_bad_file_has_one_verdict_and_its_row(
    readers: dict[str, Reader], tmp_path: Path, kind: str, content: bytes, code: str, row: int | None
) -> None:
    assert content != VALID[kind]
    error = verdict(readers[kind], tmp_path / "file.csv", content)
    assert error is not None
    assert (error.faults[0].code, error.faults[0].row) == (code, row)


def test_every_verdict_is_given_by_some_file_and_documented() -> None:
    given = {code for _, code in BAD_CELLS} | {code for *_, code, _ in BAD_FILES}
    assert set(VERDICTS) - given == {"too-large", "too-many-ids", "no-clock", "beyond-clock"}
    page = DOCS.read_text(encoding="utf-8")
    assert [code for code in VERDICTS if f"| `{code}` |" not in page] == []


def test_the_first_ten_faults_are_shown_and_ten_rows_beyond_the_end_are_judged(
    readers: dict[str, Reader], tmp_path: Path
) -> None:
    error = verdict(readers["obfuscated"], tmp_path / "f", b"reg_id\n" + b"x\n" * 2500)
    assert error is not None
    assert [fault.row for fault in error.faults] == list(range(1, 11))
    assert error.total == 17
    assert "and 7 more" in str(error)


def test_all_faults_are_counted(readers: dict[str, Reader], tmp_path: Path) -> None:
    bad = b"user_id,time_id,reg_id\n" + b"x,1,1\n" * 2500
    error = verdict(readers["traces"], tmp_path / "f", bad)
    assert error is not None
    assert (len(error.faults), error.total) == (10, 2500)


def test_a_wrong_number_of_rows_says_how_many_there_should_be(
    readers: dict[str, Reader], tmp_path: Path
) -> None:
    error = verdict(readers["obfuscated"], tmp_path / "f", b"reg_id\n1\n2\n")
    assert "the file has 2 rows; it must have 6" in str(error)


def test_a_file_of_another_kind_is_called_by_its_name(readers: dict[str, Reader], tmp_path: Path) -> None:
    error = verdict(readers["obfuscated"], tmp_path / "f", PUB)
    assert "this looks like public traces" in str(error)


@pytest.mark.parametrize("kind", VALID)
@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last_newline", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_line_ends_marks_and_packing_do_not_matter(
    readers: dict[str, Reader],
    tmp_path: Path,
    kind: str,
    crlf: bool,
    bom: bytes,
    last_newline: bool,
    packed: bool,
) -> None:
    (tmp_path / "plain").write_bytes(VALID[kind])
    content = VALID[kind] if last_newline else VALID[kind].rstrip(b"\n")
    content = bom + (content.replace(b"\n", b"\r\n") if crlf else content)
    (tmp_path / "other").write_bytes(gzip.compress(content) if packed else content)
    assert readers[kind](tmp_path / "other") == readers[kind](tmp_path / "plain")


def test_a_parquet_file_is_the_csv_file_that_it_stands_for(original: Traces, tmp_path: Path) -> None:
    (tmp_path / "ano.csv").write_bytes(ANO)
    (tmp_path / "ano.parquet").write_bytes(parquet(ANO.decode().splitlines()[1:]))
    released = [pwscup.read_obfuscated(tmp_path / name, original) for name in ("ano.csv", "ano.parquet")]
    assert released[0] == released[1]
    for kind in (pl.Int16, pl.UInt64, pl.String, pl.Categorical):
        cells = pl.Series("reg_id", ["5", "6", "7", "1", "2", "3"])
        cells.cast(kind).to_frame().write_parquet(tmp_path / "guess.parquet")
        guess = pwscup.read_inferred_traces(tmp_path / "guess.parquet", original)
        assert guess.place_index.tolist() == [4, 5, 6, 0, 1, 2]
    (tmp_path / "table").write_bytes(parquet([2, 1], "user_id"))
    assert pwscup.read_inferred_table(tmp_path / "table", [3, 4], users=[1, 2]).user_ids.tolist() == [2, 1]


def test_the_scorer_of_old_files_may_accept_a_repeated_region(original: Traces, tmp_path: Path) -> None:
    path = tmp_path / "ano.csv"
    path.write_bytes(ANO.replace(b"281 282 313 314", b"410 410", 1))
    cells = pwscup.read_obfuscated(path, original, allow_repetition=True).cells()
    assert cells[2] == [409, 409]


@pytest.mark.slow
def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(original: Traces, tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"reg_id\n" + b"5\n" * (40 * 2**20)))
    assert path.stat().st_size < 10**6
    with pytest.raises(FileError) as caught:
        pwscup.read_obfuscated(path, original)
    assert caught.value.faults[0].code == "too-large"


def test_a_file_that_lists_more_ids_than_the_limit_is_refused(original: Traces, tmp_path: Path) -> None:
    path = tmp_path / "ano.csv"
    path.write_bytes(ANO)
    assert pwscup.read_obfuscated(path, original, max_listed_ids=12).n_events == 6
    with pytest.raises(FileError) as caught:
        pwscup.read_obfuscated(path, original, max_listed_ids=11)
    assert [(fault.code, fault.row) for fault in caught.value.faults] == [("too-many-ids", 6)]
