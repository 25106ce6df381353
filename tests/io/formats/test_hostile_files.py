"""No bytes break a reader: traces, or an error that is the caller's to mend."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.io.formats.json_layouts import LAYOUTS

from tracearena.errors import FileError, TracearenaError
from tracearena.io import FORMATS as ALL_FORMATS
from tracearena.io import pwscup, read, write_places
from tracearena.io.formats import checkins
from tracearena.io.formats.recognition import EITHER

TEXT_OF_ROWS = {layout.format: layout.content for layout in LAYOUTS if layout.users and not layout.options}
FORMATS = [
    *(format for format in ALL_FORMATS if format not in ("partitions", *EITHER)),
    *TEXT_OF_ROWS,
]
"""Files of text; a folder of Parquet files and the formats of other libraries have their own tests."""

SEEDS = {
    "gowalla": "7\t2010-10-19T23:55:27Z\t40.7\t-73.9\t22847\n8\t2010-10-20T03:00:00Z\t40.8\t-73.8\t1\n",
    "tsmc": "7\tv\tc\tBar\t40.7\t-74.0\t-240\tTue Apr 03 18:00:09 +0000 2012\n" * 2,
    "foursquare": "7\tv\tTue Apr 03 18:00:09 +0000 2012\t-240\n" * 2,
    "table": 'user,time,lat,lng,place\n7,2010-10-19 23:55,40.7,-73.9,"a"\n8,1287532527,40.7,-73.9,b\n',
    "peopleflow": "user_id,time_id,reg_id\n1,1,45\n1,2,46\n2,1,1024\n",
    "pwscup": "user_id,time_id,reg_id\n1,1,45\n1,2,46\n2,1,1024\n",
    "ppmtf": "user_index,poi_index,category,unixtime,dow,hour,min\n0,1,-,1373155253.0,Sun,9,0\n",
    **TEXT_OF_ROWS,
}
edits = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.integers(0, 12),
        st.sampled_from(
            [
                b"",
                b"\t",
                b"\n",
                b"\r",
                b",",
                b'"',
                b"-",
                b"9" * 30,
                b"\xff",
                b"nan",
                b"inf",
                b"1e999",
                b" ",
                b"[",
                b"}",
                b"null",
            ]
        ),
    ),
    max_size=6,
)


def edited(text: str, changes: list[tuple[int, int, bytes]]) -> bytes:
    data = text.encode()
    for at, length, new in changes:
        data = data[:at] + new + data[at + length :]
    return data


def attempt(path: Path, data: bytes, format: str | None) -> None:
    path.write_bytes(data)
    try:
        traces, report = read(path, format)
    except TracearenaError:
        return
    assert len(traces) + report.dropped_rows == report.rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "raw_POIs.txt").write_text("v\t40.7\t-74.0\tBar\tUS\n")
    (folder / "POI_x.csv").write_text("poi_id,y,x,category,count\na,40,-74,-,1\nb,41,-74,-,1\n")
    write_places(checkins.tokyo_regions(), folder / "info_region.csv", to="pwscup")
    pwscup.write_times(pwscup.ContestTimes(pwscup.PWS_CLOCK, 0, 1), folder / "info_time.csv")
    return folder


def attempt_both_ways(folder: Path, format: str, changes: list[tuple[int, int, bytes]]) -> None:
    data = edited(SEEDS[format], changes)
    attempt(folder / "file_x.csv", data, format)
    attempt(folder / "file_x.csv", data, None)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@given(changes=edits)
@examples(8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused(folder: Path, format: str, changes: list) -> None:
    attempt_both_ways(folder, format, changes)


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
@given(changes=edits)
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_more_damaged_files_are_read_or_refused(folder: Path, format: str, changes: list) -> None:
    attempt_both_ways(folder, format, changes)


@given(data=st.binary(max_size=300))
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_are_refused(folder: Path, data: bytes) -> None:
    attempt(folder / "file_x.csv", data, None)


@pytest.mark.parametrize("format", FORMATS)
def test_the_undamaged_files_are_read(folder: Path, format: str) -> None:
    (folder / "good_x.csv").write_text(SEEDS[format])
    assert len(read(folder / "good_x.csv", format)[0]) >= 1


def test_people_flow_without_coordinates_is_refused_in_words(folder):
    path = folder / "file_x.csv"
    path.write_bytes(b",user_id,time_id,reg_id\n1,1,45,\n")
    with pytest.raises(FileError, match="coordinates"):
        read(path, "peopleflow")
