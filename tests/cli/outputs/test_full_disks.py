"""A disk that is full ends a command with one sentence that names the file, and leaves nothing behind."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from tests.command_line import Done, tracearena

from tracearena.engine import use

ROOM_BYTES = 20_000


@pytest.fixture
def checkins(tmp_path: Path) -> Path:
    """Check-ins of 200 people, in no order, and an empty folder ``out``."""
    rows = 20_000
    number = pl.int_range(rows, eager=True)
    place = number * 7919 % 500
    table = pl.DataFrame(
        {
            "user_id": number * 31 % 200,
            "time": (number * 1511 % 2_000_000 + 1_333_000_000).cast(pl.Int64),
            "place": place,
            "lat": 40 + place / 5000,
            "lng": -74 + place * 17 % 500 / 5000,
        }
    )
    table.with_columns(pl.from_epoch("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ")).write_csv(
        tmp_path / "checkins.csv"
    )
    (tmp_path / "out").mkdir()
    return tmp_path / "checkins.csv"


@contextmanager
def little_room() -> Iterator[None]:
    """Let no file grow beyond a few bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def in_little_room(*words: object) -> Done:
    with little_room():
        return tracearena(*words)


@pytest.mark.parametrize(
    "command",
    [
        ("obfuscate", "RR(1)", "IN", "OUT/o.csv"),
        ("obfuscate", "RR(1)", "IN", "OUT/o.parquet"),
        ("obfuscate", "RR(1)", "IN", "OUT/parts", "--to", "partitions"),
        ("obfuscate", "GeoInd(expected_noise=100m)", "IN", "OUT/o.parquet", "--from", "points"),
        ("convert", "IN", "OUT/o.parquet"),
        ("convert", "IN", "OUT/o.geoparquet", "--to", "geoparquet"),
        ("convert", "IN", "OUT/parts", "--to", "partitions"),
        ("convert", "IN", "OUT/parts", "--to", "partitions", "--from", "points"),
        ("pseudonymise", "IN", "OUT/o.parquet", "--id-table", "OUT/who.csv"),
        ("describe", "IN", "--html", "OUT/page.html"),
    ],
    ids=lambda words: " ".join(words[:1] + words[-3:]),
)
def test_an_output_without_room_is_named_and_nothing_is_left(checkins, command):
    out = checkins.parent / "out"
    words = [str(checkins) if word == "IN" else word.replace("OUT/", f"{out}/") for word in command]
    target = next(word for word in words if word.startswith(str(out)))
    # What is compiled on first use is kept in files of its own: let these be there before.
    elsewhere = [word.replace(str(out), str(checkins.parent / "elsewhere")) for word in words]
    (checkins.parent / "elsewhere").mkdir()
    assert tracearena(*elsewhere).status == 0
    done = in_little_room(*words)
    assert done.status == 1
    assert done.err.splitlines()[-1] == f"{target}: File too large"
    assert "Traceback" not in done.err
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("form", ["events", "points"])
def test_describe_says_that_there_is_no_room_for_temporary_files(checkins, form, monkeypatch, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with use(chunk_rows=1):  # a table of this size or more is sorted through the disk
        done = in_little_room("describe", checkins, *(["--from", "points"] if form == "points" else []))
    assert done.status == 1
    assert done.err.splitlines()[-1] == (
        f"{scratch}: File too large for temporary files; TMPDIR names another folder for them"
    )
    assert list(scratch.iterdir()) == []


def test_a_device_that_is_full_is_named(checkins):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    release = checkins.parent / "out" / "release.parquet"
    release.symlink_to("/dev/full")
    done = tracearena("obfuscate", "RR(1)", checkins, release)
    assert (done.status, done.err.splitlines()[-1]) == (1, f"{release}: No space left on device")
