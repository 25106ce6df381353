"""Folders and archives of files: one file per person, all of one kind, and nothing that leads out of them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.command_line import tracearena
from tests.io.formats import json_layouts as layouts

import tracearena as ta
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files import archives
from tracearena.io import Input

RECORDS = json.dumps(layouts.RECORDS)
POINTS = "user,time,lat,lng\n{},2020-01-01T00:00:00Z,48.1,11.5\n{},2020-01-02T00:00:00Z,48.2,11.6\n"
ANONYMOUS = "time,lat,lng\n2020-01-01T00:00:00Z,48.1,11.5\n"
GPX = (
    '<gpx><trk><trkseg><trkpt lat="40" lon="1"><time>2012-01-01T00:00:00Z</time></trkpt></trkseg></trk></gpx>'
)
KINDS = ("folder", "a.zip", "a.tar.gz", "a.tar")


def packed(tmp_path: Path, kind: str, files: Mapping[str, str]) -> Path:
    """Make a folder or an archive of files."""
    path = tmp_path / kind
    if kind == "folder":
        for name, content in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(content)
    elif kind.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz" if kind.endswith("gz") else "w") as tar:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content.encode())
                tar.addfile(member, io.BytesIO(content.encode()))
    return path


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_a_file_that_names_nobody_is_a_person(self, tmp_path: Path, kind: str) -> None:
        path = packed(tmp_path, kind, {"people/ann.json": RECORDS, "people/bob.json": RECORDS})
        assert Input(path).format == "google-records"
        traces, report = ta.read(path)
        assert (traces.user_ids.tolist(), traces.n_points, report.rows) == (["ann", "bob"], 4, 4)
        assert report.path == str(path)

    def test_a_folder_each_names_the_person(self, tmp_path: Path, kind: str) -> None:
        path = packed(tmp_path, kind, {"x/ann/Records.json": RECORDS, "x/bob/Records.json": RECORDS})
        assert ta.read(path).traces.user_ids.tolist() == ["ann", "bob"]
        assert ta.read(path, one_user="eve").traces.user_ids.tolist() == ["eve"]

    def test_every_person_may_have_a_file_of_another_kind(self, tmp_path: Path, kind: str) -> None:
        timeline, table = json.dumps(layouts.ANDROID), POINTS.format("carl", "carl")
        path = packed(tmp_path, kind, {"ann.json": RECORDS, "bob.json": timeline, "more.csv": table})
        assert ta.read(path).traces.user_ids.tolist() == ["ann", "bob", "carl"]
        traces, report = ta.read(path, "google-timeline")
        assert (traces.user_ids.tolist(), report.noticed["other files"]) == (["bob"], 2)

    def test_users_of_several_tables_are_put_together(self, tmp_path: Path, kind: str) -> None:
        files = {"jan.csv": POINTS.format("ann", "bob"), "feb.csv": POINTS.format("bob", "carl")}
        traces = ta.read(packed(tmp_path, kind, files)).traces
        assert (traces.user_ids.tolist(), traces.n_points, traces.n_trajectories) == (
            ["ann", "bob", "carl"],
            4,
            3,
        )

    def test_one_file_is_read_as_if_it_stood_alone(self, tmp_path: Path, kind: str) -> None:
        events = (
            POINTS.replace("lng\n", "lng,place\n").replace("11.5\n", "11.5,a\n").replace("11.6\n", "11.6,b\n")
        )
        path = packed(tmp_path, kind, {"data/checkins.csv": events.format(1, 2)})
        assert ta.read(path).traces.places.ids.tolist() == ["a", "b"]

    def test_other_files_are_left_out_by_name(self, tmp_path: Path, kind: str) -> None:
        month = json.dumps(layouts.MONTH)
        files = {
            "Takeout/Records.json": RECORDS,
            "Takeout/months/2021_MAY.json": month,
            "Takeout/README": "hello",
            "Takeout/.DS_Store": "x",
            "__MACOSX/._Records.json": "x",
        }
        path = packed(tmp_path, kind, files)
        traces, report = ta.read(path)
        assert (traces.n_points, report.noticed["other files"]) == (2, 2)
        assert "2021_MAY.json: the file is ignored: it looks like Google's Semantic" in " ".join(
            report.lines()
        )
        with pytest.raises(FileError, match="the file is ignored"):
            ta.read(path, strict=True)

    def test_what_is_wrong_is_said_with_the_name_of_the_file(self, tmp_path: Path, kind: str) -> None:
        bad = POINTS.format("ann", "bob").replace("48.1", "north")
        path = packed(tmp_path, kind, {"a.csv": POINTS.format("x", "y"), "b.csv": bad})
        report = ta.read(path).report
        where = f"{path}/b.csv" if kind == "folder" else f"{path}: b.csv"
        assert f"{where}: row 1, lat 'north'" in " ".join(report.lines())
        with pytest.raises(FileError, match="north") as caught:
            ta.read(path, strict=True)
        assert str(caught.value).startswith(where)

    def test_a_broken_file_is_an_error_of_that_file(self, tmp_path: Path, kind: str) -> None:
        path = packed(tmp_path, kind, {"a.json": RECORDS, "b.json": RECORDS[:-5]})
        with pytest.raises(FileError, match=r"b\.json: is not complete JSON"):
            ta.read(path)

    def test_tables_of_events_are_one_table(self, tmp_path: Path, kind: str) -> None:
        jan = "user,time,lat,lng,place\n1,2020-01-01 10:00,48.1,11.5,a\n2,2020-01-01 11:00,48.2,11.6,b\n"
        feb = (
            "venue,uid,timestamp,lat,lng,category\nc,x,2020-02-01 10:00,48.3,11.7,bar\na,1,noon,48.1,11.5,\n"
        )
        traces, report = ta.read(packed(tmp_path, kind, {"1.csv": jan, "2.csv": feb}))
        assert (traces.user_ids.tolist(), traces.places.ids.tolist()) == (["1", "2", "x"], ["a", "b", "c"])
        assert (traces.n_events, report.rows, report.dropped) == (3, 4, {"unparsable time": 1})
        assert "row 4" in " ".join(report.lines())

    def test_tables_of_events_without_a_header_are_one_table(self, tmp_path: Path, kind: str) -> None:
        row = "{},2020-01-01T00:00:00,{},48.1,11.5\n"
        path = packed(tmp_path, kind, {"1.csv": row.format("ann", "bar"), "2.csv": row.format("bob", "gym")})
        columns = "user=1,time=2,place=3,lat=4,lng=5"
        traces = ta.read(path, header=False, columns=columns).traces
        assert (traces.user_ids.tolist(), traces.places.ids.tolist()) == (["ann", "bob"], ["bar", "gym"])
        nobody = ta.read(path, header=False, columns="time=2,place=3,lat=4,lng=5").traces
        assert nobody.user_ids.astype(str).tolist() == ["1", "2"]

    @pytest.mark.parametrize("names", [("ann", "bob"), ("x/ann/1", "x/bob/1")])
    def test_tables_of_events_that_name_nobody_are_a_person_each(
        self, tmp_path: Path, kind: str, names: tuple[str, str]
    ) -> None:
        text = "time,place,lat,lng\n2020-01-01T00:00:00,bar,48.1,11.5\n"
        path = packed(tmp_path, kind, {f"{name}.csv": text for name in names})
        assert ta.read(path).traces.user_ids.tolist() == ["ann", "bob"]

    def test_json_lines_of_events_are_one_table(self, tmp_path: Path, kind: str) -> None:
        line = f'{layouts.ROW}, "place": "bar"}}\n'
        traces = ta.read(
            packed(tmp_path, kind, {"1.jsonl": line, "2.jsonl": line.replace("bar", "gym")})
        ).traces
        assert (traces.n_users, traces.places.ids.tolist()) == (1, ["bar", "gym"])

    def test_several_files_of_events_are_refused(self, tmp_path: Path, kind: str) -> None:
        line = "7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n"
        path = packed(tmp_path, kind, {"a.txt": line, "b.txt": line})
        with pytest.raises(
            FileError, match=r"2 files of format gowalla, but only one can be read .*: a\.txt"
        ):
            ta.read(path)

    def test_empty_files_are_counted(self, tmp_path: Path, kind: str) -> None:
        path = packed(tmp_path, kind, {"a.json": RECORDS, "b.json": '{"locations": []}', "c.json": ""})
        traces, report = ta.read(path)
        assert (traces.n_users, report.noticed["empty file"], report.noticed["other files"]) == (1, 1, 1)

    def test_nothing_that_is_traces_is_refused(self, tmp_path: Path, kind: str) -> None:
        with pytest.raises(FileError, match="holds no traces that can be read"):
            ta.read(packed(tmp_path, kind, {"a.md": "hello", "b.md": "world"}))

    def test_the_commands_read_it(self, tmp_path: Path, kind: str) -> None:
        path = packed(tmp_path, kind, {"ann.json": RECORDS, "bob.json": RECORDS})
        done = tracearena("convert", path, tmp_path / "out.csv", "--json")
        assert (done.status, done.json["users"]) == (0, 2)

    def test_a_grid_is_laid_over_all_of_it(self, tmp_path: Path, kind: str) -> None:
        files = {"jan.csv": POINTS.format("ann", "bob"), "feb.csv": POINTS.format("bob", "carl")}
        traces = ta.read(packed(tmp_path, kind, files), grid="2x2").traces
        assert (traces.n_users, traces.places.ids.tolist()) == (3, [1, 2, 3, 4])
        with pytest.raises(ParameterError, match="interval needs a grid") as caught:
            ta.read(tmp_path / kind, interval="20min")
        assert str(tmp_path / kind) in str(caught.value)


VENUES = "user,venue,time,lat,lng\nann,a,2020-01-01T00:00:00,48.1,11.5\nann,b,2020-01-02T00:00:00,48.2,11.6\n"
NUMBERED = "user,venue,time,lat,lng\nann,a,1,48.1,11.5\nann,b,2,48.2,11.6\n"


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        (POINTS, {"interval": "20min"}, "has GPS points, which have no places and no instants"),
        (POINTS, {"bounds": "0,0,1,1"}, "no point is within the bounds"),
        (POINTS, {"bounds": "0,0,1,1", "grid": "2x2"}, "no point is within the bounds"),
        (POINTS, {"times": "info_time.csv"}, "is read as points; only files of format pwscup"),
        (POINTS, {"columns": "user=user,venue=lat"}, "has places without coordinates"),
        (POINTS, {"columns": "trajectory=user", "format": "table"}, "columns: trajectory cannot be said of"),
        (VENUES, {"utc_hours": True}, "its times have no zone"),
        (VENUES, {"resample": "last"}, "resample is only for GPS points"),
        (NUMBERED, {"timezone": "Asia/Tokyo"}, "has numbers as times"),
        (GPX, {"delimiter": ";"}, "delimiter does not apply to"),
    ],
)
def test_what_does_not_go_with_a_file_is_said_of_its_archive(
    tmp_path: Path, text: str, options: Mapping[str, Any], problem: str
) -> None:
    """Whatever the error is; nobody hears of the folder to which the archive was unpacked."""
    path = packed(tmp_path, "a.zip", {f"ann.{'gpx' if text == GPX else 'csv'}": text.format("ann", "bob")})
    with pytest.raises((ParameterError, DataError)) as caught:
        ta.read(path, **options)
    assert str(caught.value).startswith(f"{path}: {problem}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "names",
    [
        ("ann", "bob"),
        ("tracks/ann", "tracks/bob"),
        ("ann/monday", "bob/monday"),
        ("tracks/ann/2012/monday", "tracks/bob/2012/monday"),
    ],
)
@pytest.mark.parametrize(("ending", "text"), [("gpx", GPX), ("csv", ANONYMOUS), ("json", RECORDS)])
def test_whose_a_file_is_does_not_depend_on_its_format(
    tmp_path: Path, kind: str, names: tuple[str, str], ending: str, text: str
) -> None:
    path = packed(tmp_path, kind, {f"{name}.{ending}": text for name in names})
    assert ta.read(path).traces.user_ids.tolist() == ["ann", "bob"]


@pytest.mark.parametrize("kind", KINDS)
class TestMixed:
    def test_tables_beside_gpx_are_read_too(self, tmp_path: Path, kind: str) -> None:
        files = {"ann.gpx": GPX, "bob.csv": ANONYMOUS, "more.csv": POINTS.format("carl", "carl")}
        traces, report = ta.read(packed(tmp_path, kind, files))
        assert (traces.user_ids.tolist(), report.lines()) == (["ann", "bob", "carl"], [])

    def test_one_format_of_several_leaves_out_the_others_by_name(self, tmp_path: Path, kind: str) -> None:
        path = packed(tmp_path, kind, {"ann.gpx": GPX, "bob.csv": ANONYMOUS})
        for format, user in (("gpx", "ann"), ("points", "bob")):
            traces, report = ta.read(path, format)
            assert (traces.user_ids.tolist(), report.noticed) == ([user], {"other files": 1})

    def test_tracks_of_files_of_one_name_stay_apart(self, tmp_path: Path, kind: str) -> None:
        names = ("ann/1/track.gpx", "ann/2/track.gpx", "bob/track.gpx")
        path = packed(tmp_path, kind, {**dict.fromkeys(names, GPX), "carl.csv": ANONYMOUS})
        traces = ta.read(path).traces
        assert (traces.user_ids.tolist(), traces.n_trajectories) == (["ann", "bob", "carl"], 4)

    def test_events_beside_gpx_are_left_out_by_name(self, tmp_path: Path, kind: str) -> None:
        events = "user,time,place\nx,2020-01-01T00:00:00Z,bar\n"
        traces, report = ta.read(packed(tmp_path, kind, {"ann.gpx": GPX, "e.csv": events}), "gpx")
        assert (traces.user_ids.tolist(), report.noticed) == (["ann"], {"other files": 1})
        assert "e.csv: the file is ignored: it looks like a table of events" in " ".join(report.lines())

    def test_what_is_passed_over_for_its_name_is_said(self, tmp_path: Path, kind: str) -> None:
        hidden = {"_export/a.csv": POINTS.format("a", "a"), "_SUCCESS": "", "_notes/b.txt": "hello"}
        for number, file in enumerate(
            [{"b.csv": POINTS.format("b", "b")}, {"b.gpx": GPX}, {"b.gpx": GPX, "c.gpx": GPX}]
        ):
            (tmp_path / str(number)).mkdir()
            path = packed(tmp_path / str(number), kind, {**hidden, **file})
            traces, report = ta.read(path)
            people = {"one file per person": 2} if len(file) == 2 else {}
            assert (traces.user_ids.tolist()[0], report.noticed) == ("b", people | {"hidden files": 1})
            assert "_export/a.csv: the file is ignored" in " ".join(report.lines())
            assert "tracearena-" not in " ".join(report.lines())


@pytest.mark.parametrize("other", ["bob.csv", "more/bob.csv"])
@pytest.mark.parametrize("place", [[], ["bar"]], ids=["points", "events"])
def test_tables_beside_parquet_are_read_too(tmp_path: Path, other: str, place: list[str]) -> None:
    path = packed(tmp_path, "folder", {other: POINTS.format("bob", "bob")})
    frame = pl.read_csv(path / other).with_columns(place=pl.lit("bar")).drop("place" if not place else [])
    frame.write_csv(path / other)
    frame.with_columns(user=pl.lit("eve")).write_parquet(path / "eve.parquet")
    traces, report = ta.read(path)
    assert (traces.user_ids.tolist(), report.noticed.get("other files")) == (["bob", "eve"], None)
    if place:
        traces, report = ta.read(path, "partitions")
        assert (traces.user_ids.tolist(), report.noticed["other files"]) == (["eve"], 1)


def test_tables_beside_geolife_are_left_out_by_name(tmp_path: Path) -> None:
    plt = "x\n" * 6 + "39.9,116.3,0,492,39744.12,2008-10-23,02:53:04\n"
    files = {"000/Trajectory/1.plt": plt, "000/labels.txt": "Start Time\tEnd Time\n", "bob.csv": ANONYMOUS}
    path = packed(tmp_path, "folder", files)
    traces, report = ta.read(path)
    assert (traces.n_users, report.noticed["other files"]) == (1, 1)
    assert "bob.csv: the file is ignored" in " ".join(report.lines())


def test_an_archive_beside_other_files_is_left_out_by_name(tmp_path: Path) -> None:
    path = packed(tmp_path, "folder", {"a.csv": POINTS.format("a", "a"), "b.csv": ANONYMOUS})
    packed(path, "old.zip", {"ann.gpx": GPX})
    traces, report = ta.read(path)
    assert (traces.user_ids.tolist(), report.noticed) == (["a", "b"], {"other files": 1})
    assert "old.zip: the file is ignored: it looks like an archive" in " ".join(report.lines())


def test_an_archive_is_known_by_its_content(tmp_path: Path) -> None:
    path = packed(tmp_path, "a.zip", {"ann.json": RECORDS}).rename(tmp_path / "a.dat")
    assert ta.read(path).traces.n_points == 2


def test_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    path = packed(tmp_path, "a.zip", {"a.json": RECORDS, "b.json": "{"})
    ta.read(path)
    with pytest.raises(FileError):
        ta.read(packed(tmp_path, "b.zip", {"a.json": RECORDS, "b.json": RECORDS[:-5]}))
    assert list((tmp_path / "tmp").iterdir()) == []


class TestHostile:
    @pytest.mark.parametrize(
        "name", ["../x.json", "/etc/x.json", "a/../../x.json", "c:\\x.json", "a\\b.json"]
    )
    @pytest.mark.parametrize("kind", ["a.zip", "a.tar.gz"])
    def test_names_that_lead_out_are_refused(self, tmp_path: Path, kind: str, name: str) -> None:
        path = packed(tmp_path, kind, {"ann.json": RECORDS, name: RECORDS})
        with pytest.raises(FileError, match="leads out of the archive"):
            ta.read(path)
        assert sorted(p.name for p in tmp_path.iterdir()) == [kind]

    @pytest.mark.parametrize("type", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
    def test_links_and_devices_in_tar_are_refused(self, tmp_path: Path, type: bytes) -> None:
        with tarfile.open(tmp_path / "a.tar", "w") as tar:
            member = tarfile.TarInfo("ann.json")
            member.type, member.linkname = type, "/etc/passwd"
            tar.addfile(member)
        with pytest.raises(FileError, match="link or a device"):
            ta.read(tmp_path / "a.tar")

    def test_links_in_zip_are_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            member = zipfile.ZipInfo("ann.json")
            member.external_attr = 0o120777 << 16
            archive.writestr(member, "/etc/passwd")
        with pytest.raises(FileError, match="has a link"):
            ta.read(tmp_path / "a.zip")

    def test_encrypted_archives_are_refused(self, tmp_path: Path) -> None:
        path = packed(tmp_path, "a.zip", {"ann.json": RECORDS})
        data = bytearray(path.read_bytes())
        for at, flag in ((data.find(b"PK\1\2"), 8), (data.find(b"PK\3\4"), 6)):
            data[at + flag] |= 1
        path.write_bytes(data)
        with pytest.raises(FileError, match="is encrypted; unpack it with its password first"):
            ta.read(path)

    @pytest.mark.parametrize("inner", ["more.zip", "more.tar.gz", "more.7z"])
    def test_archives_in_archives_are_refused(self, tmp_path: Path, inner: str) -> None:
        path = packed(tmp_path, "a.zip", {inner: "PK"})
        with pytest.raises(FileError, match="contains another archive"):
            ta.read(path)

    def test_a_name_twice_is_refused(self, tmp_path: Path) -> None:
        with tarfile.open(tmp_path / "a.tar", "w") as tar:
            for _ in range(2):
                member = tarfile.TarInfo("ann.json")
                member.size = len(RECORDS)
                tar.addfile(member, io.BytesIO(RECORDS.encode()))
        with pytest.raises(FileError, match="has two files with the same name"):
            ta.read(tmp_path / "a.tar")

    @pytest.mark.parametrize("kind", ["a.zip", "a.tar.gz"])
    def test_archives_cut_off_are_refused(self, tmp_path: Path, kind: str) -> None:
        many = {f"{i}.json": RECORDS.replace("48", str(i)) for i in range(9)}
        path = packed(tmp_path, kind, many)
        path.write_bytes(path.read_bytes()[:-400])
        with pytest.raises(FileError, match="is not a complete"):
            ta.read(path)

    @pytest.mark.slow
    def test_a_bomb_is_refused(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ann.json", b" " * (2**26 + 2**20))
        done = tracearena("describe", tmp_path / "a.zip")
        assert (done.status, done.out) == (2, "")
        assert "unpacks to more than 200 times its size" in done.err

    def test_too_many_files_are_refused(self, tmp_path: Path) -> None:
        path = packed(tmp_path, "a.zip", {f"{i}.json": RECORDS for i in range(4)})
        assert len(list(archives.iter_members(path, most_files=4))) == 4
        with pytest.raises(FileError, match="more than 3 files"):
            list(archives.iter_members(path, most_files=3))


class TestTablesWithoutUsers:
    """Published folders of one file a vehicle."""

    CABS = "37.75134 -122.39488 0 1213084687\n37.75136 -122.39527 0 1213084659\n"
    TAXI = "{0},2008-02-02 15:36:08,116.51172,39.92123\n{0},2008-02-02 15:46:08,116.51135,39.93883\n"

    @pytest.mark.parametrize("kind", KINDS)
    def test_cabs_of_san_francisco(self, tmp_path: Path, kind: str) -> None:
        files = {"cabs/new_abboip.txt": self.CABS, "cabs/new_abcoij.txt": self.CABS, "cabs/README": "x",
                 "cabs/_cabs.txt": '<cab id="abboip" updates="2"/>\n'}  # fmt: skip
        path = packed(tmp_path, kind, files)
        traces = ta.read(path, header=False, delimiter="space", columns="lat=1,lng=2,time=4").traces
        assert (traces.user_ids.tolist(), traces.n_points) == (["new_abboip", "new_abcoij"], 4)

    @pytest.mark.parametrize("kind", KINDS)
    def test_taxis_of_beijing(self, tmp_path: Path, kind: str) -> None:
        path = packed(
            tmp_path, kind, {f"log/{i}.txt": self.TAXI.format(i) if i < 4 else "" for i in range(1, 5)}
        )
        traces, report = ta.read(
            path, header=False, columns="user=1,time=2,lng=3,lat=4", timezone="Asia/Shanghai"
        )
        assert (traces.user_ids.tolist(), traces.n_points) == ([1, 2, 3], 6)
        assert report.noticed["other files"] == 1

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_header_without_a_user(self, tmp_path: Path, kind: str) -> None:
        text = "time,lat,lng\n2020-01-01T00:00:00Z,48.1,11.5\n"
        path = packed(tmp_path, kind, {"ann.csv": text, "bob.csv": text})
        assert ta.read(path).traces.user_ids.tolist() == ["ann", "bob"]
        assert ta.read(path, one_user="eve").traces.user_ids.tolist() == ["eve"]
