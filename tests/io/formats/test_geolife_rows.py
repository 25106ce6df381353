"""PLT rows read quickly have the values of rows read carefully, to the last bit; others are left to care."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracearena.engine import use
from tracearena.errors import FileError
from tracearena.io.formats import _geolife_kernels as kernels
from tracearena.io.formats import geolife
from tracearena.io.report import Report

HEADER = b"Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n0,2,255,My Track\r\n0\r\n"
ROW = b"39.976372,116.33888,0,206,39759.0673842593,2008-11-07,01:37:02"


def quickly(line: bytes) -> tuple[float, float, int] | None:
    """Read a line, its end included; None if it is left to care."""
    text = np.frombuffer(line, np.uint8)
    latitude, longitude, time_ms = np.empty(1), np.empty(1), np.empty(1, np.int64)
    known = np.full(2, -1, np.int64)
    following = kernels.parse_row_quickly(text, 0, len(line) - 1, known, latitude, longitude, time_ms, 0)
    if following < 0:
        return None
    assert following == len(line)
    return float(latitude[0]), float(longitude[0]), int(time_ms[0])


def carefully(line: bytes) -> tuple[float, float, int] | None:
    """Read a line without its end; None if it is not good at once."""
    text = np.frombuffer(line.rstrip(b"\r\n "), np.uint8)
    latitude, longitude, time_ms = np.empty(1), np.empty(1), np.empty(1, np.int64)
    commas = np.empty(6, np.int64)
    state = kernels.parse_row_carefully(text, 0, len(text), commas, latitude, longitude, time_ms, 0)
    return (float(latitude[0]), float(longitude[0]), int(time_ms[0])) if state == kernels.GOOD else None


degrees = st.tuples(st.sampled_from(["", "-"]), st.integers(0, 180), st.text("0123456789", max_size=12)).map(
    lambda parts: f"{parts[0]}{parts[1]}.{parts[2]}"
)
moments = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(microsecond=0)
)


@given(latitude=degrees, longitude=degrees, moment=moments, end=st.sampled_from(["\n", "\r\n"]))
def test_a_row_as_most_are_is_read_quickly_and_to_the_last_bit(
    latitude: str, longitude: str, moment: datetime.datetime, end: str
) -> None:
    written = f"{moment.year:04d}-{moment:%m-%d,%H:%M:%S}"
    line = f"{latitude},{longitude},0,206,39759.0673842593,{written}{end}".encode()
    seconds = (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    assert repr(quickly(line)) == repr((float(latitude), float(longitude), seconds * 1000))
    assert repr(carefully(line)) == repr(quickly(line))


@given(at=st.integers(0, len(ROW)), put=st.binary(max_size=3), over=st.integers(0, 3))
def test_what_is_read_quickly_is_good_to_careful_eyes(at: int, put: bytes, over: int) -> None:
    line = (ROW[:at] + put + ROW[at + over :]).replace(b"\n", b"") + b"\r\n"
    found = quickly(line)
    assert found is None or repr(found) == repr(carefully(line))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"-",
        b"39.9",
        ROW[:-1],
        ROW + b" ",
        ROW + b"\r\r",
        ROW + b",",
        ROW.replace(b"39.9", b"+39.9"),
        ROW.replace(b"39.976372", b""),
        ROW.replace(b"39.976372", b"."),
        ROW.replace(b"39.976372", b"39.9763.72"),
        ROW.replace(b"39.976372", b"39.97637222222222"),
        ROW.replace(b"39.976372", b"1e1"),
        ROW.replace(b",206", b""),
        ROW.replace(b",206", b",206,206"),
        ROW.replace(b"2008-11-07", b"2008/11/07"),
        ROW.replace(b"2008-11-07", b"2008-11-31"),
        ROW.replace(b"2008-11-07", b"2009-02-29"),
        ROW.replace(b"2008-11-07", b"0000-11-07"),
        ROW.replace(b"2008-11-07", b"2008-1a-07"),
        ROW.replace(b"01:37:02", b"24:37:02"),
        ROW.replace(b"01:37:02", b"01:60:02"),
        ROW.replace(b"01:37:02", b"01:37:60"),
        ROW.replace(b"01:37:02", b"01-37-02"),
    ],
)
def test_any_other_row_is_left_to_care(line: bytes) -> None:
    assert quickly(line + b"\n") is None


def test_a_date_once_known_does_not_stand_for_a_wrong_one(tmp_path: Path) -> None:
    wrong = [b"2008-1a-07", b"2008-11-0:", b"2108-/0-07", b"2009-11-00"]
    rows = [ROW, *(ROW.replace(b"2008-11-07", date) for date in wrong), ROW]
    place = tmp_path / "a.plt"
    place.write_bytes(HEADER + b"\r\n".join(rows))
    reading = geolife.read(place)
    assert reading.traces.n_points == 2
    assert reading.report.dropped == {"bad date": 4}


NEIGHBOURS = {
    "Data/000/Trajectory/1.plt": HEADER + ROW + b"\r\n" + ROW,
    "Data/000/Trajectory/2.plt": b"\xef\xbb\xbf" + HEADER + ROW + b"\n",
    "Data/000/Trajectory/3.plt": b"",
    "Data/001/Trajectory/1.plt": HEADER[:30],
    "Data/001/Trajectory/2.plt": ROW + b"\r\n" + ROW.replace(b"01:37", b"00:37") + b"\r\n\r\n",
    "Data/001/Trajectory/3.plt": HEADER + ROW[:30],
    "Data/002/Trajectory/1.plt": HEADER + ROW.replace(b"39.9", b"99.9") + b"\r\n" + ROW + b"\n" + ROW,
    "Data/002/Trajectory/2.plt": HEADER + ROW.replace(b"39.976372", b"3.99763722222222222e1") + b"\r\n",
    "2.plt": HEADER + ROW.replace(b"2008", b"2001") + b"\r\n",
}


@pytest.mark.parametrize("together", [1, 200])
def test_files_parsed_together_do_not_touch_each_other(together: int) -> None:
    found = []
    for size in (together, 4 * 2**20):
        report = Report("geolife", "geolife", header_lines=6)
        recordings = geolife.parse_recordings(NEIGHBOURS.items(), report, bytes_at_a_time=size)
        columns = [
            (one.user, one.name, *map(np.ndarray.tolist, (one.time_ms, one.latitude, one.longitude)))
            for one in recordings
        ]
        found.append((report.to_dict(), columns))
    assert found[0] == found[1]


@pytest.mark.parametrize("threads", [1, 2])
def test_files_read_together_do_not_touch_each_other(tmp_path: Path, threads: int) -> None:
    empty = {f"Data/000/Trajectory/{number}.plt": b"" for number in range(10, 80)}  # blocks have 64 files
    for name, content in (NEIGHBOURS | empty).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with use(threads=threads):
        reading = geolife.read(tmp_path)
    traces, report = reading.traces, reading.report
    assert dict(zip(traces.user_ids.tolist(), np.diff(traces.offsets).tolist(), strict=True)) == {
        "000": 3, "001": 2, "002": 3, "2": 1,
    }  # fmt: skip
    assert sorted(set(traces.latitude.tolist())) == [39.976372, 39.9763722222222222]
    assert report.dropped == {"bad row": 1, "bad latitude": 1}
    assert report.noticed == {"odd date": 1, "no header": 1, "unsorted": 1, "same time": 4}
    assert report.rows == 11


def test_an_archive_without_a_recording_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as packed:
        packed.writestr("Data/000/labels.txt", "walk")
    with pytest.raises(FileError, match="has no PLT file with points"):
        geolife.read(tmp_path / "g.zip")


def test_users_whose_recordings_overlap_are_sorted_by_time(tmp_path: Path) -> None:
    later = ROW.replace(b"01:37", b"02:37")
    between = ROW.replace(b"01:37", b"01:50").replace(b"39.9", b"38.9")
    for name, content in {
        "Data/000/Trajectory/1.plt": HEADER + ROW + b"\n" + later,
        "Data/000/Trajectory/2.plt": HEADER + between,
        "Data/001/Trajectory/1.plt": HEADER + ROW,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    traces = geolife.read(tmp_path).traces
    assert traces.latitude.tolist() == [39.976372, 38.976372, 39.976372, 39.976372]
    assert traces.trajectory.tolist() == [0, 1, 0, 2]
    assert traces.trajectory_ids.tolist() == ["1", "2", "1"]
