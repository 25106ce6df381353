"""Small files of both layouts, and what is said of broken ones."""

from __future__ import annotations

import contextlib
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.errors import DataError, FileError
from tracearena.io import ppmtf
from tracearena.traces import Clock, Places, Traces

POIS = "poi_id,y,x,category,count\n4b05,40.7,-74.0,Café,9\n4b06,40.8,-73.9,Park,7\n4b07,40.6,-73.8,Bar,1\n"
INDEX = "poi_id,poi_index,category,counts\n4b07,0,Bar,1\n4b05,1,Café,9\n"
CHECK_INS = "user_index,poi_index,category,unixtime,dow,hour,min\n"


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(error: pytest.ExceptionInfo[FileError]) -> list[tuple[int | None, str | None, str]]:
    return [(fault.row, fault.column, fault.code) for fault in error.value.faults]


@pytest.fixture
def places() -> Places:
    return Places([40.7, 40.8, 40.6], [-74.0, -73.9, -73.8])


def test_pois_are_numbered_by_the_index_beside_them(tmp_path: Path) -> None:
    path = file(tmp_path, "POI_NY.csv", POIS)
    assert ppmtf.read_places(path).ids.tolist() == ["4b05", "4b06", "4b07"]
    file(tmp_path, "POIindex_NY.csv", INDEX)
    indexed = ppmtf.read_places(path)
    assert indexed.ids.tolist() == ["4b07", "4b05"]
    assert indexed.categories is not None
    assert indexed.categories.tolist() == ["Bar", "Café"]


def test_pois_come_back_with_their_counts(tmp_path: Path) -> None:
    ppmtf.write_places(ppmtf.read_places(file(tmp_path, "in.csv", POIS)), tmp_path / "out.csv", [9, 7, 1])
    assert (tmp_path / "out.csv").read_text() == POIS


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    windows = b"\xef\xbb\xbf" + POIS.replace("\n", "\r\n").encode()
    assert ppmtf.read_places(file(tmp_path, "a.csv", windows)) == ppmtf.read_places(
        file(tmp_path, "b.csv", POIS)
    )


def test_check_ins_have_dates_whatever_the_zone_of_unixtime(tmp_path: Path, places: Places) -> None:
    # 2012-04-03 18:30 and 23:59, 2012-04-05 00:01 in UTC, counted by a clock that is 9 hours ahead.
    rows = "7,2,Bar,1333441800.0,Tue,18,30\n7,0,Bar,1333461540.0,Tue,23,59\n3,1,Park,1333551660.0,Thu,0,1\n"
    path = file(tmp_path, "traintraces_NY.csv", CHECK_INS + rows)
    traces = ppmtf.read_traces(path, places)
    assert traces.clock.first_day == date(2012, 4, 3)
    assert traces.user_ids.tolist() == [3, 7]
    assert traces.instants.tolist() == [48, 18, 23]
    assert traces.clock.slot_of(traces.instants).tolist() == [0, 9, 11]


