"""One person, or one trip, changes no table by more than its bound; what is drawn looks like the data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.cities import simulate_gps
from tracearena.cities.city import GRID
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.metrics import compare_trips, summarise_trips
from tracearena.mobility.trips import Trips, cut_trips
from tracearena.synthesis import PrivateTrips
from tracearena.synthesis.private.tables import SCALE, Budget, Cost, Ints, OpenDPNoise, Unit, parse_shares
from tracearena.synthesis.private.trips import SHARES, count_tables, define_tables
from tracearena.traces import GpsTraces

BOUNDS = ",".join(str(degrees) for degrees in GRID.box)
NAMES = tuple(part.split("=")[0] for part in SHARES.split(","))
Path2 = list[tuple[float, float]]
position = st.floats(0, 1)
path = st.lists(st.tuples(position, position), min_size=10, max_size=120)
RNG = np.random.default_rng(5)
ADVERSARIES: dict[str, list[Path2]] = {
    "no trips": [],
    "one trip at one place": [[(0.3, 0.7)] * 10],
    "on the border of the box": [[(1.0, 1.0)] * 10, [(0.0, 1.0), (1.0, 0.0)] * 5],
    "from corner to corner at every minute": [[(0.0, 0.0), (1.0, 1.0)] * 60],
    "a thousand trips at one place": [[(0.5, 0.5)] * 10] * 1000,
    "two thousand trips everywhere": [list(map(tuple, RNG.random((30, 2)))) for _ in range(2000)],
    "one long and one short trip": [[(0.1, i / 120) for i in range(120)], [(0.9, i / 10) for i in range(10)]],
}


def build(people: list[list[Path2]]) -> Trips:
    paths = [one for trips in people for one in trips]
    points = np.array([point for one in paths for point in one], float).reshape(-1, 2)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in paths])]).astype(np.int64)
    user = np.repeat(np.arange(len(people)), [len(trips) for trips in people])
    return Trips(offsets, points[:, 0].copy(), points[:, 1].copy(), user)


def check_bounds(before: Trips, after: Trips, unit: Unit) -> dict[str, float]:
    """Compare neighbouring data in whole numbers; return the change as a share of each bound."""
    less, more = count_tables(before, unit), count_tables(after, unit)
    found = {}
    for table in define_tables(unit, parse_shares(SHARES, NAMES)):
        change = more[table.name] - less[table.name]
        assert np.abs(change).sum() <= table.bound * SCALE
        found[table.name] = table.measure(change)
    return found


@given(others=st.lists(st.lists(path, max_size=3), max_size=3), one=st.lists(path, max_size=5))
@examples(100)
def test_a_person_changes_no_table_beyond_its_bound(others: list[list[Path2]], one: list[Path2]) -> None:
    check_bounds(build([*others, []]), build([*others, one]), "person")


@given(others=st.lists(st.lists(path, max_size=3), max_size=3), one=path)
@examples(100)
def test_a_trip_changes_no_table_beyond_its_bound(others: list[list[Path2]], one: Path2) -> None:
    before = [*others, []]
    check_bounds(build(before), build([*others, [one]]), "trip")
    # Also if it is one of several trips of a person.
    check_bounds(build(before), build([[*others[0], one], *others[1:], []] if others else [[one]]), "trip")


@pytest.mark.parametrize("name", ADVERSARIES)
def test_an_adversary_changes_no_table_beyond_its_bound(name: str) -> None:
    others = list(ADVERSARIES.values())
    check_bounds(build([*others, []]), build([*others, ADVERSARIES[name]]), "person")


@pytest.mark.parametrize("unit", ["person", "trip"])
def test_every_bound_is_reached_by_somebody(unit: Unit) -> None:
    life = ADVERSARIES["one long and one short trip"][:1]
    found = check_bounds(build([[]]), build([life]), unit)
    assert found == pytest.approx(dict.fromkeys(NAMES, 1.0), abs=0.01)


def test_a_person_with_many_trips_has_as_much_weight_as_one_with_few() -> None:
    trip = [(0.1, i / 30) for i in range(30)]
    once, often = (count_tables(build([[trip] * number]), "person") for number in (1, 50))
    for name in NAMES:
        assert often[name] == pytest.approx(once[name], rel=0.01, abs=SCALE * 0.01)
    assert count_tables(build([[trip] * 50]), "trip")["ends"].sum() == 50 * SCALE


def test_tables_count_what_they_say() -> None:
    # Two cells to the east, one to the north-east, then rest: 16 cells a side.
    way = [(0.03, 0.03), (0.09, 0.03), (0.16, 0.03), (0.22, 0.09)] + [(0.22, 0.09)] * 6
    found = {name: table / SCALE for name, table in count_tables(build([[way]]), "trip").items()}
    assert found["ends"][0, 1] == 1
    assert found["terminals"][0, 48 + 1] == found["terminals"][1, 4 * 48 + 10] == 0.5
    moves = {tuple(map(int, one)) for one in np.argwhere(found["moves"])}
    assert moves == {(0, 0), (1, 0), (2, 1)}
    assert np.flatnonzero(found["turns"]).tolist() == [0, 1]
    assert found["turns"][:2] == pytest.approx([0.5, 0.5], abs=1e-5)
    assert found["detours"][3, 0] == 1  # three moves are the straight way
    assert found["durations"][2 - 1, 0] + found["durations"][2, 0] == 1
    assert found["density"].max() == pytest.approx(0.7, abs=1e-4)
    assert found["districts"][:2].sum() == pytest.approx(1, abs=1e-4)


@pytest.fixture(scope="module")
def city() -> GpsTraces:
    return simulate_gps(150, 10, interval_s=60, seed=11)


def distances(model: PrivateTrips, city: GpsTraces) -> dict[str, float]:
    trips = cut_trips(city, GRID.box)
    pair = (summarise_trips(one, GRID.box) for one in (trips, model.sample_trips(len(trips), seed=2)))
    return compare_trips(*pair).to_dict()


def test_with_little_noise_trips_look_like_the_data(city: GpsTraces) -> None:
    found = distances(PrivateTrips(epsilon=100, unit="trip", bounds=BOUNDS).fit(city, seed=1), city)
    assert found["density"] < 0.05
    assert found["diameter"] < 0.03
    assert found["length"] < 0.04
    assert found["query_error"] < 0.5
    assert found["kendall_tau"] > 0.6


def test_with_more_noise_trips_are_farther_from_the_data(city: GpsTraces) -> None:
    far, near = (
        distances(PrivateTrips(epsilon=epsilon, bounds=BOUNDS).fit(city, seed=1), city)
        for epsilon in (0.2, 20)
    )
    assert all(near[name] < far[name] for name in ("query_error", "density", "trip", "diameter", "length"))


def test_people_days_and_the_box_of_a_release_are_public(city: GpsTraces) -> None:
    made = PrivateTrips(epsilon=1, bounds=BOUNDS).fit(city, seed=1).sample_users(7, 3, seed=1)
    assert made.user_ids.tolist() == list(range(1, 8))
    assert made.n_trajectories == 21
    assert GRID.box.contains(made.latitude, made.longitude).all()
    assert made.time_ms.min() == 0
    assert set(made.time_ms // 86_400_000) == {0, 1, 2}
    assert set(np.diff(made.time_ms)[np.diff(made.trajectory) == 0]) == {60_000}


def test_a_model_comes_back_from_its_file_and_draws_the_same(city: GpsTraces, tmp_path: Path) -> None:
    model = PrivateTrips(epsilon=1, unit="trip", bounds=BOUNDS).fit(city, seed=1)
    model.save(tmp_path / "model.json")
    again = PrivateTrips.load(tmp_path / "model.json")
    assert again == model
    assert again.budget_ == model.budget_
    assert again.guarantee == model.guarantee
    assert again.sample_users(20, 2, seed=3) == model.sample_users(20, 2, seed=3)
    with pytest.raises(DataError, match="does not contain its training users"):
        again.synthesize()


def test_the_file_holds_noisy_tables_and_parameters_only(city: GpsTraces, tmp_path: Path) -> None:
    named = city.with_user_ids([f"somebody {one}" for one in range(city.n_users)])
    PrivateTrips(epsilon=1, bounds=BOUNDS).fit(named, seed=1).save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    assert set(content) == {"format", "version", "parameters", "guarantee", "seeded", "budget", "tables"}
    assert set(content["tables"]) == set(NAMES)
    assert "somebody" not in json.dumps(content)


def test_the_guarantee_is_pure_and_names_its_unit(city: GpsTraces) -> None:
    pytest.importorskip("opendp")
    found = [
        PrivateTrips(epsilon=2, unit=unit, bounds=BOUNDS).fit(city).guarantee for unit in ("user", "trip")
    ]
    assert found == ["ε = 2, δ = 0 for one person", "ε = 2, δ = 0 for one trip"]
    seeded = PrivateTrips(epsilon=2, bounds=BOUNDS).fit(city, seed=1)
    assert seeded.guarantee.startswith("none: the noise was drawn from a seed")


def test_without_a_seed_all_noise_is_opendps(city: GpsTraces, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def add(self: OpenDPNoise, values: Ints, cost: Cost) -> Ints:
        drawn.append(cost)
        return values

    monkeypatch.setattr(OpenDPNoise, "add", add)
    model = PrivateTrips(epsilon=1, bounds=BOUNDS).fit(city)
    assert drawn == list(model.budget_.costs)
    PrivateTrips(epsilon=1, bounds=BOUNDS).fit(city, seed=1)
    assert len(drawn) == len(model.budget_.costs)


def test_shares_are_spent_and_no_more() -> None:
    for epsilon in (0.1, 1.0, 8.0):
        budget = PrivateTrips(epsilon=epsilon).plan()
        assert budget.spent == pytest.approx(epsilon)
        assert budget.delta == 0
        assert Budget.from_dict(budget.to_dict()) == budget


def test_data_without_trips_is_not_refused() -> None:
    # A refusal would say that there are none.
    nobody = GpsTraces.from_points([], [], [], [], user_ids=[])
    made = PrivateTrips(epsilon=1, bounds=BOUNDS).fit(nobody, seed=1).sample_users(50, seed=1)
    assert made.n_trajectories == 50


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1, "unit": "day"}, "unit = 'day'"),
        ({"epsilon": 1, "bounds": "1,2,3"}, "bounds"),
        ({"epsilon": 1, "shares": "ends=1"}, "NAME=SHARE for each of ends, terminals"),
    ],
)
def test_parameters_without_a_guarantee_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        PrivateTrips(**given)  # type: ignore[arg-type]


def test_without_a_public_box_nothing_is_learned(city: GpsTraces) -> None:
    with pytest.raises(ParameterError, match="needs bounds, a public box"):
        PrivateTrips(epsilon=1).fit(city, seed=1)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "tracearena-private-trips", "version": 9}'])
def test_other_files_are_no_models(content: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(FileError, match="is not a model file of PrivateTrips"):
        PrivateTrips.load(tmp_path / "model.json")
