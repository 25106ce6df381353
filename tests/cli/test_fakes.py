"""The commands of fake traces: ``synthesize SGLT``, ``similarity``, ``lbs``."""

from __future__ import annotations

import csv

import numpy as np
import polars as pl
import pytest

from tracearena.io import ppmtf, write, write_places
from tracearena.traces import Clock, Places, Traces

CELLS = ["user", "trace_no", "time_period", "time_instant", "poi_index", "category"]


@pytest.fixture
def tokyo(tmp_path, make_walks):
    """Training traces in the layout of the PPMTF tools."""
    walks = make_walks(users=30, days=2, side=6)
    training = Traces.from_dense(
        walks.dense()[:, :30], walks.places, ppmtf.people_flow_clock(), user_ids=np.arange(30)
    )
    ppmtf.write_places(walks.places, tmp_path / "POI_TK.csv")
    ppmtf.write_traces(training, tmp_path / "traintraces_TK.csv")
    return tmp_path


def made(run, folder, *more, name="SGLT(6)"):
    files = folder / "traintraces_TK.csv", folder / "syntraces.csv"
    places = "--format", "ppmtf", "--places", folder / "POI_TK.csv"
    return run("synthesize", name, *files, *places, "--seed", 1, "--json", *more)


def test_fakes_come_out_as_the_sglt_tools_file(run, tokyo):
    done = made(run, tokyo, "--traces-per-user", 3, name="SGLT(6,par_l=1,privacy_tests=false)")
    assert done.status == 0, done.err
    result = done.json
    assert (result["users"], result["traces_per_user"], result["classes"]) == (30, 3, 6)
    table = pl.read_csv(tokyo / "syntraces.csv")
    assert table.columns == CELLS
    assert len(table) == result["events"] == 30 * 3 * 30
    training = pl.read_csv(tokyo / "traintraces_TK.csv")["poi_index"].to_numpy().reshape(30, 1, 30)
    assert not (table["poi_index"].to_numpy().reshape(30, 3, 30) == training).any()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file(run, tokyo):
    made(run, tokyo)
    first = (tokyo / "syntraces.csv").read_bytes()
    made(run, tokyo)
    assert (tokyo / "syntraces.csv").read_bytes() == first


def test_pass_rates_are_told_and_bad_fakes_stay_in(run, tokyo):
    result = made(run, tokyo, "--traces-per-user", 2, name="SGLT(6,periods=2)").json
    assert result["alternatives"] == 3
    assert result["fakes_tested"] >= 27 * 2
    rates = [result[f"pass_rate_{name}"] for name in ("geographic", "intersection", "deniability", "all")]
    assert all(0 <= rate <= 1 for rate in rates)
    assert result["events"] <= 27 * 2 * 30


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("SGLT(6,par_c=2)", "par_c"),
        ("SGLT(6,alpha=3)", "alpha"),
        ("SGLT(6,periods=31)", "periods"),
        ("SGLT(0)", "classes"),
    ],
)
def test_what_makes_no_sense_is_refused(run, tokyo, name, word):
    done = made(run, tokyo, name=name)
    assert done.status == 2
    assert word in done.err
    assert not (tokyo / "syntraces.csv").exists()


@pytest.mark.slow
def test_traces_are_alike_to_themselves_and_fakes_in_kind_only(run, tokyo):
    made(run, tokyo, name="SGLT(6,privacy_tests=false)")
    train, places = tokyo / "traintraces_TK.csv", ("--places", tokyo / "POI_TK.csv", "--json")
    same = run("similarity", train, train, *places).json
    assert (same["geographic"], same["semantic"]) == (pytest.approx(1), pytest.approx(1))
    fakes = run("similarity", train, tokyo / "syntraces.csv", *places, "--out", tokyo / "pairs.csv").json
    assert fakes["geographic"] < fakes["semantic"] < 1
    with open(tokyo / "pairs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["user"] for row in rows] == [str(user) for user in range(30)]
    assert np.mean([float(row["semantic"]) for row in rows]) == pytest.approx(fakes["semantic"])
    moves = run("similarity", train, train, *places, "--order", 1, "--seed", 1).json
    assert moves["semantic"] == pytest.approx(1)


def test_contest_files_are_compared_by_user(run, team):
    result = run(
        "similarity", team / "ref.csv", team / "org.csv", "--places", team / "places.csv", "--json"
    ).json
    assert result["users"] == 30
    assert 0 < result["geographic"] < result["semantic"] <= 1


def test_ground_distances_are_exact(run, team):
    pytest.importorskip("ot")
    files = team / "ref.csv", team / "org.csv", "--places", team / "places.csv", "--json"
    near = run("similarity", *files, "--distance", "ground").json["geographic"]
    assert near > run("similarity", *files).json["geographic"]


@pytest.mark.parametrize("method", ["sglt", "uniform", "own-walk"])
def test_hiding_has_a_privacy_and_a_price(run, team, method):
    done = run(
        "lbs", team / "org.csv", "--places", team / "places.csv", "--fakes", 4, "--exposure", 0.5,
        "--method", method, "--classes", 6, "--seed", 1, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    result = done.json
    assert 0 <= result["privacy"] <= 1
    assert 1 <= result["distinct_classes"] <= result["distinct_places"] <= 5
    assert (result["fakes"], result["exposure"], result["method"]) == (4, 0.5, method)


def test_an_impossible_exposure_is_refused(run, team):
    done = run("lbs", team / "org.csv", "--places", team / "places.csv", "--exposure", 0, "--seed", 1)
    assert done.status == 2
    assert "exposure" in done.err


def test_periods_of_the_comparison_are_a_number_or_hours(run, tokyo):
    train, places = tokyo / "traintraces_TK.csv", ("--places", tokyo / "POI_TK.csv", "--json")
    whole, halves, hours = (
        run("similarity", train, train, *places, "--periods", periods).json for periods in (1, 2, "12-16")
    )
    assert [one["periods"] for one in (whole, halves, hours)] == [1, 2, "12-16"]
    assert hours["geographic"] == pytest.approx(1)
    for wrong in ("0", "16-12", "noon"):
        done = run("similarity", train, train, *places, "--periods", wrong)
        assert (done.status, "periods" in done.err) == (2, True)


@pytest.mark.parametrize("categories", [("food/Bar", "food/Bar"), ("food/Bar", "shop/Books")])
def test_within_a_category_places_are_no_distance_apart(run, tmp_path, categories):
    pytest.importorskip("ot")
    places, clock = Places([35, 36], [139, 140], categories=categories), Clock(instants_per_day=2)
    write_places(places, tmp_path / "places.csv")
    for name, at in (("a", 0), ("b", 1)):
        write(Traces.from_dense([[at, at]], places, clock), tmp_path / f"{name}.csv")
    files = (tmp_path / "a.csv", tmp_path / "b.csv", "--places", tmp_path / "places.csv", "--json")
    hamming = run("similarity", *files).json
    named = run("similarity", *files, "--distance", "category").json
    assert hamming["geographic"] == 0
    assert named["geographic"] == (1 if categories[0] == categories[1] else 0)


def test_categories_are_compared_where_there_are_some(run, tokyo):
    train, places = tokyo / "traintraces_TK.csv", ("--places", tokyo / "POI_TK.csv")
    done = run("similarity", train, train, *places, "--distance", "category")
    assert (done.status, "categories" in done.err) == (2, True)
