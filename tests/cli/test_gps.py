"""The commands on GPS traces, from file to file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tracearena.cities import simulate_fleet, simulate_gps
from tracearena.cli import build
from tracearena.errors import TracearenaError
from tracearena.io import read
from tracearena.io.formats import geolife


def run(*arguments: str | Path) -> dict[str, Any]:
    words = [*map(str, arguments), "--json"]
    result = CliRunner().invoke(build(words), words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("gps") / "tree"
    geolife.write(simulate_gps(users=6, days=4, seed=1), root)
    return root


@pytest.fixture(scope="module")
def released(tree: Path) -> Path:
    out = tree.parent / "released.parquet"
    run("obfuscate", "GeoInd(expected_noise=100m)", tree, out, "--seed", 1)
    return out


def test_the_city_writes_a_geolife_folder(tmp_path: Path) -> None:
    result = run("city", tmp_path / "c", "--mode", "gps", "--users", 3, "--days", 2, "--seed", 1)
    assert result["points"] == read(tmp_path / "c").traces.n_points


def test_a_seed_gives_the_same_release(tree: Path, released: Path, tmp_path: Path) -> None:
    run("obfuscate", "GeoInd(expected_noise=100m)", tree, tmp_path / "again.parquet", "--seed", 1)
    assert read(tmp_path / "again.parquet").traces == read(released).traces


def test_smoothing_brings_points_back(tree: Path, released: Path, tmp_path: Path) -> None:
    before = run("applications", "error", "--original", tree, "--released", released)
    run("attack", "Smooth(9)", tmp_path / "s.csv", "--anonymized", released)
    after = run("applications", "error", "--original", tree, "--released", tmp_path / "s.csv")
    assert before["mean_m"] == pytest.approx(100, rel=0.03)
    assert after["mean_m"] < 50


@pytest.mark.slow
def test_held_positions_are_interpolated(tree: Path, tmp_path: Path) -> None:
    run("obfuscate", "GeoInd(expected_noise=100m, window=5min)", tree, tmp_path / "w.csv", "--seed", 1)
    errors = []
    for name in ("Interpolate", "Interpolate+Smooth(9)"):
        run("attack", name, tmp_path / "out", "--anonymized", tmp_path / "w.csv")
        errors.append(
            run("applications", "error", "--original", tree, "--released", tmp_path / "out")["mean_m"]
        )
        for place in sorted((tmp_path / "out").rglob("*"), reverse=True):
            place.unlink() if place.is_file() else place.rmdir()
    raw = run("applications", "error", "--original", tree, "--released", tmp_path / "w.csv")["mean_m"]
    assert max(errors) < raw


@pytest.mark.slow
def test_every_application_answers(tree: Path, released: Path) -> None:
    both = ("--original", tree, "--released", released)
    spots = run("applications", "hotspots", *both)
    assert {"offloaded", "offloaded_after_update", "hotspots", "rounds"} <= set(spots)
    assert 0.5 < spots["offloaded"] < 1
    spread = run("applications", "gossip", *both)
    assert {"infection_rate", "baseline", "latency_s"} <= set(spread)
    unique = run("applications", "uniqueness", *both, "--draws", 50, "--seed", 1)
    assert list(unique["unique_in_original"]) == list(unique["linked"]) == ["1", "2", "3", "4", "5"]
    homes = run("applications", "homes", *both)
    assert 0 <= homes["home_found"] <= 1


@pytest.mark.slow
def test_zones_are_made_and_attacked(tree: Path, tmp_path: Path) -> None:
    made = run("obfuscate", "Zones(400m)", tree, tmp_path / "zones.csv", "--seed", 1)
    assert made["defence"] == "Zones(400)"
    assert made["points_withheld"] > 0
    both = ("--original", tree, "--released", tmp_path / "zones.csv")
    found = run("applications", "zones", *both, "--mechanism", "Zones(400m)", "--within", 150)
    assert 0 <= found["home_found"] <= 1
    assert 0 < found["points_hidden"] < 1
    assert found["within_m"] == 150
    assert found["mechanism"] == "Zones(400)"


def test_describe_draws_a_map(tree: Path, tmp_path: Path) -> None:
    result = run("describe", tree, "--html", tmp_path / "page.html")
    assert {"users", "events", "places", "first", "last", "dropped"} <= set(result)
    assert result["users"] == 6
    page = (tmp_path / "page.html").read_text()
    assert "Where people are" in page
    assert "heatmap" in page


def test_convert_goes_between_gps_files_and_to_events(tree: Path, tmp_path: Path) -> None:
    run("convert", tree, tmp_path / "points.csv")
    assert read(tmp_path / "points.csv").traces.n_points == read(tree).traces.n_points
    result = run(
        "convert", tree, tmp_path / "events.csv", "--grid", "32x32", "--interval", "30min",
        "--resample", "last",        "--timezone", "Etc/GMT-10",
    )  # fmt: skip
    assert result["places"] == 1024
    assert result["events"] > 0
    run("convert", tree, tmp_path / "people", "--to", "gpx")
    assert len(list((tmp_path / "people").glob("*.gpx"))) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        ("obfuscate", "GeoInd(expected_noise=-1m)", "TREE", "out.csv"),
        ("obfuscate", "GeoInd(100m)", "nowhere", "out.csv"),
        ("obfuscate", "PL(4,1)", "TREE", "out.csv"),
        ("attack", "Smooth(0)", "out.csv", "--anonymized", "TREE"),
        ("attack", "VisitProb-R", "out.csv", "--anonymized", "TREE"),
        ("applications", "hotspots", "--original", "TREE", "--released", "TREE", "--box", "1,2,3"),
        ("applications", "hotspots", "--original", "TREE", "--released", "TREE", "--expected-noise", "far"),
        (
            *("applications", "uniqueness", "--original", "TREE", "--released", "TREE"),
            *("--mechanism", "GeoInd(100m)", "--expected-noise", "100m"),
        ),
        ("applications", "homes", "--original", "TREE", "--released", "TREE", "--local-time", "Mars/Olympus"),
        ("applications", "zones", "--original", "TREE", "--released", "TREE", "--mechanism", "Thin(60s)"),
        ("convert", "TREE", "out.xyz", "--to", "carrier-pigeon"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TracearenaError):
        CliRunner().invoke(
            build(arguments), [str(tree) if a == "TREE" else a for a in arguments], catch_exceptions=False
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_deanonymise_sets_both_guesses_beside_the_answers(released: Path) -> None:
    found = run("applications", "deanonymise", "--released", released, "--targets", 2, "--seed", 1)
    assert found["method"] == "forest"
    assert len(found["confusion"]) == 3
    assert found["balanced_guess"] == pytest.approx(1 / 3)
    assert found["accuracy"] > found["most_frequent"]
    assert found["balanced_accuracy"] > found["balanced_guess"]


def test_dates_and_a_box_cut_what_is_described(tree: Path) -> None:
    whole = run("describe", tree)
    first = whole["first"][:10]
    day = run("describe", tree, "--to-date", first)
    later = run("describe", tree, "--from-date", first)
    assert 0 < day["events"] < later["events"] == whole["events"]
    assert whole["events_per_user"]["mean"] == pytest.approx(whole["events"] / whole["users"], abs=0.01)
    box = whole["bounds"]
    middle = (box["south"] + box["north"]) / 2
    half = run("describe", tree, "--bounds", f"{box['south']},{box['west']},{middle},{box['east']}")
    assert 0 < half["events"] < whole["events"]


def test_the_city_writes_the_points_of_a_fleet(tmp_path: Path) -> None:
    out = tmp_path / "fleet.parquet"
    result = run("city", out, "--mode", "fleet", "--users", 3, "--days", 2, "--seed", 1)
    assert result["mode"] == "fleet"
    assert np.array_equal(read(out).traces.time_ms, simulate_fleet(3, 2, seed=1).time_ms)
