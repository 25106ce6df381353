"""Files made to exhaust a reader are refused by a sentence, at once, by every command."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena.errors import FileError
from tracearena.files.io import FREE_BYTES, LONGEST_LINE, MOST_COLUMNS
from tracearena.io import read, read_places
from tracearena.io.formats import geolife, gpx

HEAD = b"user,time,lat,lng,place\n"
POINT = b'<trkpt lat="40" lon="1"><time>2012-01-01T00:00:00Z</time></trkpt>'


def refused(path: Path, words: str, *more: object) -> None:
    done = tracearena("describe", path, *more)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


@pytest.mark.parametrize("names", ["user,time,lat,lng", "user,time,lat,lng,place", "a,b"])
@pytest.mark.parametrize("columns", [MOST_COLUMNS + 1, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_header_of_a_million_columns_is_refused(tmp_path: Path, names: str, columns: int) -> None:
    path = tmp_path / "wide.csv"
    rest = ",".join(f"c{i}" for i in range(columns - names.count(",") - 1))
    path.write_text(f"{names},{rest}\n" + "1," * columns + "\n")
    long = path.stat().st_size > 2 * LONGEST_LINE
    told = f"a line of more than {LONGEST_LINE:,} bytes" if long else f"has {columns:,} columns; at most"
    if names == "a,b":
        done = tracearena("describe", path)
        assert (done.status, done.out) == (2, "")
        assert "a table without columns" in done.err
    else:
        refused(path, told)
        with pytest.raises(FileError, match=r"columns|line of more"):
            read(path)
    with pytest.raises(FileError, match=r"columns|line of more"):
        read_places(path)


@pytest.mark.slow
def test_a_parquet_file_that_is_too_wide_is_refused(tmp_path: Path) -> None:
    columns = {name: [1.0] for name in ("user", "time", "lat", "lng")}
    columns |= {f"c{i}": [1.0] for i in range(MOST_COLUMNS)}
    pl.DataFrame(columns).write_parquet(tmp_path / "wide.parquet")
    refused(tmp_path / "wide.parquet", f"has {MOST_COLUMNS + 4:,} columns")


@pytest.mark.parametrize("format", ["table", "gowalla", "pwscup"])
def test_an_endless_line_is_refused_wherever_it_is(tmp_path: Path, format: str) -> None:
    start = {
        "table": HEAD + b"1,2012-04-03 10:00,40,-74,a\n",
        "gowalla": b"7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n",
        "pwscup": b"user_id,time_id,reg_id\n1,1,45\n",
    }[format]
    cells = [(y, x) for y in (0, 1) for x in (0, 1)]
    regions = "".join(f"{1 + 2 * y + x},{y + 1},{x + 1},{35 + y},{139 + x}\n" for y, x in cells)
    (tmp_path / "info_region.csv").write_text("reg_id,y_id,x_id,y(center),x(center)\n" + regions)
    path = tmp_path / "t.csv"
    path.write_bytes(start + b"x" * (LONGEST_LINE + 1))
    refused(path, "has a line of more than 1,048,576 bytes, in line ", "--from", format)


@pytest.mark.parametrize("filling", [b"a", b" x='1'", b"<", b"&amp;"])
def test_a_gpx_file_with_one_endless_first_line_is_refused(tmp_path: Path, filling: bytes) -> None:
    path = tmp_path / "t.gpx"
    path.write_bytes(b"<gpx " + filling * (40 * 2**20 // len(filling)))
    refused(path, "has a tag or text of more than 1,048,576 bytes, in line 1")


@pytest.mark.slow
def test_a_gpx_file_may_be_one_long_line_of_many_points(tmp_path: Path) -> None:
    path = tmp_path / "t.gpx"
    path.write_bytes(b"<gpx><trk><trkseg>" + POINT * 30_000 + b"</trkseg></trk></gpx>")
    assert path.stat().st_size > LONGEST_LINE
    assert gpx.read(path).traces.n_points == 30_000


@pytest.mark.parametrize(
    ("name", "start", "row"),
    [
        ("t.csv.gz", HEAD, b"1,2012-04-03 10:00,40,-74,a\n"),
        ("p.csv.gz", b"user,time,lat,lng\n", b"1,2012-04-03 10:00,40,-74\n"),
        ("t.txt.gz", b"", b"7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n"),
        ("t.gpx.gz", b"<gpx><trk><trkseg>", POINT),
    ],
)
def test_a_gzip_bomb_is_refused_after_64_megabytes(
    tmp_path: Path, name: str, start: bytes, row: bytes
) -> None:
    """Of four gigabytes, which would be too much as they are."""
    path = tmp_path / name
    block = row * (2**22 // len(row))
    path.write_bytes(gzip.compress(start) + gzip.compress(block, 9) * 1024)
    assert path.stat().st_size < 2**25
    refused(path, "unpacks to more than 200 times its size")


def _tar(content: bytes, name: str = "Data/000/Trajectory/1.plt") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "a.zip",
        "a.tar.gz",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("a.tar.bz2", "a.tar.xz", "name.tar.gz")),
    ],
)
def test_an_archive_that_unpacks_beyond_all_proportion_is_refused(tmp_path: Path, name: str) -> None:
    content = bytes(FREE_BYTES + 2**20)
    path = tmp_path / name
    if name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("Data/000/Trajectory/1.plt", content)
    else:
        # A name that is as long as a bomb is read by tarfile before anyone is asked.
        made = _tar(content) if name != "name.tar.gz" else _tar(b"", "x" * len(content))
        # All but the start repeats, and a file may be many streams: they are packed once.
        pack = {"gz": gzip, "bz2": bz2, "xz": lzma}[name.rpartition(".")[2]].compress  # type: ignore[attr-defined]
        start, block = made[: 2**20], made[2**20 : 2**21]
        path.write_bytes(pack(start) + pack(block) * (FREE_BYTES // 2**20))
    refused(path, "unpacks to more than 200 times its size")


def test_archives_that_are_no_bombs_are_read(tmp_path: Path) -> None:
    rows = "".join(f"39.9,116.3,0,100,39744.1,2008-10-23,02:53:{s:02d}\r\n" for s in range(60))
    plt = ("x\r\n" * 6 + rows).encode()
    made = _tar(plt)
    for name, pack in (("a.tar.gz", gzip), ("a.tar.bz2", bz2), ("a.tar.xz", lzma)):
        (tmp_path / name).write_bytes(pack.compress(made))  # type: ignore[attr-defined]
        assert geolife.read(tmp_path / name).traces.n_points == 60
    (tmp_path / "a.tar").write_bytes(made)
    assert geolife.read(tmp_path / "a.tar").traces.n_points == 60
    for name in ("a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.tar", "a.zip"):
        (tmp_path / name).write_bytes(b"PK\3\4 nothing of the kind" * 40)
        refused(tmp_path / name, "is not a complete")


@pytest.mark.slow
def test_a_parquet_bomb_is_refused(tmp_path: Path) -> None:
    rows = 40_000_000
    lazy = pl.LazyFrame({"user": [1]}).select(
        user=pl.repeat(1, rows, dtype=pl.Int32),
        time=pl.repeat(1_333_476_006, rows, dtype=pl.Int32),
        lat=pl.repeat(1, rows, dtype=pl.Int8),
        lng=pl.repeat(1, rows, dtype=pl.Int8),
    )
    lazy.sink_parquet(tmp_path / "bomb.parquet", compression="zstd")
    assert (tmp_path / "bomb.parquet").stat().st_size < 10**6
    refused(tmp_path / "bomb.parquet", "unpacks to more than 1,000 times its size")
