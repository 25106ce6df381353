"""``tracearena synthesize PrivateRoles``, ``budget`` and ``audit-privacy``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Done, tracearena

from tracearena.io import pwscup
from tracearena.traces import Traces

pytest.importorskip("opendp")


@pytest.fixture
def folder(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    walks = make_walks(users=60, days=2)
    pwscup.write_traces(walks, tmp_path / "data.csv")
    pwscup.write_places(walks.places, tmp_path / "public.csv")
    return tmp_path


def synthesize(folder: Path, *more: object, name: str = "PrivateRoles(1)") -> Done:
    return tracearena("synthesize", name, "data.csv", "out.csv", *more, "--json", folder=folder)


PUBLIC = ("--virtual-users", 30, "--places", "public.csv")


def test_virtual_people_are_written_and_the_budget_is_spent(folder: Path) -> None:
    done = synthesize(folder, *PUBLIC)
    assert done.status == 0, done.err
    assert (done.json["users"], done.json["traces_per_user"]) == (30, 10)
    assert done.json["guarantee"] == "ε = 1, δ = 1e-06 for one person"
    assert "homes: one person changes at most 1 (L1)" in done.err
    spent = tracearena("budget", "data.csv", "--json", folder=folder).json
    assert spent["releases"] == 1
    assert spent["epsilon"] == pytest.approx(1, rel=1e-4)
    assert spent["delta"] == 1e-6
    assert "total" not in spent


def test_releases_beyond_the_total_are_refused(folder: Path) -> None:
    assert tracearena("budget", "data.csv", "--total", 2.5, folder=folder).status == 0
    assert [synthesize(folder, *PUBLIC).status for _ in range(2)] == [0, 0]
    (folder / "out.csv").unlink()
    refused = synthesize(folder, *PUBLIC)
    assert (refused.status, refused.out) == (2, "")
    assert "would spend ε = 1 after the 2 of earlier releases, more than the total of 2.5" in refused.err
    assert not (folder / "out.csv").exists()
    spent = tracearena("budget", "data.csv", "--json", folder=folder).json
    assert spent["releases"] == 2
    assert spent["left"] == pytest.approx(0.5, abs=1e-3)
    assert synthesize(folder, *PUBLIC, name="PrivateRoles(0.4)").status == 0


def test_changed_data_has_a_budget_of_its_own(folder: Path) -> None:
    assert synthesize(folder, *PUBLIC).status == 0
    before = (folder / "data.csv").read_bytes()
    (folder / "data.csv").write_bytes(before + b"\n")
    assert tracearena("budget", "data.csv", "--json", folder=folder).json["releases"] == 0
    assert tracearena("budget", "data.csv", "--total", 3, "--json", folder=folder).json["total"] == 3
    (folder / "data.csv").write_bytes(before)
    again = tracearena("budget", "data.csv", "--json", folder=folder).json
    assert again["releases"] == 1
    assert "total" not in again


def test_a_saved_model_is_drawn_from_again_without_cost(folder: Path) -> None:
    assert synthesize(folder, *PUBLIC, "--model", "model.json").status == 0
    again = synthesize(folder, *PUBLIC, "--model", "model.json")
    assert again.status == 0
    assert "this spends nothing" in again.err
    assert tracearena("budget", "data.csv", "--json", folder=folder).json["releases"] == 1
    other = synthesize(folder, *PUBLIC, "--model", "model.json", name="PrivateRoles(2)")
    assert other.status == 2
    assert "model.json: is a model of PrivateRoles(epsilon=1" in other.err


def test_a_seed_is_refused_unless_its_cost_is_named(folder: Path) -> None:
    refused = synthesize(folder, *PUBLIC, "--seed", 1)
    assert refused.status == 2
    assert "anyone who guesses the seed can remove it and see the exact tables" in refused.err
    assert not (folder / "out.csv").exists()
    allowed = synthesize(folder, *PUBLIC, "--seed", 1, "--not-private-seed")
    assert allowed.status == 0
    assert allowed.json["guarantee"].startswith("none")
    assert tracearena("budget", "data.csv", "--json", folder=folder).json["releases"] == 0
    assert synthesize(folder, *PUBLIC, "--not-private-seed").status == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--places", "public.csv"), "needs --virtual-users N"),
        (("--virtual-users", 30), "needs --places FILE, a public list, or --grid with --bounds"),
        ((*PUBLIC, "--top", 5), "--top does not apply to PrivateRoles"),
        ((*PUBLIC, "--homes"), "--homes does not apply"),
        ((*PUBLIC, "--shares", "homes=1"), "NAME=SHARE for each of homes, works"),
    ],
)
def test_what_would_come_from_the_data_is_refused(folder: Path, given: tuple[object, ...], said: str) -> None:
    refused = synthesize(folder, *given)
    assert (refused.status, refused.out) == (2, "")
    assert said in refused.err
    assert not (folder / "out.csv").exists()
    assert not (folder / "data.csv.budget.json").exists()


def test_times_without_an_interval_are_refused(folder: Path) -> None:
    rows = "user,time,place\n" + "".join(
        f"{u},2024-05-0{1 + d} 0{u}:30,p{u}\n" for u in range(3) for d in range(3)
    )
    (folder / "data.csv").write_text(rows)
    (folder / "venues.csv").write_text("place,lat,lng\np0,35,139\np1,35.1,139\np2,35.2,139\nnever,35.3,139\n")
    public = ("--virtual-users", 30, "--places", "venues.csv")
    refused = synthesize(folder, *public)
    assert refused.status == 2
    assert "needs --interval" in refused.err
    refused = synthesize(folder, *public, "--interval", "1h")
    assert refused.status == 2
    assert "needs --timezone" in refused.err
    zone = ("--interval", "1h", "--timezone", "Asia/Tokyo")
    done = synthesize(folder, *public, *zone, "--model", "model.json")
    assert done.status == 0, done.err
    model = json.loads((folder / "model.json").read_text())
    assert model["places"]["ids"] == ["p0", "p1", "p2", "never"]
    assert model["clock"]["instants_per_day"] == 24


def test_venues_of_a_file_that_somebody_visited_are_not_public(folder: Path) -> None:
    # The reader of Foursquare's files leaves out venues that nobody visited.
    venues = "".join(f"v{i}\t35.{i}\t139.{i}\tCafe\tJP\n" for i in range(9))
    rows = [
        f"{u}\tv{(u + d) % 3}\tTue Apr {d:02d} 0{u}:00:06 +0000 2012\t540\n" for u in range(3) for d in (2, 3)
    ]
    (folder / "raw_POIs.txt").write_text(venues)
    (folder / "data.csv").write_text("".join(rows))
    given = ("--virtual-users", 5, "--places", "raw_POIs.txt", "--interval", "1h", "--timezone", "Asia/Tokyo")
    refused = synthesize(folder, *given)
    assert (refused.status, refused.out) == (2, "")
    assert "PrivateRoles needs --grid with --bounds, a public box" in refused.err
    assert synthesize(folder, *given, "--grid", "4x5").status == 2
    assert not (folder / "data.csv.budget.json").exists()
    done = synthesize(folder, *given, "--grid", "4x5", "--bounds", "35,139,36,140")
    assert done.status == 0, done.err
    assert done.json["places"] == 20


def test_numbered_times_are_refused(folder: Path) -> None:
    # Whether instant 0 is the number 0 or 1 would depend on a single event.
    (folder / "data.csv").write_text("user,time,place\n1,1,p0\n1,2,p1\n2,1,p0\n")
    (folder / "venues.csv").write_text("place,lat,lng\np0,35,139\np1,35.1,139\n")
    zone = ("--interval", "1h", "--timezone", "Asia/Tokyo")
    refused = synthesize(folder, "--virtual-users", 3, "--places", "venues.csv", *zone)
    assert refused.status == 2
    assert not (folder / "data.csv.budget.json").exists()


def test_hours_of_numbered_instants_need_no_zone(folder: Path) -> None:
    (folder / "new").mkdir()
    given = ("synthesize", "PrivateRoles(1)", "data.csv", "new/out.csv", *PUBLIC, "--hours", "8-12")
    done = tracearena(*given, folder=folder)
    assert done.status == 0, done.err


def test_a_model_of_other_places_is_not_used(folder: Path) -> None:
    assert synthesize(folder, *PUBLIC, "--model", "model.json").status == 0
    refused = synthesize(folder, *PUBLIC, "--grid", "2x2", "--model", "model.json")
    assert (refused.status, refused.out) == (2, "")
    assert "model.json: is a model of other places or instants than those of data.csv" in refused.err


def test_releases_that_protect_trips_are_not_added_to_a_total_for_people(folder: Path) -> None:
    assert tracearena("budget", "data.csv", "--total", 2, "--unit", "trip", folder=folder).status == 0
    refused = synthesize(folder, *PUBLIC)
    assert (refused.status, refused.out) == (2, "")
    assert "protects one person, and the total is for one trip: these do not add up" in refused.err
    assert not (folder / "out.csv").exists()
    shown = tracearena("budget", "data.csv", "--json", folder=folder).json
    assert (shown["total"], shown["unit"], shown["left"]) == (2, "trip", 2)
    refused = tracearena("budget", "data.csv", "--unit", "trip", folder=folder)
    assert refused.status == 2
    assert "--unit does not apply to a ledger without a new --total" in refused.err


def test_shares_are_used(folder: Path) -> None:
    shares = "homes=0.1,works=0.1,commutes=0.1,arrivals=0.1,roles=0.3,visits=0.3"
    done = synthesize(folder, *PUBLIC, "--shares", shares)
    assert done.status == 0
    assert "homes: one person changes at most 1 (L1); noise 14.1; ε 0.1" in done.err


def test_a_ledger_that_is_none_is_refused(folder: Path) -> None:
    (folder / "data.csv.budget.json").write_text('{"format": "other"}')
    refused = synthesize(folder, *PUBLIC)
    assert refused.status == 2
    assert "data.csv.budget.json: is not a ledger" in refused.err
    assert tracearena("budget", "none.csv", folder=folder).status == 2


def test_options_of_private_synthesis_apply_to_nothing_else(folder: Path) -> None:
    refused = synthesize(folder, "--shares", "homes=1", name="SGD")
    assert refused.status == 2
    assert "--shares does not apply to SGD" in refused.err


def test_the_guarantee_is_audited_with_canaries() -> None:
    done = tracearena("audit-privacy", "PrivateRoles(8)", "--runs", 200, "--json")
    assert done.status == 0
    assert list(done.json["bounds"]) == ["homes", "works", "commutes", "arrivals", "roles", "visits", "all"]
    assert done.json["bounds"]["all"]["claim"] == pytest.approx(8, rel=1e-4)
    refused = tracearena("audit-privacy", "SGD")
    assert refused.status == 2
    assert "has no guarantee to audit" in refused.err


BOX = "34.9,150.0,35.0,150.12"


@pytest.fixture(scope="module")
def gps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gps")
    for name, seed in (("gps.csv", 1), ("others.csv", 2)):
        made = tracearena(
            "city", name, "--mode", "gps", "--users", 6, "--days", 5, "--seed", seed, folder=folder
        )
        assert made.status == 0, made.err
    return folder


def synthesize_trips(folder: Path, *more: object, name: str = "PrivateTrips(1)") -> Done:
    return tracearena("synthesize", name, "gps.csv", "out.csv", *more, "--json", folder=folder)


def test_virtual_trips_are_written_and_evaluated(gps: Path) -> None:
    done = synthesize_trips(
        gps, "--virtual-users", 40, "--bounds", BOX, "--model", "trips.json", name="PrivateTrips(2,trip)"
    )
    assert done.status == 0, done.err
    assert (done.json["users"], done.json["traces_per_user"]) == (40, 1)
    assert done.json["guarantee"] == "ε = 2, δ = 0 for one trip"
    assert "ends: one trip changes at most 1 (L1)" in done.err
    spent = tracearena("budget", "gps.csv", "--json", folder=gps).json
    assert (spent["epsilon"], spent["epsilon_per_trip"], spent["delta"]) == (0, pytest.approx(2), 0)
    more = synthesize_trips(
        gps, "--virtual-users", 5, "--traces-per-user", 3, "--bounds", BOX, "--model", "trips.json",
        name="PrivateTrips(2,trip)",
    )  # fmt: skip
    assert (more.json["users"], more.json["traces_per_user"]) == (5, 3)
    assert "this spends nothing" in more.err
    evaluated = ("evaluate", "--train", "gps.csv", "--test", "others.csv", "--synthetic", "out.csv")
    found = tracearena(*evaluated, "--bounds", BOX, "--json", folder=gps)
    assert found.status == 0, found.err
    measures = ["query_error", "density", "density_coarse", "trip", "diameter", "length", "transition"]
    assert list(found.json) == ["file", "trips", *measures, "kendall_tau", "pattern_f1", "training"]
    assert found.json["trips"] == 15
    shown = tracearena(*evaluated, "--bounds", BOX, "--against", "training", folder=gps)
    assert shown.out.splitlines()[0].split() == ["out.csv", "testing"]
    refused = tracearena(*evaluated, folder=gps)
    assert refused.status == 2
    assert "GPS trips need --bounds" in refused.err
    refused = tracearena(*evaluated, "--bounds", "0,0,1,1", folder=gps)
    assert refused.status == 2
    assert "gps.csv: has no trip of ten minutes in the box 0.0,0.0,1.0,1.0" in refused.err


def test_points_become_events_on_a_public_grid(gps: Path) -> None:
    given = ("--virtual-users", 20, "--grid", "4x4", "--interval", "1h", "--timezone", "Asia/Tokyo")
    refused = synthesize_trips(gps, *given, name="PrivateRoles(1)")
    assert refused.status == 2
    assert "or --grid with --bounds, a public box" in refused.err
    refused = synthesize_trips(gps, *given, "--bounds", BOX, "--resample", "last", name="PrivateRoles(1)")
    assert refused.status == 2
    assert "--resample does not apply to PrivateRoles: up to which day it fills" in refused.err
    done = synthesize_trips(gps, *given, "--bounds", BOX, name="PrivateRoles(1)")
    assert done.status == 0, done.err
    assert done.json["places"] == 16


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--bounds", BOX), "needs --virtual-users N"),
        (("--virtual-users", 30), "PrivateTrips needs --bounds, a public box"),
        (("--virtual-users", 30, "--bounds", BOX, "--grid", "3x3"), "--grid does not apply to PrivateTrips"),
        (("--virtual-users", 30, "--bounds", BOX, "--homes"), "--homes does not apply"),
        (("--virtual-users", 30, "--bounds", BOX, "--slots", "0-24"), "--slots does not apply"),
        (("--virtual-users", 30, "--bounds", BOX, "--seed", 1), "anyone who guesses the seed can remove it"),
    ],
)
def test_what_would_come_from_trips_is_refused(gps: Path, given: tuple[object, ...], said: str) -> None:
    (gps / "out.csv").unlink(missing_ok=True)
    refused = synthesize_trips(gps, *given, name="PrivateTrips(3)")
    assert (refused.status, refused.out) == (2, "")
    assert said in refused.err
    assert not (gps / "out.csv").exists()


def test_events_are_no_trips(folder: Path) -> None:
    refused = tracearena(
        "synthesize",
        "PrivateTrips(1)",
        "data.csv",
        "out.csv",
        "--virtual-users",
        3,
        "--bounds",
        BOX,
        folder=folder,
    )
    assert refused.status == 2
    assert not (folder / "data.csv.budget.json").exists()


def test_the_guarantee_for_trips_is_audited_with_canaries() -> None:
    done = tracearena("audit-privacy", "PrivateTrips(8,trip)", "--runs", 200, "--json")
    assert done.status == 0, done.err
    assert list(done.json["bounds"])[-2:] == ["density", "all"]
    assert done.json["bounds"]["all"]["claim"] == pytest.approx(8)
