"""GeoLife folders and archives: every good point, and a word about every bad one."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError, FileError
from tracearena.io.formats import geolife
from tracearena.traces import GpsTraces

HEADER = (
    "Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
    "0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
)


def row(latitude: object = 39.99, longitude: object = 116.3, time: str = "2008-11-03,10:13:36") -> str:
    return f"{latitude},{longitude},0,492,39755.4261111111,{time}\r\n"


def folder(root: Path, *files: tuple[str, str, str]) -> Path:
    """Write files given as user, name, text."""
    for user, name, text in files:
        place = root / "Data" / user / "Trajectory"
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text.encode())
    return root


def test_points_are_read_to_the_last_digit(tmp_path: Path) -> None:
    text = HEADER + row(39.999976, -116.326565) + row("39.98470222222222", "1.5e-3", "2008-11-03,10:13:41")
    reading = geolife.read(folder(tmp_path, ("000", "a.plt", text)))
    assert reading.traces.latitude.tolist() == [39.999976, 39.98470222222222]
    assert reading.traces.longitude.tolist() == [-116.326565, 1.5e-3]
    assert reading.traces.time_ms.astype("datetime64[ms]").astype(str).tolist() == [
        "2008-11-03T10:13:36.000", "2008-11-03T10:13:41.000",
    ]  # fmt: skip
    assert reading.report.lines() == []


def test_every_file_is_a_trajectory_of_the_folder_above(tmp_path: Path) -> None:
    reading = geolife.read(
        folder(
            tmp_path,
            ("007", "b.plt", HEADER + row()),
            ("000", "a.plt", HEADER + row()),
            ("007", "c.plt", HEADER + row()),
        )
    )
    assert reading.traces.user_ids.tolist() == ["000", "007"]
    assert reading.traces.trajectory_ids.tolist() == ["a", "b", "c"]
    assert reading.report.noticed == {"same time": 1}


def test_bom_lf_and_a_missing_last_line_end_are_no_faults(tmp_path: Path) -> None:
    text = "\ufeff" + (HEADER + row() + row(40.0)).replace("\r\n", "\n").rstrip("\n")
    assert geolife.read(folder(tmp_path, ("000", "a.plt", text))).traces.n_points == 2


@pytest.mark.parametrize(
    ("bad", "code", "words"),
    [
        (row(400.1666, 116.4), "bad-latitude", "400.1666.*from -90 to 90"),
        (row(39.9, 216.4), "bad-longitude", "216.4.*from -180 to 180"),
        (row("x"), "bad-latitude", "'x'.*must be a number"),
        (row(39.9, ""), "bad-longitude", "must be a number"),
        (row(116.3, 39.9), "swapped", "seem to be swapped"),
        (row(time="2008-13-03,10:13:36"), "bad-date", "2008-13-03"),
        (row(time="2008-02-30,10:13:36"), "bad-date", "2008-02-30"),
        (row(time="2008-11-03,25:13:36"), "bad-time", "25:13:36"),
        (row(time="2008-11-03,24:00:00"), "bad-time", "24:00:00"),
        (row(time="2008-11-03,10:60:36"), "bad-time", "10:60:36"),
        (row(time="2008-11-03,10:13:60"), "bad-time", "10:13:60"),
        ("39.9,116.3\r\n", "bad-row", "7 fields"),
        (row("nan"), "bad-latitude", "nan"),
        ("\x00\x01\x02\r\n", "bad-row", "7 fields"),
    ],
)
def test_a_bad_row_is_left_out_and_named(tmp_path: Path, bad: str, code: str, words: str) -> None:
    import re

    path = folder(tmp_path, ("000", "a.plt", HEADER + row() + bad + row(40.1) + row(40.2)))
    reading = geolife.read(path)
    assert reading.traces.latitude.tolist() == [39.99, 40.1, 40.2]
    assert reading.report.dropped == {code.replace("-", " "): 1}
    assert re.search(rf"a\.plt: row 2 \(line 8\).*{words}", reading.report.lines()[0])
    with pytest.raises(FileError, match="line 8"):
        geolife.read(path, strict=True)


def test_altitude_minus_777_means_nothing(tmp_path: Path) -> None:
    text = HEADER + "39.9,116.3,0,-777,39755.4,2008-11-03,10:13:36\r\n"
    assert geolife.read(folder(tmp_path, ("000", "a.plt", text))).report.lines() == []


def test_odd_but_usable_points_are_kept_and_reported(tmp_path: Path) -> None:
    text = HEADER + row(time="2008-11-03,10:13:41") + row() + row() + row(time="2000-01-01,00:00:00")
    reading = geolife.read(folder(tmp_path, ("000", "a.plt", text), ("001", "b.plt", HEADER)))
    assert reading.traces.n_points == 4
    assert (np.diff(reading.traces.time_ms) >= 0).all()
    assert reading.report.noticed == {"unsorted": 2, "odd date": 1, "same time": 1, "empty user": 1}
    assert reading.report.dropped == {}


def test_a_file_of_swapped_columns_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="swapped; exchange the columns"):
        geolife.read(folder(tmp_path, ("000", "a.plt", HEADER + row(116.3, 39.9) * 5)))


def test_a_file_without_header_loses_no_row(tmp_path: Path) -> None:
    reading = geolife.read(folder(tmp_path, ("000", "a.plt", row() * 8)))
    assert reading.traces.n_points == 8
    assert reading.report.noticed["no header"] == 1


def test_a_user_whose_folder_is_empty_is_still_a_user(tmp_path: Path) -> None:
    root = folder(tmp_path, ("000", "a.plt", HEADER + row()))
    (root / "Data" / "001" / "Trajectory").mkdir(parents=True)
    assert geolife.read(root).traces.user_ids.tolist() == ["000", "001"]


def test_archives_are_read_like_folders(tmp_path: Path) -> None:
    root = folder(tmp_path / "tree", ("000", "a.plt", HEADER + row()), ("001", "b.plt", HEADER + row(40.5)))
    with tarfile.open(tmp_path / "g.tar.gz", "w:gz") as archive:
        archive.add(root, "Geolife")
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as packed:
        for place in root.rglob("*.plt"):
            packed.write(place, place.relative_to(root))
    plain = geolife.read(root).traces
    assert geolife.read(tmp_path / "g.tar.gz").traces == plain
    assert geolife.read(tmp_path / "g.zip").traces == plain


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip", "x.plt"])
def test_junk_is_one_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b junk" * 50)
    with pytest.raises(FileError, match=name):
        geolife.read(tmp_path / name)


def test_a_truncated_archive_is_an_error_not_half_the_data(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    text = HEADER + "".join(row(round(rng.uniform(39, 40), 6)) for _ in range(3000))
    with tarfile.open(tmp_path / "g.tar.gz", "w:gz") as archive:
        for n in range(3):
            member = tarfile.TarInfo(f"Data/00{n}/Trajectory/a.plt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    whole = (tmp_path / "g.tar.gz").read_bytes()
    (tmp_path / "g.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="not a complete tar archive"):
        geolife.read(tmp_path / "g.tar.gz")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    traces = GpsTraces.from_points(
        rng.integers(0, 4, 300),
        rng.integers(0, 10**9, 300) * 1000,
        rng.uniform(-90, 90, 300).round(7),
        rng.uniform(-180, 180, 300).round(7),
        trajectories=rng.integers(0, 3, 300),
        user_ids=range(5),
    )
    geolife.write(traces, tmp_path / "out")
    again = geolife.read(tmp_path / "out").traces
    assert again.user_ids.tolist() == [f"{user:03d}" for user in range(5)]
    assert again.time_ms.tolist() == traces.time_ms.tolist()
    assert again.latitude == pytest.approx(traces.latitude, abs=1e-9)
    assert again.longitude == pytest.approx(traces.longitude, abs=1e-9)
    assert again.n_trajectories == traces.n_trajectories


def test_nothing_is_written_over_or_outside(tmp_path: Path) -> None:
    traces = GpsTraces.from_points(["../x"], [0], [0.0], [0.0])
    with pytest.raises(DataError, match="folder's name"):
        geolife.write(traces, tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("x")
    with pytest.raises(FileError, match="not an empty folder"):
        geolife.write(GpsTraces.from_points([1], [0], [0.0], [0.0]), tmp_path / "full")
    assert [place.name for place in tmp_path.iterdir()] == ["full"]


def test_the_published_sample(shared_data: Path) -> None:
    reading = geolife.read(shared_data / "geolife-sample.tar.gz")
    assert (reading.traces.n_users, reading.traces.n_trajectories) == (11, 245)
    assert reading.traces.n_points == 324_477
    assert reading.report.dropped == {}
    assert str(reading.traces.time_ms[0].astype("datetime64[ms]"))[:7] in ("2008-11", "2008-12")
