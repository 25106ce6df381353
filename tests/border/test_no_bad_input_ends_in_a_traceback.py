"""Bad files and bad options by the hundred: status 0 or 2, one sentence, nothing left behind."""

from __future__ import annotations

import gzip
import random
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.border.command_line import tracearena

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
    ("convert", "IN", "OUT.parquet", "--grid", "2x2", "--places-out", "NEW.csv"),
    ("convert", "IN", "OUT", "--to", "pwscup"),
    ("obfuscate", "GeoInd(100m)", "IN", "OUT.csv", "--seed", "1"),
    ("applications", "error", "--original", "IN", "--released", "IN"),
    ("applications", "homes", "--original", "IN", "--released", "IN"),
)
QUICK, ALL = 160, 1600


def damaged(chance: random.Random, content: bytes) -> bytes:
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        at = chance.randrange(len(content) + 1)
        content = content[:at] + chance.choice(SPLICES) + content[at + chance.choice((0, 0, 1, 3, 12)) :]
    if chance.random() < 0.1:
        content = gzip.compress(content, mtime=0)[: chance.choice((None, 15, -4))]
    return content


def written(chance: random.Random, folder: Path) -> Path:
    """Write one of the files, damaged, under its own name or that of another kind."""
    name = chance.choice(sorted(FILES))
    content = damaged(chance, FILES[name])
    if chance.random() < 0.15:
        path = folder / chance.choice(
            ("in.csv", "in.parquet", "in.gpx", "in.txt.gz", "in.zip", "in.tar.gz", "in.plt")
        )
    else:
        path = folder / name
    path.write_bytes(content)
    if chance.random() < 0.2:
        path = folder / "in.parquet"
        values = chance.choice(([1, 2], ["a", None], [b"x", b"y"], [[1], [2]], [None, None], [True, False]))
        roles = chance.sample(("user", "time", "lat", "lng", "place", "category"), 4)
        kinds = (values, [1.5, 2.5], [1333476006, 10**17], ["40", "x"])
        columns = {role: chance.choice(kinds) for role in roles}
        pl.DataFrame(columns, strict=False).write_parquet(path)
        data = path.read_bytes()
        if chance.random() < 0.5:
            path.write_bytes(damaged(chance, data))
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
    before = sorted(folder.rglob("*"))
    done = tracearena(*words)
    told = f"try {number}: {' '.join(words)}\n{done.out}{done.err}"
    assert done.status in (0, 2), told
    assert "Traceback" not in done.err, told
    if done.status == 2:
        assert done.err.strip(), told
        assert done.out == "", told
        assert sorted(folder.rglob("*")) == before, told
    shutil.rmtree(folder)


@pytest.mark.parametrize("part", range(8))
def test_a_bad_file_or_option_gets_a_sentence(part: int, tmp_path: Path) -> None:
    for number in range(part, QUICK, 8):
        attempt(number, tmp_path / "try")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_many_bad_files_and_options_get_a_sentence(part: int, tmp_path: Path) -> None:
    for number in range(QUICK + part, ALL, 16):
        attempt(number, tmp_path / "try")
