"""Bad files and bad options by the hundred: status 0 or 2, one sentence, nothing left behind."""

from __future__ import annotations

import datetime
import gzip
import random
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.command_line import tracearena

FILES = {
    "points.csv": b"user,time,lat,lng\n1,1333476006,40.7,-74\n1,1333476066,40.7,-74\n2,1333476006,40,-74.1\n",
    "naive.csv": b"uid;datetime;lat;lon\n1;2010-03-14 02:30:00;40.7;-74\n2;2010-03-14 03:30:00;40;-74\n",
    "table.csv": b"user,time,lat,lng,place\n7,2010-10-19 23:55,40.7,-73.9,a\n8,1287532527,40.7,-73.9,b\n",
    "gowalla.txt": b"7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n8\t2010-10-20T03:00:00Z\t40.8\t-73.8\t1\n",
    "tsmc.txt": b"7\tv\tc\tBar\t40.7\t-74.0\t-240\tTue Apr 03 18:00:09 +0000 2012\n" * 2,
    "checkins.txt": b"7\tv\tTue Apr 03 18:00:09 +0000 2012\t-240\n" * 2,
    "t.gpx": b'<gpx><trk><trkseg><trkpt lat="40" lon="1"><time>2012-01-01T00:00:00Z</time></trkpt>'
    b"</trkseg></trk></gpx>",
    "t.plt": b"x\r\n" * 6 + b"39.9,116.3,0,100,39744.1,2008-10-23,02:53:04\r\n" * 2,
}  # fmt: skip
SPLICES = (
    b"", b"\0", b"\n", b"\r", b",", b";", b"\t", b'"', b"-", b"9" * 25, b"1e309", b"nan", b"inf", b"\xff\xfe",
    b"\xef\xbb\xbf", b"<", b">", b"&a;", b"2010-02-30", b"0000-00-00 00:00:00", b"-99999999999999",
    b" " * 300, b"time", b"place,", b"user", b"\x1f\x8b", b"PAR1", b"1970-01-01T00:00:00+99:99",
    b"9999-12-31T23:59:59Z",
)  # fmt: skip
OPTIONS = {
    "--grid": ("0x0", "2x", "2x2", "99999x99999", "-1x4"),
    "--bounds": ("1,2,3", "40,-75,41,-73", "91,0,92,1", "nan,0,1,1", "41,-73,40,-75", "0,0,1e-9,1e-9"),
    "--interval": ("0s", "7h", "30min", "x", "99999999s"),
    "--slot": ("0h", "25h", "2h", "1s"),
    "--timezone": ("Mars/Phobos", "UTC+9", "", "Asia/Tokyo", "../../etc/passwd", "Pacific/Apia"),
    "--top": ("0", "-1", "2", "99999999999"),
    "--from": ("points", "table", "gpx", "geolife", "gowalla", "pwscup", "peopleflow", "partitions", "x"),
}
COMMANDS = (
    ("describe", "IN"),
    ("describe", "IN", "--json"),
    ("convert", "IN", "OUT.csv"),
    ("convert", "IN", "OUT.csv", "--from", "points"),
    ("convert", "IN", "OUT.parquet", "--grid", "2x2", "--places-out", "NEW.csv"),
    ("convert", "IN", "OUT", "--to", "pwscup"),
    ("obfuscate", "GeoInd(100m)", "IN", "OUT.csv", "--seed", "1"),
    ("applications", "error", "--original", "IN", "--released", "IN"),
    ("applications", "homes", "--original", "IN", "--released", "IN"),
)
QUICK, ALL = 200, 1600


