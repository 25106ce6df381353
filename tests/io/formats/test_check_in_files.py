"""Gowalla, TSMC and Foursquare: what was written is read again, and what is broken is counted."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import FileError
from tracearena.io import Choices, read
from tracearena.io.formats import checkins
from tracearena.traces import Box, Places, Traces

NEW_YORK = Choices(timezone="America/New_York")
GOOD = "7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n"


def without_categories(traces: Traces) -> Traces:
    places = Places(traces.places.latitude, traces.places.longitude, ids=traces.places.ids)
    return Traces(
        places,
        traces.clock,
        user_ids=traces.user_ids,
        offsets=traces.offsets,
        instants=traces.instants,
        place_index=traces.place_index,
        timestamps=traces.timestamps,
    )


@pytest.mark.parametrize("name", ["check-ins.txt", "check-ins.txt.gz"])
def test_gowalla_gives_back_what_was_written(
    make_check_ins: Callable[..., Traces], tmp_path: Path, name: str
) -> None:
    traces = without_categories(make_check_ins())
    checkins.write_gowalla(traces, tmp_path / name)
    again, report = checkins.read_gowalla(tmp_path / name, choices=NEW_YORK)
    assert again == traces
    assert report.dropped == {}


def test_tsmc_gives_back_what_was_written(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    traces = make_check_ins()
    checkins.write_tsmc(traces, tmp_path / "tsmc.txt")
    assert checkins.read_tsmc(tmp_path / "tsmc.txt")[0] == traces


def test_foursquare_gives_back_what_was_written(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    traces = make_check_ins()
    written = checkins.write_foursquare(traces, tmp_path / "checkins.txt")
    assert written == tmp_path / "raw_POIs.txt"
    assert checkins.read_foursquare(tmp_path / "checkins.txt")[0] == traces


def test_a_line_of_tsmc_is_local_time(tmp_path: Path) -> None:
    path = tmp_path / "tsmc.txt"
    path.write_text(
        "470\t49bb\t4bf5\tArts & Crafts Store\t40.71981\t-74.002581\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
    )
    traces, _ = checkins.read_tsmc(path)
    assert traces.clock.label(int(traces.instants[0])) == "14:00"
    assert traces.timestamps is not None
    assert traces.timestamps.tolist() == [1_333_476_009]
    in_utc, _ = checkins.read_tsmc(path, choices=Choices(utc_hours=True))
    assert in_utc.clock.label(int(in_utc.instants[0])) == "18:00"
    in_tokyo, _ = checkins.read_tsmc(path, choices=Choices(timezone="Asia/Tokyo"))
    assert in_tokyo.clock.label(int(in_tokyo.instants[0])) == "03:00"


def test_broken_letters_in_a_category_survive(tmp_path: Path) -> None:
    (tmp_path / "raw_POIs.txt").write_bytes(b"v1\t40.7\t-74.0\tCaf\xe9\tUS\nv2\t400.17\t-74.0\tBar\tUS\n")
    (tmp_path / "checkins.txt").write_text(
        "1\tv1\tTue Apr 03 18:00:06 +0000 2012\t-240\n"
        "1\tv2\tTue Apr 03 19:00:06 +0000 2012\t-240\n"
        "2\tv9\tTue Apr 03 19:00:06 +0000 2012\t-240\n"
    )
    traces, report = read(tmp_path / "checkins.txt")
    assert report.format == "foursquare"
    assert traces.places.categories is not None
    assert traces.places.categories.tolist() == ["Café"]
    assert report.to_dict()["dropped"] == {"not in the file of venues": 2}
    assert report.noticed["venues with bad coordinates"] == 1


def test_foursquare_without_its_venues_says_so(tmp_path: Path) -> None:
    (tmp_path / "checkins.txt").write_text("1\tv1\tTue Apr 03 18:00:06 +0000 2012\t-240\n")
    with pytest.raises(FileError, match=r"needs its file of venues.*raw_POIs\.txt"):
        read(tmp_path / "checkins.txt")


def test_the_most_visited_places_come_in_descending_order_ties_as_they_appear(tmp_path: Path) -> None:
    venues = [5, 9, 9, 3, 5, 9, 8, 3]
    lines = [f"1\t2010-10-19T{10 + i}:00:00Z\t40.7\t-73.9\t{venue}\n" for i, venue in enumerate(venues)]
    path = tmp_path / "gowalla.txt"
    path.write_text("".join(lines))
    traces, report = checkins.read_gowalla(path, choices=Choices(top=3))
    assert traces.places.ids.tolist() == [9, 5, 3]
    assert report.to_dict()["dropped"] == {"not among the 3 most visited places": 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("7\t2010-10-19T23:55:27Z\t400.17\t-73.9\t1", "bad latitude"),
        ("7\t2010-10-19T23:55:27Z\tnan\t-73.9\t1", "bad latitude"),
        ("7\t2010-10-19T23:55:27Z\t40.7\t-273.9\t1", "bad longitude"),
        ("7\t2010-10-19T23:55:27Z\t0.0\t0.0\t1", "coordinates 0, 0"),
        ("7\t2000-01-01T00:00:00Z\t40.7\t-73.9\t1", "implausible date"),
        ("7\t2999-01-01T00:00:00Z\t40.7\t-73.9\t1", "implausible date"),
        ("7\tyesterday\t40.7\t-73.9\t1", "unparsable time"),
        ("7\t2010-02-30T00:00:00Z\t40.7\t-73.9\t1", "unparsable time"),
        ("7\t2010-10-19T23:55:27Z\t40.7", "missing fields"),
        ("\t2010-10-19T23:55:27Z\t40.7\t-73.9\t1", "missing fields"),
        ("7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t1\textra", "too many fields"),
        ("7\t2010-10-19T23:55:27Z\t40.7\t-73.9", "no place"),
    ],
)
def test_a_bad_row_is_dropped_and_counted_with_its_number(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "gowalla.txt"
    path.write_text(GOOD * 3 + line + "\n" + GOOD)
    traces, report = checkins.read_gowalla(path)
    assert traces.n_events == 4
    assert report.dropped == {reason: 1}
    assert [example.fault.row for example in report.examples] == [4]
    assert report.rows == 5


def test_byte_order_mark_and_carriage_returns_are_read(tmp_path: Path) -> None:
    path = tmp_path / "gowalla.txt"
    path.write_bytes(b"\xef\xbb\xbf" + (GOOD * 2).replace("\n", "\r\n").encode())
    traces, report = read(path)
    assert traces.places.ids.tolist() == [22847]
    assert report.noticed["same event twice"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"\n \n", "an empty file"),
        (b"\x7fELF\x00\x00\x01", "a binary file"),
        ("1\t2".encode("utf-16"), "a binary file or UTF-16"),
        (b"\x1f\x8b\x08\x00broken", "not a complete gzip file"),
        (b"PAR1 not really", "a broken Parquet file"),
        (b"x" * 3_000_000, "unknown format"),
        (b"a,b,c\n1,2,3\n", "a table without columns for user, time and place: a, b, c"),
        (b"<?xml version='1.0'?><gpx/>", "an XML file such as GPX"),
    ],
)
def test_a_hostile_file_gets_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(FileError, match=words):
        read(path)


def test_a_file_that_is_wrong_throughout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gowalla.txt"
    path.write_text(GOOD + "1\t2\t3\n" * 50)
    with pytest.raises(FileError, match=r"50 of 51 rows do not have the 5 tab-separated fields"):
        checkins.read_gowalla(path)


def test_the_lines_of_a_file_without_header_are_counted_from_1(tmp_path: Path) -> None:
    path = tmp_path / "gowalla.txt"
    path.write_text(GOOD.replace("40.7", "400.17") * 2)
    with pytest.raises(FileError, match=r"row 1 \(line 1\), column lat: got '400.17': bad latitude"):
        read(path)


def test_a_wrong_format_gets_a_sentence_that_says_what_the_file_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text(GOOD)
    with pytest.raises(FileError, match=r"is not a tsmc file: it looks like check-ins of Gowalla"):
        read(path, "tsmc")


def test_the_same_second_twice_is_kept_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "gowalla.txt"
    path.write_text(GOOD + GOOD.replace("22847", "22848") + GOOD)
    traces, report = checkins.read_gowalla(path)
    assert traces.n_events == 3
    assert report.noticed["same second twice for a user"] == 2


def test_bounds_include_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "gowalla.txt"
    lines = [f"1\t2010-10-19T10:00:00Z\t{lat}\t-73.9\t{i}\n" for i, lat in enumerate((40.5, 41.0, 41.0001))]
    path.write_text("".join(lines))
    traces, _ = checkins.read_gowalla(path, choices=Choices(bounds=Box(40.5, -74.28, 41.0, -73.68)))
    assert traces.places.ids.tolist() == [0, 1]


def test_the_clock_of_a_zone_is_set_in_spring(tmp_path: Path) -> None:
    path = tmp_path / "gowalla.txt"
    times = ["2010-03-14T06:31:00Z", "2010-03-14T07:31:00Z"]
    path.write_text("".join(f"1\t{time}\t40.7\t-73.9\t1\n" for time in times))
    traces, _ = checkins.read_gowalla(path, choices=NEW_YORK)
    assert [traces.clock.label(int(instant)) for instant in traces.instants] == ["01:00", "03:00"]


class TestRealGowalla:
    @pytest.mark.slow
    def test_every_line_of_new_york_is_read(self, shared_data: Path) -> None:
        traces, report = read(shared_data / "gowalla-nyc.txt.gz")
        assert (report.format, report.rows, traces.n_events, report.dropped) == (
            "gowalla",
            138_957,
            138_957,
            {},
        )
        with gzip.open(shared_data / "gowalla-nyc.txt.gz", "rt") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        assert traces.n_users == len({row[0] for row in rows})
        assert len(traces.places) == len({row[4] for row in rows})
        keys = [(row[0], row[1]) for row in rows]
        assert report.noticed["same second twice for a user"] == len(keys) - len(set(keys))
        users, counts = np.unique([row[0] for row in rows], return_counts=True)
        assert report.noticed["users with one event"] == int((counts == 1).sum())
        busiest = str(users[np.argmax(counts)])
        expected = sorted((row[1], int(row[4])) for row in rows if row[0] == busiest)
        mine = traces.take_users(traces.user_ids == int(busiest))
        assert mine.timestamps is not None
        stamps = np.array(mine.timestamps, "datetime64[s]").astype(str).tolist()
        venues = mine.places.ids[mine.place_index].tolist()
        assert sorted((f"{stamp}Z", venue) for stamp, venue in zip(stamps, venues, strict=True)) == expected

    def test_the_preparation_of_the_paper(self, shared_data: Path) -> None:
        traces, report = read(
            shared_data / "gowalla-nyc.txt.gz",
            bounds="40.5,-74.28,41.0,-73.68",
            top=1000,
            timezone="America/New_York",
            slot="2h",
        )
        assert len(traces.places) == 1000
        counts = np.bincount(traces.place_index)
        assert (np.diff(counts) <= 0).all()
        assert traces.clock.slots_per_day == 12
        assert traces.n_events + report.dropped_rows == 138_957

    @pytest.mark.slow
    def test_gowalla_round_trip(self, shared_data: Path, tmp_path: Path) -> None:
        traces, _ = read(shared_data / "gowalla-nyc.txt.gz", timezone="America/New_York")
        checkins.write_gowalla(traces, tmp_path / "again.txt.gz")
        again, _ = checkins.read_gowalla(tmp_path / "again.txt.gz", choices=NEW_YORK)
        assert again == traces
