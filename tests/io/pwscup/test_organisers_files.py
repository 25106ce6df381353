"""Every example of the organisers, read and written again, is the same bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tracearena.io import pwscup
from tracearena.traces import Clock, Places, Traces

TEAM = "team001_data01_IDP"


def content(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


@pytest.fixture(scope="module")
def places(osaka: Path) -> Places:
    return pwscup.read_places(osaka / "info_region.csv")


@pytest.fixture(scope="module")
def original(osaka: Path, places: Places) -> Traces:
    return pwscup.read_traces(osaka / f"orgtraces_{TEAM}.csv", places)


def test_the_regions_are_a_grid_of_32_by_32_with_planar_distances(places: Places) -> None:
    grid = places.grid
    assert grid is not None
    assert (grid.rows, grid.columns) == (32, 32)
    assert (grid.south, grid.west, grid.north, grid.east) == (34.64, 135.44, 34.74, 135.56)
    assert places.distance_km([0, 0, 0], [1, 32, 33]).round(5).tolist() == [0.34125, 0.34688, 0.48659]
    assert round(float(places.distance_km(0, 1023)), 3) == 15.084


def test_regions_and_times_come_back_to_the_byte(osaka: Path, places: Places, tmp_path: Path) -> None:
    pwscup.write_places(places, tmp_path / "regions.csv")
    assert content(tmp_path / "regions.csv") == content(osaka / "info_region.csv")
    times = pwscup.read_times(osaka / "info_time.csv")
    assert times == pwscup.ContestTimes(pwscup.PWS_CLOCK, 2, 2)
    pwscup.write_times(times, tmp_path / "times.csv")
    assert content(tmp_path / "times.csv") == content(osaka / "info_time.csv")


def test_reference_and_original_traces_come_back_to_the_byte(
    osaka: Path, places: Places, original: Traces, tmp_path: Path
) -> None:
    reference = pwscup.read_traces(osaka / f"reftraces_{TEAM}.csv", places)
    assert (reference.span, original.span) == ((0, 40), (40, 80))
    for name, traces in (("reftraces", reference), ("orgtraces", original)):
        assert traces.n_users == 2000
        assert traces.is_complete
        pwscup.write_traces(traces, tmp_path / name)
        assert content(tmp_path / name) == content(osaka / f"{name}_{TEAM}.csv")


def test_obfuscated_and_public_traces_come_back_to_the_byte(
    osaka: Path, places: Places, original: Traces, tmp_path: Path
) -> None:
    obfuscated = pwscup.read_obfuscated(osaka / f"anotraces_{TEAM}.csv.gz", original)
    pwscup.write_obfuscated(obfuscated, tmp_path / "ano.csv.gz")
    assert content(tmp_path / "ano.csv.gz") == content(osaka / f"anotraces_{TEAM}.csv.gz")
    public = pwscup.read_anonymized(osaka / f"pubtraces_{TEAM}.csv.gz", places)
    pwscup.write_anonymized(public, tmp_path / "pub.csv")
    assert content(tmp_path / "pub.csv") == content(osaka / f"pubtraces_{TEAM}.csv.gz")
    assert public.user_ids.tolist() == list(range(2001, 4001))


def test_equal_sets_are_held_once(osaka: Path, original: Traces) -> None:
    obfuscated = pwscup.read_obfuscated(osaka / f"anotraces_{TEAM}.csv.gz", original)
    distinct = {obfuscated.sets[k].tobytes() for k in range(len(obfuscated.sets))}
    assert len(distinct) == len(obfuscated.sets)


def test_tables_and_inferred_traces_come_back_to_the_byte(
    osaka: Path, original: Traces, tmp_path: Path
) -> None:
    table = pwscup.read_id_table(osaka / f"ptable_{TEAM}.csv")
    pwscup.write_id_table(table, tmp_path / "ptable.csv")
    assert content(tmp_path / "ptable.csv") == content(osaka / f"ptable_{TEAM}.csv")
    guess_file = osaka / "etable_team020-001_data01_IDP.csv"
    guess = pwscup.read_inferred_table(guess_file, table.pseudonyms, users=original.user_ids)
    pwscup.write_inferred_table(guess, tmp_path / "etable.csv")
    assert content(tmp_path / "etable.csv") == content(guess_file)
    assert np.mean(guess.user_ids != table.user_ids) == 0.999
    traces_file = osaka / "etraces_team020-001_data01_IDP.csv"
    inferred = pwscup.read_inferred_traces(traces_file, original)
    pwscup.write_inferred_traces(inferred, tmp_path / "etraces.csv")
    assert content(tmp_path / "etraces.csv") == content(traces_file)


def test_regions_without_hospitals_have_no_sensitive_place(shared_data: Path) -> None:
    tokyo = shared_data / "peopleflow-tokyo"
    places = pwscup.read_places(tokyo / "regions_TK.csv")
    assert not places.sensitive.any()
    traces = pwscup.read_traces(
        tokyo / "testtraces_TK.csv", places, Clock(instants_per_day=35, interval_s=1200)
    )
    assert (traces.n_users, traces.span) == (1000, (0, 35))


def test_public_traces_and_the_id_table_undo_each_other(
    osaka: Path, places: Places, original: Traces
) -> None:
    public = pwscup.read_anonymized(osaka / f"pubtraces_{TEAM}.csv.gz", places)
    table = pwscup.read_id_table(osaka / f"ptable_{TEAM}.csv")
    obfuscated = pwscup.read_obfuscated(osaka / f"anotraces_{TEAM}.csv.gz", original)
    restored = public.with_user_ids(table.user_ids).take_users(np.argsort(table.user_ids))
    assert restored == obfuscated
