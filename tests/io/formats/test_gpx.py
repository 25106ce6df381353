"""GPX: tracks in, hostile documents out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import DataError, FileError
from tracearena.io import read
from tracearena.io.formats import gpx
from tracearena.traces import GpsTraces

HEAD = '<?xml version="1.0"?><gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">'


def point(lat: object = 40.0, lon: object = 116.3, time: str | None = "2008-11-03T10:13:36Z") -> str:
    inner = "" if time is None else f"<time>{time}</time>"
    return f'<trkpt lat="{lat}" lon="{lon}"><ele>5</ele>{inner}</trkpt>'


def document(*segments: str) -> str:
    return HEAD + "<trk>" + "".join(f"<trkseg>{s}</trkseg>" for s in segments) + "</trk></gpx>"


def written(tmp_path: Path, text: str, name: str = "ann.gpx") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_segments_are_trajectories_and_the_file_is_the_user(tmp_path: Path) -> None:
    text = document(
        point() + point(40.1, time="2008-11-03T18:13:41.5+08:00"), point(time="2008-11-04T00:00:00Z")
    )
    traces = gpx.read(written(tmp_path, text)).traces
    assert traces.user_ids.tolist() == ["ann"]
    assert traces.trajectory.tolist() == [0, 0, 1]
    assert np.diff(traces.time_ms)[0] == 5500


def test_version_1_0_and_no_namespace_will_do(tmp_path: Path) -> None:
    assert gpx.read(written(tmp_path, document(point()).replace("GPX/1/1", "GPX/1/0"))).traces.n_points == 1
    bare = "<gpx><trk><trkseg>" + point() + "</trkseg></trk></gpx>"
    assert gpx.read(written(tmp_path, bare)).traces.n_points == 1


BOMB = '<!DOCTYPE gpx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
EXTERNAL = '<!DOCTYPE gpx [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("doctype", [BOMB, EXTERNAL, '<!DOCTYPE gpx SYSTEM "http://example.invalid/x.dtd">'])
def test_documents_with_a_type_are_refused(tmp_path: Path, doctype: str) -> None:
    text = document(point()).replace("<gpx", doctype + "<gpx", 1)
    with pytest.raises(FileError, match="not allowed in GPX"):
        gpx.read(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not well-formed"),
        ("<gpx>", "not well-formed"),
        (document(point())[:-20], "not well-formed"),
        ("<html></html>", "<html> document, not <gpx>"),
        (HEAD + "</gpx>", "has no track points"),
        (document(point("&x;")), "not well-formed"),
        ("\x00\x01", "not well-formed"),
    ],
)
def test_broken_documents_are_one_clear_error(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        gpx.read(written(tmp_path, text))


def test_unusable_points_are_reported_with_their_number(tmp_path: Path) -> None:
    text = document(
        point() + point("x") + point(time=None) + point(time="noon") + point(95.0, 200.0) + point(40.1)
    )
    reading = gpx.read(written(tmp_path, text))
    assert reading.traces.n_points == 2
    assert reading.report.dropped == {"bad latitude": 2, "bad time": 2}
    assert reading.report.noticed == {"same time": 1}
    with pytest.raises(FileError, match="row 2"):
        gpx.read(written(tmp_path, text), strict=True)


def test_swapped_coordinates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="swapped"):
        gpx.read(written(tmp_path, document(point(116.3, 40.0) * 3)))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    traces = GpsTraces.from_points(
        ["ann", "bob", "bob", "bob"],
        [0, 1500, 10**12, 10**12 + 1],
        [1 / 3, -89.5, 2.0, 2.5],
        [180.0, -1 / 7, 3.0, 4.0],
        trajectories=["x", "x", "y", "y"],
    )
    gpx.write(traces, tmp_path / "out")
    again = gpx.read(tmp_path / "out").traces
    assert again.latitude.tolist() == traces.latitude.tolist()
    assert again.longitude.tolist() == traces.longitude.tolist()
    assert again.time_ms.tolist() == traces.time_ms.tolist()
    assert again.trajectory.tolist() == traces.trajectory.tolist()
    with pytest.raises(DataError, match="one user"):
        gpx.write(traces, tmp_path / "all.gpx")
    gpx.write(traces.take_users([0]), tmp_path / "ann.gpx.gz")
    assert gpx.read(tmp_path / "ann.gpx.gz").traces.user_ids.tolist() == ["ann"]


def test_a_cut_off_file_stops_its_folder_and_the_error_says_how_to_go_on(tmp_path: Path) -> None:
    for name in ("ann.gpx", "bob.gpx"):
        written(tmp_path, document(point()), name)
    cut = written(tmp_path, document(point())[:150], "cut.gpx")
    with pytest.raises(FileError, match="not well-formed") as caught:
        read(tmp_path)
    assert caught.value.path == str(cut)
    assert "move it away or rename it to _cut.gpx" in str(caught.value)
    cut.rename(tmp_path / "_cut.gpx")
    assert read(tmp_path).traces.user_ids.tolist() == ["ann", "bob"]


def test_a_file_alone_is_not_told_to_go_away(tmp_path: Path) -> None:
    cut = written(tmp_path, document(point())[:150], "cut.gpx")
    for path in (cut, tmp_path):
        with pytest.raises(FileError, match="not well-formed") as caught:
            read(path)
        assert "move it away" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "options", "count"),
    [
        (("ann.gpx", "bob.gpx"), {}, 2),
        (("ann.gpx", "bob.gpx"), {"one_user": "ann"}, 0),
        (("ann.gpx",), {}, 0),
        (("ann/1.gpx", "bob/1.gpx"), {}, 0),
    ],
)
def test_that_a_file_is_a_person_is_said_of_a_flat_folder(
    tmp_path: Path, names: tuple[str, ...], options: dict[str, str], count: int
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        written(tmp_path, document(point()), name)
    report = read(tmp_path, **options).report
    assert report.noticed.get("one file per person", 0) == count
    assert any("--one-user" in line for line in report.lines()) == bool(count)