ODD_COLUMNS = (
    pl.Series([[1], [2], [3]]),
    pl.Series([{"a": 1}, {"a": 2}, {"a": 3}]),
    pl.Series([b"1", b"2", b"3"]),
    pl.Series([datetime.timedelta(1), datetime.timedelta(2), None]),
    pl.Series([datetime.time(1), datetime.time(2), None]),
    pl.Series([datetime.date(2012, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    pl.Series([datetime.datetime(2010, 3, 14, 2, 30)] * 3),
    pl.Series([True, False, None]),
    pl.Series([None, None, None]),
    pl.Series(["a", "b", None], dtype=pl.Categorical),
    pl.Series(["40", "41", "40"], dtype=pl.Enum(["40", "41"])),
    pl.Series([1, 2, 2**64 - 1], dtype=pl.UInt64),
    pl.Series([1, 2, 2**100], dtype=pl.Int128),
    pl.Series([1, 2, 3]).cast(pl.Decimal(20, 2)),
    pl.Series([float("nan"), float("inf"), -1e300]),
    pl.Series([-(10**18), 10**18, 0]),
    pl.Series(["", "x" * 1000, "\0"]),
)


def damaged(chance: random.Random, content: bytes) -> bytes:
    """Replace a field, or bytes anywhere, by something unfitting; pack it, and cut it off."""
    for _ in range(chance.choice((0, 1, 1, 2))):
        fields = [match.span() for match in re.finditer(rb"[^,;\t\n\r<>\"=]+", content)]
        start, stop = chance.choice(fields) if fields else (0, 0)
        content = content[:start] + chance.choice(SPLICES) + content[stop:]
    for _ in range(chance.choice((0, 0, 1, 2))):
        at = chance.randrange(len(content) + 1)
        content = content[:at] + chance.choice(SPLICES) + content[at + chance.choice((0, 0, 1, 3, 12)) :]
    if chance.random() < 0.1:
        content = gzip.compress(content, mtime=0)[: chance.choice((None, 15, -4))]
    return content


def parquet(chance: random.Random, path: Path) -> None:
    """Write good events, points or a folder of them, with one column of an odd kind; damage some."""
    moments = [datetime.datetime(2012, 4, 3, hour, tzinfo=datetime.UTC) for hour in (10, 11, 12)]
    columns: dict[str, object] = {"user": [1, 2, 1], "time": moments, "lat": [40.7, 40.8, 40.7]}
    columns["lng"] = [-74.0, -74.1, -74.0]
    if chance.random() < 0.5:
        columns["place"] = ["a", "b", "a"]
    columns[chance.choice(("user", "time", "lat", "lng", "place", "traj", "category"))] = chance.choice(
        ODD_COLUMNS
    )
    pl.DataFrame(columns).write_parquet(path)
    if chance.random() < 0.25:
        path.write_bytes(damaged(chance, path.read_bytes()))


def written(chance: random.Random, folder: Path) -> Path:
    """Write one of the files, damaged, under its own name or that of another kind."""
    kind = chance.random()
    if kind < 0.35:
        path = folder / "parts" / "a.parquet" if kind < 0.05 else folder / "in.parquet"
        path.parent.mkdir(exist_ok=True)
        parquet(chance, path)
        return path.parent if kind < 0.05 else path
    name = chance.choice(sorted(FILES))
    others = ("in.csv", "in.parquet", "in.gpx", "in.txt.gz", "in.zip", "in.tar.gz", "in.plt")
    path = folder / (chance.choice(others) if chance.random() < 0.1 else name)
    path.write_bytes(damaged(chance, FILES[name]))
    return path


def attempt(number: int, folder: Path) -> None:
    chance = random.Random(number)
    folder.mkdir()
    (folder / "raw_POIs.txt").write_text("v\t40.7\t-74.0\tBar\tUS\n")
    path = written(chance, folder)
    template = chance.choice(COMMANDS)
    words = [
        str(path) if word == "IN" else str(folder / word) if word.startswith(("OUT", "NEW")) else word
        for word in template
    ]
    if template[0] in ("describe", "convert"):
        for option in chance.sample(sorted(OPTIONS), chance.choice((0, 0, 1, 2))):
            words += [option, chance.choice(OPTIONS[option])]
    elif chance.random() < 0.3:
        words += ["--timezone", chance.choice(OPTIONS["--timezone"])]
    before = sorted(folder.rglob("*"))
    done = tracearena(*words)
    told = f"try {number}: {' '.join(words)}\n{done.out}{done.err}"
    assert done.status in (0, 2), told
    assert "Traceback" not in done.err, told
    if done.status == 2:
        assert done.err.strip(), told
        proposed = done.out.startswith('{"readable": false') and "--json" in words
        assert done.out == "" or proposed, told
        assert sorted(folder.rglob("*")) == before, told
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))])
def test_a_bad_file_or_option_gets_a_sentence(part: int, tmp_path: Path) -> None:
    for number in range(part, QUICK, 8):
        attempt(number, tmp_path / "try")


@pytest.mark.long
@pytest.mark.parametrize("part", range(16))
def test_many_bad_files_and_options_get_a_sentence(part: int, tmp_path: Path) -> None:
    for number in range(QUICK + part, ALL, 16):
        attempt(number, tmp_path / "try")