def test_check_ins_come_back_to_the_minute(tmp_path: Path) -> None:
    text = CHECK_INS + "3,1,Park,1333551660.0,Thu,0,1\n7,2,Bar,1333441800.0,Tue,18,30\n"
    named = Places([40.7, 40.8, 40.6], [-74.0, -73.9, -73.8], categories=["Café", "Park", "Bar"])
    traces = ppmtf.read_traces(file(tmp_path, "in.csv", text.replace("Thu,0,1", "Thu,0,1")), named)
    ppmtf.write_traces(traces, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text


def test_instants_and_slots_may_be_chosen(tmp_path: Path, places: Places) -> None:
    path = file(tmp_path, "in.csv", CHECK_INS + "7,2,Bar,1333441800.0,Tue,18,30\n")
    traces = ppmtf.read_traces(path, places, interval_s=1800, slot_s=3 * 3600)
    assert traces.clock.instants_per_day == 48
    assert traces.instants.tolist() == [37]
    assert traces.clock.slot_of(37) == 6


def test_people_flow_days_begin_where_the_time_falls(tmp_path: Path, places: Places) -> None:
    header = CHECK_INS.strip() + ",distance\n"
    rows = "0,0,-,5000000.0,Sun,9,0,0\n0,1,-,1000.0,Mon,18,40,0\n0,2,-,9000000.0,Sun,9,20,0\n"
    traces = ppmtf.read_traces(file(tmp_path, "in.csv", header + rows), places)
    assert traces.instants.tolist() == [0, 29, 31]


def test_every_bad_cell_is_named(tmp_path: Path, places: Places) -> None:
    rows = "x,0,-,0.0,Thu,0,1\n1,3,-,inf,Thu,0,1\n1,1,-,0.0,Thu,24,99\n"
    with pytest.raises(FileError, match=r"row 1 \(line 2\), column user_index: got 'x'") as error:
        ppmtf.read_traces(file(tmp_path, "bad.csv", CHECK_INS + rows), places)
    assert faults(error) == [
        (1, "user_index", "bad-number"),
        (2, "poi_index", "bad-number"),
        (2, "unixtime", "bad-number"),
        (3, "hour", "bad-number"),
        (3, "min", "bad-number"),
    ]


def test_rows_with_missing_cells_and_blank_rows_are_named(tmp_path: Path, places: Places) -> None:
    text = CHECK_INS + "0,0,-,0.0,Thu,0\n\n0,0,-,0.0,Thu,0,1\n"
    with pytest.raises(FileError) as error:
        ppmtf.read_traces(file(tmp_path, "bad.csv", text), places)
    assert faults(error) == [(1, None, "bad-row"), (2, None, "bad-row")]


def test_more_faults_than_ten_are_counted(tmp_path: Path, places: Places) -> None:
    text = CHECK_INS + "0,99,-,0.0,Thu,0,0\n" * 25
    with pytest.raises(FileError, match="and 15 more") as error:
        ppmtf.read_traces(file(tmp_path, "bad.csv", text), places)
    assert error.value.total == 25


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\x00\x00", "user_index\n"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, places: Places, text: str) -> None:
    with pytest.raises(FileError) as error:
        ppmtf.read_traces(file(tmp_path, "bad.csv", text), places)
    assert faults(error) == [(0, None, "bad-header")]


def test_a_file_without_rows_is_traces_without_users(tmp_path: Path, places: Places) -> None:
    assert ppmtf.read_traces(file(tmp_path, "empty.csv", CHECK_INS), places).n_users == 0


def test_hours_outside_people_flow_are_refused(tmp_path: Path, places: Places) -> None:
    text = CHECK_INS.strip() + ",distance\n0,0,-,0.0,Thu,19,0,0\n"
    with pytest.raises(FileError, match="from 9 to 18"):
        ppmtf.read_traces(file(tmp_path, "bad.csv", text), places)


def test_synthetic_traces_must_fit_the_clock(tmp_path: Path, places: Places) -> None:
    text = "user,trace_no,time_slot,time_instant,poi_index,category\n0,0,12,0,0,-\n0,0,11,2,0,-\n"
    path = file(tmp_path, "syn.csv", text)
    with pytest.raises(FileError) as error:
        ppmtf.read_synthetic(path, places, ppmtf.check_in_clock())
    assert faults(error) == [(1, "time_slot", "bad-number"), (2, "time_instant", "bad-number")]


def test_tensor_cells_stand_once(tmp_path: Path) -> None:
    header = "user_index,poi_index_from,poi_index_to,count,prob\n"
    with pytest.raises(FileError) as error:
        ppmtf.read_transition_tensor(file(tmp_path, "t.csv", header + "0,1,1,2,0.5\n0,1,1,3,0.5\n"), 1, 2)
    assert faults(error) == [(2, "poi_index_to", "repeated-cell")]


def test_parameters_must_fit_together(tmp_path: Path) -> None:
    good = ppmtf.Parameters(*(np.arange(rows * 2.0).reshape(rows, 2) + rows for rows in (3, 4, 4, 5)))
    ppmtf.write_parameters(good, tmp_path, iteration=7)
    read = ppmtf.read_parameters(tmp_path, iteration=7)
    assert all(np.array_equal(getattr(read, name), getattr(good, name)) for name in "ABCD")
    file(tmp_path, "modelparameter_Itr7_C.csv", "1,2\n")
    with pytest.raises(FileError, match="B has 4 places but C has 1"):
        ppmtf.read_parameters(tmp_path, iteration=7)
    file(tmp_path, "modelparameter_Itr7_C.csv", "1,nan\n")
    with pytest.raises(FileError, match="column 2: got 'nan'"):
        ppmtf.read_parameters(tmp_path, iteration=7)


def test_sampled_users_keep_every_bit(tmp_path: Path) -> None:
    users = np.random.default_rng(0).normal(size=(4, 3))
    ppmtf.write_sampled_users(users, tmp_path / "SmplA1.csv")
    assert np.array_equal(ppmtf.read_matrix(tmp_path / "SmplA1.csv"), users)


def test_deniability_results_come_back(tmp_path: Path) -> None:
    text = "12,1\n3,0\n-,-,1,2,0.5\n"
    results = ppmtf.read_deniability(file(tmp_path, "in.csv", text))
    assert results.counts.tolist() == [12, 3]
    assert results.rate == 0.5
    ppmtf.write_deniability(results, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == text
    with pytest.raises(FileError) as error:
        ppmtf.read_deniability(file(tmp_path, "bad.csv", "12,yes\n-,-,1,2,0.5\n"))
    assert faults(error) == [(1, None, "bad-row")]


def test_a_category_with_a_comma_cannot_be_written(tmp_path: Path) -> None:
    places = Places([0.0], [0.0], categories=["Bar, loud"])
    traces = Traces.from_dense([[0]], places, Clock(instants_per_day=24))
    with pytest.raises(DataError, match="comma"):
        ppmtf.write_traces(traces, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


def test_mobility_of_sglt_is_all_ones(tmp_path: Path) -> None:
    ppmtf.write_sglt_mobility(3, tmp_path / "input.mobility")
    assert (tmp_path / "input.mobility").read_text() == "1, 1, 1\n" * 3
    assert ppmtf.read_sglt_mobility(tmp_path / "input.mobility").all()


VALID = {
    "traces": CHECK_INS + "0,0,-,1333441800.0,Tue,18,30\n1,2,Bar,1333461540.0,Tue,23,59\n",
    "flow": CHECK_INS.strip() + ",distance\n0,0,-,1333441800.0,Tue,18,20,0\n0,2,-,1333461540.0,Tue,18,40,0\n",
    "synthetic": "user,trace_no,time_slot,time_instant,poi_index,category,loglikeli\n"
    "0,0,0,0,2,-,-1.5\n0,1,3,1,0,-,-2.25\n",
    "places": POIS,
    "regions": "poi_id,y,x,category,y_id,x_id,2D_id,count\n0,35.1,139.1,-,0,0,0,-\n1,35.1,139.2,-,0,1,1,-\n",
    "index": INDEX,
    "tensor": "user_index,poi_index_from,poi_index_to,count,prob\n0,1,1,2,0.5\n0,1,2,3,0.5\n",
    "matrix": "0.5,1.5\n-2,3e4\n",
    "deniability": "12,1\n3,0\n-,-,1,2,0.5\n",
    "results": "tracedir, tracefile, reid_rate, -, TP-TV_syn\nPPMTF_TK,a.csv,0.016,-,-\n",
}


NASTY = [b"", b",", b"\n", b"\r\n", b"-", b"9" * 25, b"\xff\x00", b'"', b"nan", b"1e999"]


@examples(150)
@given(st.sampled_from(sorted(VALID)), st.data())
def test_a_broken_file_is_read_or_refused_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    content = bytearray(VALID[kind].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(st.sampled_from(NASTY))
        content[at : at + data.draw(st.integers(0, 3))] = piece
    path = tmp_path_factory.mktemp("broken") / "file.csv"
    path.write_bytes(bytes(content))
    places = Places([40.7, 40.8, 40.6], [-74.0, -73.9, -73.8])
    readers = {
        "traces": lambda: ppmtf.read_traces(path, places),
        "flow": lambda: ppmtf.read_traces(path, places),
        "synthetic": lambda: ppmtf.read_synthetic(path, places),
        "places": lambda: ppmtf.read_places(path),
        "regions": lambda: ppmtf.read_places(path),
        "index": lambda: ppmtf.read_place_index(path),
        "tensor": lambda: ppmtf.read_transition_tensor(path, 1, 3),
        "matrix": lambda: ppmtf.read_matrix(path),
        "deniability": lambda: ppmtf.read_deniability(path),
        "results": lambda: ppmtf.read_utility_and_privacy(path),
    }
    with contextlib.suppress(FileError):
        readers[kind]()


def test_one_endless_cell_does_not_widen_every_row(tmp_path: Path) -> None:
    text = POIS + "4b08,40.6,-73.8," + "x" * 100_000 + ",1\n"
    with pytest.raises(FileError, match=r"row 4 .*at most 1,000 characters"):
        ppmtf.read_places(file(tmp_path, "POI_NY.csv", text))


def test_a_matrix_of_commas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="100,001 columns"):
        ppmtf.read_matrix(file(tmp_path, "A.csv", "," * 100_000))


def test_times_that_no_instant_can_number_are_refused(tmp_path: Path, places: Places) -> None:
    far = CHECK_INS + "0,0,-,0.0,Thu,0,0\n0,0,-,9000000000000.0,Thu,0,0\n"
    with pytest.raises(FileError, match="too many"):
        ppmtf.read_traces(file(tmp_path, "far.csv", far), places)
    header = "user,trace_no,time_slot,time_instant,poi_index,category\n"
    with pytest.raises(FileError, match="more than seconds"):
        ppmtf.read_synthetic(file(tmp_path, "fine.csv", header + "0,0,9999,9999,0,-\n"), places)
    with pytest.raises(FileError, match="too many"):
        ppmtf.read_synthetic(file(tmp_path, "long.csv", header + "0,1000000,9999,0,0,-\n"), places)
