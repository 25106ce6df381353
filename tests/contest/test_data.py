"""A contest's folder is whole, official, and can be made again."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from tracearena import contest
from tracearena.contest.data import check_regions
from tracearena.contest.virtual_days import contest_days, contest_training
from tracearena.engine import use
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.io import pwscup
from tracearena.synthesis import PPMTF
from tracearena.traces import Clock, Grid, Places, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

PLAN = contest.ContestPlan(teams=2, users=12, days=4)


def training(clock: Clock, days: int = 3) -> Traces:
    grid = Grid(rows=3, columns=3, south=34.6, west=135.4, north=34.7, east=135.5)
    places = Places.of_grid(grid, km_per_degree=CONTEST_KM_PER_DEGREE)
    table = np.random.default_rng(1).integers(0, 9, size=(25, days * clock.instants_per_day))
    return Traces.from_dense(table, places, clock)


@pytest.fixture(scope="module")
def model() -> PPMTF:
    half_hours = Clock(instants_per_day=48, interval_s=1800)
    return PPMTF(factors=2, iterations=4, zero_transitions=20, zero_visits=20).fit(
        contest_training(training(half_hours)), seed=1
    )


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("contest") / "data"
    contest.write_contest_data(place, model, PLAN, seed=5, shuffle_seed=6)
    return place / "judge"


def test_every_team_has_reference_and_original_traces_of_its_own(folder):
    places = pwscup.read_places(folder / "info_region.csv")
    times = pwscup.read_times(folder / "info_time.csv")
    assert (times.reference_days, times.original_days) == (2, 2)
    assert times.clock == pwscup.PWS_CLOCK
    contents = set()
    for team in range(5):
        for kind, span in (("reftraces", (0, 40)), ("orgtraces", (40, 80))):
            path = folder / f"{kind}_team{team:03d}_data01_IDP.csv"
            traces = pwscup.read_traces(path, places, times.clock)
            assert traces.is_complete
            assert traces.span == span
            assert traces.user_ids.tolist() == list(range(1, 13))
            contents.add(path.read_bytes())
    assert len(contents) == 10


def test_the_pseudonymised_team_is_shuffled_and_nothing_else(folder):
    places = pwscup.read_places(folder / "info_region.csv")
    original = pwscup.read_traces(folder / "orgtraces_team000_data01_IDP.csv", places)
    public = pwscup.read_anonymized(folder / "pubtraces_team000_data01_IDP.csv", places)
    table = pwscup.read_id_table(folder / "ptable_team000_data01_IDP.csv")
    obfuscated = pwscup.read_obfuscated(folder / "anotraces_team000_data01_IDP.csv", original)
    assert np.array_equal(obfuscated.codes, original.place_index)
    own = original.dense()[table.user_ids - 1]
    assert np.array_equal(public.codes.reshape(own.shape), own)
    others = [path.name for path in folder.glob("p*_team*") if "team000" not in path.name]
    assert others == []


def test_the_manifest_has_a_seed_a_set_and_a_hash_a_file(folder, model):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest["sha256"]) == {path.name for path in folder.iterdir()} - {"manifest.json"}
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert [(entry["team"], entry["role"]) for entry in manifest["data"]] == [
        (0, "pseudonymised"), (1, "team"), (2, "team"), (3, "sample"), (4, "sample"),
    ]  # fmt: skip
    entry = manifest["data"][2]
    seed = np.random.SeedSequence(entry["seed"]["entropy"], spawn_key=tuple(entry["seed"]["spawn_key"]))
    reference, _ = contest.team_traces(model, PLAN, seed)
    places = pwscup.read_places(folder / "info_region.csv")
    written = pwscup.read_traces(folder / entry["files"]["reference"], places)
    assert np.array_equal(reference.place_index, written.place_index)


def test_the_same_seeds_give_the_same_bytes(model, folder, tmp_path):
    with use(threads=3):
        manifest = contest.write_contest_data(tmp_path / "again", model, PLAN, seed=5, shuffle_seed=6)
    assert manifest == json.loads((folder / "manifest.json").read_text())
    other = contest.write_contest_data(tmp_path / "other", model, PLAN, seed=7)
    names = [name for name in manifest["sha256"] if "traces" in name]
    assert all(manifest["sha256"][name] != other["sha256"][name] for name in names)


def test_a_second_data_set_has_other_users(model, tmp_path):
    plan = contest.ContestPlan(teams=1, users=5, days=2, data_sets=2)
    manifest = contest.write_contest_data(tmp_path / "two", model, plan, seed=1)
    names = {path.name for path in (tmp_path / "two" / "judge").glob("*team001*")}
    assert names == {
        f"{kind}traces_team001_{data}.csv" for kind in ("ref", "org") for data in ("data01_IDP", "data02_TRP")
    }
    hashes = manifest["sha256"]
    first, second = (hashes[f"orgtraces_team001_{data}.csv"] for data in ("data01_IDP", "data02_TRP"))
    assert first != second


def test_nothing_is_left_of_a_contest_that_failed(tmp_path):
    class Broken:
        def sample_users(self, n, days, **options):
            raise DataError("no users today")

    with pytest.raises(DataError, match="no users today"):
        contest.write_contest_data(tmp_path / "data", Broken(), PLAN)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_not_touched(model, tmp_path):
    (tmp_path / "mine").write_text("precious")
    for target in (tmp_path, tmp_path / "mine", tmp_path / "no" / "where"):
        with pytest.raises(FileError, match=r"not an empty folder|does not exist"):
            contest.write_contest_data(target, model, PLAN)
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.parametrize(
    "bad", [{"teams": 0}, {"teams": 998}, {"users": 0}, {"days": 1}, {"data_sets": 3}, {"users": 2.0}]
)
def test_a_plan_is_checked(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        contest.ContestPlan(**bad)


def test_whole_days_are_learned_from_6_to_18_and_handed_out_from_8_to_18():
    day = training(Clock(instants_per_day=48, interval_s=1800), days=2)
    learned = contest_training(day)
    assert (learned.clock.start_s, learned.clock.instants_per_day, learned.clock.slots_per_day) == (
        21600,
        24,
        12,
    )
    assert np.array_equal(learned.dense().reshape(25, 2, 24), day.dense().reshape(25, 2, 48)[:, :, 12:36])
    handed = contest_days(learned)
    assert handed.clock == pwscup.PWS_CLOCK
    assert np.array_equal(handed.dense().reshape(25, 2, 20), day.dense().reshape(25, 2, 48)[:, :, 16:36])


@pytest.mark.parametrize(
    "clock",
    [
        pwscup.PWS_CLOCK,
        Clock(instants_per_day=24),
        Clock(instants_per_day=30, start_s=32400, interval_s=1200),
    ],
)
def test_other_clocks_stay_as_they_are(clock):
    traces = training(clock)
    assert contest_training(traces) is traces
    assert contest_days(traces) == traces


def test_five_minutes_are_learned_from_and_half_hours_handed_out():
    fine = training(Clock(instants_per_day=144, start_s=6 * 3600, interval_s=300), days=1)
    learned = contest_training(fine)
    assert learned.clock.slots_per_day == 12
    assert np.array_equal(contest_days(learned).dense(), fine.dense()[:, 24::6])


def test_places_that_are_no_grid_are_refused():
    venues = Places([35.0, 35.1], [139.0, 139.1])
    with pytest.raises(DataError, match="grid"):
        check_regions(Traces.from_dense([[0, 1]], venues, pwscup.PWS_CLOCK))
