"""Formats whose files already have places and instants, and how all formats are told apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tracearena.errors import FileError, ParameterError
from tracearena.io import Input, fit_to_format, read, read_places, write
from tracearena.io.formats import checkins
from tracearena.traces import Traces


@pytest.fixture(scope="module")
def tokyo(shared_data: Path) -> Path:
    return shared_data / "peopleflow-tokyo"


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("gowalla-nyc.txt.gz", "gowalla"),
        ("peopleflow-tokyo/traintraces_TK.csv", "peopleflow"),
        ("peopleflow-tokyo/testtraces_TK.csv", "peopleflow"),
        ("ppmtf-tokyo/traintraces_TK.csv", "ppmtf"),
        ("ppmtf-tokyo/syntraces_sgd_cn0.csv.gz", "ppmtf"),
        ("ppmtf-tokyo/syntraces_sglt_c100_1.csv.gz", "ppmtf"),
        ("pwscup2019-osaka/orgtraces_team001_data01_IDP.csv", "pwscup"),
        ("pwscup2019-osaka/reftraces_team001_data01_IDP.csv", "pwscup"),
    ],
)
def test_every_file_of_traces_is_recognised(shared_data: Path, path: str, format: str) -> None:
    assert Input(shared_data / path).format == format


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("peopleflow-tokyo/POI_TK.csv", "POIs of the PPMTF tools"),
        ("peopleflow-tokyo/regions_TK.csv", "regions of people flow"),
        ("pwscup2019-osaka/info_region.csv", "regions of PWS Cup 2019"),
        ("pwscup2019-osaka/ptable_team001_data01_IDP.csv", "an ID table"),
        ("pwscup2019-osaka/anotraces_team001_data01_IDP.csv.gz", "obfuscated or inferred traces"),
        ("ppmtf-tokyo/traintranstensor_TK_mnt100.csv", "a table without columns for user, time and place"),
    ],
)
def test_a_file_without_traces_is_named_for_what_it_is(shared_data: Path, path: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        _ = Input(shared_data / path).format


def test_people_flow_is_read_whole(tokyo: Path) -> None:
    traces, report = read(tokyo / "traintraces_TK.csv")
    assert report.to_dict() | {"file": ""} == {
        "file": "",
        "format": "peopleflow",
        "rows": 35_000,
        "dropped": {},
        "dropped_rows": 0,
        "examples": {},
        "noticed": {},
        "times": None,
    }
    assert (traces.n_users, traces.n_instants, len(traces.places)) == (1000, 35, 1024)
    assert traces.is_complete
    assert int(traces.places.sensitive.sum()) == 37


def test_people_flow_round_trip(tokyo: Path, tmp_path: Path) -> None:
    traces, _ = read(tokyo / "testtraces_TK.csv")
    write(traces, tmp_path / "again.csv", to="peopleflow")
    assert (tmp_path / "again.csv").read_bytes() == (tokyo / "testtraces_TK.csv").read_bytes()
    assert read(tmp_path / "again.csv", places=traces.places)[0] == traces


def test_the_pois_of_tokyo_have_categories(tokyo: Path) -> None:
    pois = checkins.read_pois(tokyo / "POI_TK.csv")
    assert len(pois) == 17_820
    assert pois.categories is not None
    assert pois.categories[0] == "arts_entertainment/Art Gallery/4"
    regions = read_places(tokyo / "regions_TK.csv")
    assert len(regions) == 1024
    assert regions.grid == checkins.tokyo_regions().grid


def test_ppmtf_files_are_read_with_the_places_beside_them(shared_data: Path) -> None:
    folder = shared_data / "ppmtf-tokyo"
    traces, report = read(folder / "testtraces_TK.csv")
    assert (report.format, traces.n_users, traces.n_events) == ("ppmtf", 500, 15_000)
    assert (len(traces.places), traces.clock.slots_per_day) == (400, 30)
    synthetic, _ = read(folder / "syntraces_sgd_cn0.csv.gz")
    assert (synthetic.n_users, synthetic.n_events) == (500, 150_000)


def test_ppmtf_round_trip(shared_data: Path, tmp_path: Path) -> None:
    traces, _ = read(shared_data / "ppmtf-tokyo" / "traintraces_TK.csv")
    write(traces, tmp_path / "traintraces_TK.csv", to="ppmtf", places_out=tmp_path / "POI_TK.csv")
    again, _ = read(tmp_path / "traintraces_TK.csv")
    assert again == traces


def test_check_ins_become_ppmtf_files(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    write(make_check_ins(), tmp_path / "t.csv")
    traces, _ = read(tmp_path / "t.csv", top=10, slot="2h")
    write(traces, tmp_path / "traintraces_NY.csv", to="ppmtf", places_out=tmp_path / "POI_NY.csv")
    again, report = read(tmp_path / "traintraces_NY.csv")
    assert report.format == "ppmtf"
    assert again.clock.slots_per_day == 12
    np.testing.assert_array_equal(again.place_index, traces.place_index)
    np.testing.assert_array_equal(again.timestamps, traces.timestamps)
    np.testing.assert_array_equal(again.clock.slot_of(again.instants), traces.clock.slot_of(traces.instants))


def test_osaka_is_read_with_the_files_beside_it(osaka: Path) -> None:
    traces, report = read(osaka / "orgtraces_team001_data01_IDP.csv")
    assert (report.format, traces.n_users, traces.span) == ("pwscup", 2000, (40, 80))
    assert traces.clock.label(40) == "08:00"


def test_osaka_through_a_table_and_back(osaka: Path, tmp_path: Path) -> None:
    traces, _ = read(osaka / "orgtraces_team001_data01_IDP.csv")
    write(traces, tmp_path / "t.parquet")
    again, _ = read(tmp_path / "t.parquet", places=osaka / "info_region.csv")
    write(again, tmp_path / "again.csv", to="pwscup")
    assert (tmp_path / "again.csv").read_bytes() == (osaka / "orgtraces_team001_data01_IDP.csv").read_bytes()


def test_regions_can_be_merged_into_a_coarser_grid(osaka: Path) -> None:
    fine, _ = read(osaka / "orgtraces_team001_data01_IDP.csv")
    coarse, report = read(
        osaka / "orgtraces_team001_data01_IDP.csv", grid="8x8", bounds="34.64,135.44,34.74,135.56"
    )
    assert report.dropped == {}
    row, column = np.divmod(fine.place_index, 32)
    np.testing.assert_array_equal(coarse.place_index, row // 4 * 8 + column // 4)


def test_the_most_visited_regions_can_be_kept(osaka: Path) -> None:
    fine, _ = read(osaka / "orgtraces_team001_data01_IDP.csv")
    kept, report = read(osaka / "orgtraces_team001_data01_IDP.csv", top=50)
    expected = np.sort(np.bincount(fine.place_index))[::-1][:50]
    np.testing.assert_array_equal(np.bincount(kept.place_index), expected)
    assert report.dropped_rows == 80_000 - expected.sum()


def test_files_without_times_take_no_interval(osaka: Path) -> None:
    with pytest.raises(ParameterError, match="has instants instead of times"):
        read(osaka / "orgtraces_team001_data01_IDP.csv", interval="30min")


def test_a_missing_file_of_places_is_asked_for(make_walks: Callable[..., Traces], tmp_path: Path) -> None:
    write(make_walks(), tmp_path / "t.csv", to="pwscup")
    with pytest.raises(FileError, match=r"needs its file of places.*info_region\.csv"):
        read(tmp_path / "t.csv")


def test_pwscup_gives_back_what_was_written(make_walks: Callable[..., Traces], tmp_path: Path) -> None:
    walks = make_walks()
    write(walks, tmp_path / "org.csv", to="pwscup", places_out=tmp_path / "info_region.csv")
    assert read(tmp_path / "org.csv")[0] == walks


def test_what_a_contest_file_cannot_hold_is_left_out_and_reported(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    write(make_check_ins(events=3000), tmp_path / "t.csv")
    traces, report = read(tmp_path / "t.csv", grid="4x4")
    held = fit_to_format(traces.with_user_ids([f"u{i}" for i in traces.user_ids]), "pwscup", report)
    assert held.is_regular
    assert held.user_ids.tolist() == list(range(1, 21))
    assert list(report.dropped)[-1] == "second event at an instant"
    assert held.n_events + report.dropped_rows == report.rows
    write(held, tmp_path / "org.csv", to="pwscup", places_out=tmp_path / "info_region.csv")
    np.testing.assert_array_equal(read(tmp_path / "org.csv")[0].place_index, held.place_index)


def raw_people_flow() -> list[str]:
    """User 1 is seen all day; 2 misses an instant; 3 starts late; 4 has a second day; 5 is elsewhere."""
    lines = ["user_id,time,lat,lon"]
    for user in (1, 2, 3, 4, 5):
        for step in range(-6, 36):
            if (user, step) == (2, 7) or (user == 3 and step < 2):
                continue
            minute = 540 + 20 * step
            lat = 35.0 if user == 5 else 35.65 + 0.1 * (step % 20 + 0.5) / 20
            lines.append(f"{user},2013-07-07 {minute // 60:02d}:{minute % 60:02d}:13,{lat:.5f},139.70")
            lines.append(f"{user},2013-07-07 {minute // 60:02d}:{minute % 60 + 5:02d}:13,35.66,139.70")
    lines += [f"4,2013-07-08 {9 + step // 3:02d}:{step % 3 * 20:02d}:00,35.7,139.79" for step in range(30)]
    return lines


def test_raw_people_flow_is_cleaned_as_in_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("\n".join(raw_people_flow()) + "\n")
    traces, report = read(path, "peopleflow")
    assert traces.user_ids.tolist() == [1, 4]
    assert traces.clock.label(0) == "09:00"
    assert traces.n_instants == 30
    assert (len(traces.places), traces.is_complete) == (400, True)
    column = int((139.70 - 139.68) / 0.006)
    np.testing.assert_array_equal(traces.dense()[0], np.arange(30) % 20 * 20 + column)
    assert report.noticed["users without a whole day"] == 2
    assert traces.n_events + report.dropped_rows == report.rows


def test_the_authors_raw_layout_is_read_too(tmp_path: Path) -> None:
    header = "user_id,y,x,y_id,x_id,2D_id,unixtime,year,month,day,hour,min,sec"
    rows = [f"9,35.7,139.7,0,0,0,0,2013,7,7,{9 + i // 3},{i % 3 * 20},5" for i in range(30)]
    path = tmp_path / "traces_TK.csv"
    path.write_text("\n".join([header, *rows, "9,35.7,139.7,0,0,0,0,2013,7,7,9,x,5"]) + "\n")
    assert Input(path).format == "peopleflow"
    traces, report = read(path)
    (place,) = np.unique(traces.dense())
    assert traces.dense().shape == (1, 30)
    assert abs(traces.places.latitude[place] - 35.7) < 0.005
    assert abs(traces.places.longitude[place] - 139.7) < 0.005
    assert report.to_dict()["dropped"] == {"missing fields": 1}
