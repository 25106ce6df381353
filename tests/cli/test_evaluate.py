"""``tracearena evaluate``: one file, several files, and files that are wrong."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tracearena import io
from tracearena.cli import build
from tracearena.errors import FileError, ParameterError
from tracearena.io import ppmtf, pwscup
from tracearena.traces import Clock, Grid, Places, Traces

UTILITY = ["tp_tv", "tp_tv_top50", "tp_emd_sliced", "tm_tv", "tm_emd_x", "tm_emd_y", "tm_emd_sliced", "vf_tv"]
NAMES = [("train", "train"), ("test", "test"), ("synthetic", "syn")]
PRIVACY = [
    "reidentification_rate",
    "membership_advantage",
    "membership_accuracy",
    "membership_accuracy_guess",
]
BASELINES = ["training", "uniform", "halves", "worse_than_uniform"]


def write_folder(folder: Path, clock: Clock, missing: float) -> Path:
    """Ten training users, ten testing users, and two days of synthetic traces."""
    rng = np.random.default_rng(1)
    grid = Grid(rows=4, columns=5, south=35.65, west=139.68, north=35.75, east=139.8)
    places = Places.of_grid(grid, first_id=0)
    ppmtf.write_places(places, folder / "POI_TK.csv")
    for name, first, days, share in (("train", 0, 1, missing), ("test", 10, 1, missing), ("syn", 0, 2, 0.0)):
        table = rng.integers(0, 20, size=(10, days * clock.instants_per_day))
        table[rng.random(table.shape) < share] = -1
        traces = Traces.from_dense(table, places, clock, user_ids=np.arange(first, first + 10))
        if name == "syn":
            ppmtf.write_synthetic(traces, folder / "syn.csv.gz")
        else:
            ppmtf.write_traces(traces, folder / f"{name}.csv")
    return folder


@pytest.fixture
def people_flow(tmp_path: Path) -> Path:
    return write_folder(tmp_path, ppmtf.people_flow_clock(), missing=0.0)


@pytest.fixture
def check_ins(tmp_path: Path) -> Path:
    return write_folder(tmp_path, ppmtf.check_in_clock(), missing=0.4)


def run(folder: Path, *more: str) -> dict[str, object]:
    options = [
        "--places",
        "POI_TK.csv",
        "--train",
        "train.csv",
        "--test",
        "test.csv",
        "--synthetic",
        "syn.csv.gz",
    ]
    files = [option if option.startswith("--") else str(folder / option) for option in options]
    result = CliRunner().invoke(
        build(["evaluate"]), ["evaluate", "--format", "ppmtf", *files, *more, "--json"]
    )
    if result.exception is not None:
        raise result.exception
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_one_file_has_its_metrics_at_the_top(people_flow: Path) -> None:
    found = run(people_flow)
    assert list(found) == ["file", *UTILITY, *PRIVACY, *BASELINES]
    assert list(found["training"]) == list(found["uniform"]) == UTILITY  # type: ignore[call-overload]
    assert found["vf_tv"] is None


def test_several_files_are_a_list(people_flow: Path) -> None:
    alone = run(people_flow)
    both = run(people_flow, "--synthetic", str(people_flow / "syn.csv.gz"))
    assert list(both) == ["synthetic", *BASELINES]
    one = {name: value for name, value in alone.items() if name not in BASELINES}
    assert both["synthetic"] == [one, one]


def test_check_ins_have_visit_fractions(check_ins: Path) -> None:
    found = run(check_ins)
    assert found["vf_tv"] is not None
    assert found["training"]["vf_tv"] is not None  # type: ignore[index]


def test_slots_and_bounds_may_be_chosen(check_ins: Path) -> None:
    found = run(check_ins)
    assert run(check_ins, "--bounds", "35.65,139.68,35.75,139.8") == found
    assert run(check_ins, "--bounds", "35.0,139.0,36.0,140.0")["tm_emd_x"] != found["tm_emd_x"]
    with pytest.raises(FileError, match="time_slot"):
        run(check_ins, "--slot", "6h")


def test_legacy_changes_membership(people_flow: Path) -> None:
    plain, legacy = run(people_flow), run(people_flow, "--legacy-ppmtf")
    assert {name for name in plain if plain[name] != legacy[name]} <= set(PRIVACY[1:])


def test_mistakes_are_told_from_one_another(people_flow: Path) -> None:
    with pytest.raises(ParameterError, match="such as 20min"):
        run(people_flow, "--interval", "20")
    with pytest.raises(ParameterError, match="south,west,north,east"):
        run(people_flow, "--bounds", "1,2,3")
    with pytest.raises(FileError, match="header"):
        run(people_flow, "--synthetic", str(people_flow / "train.csv"))
    with pytest.raises(FileNotFoundError):
        run(people_flow, "--synthetic", str(people_flow / "nothing.csv"))


def test_people_get_a_table(people_flow: Path) -> None:
    options = ["POI_TK.csv", "train.csv", "test.csv", "syn.csv.gz"]
    names = ["--places", "--train", "--test", "--synthetic"]
    files = [
        text for name, file in zip(names, options, strict=True) for text in (name, str(people_flow / file))
    ]
    result = CliRunner().invoke(build(["evaluate"]), ["evaluate", *files])
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["syn.csv.gz", "training", "uniform", "halves"]
    assert lines.index("") == 13
    assert lines[12].split()[-4:] == ["0.500000", "-", "-", "-"]


@pytest.mark.slow
def test_other_formats_are_found_out_and_give_the_same(tmp_path: Path) -> None:
    grid = Grid(rows=4, columns=5, south=35.65, west=139.68, north=35.75, east=139.8)
    places = Places.of_grid(grid, km_per_degree=(111, 91))
    found = []
    for kind, clock in (
        ("table", Clock(instants_per_day=20, first_day=date(2026, 1, 5))),
        ("pwscup", pwscup.PWS_CLOCK),
    ):
        rng = np.random.default_rng(3)
        for name, first, days in (("train", 1, 1), ("test", 1, 1), ("syn", 1, 2)):
            table = rng.integers(0, 20, size=(10, 20 * days))
            traces = Traces.from_dense(table, places, clock, user_ids=np.arange(first, first + 10))
            io.write(traces, tmp_path / f"{name}.{kind}.csv", to=kind, places_out=tmp_path / f"{kind}.csv")
        options = [
            ("--places", f"{kind}.csv"),
            *((f"--{option}", f"{name}.{kind}.csv") for option, name in NAMES),
        ]
        files = [text for option, name in options for text in (option, str(tmp_path / name))]
        result = CliRunner().invoke(build(["evaluate"]), ["evaluate", *files, "--json"])
        named = CliRunner().invoke(build(["evaluate"]), ["evaluate", "--format", kind, *files, "--json"])
        assert named.stdout == result.stdout
        found.append({key: value for key, value in json.loads(result.stdout).items() if key != "file"})
    privacy = [{key: one[key] for key in PRIVACY} for one in found]
    assert privacy[0] == privacy[1]
    assert found[0]["tm_emd_x"] == pytest.approx(found[1]["tm_emd_x"])


def test_the_exact_distance_stands_beside_the_sliced_one(people_flow: Path) -> None:
    pytest.importorskip("ot")
    found = run(people_flow, "--exact-emd")
    assert found["tm_emd_exact"] > found["tm_emd_sliced"]
    assert found["uniform"]["tm_emd_exact"] > found["uniform"]["tm_emd_sliced"]


def test_against_training_the_real_ones_are_the_testing_traces(people_flow: Path) -> None:
    one, other = run(people_flow), run(people_flow, "--against", "training")
    assert "testing" not in one
    assert "training" not in other
    # A total variation is the same in both directions.
    assert other["testing"]["tp_tv"] == pytest.approx(one["training"]["tp_tv"])  # type: ignore[index]
    assert other["tp_tv"] != one["tp_tv"]
    assert other["reidentification_rate"] == one["reidentification_rate"]


@pytest.mark.slow
def test_the_published_table_of_ppmtf_plus_comes_out(tokyo: Path) -> None:
    """TP-SWD, TM-SWD and TM-TV of the testing traces, from the command line."""
    done = CliRunner().invoke(
        build(),
        [
            *("evaluate", "--json", "--against", "training", "--places", str(tokyo / "POI_TK.csv")),
            *("--train", str(tokyo / "traintraces_TK.csv"), "--test", str(tokyo / "testtraces_TK.csv")),
            *("--synthetic", str(tokyo / "syntraces_sgd_cn0.csv.gz")),
        ],
    )
    real = json.loads(done.stdout)["testing"]
    assert real["tp_emd_sliced"] == pytest.approx(0.320403, abs=1e-6)
    assert real["tm_emd_sliced"] == pytest.approx(0.622255, abs=1e-6)
    assert real["tm_tv"] == pytest.approx(0.299513, abs=1e-6)
