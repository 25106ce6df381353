"""``tracearena synthesize``: training traces in, synthetic traces out."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tracearena.cli import build
from tracearena.errors import ParameterError
from tracearena.formats import ppmtf, pwscup

QUICK = ["--factors", "2", "--iterations", "3"]


def run(*arguments: object) -> dict:
    done = CliRunner().invoke(
        build(["synthesize"]), ["synthesize", *map(str, arguments), "--json"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def files(tmp_path, make_walks):
    """Training traces in the layout of the PPMTF tools, and as contest files."""
    walks = make_walks(users=20, days=2, side=32)
    pwscup.write_traces(walks, tmp_path / "reftraces.csv")
    pwscup.write_places(walks.places, tmp_path / "info_region.csv")
    small = make_walks(users=20, days=1, side=5)
    ppmtf.write_places(small.places, tmp_path / "POI_TK.csv")
    clock = ppmtf.people_flow_clock()
    dense = np.tile(small.dense(), 2)[:, :30]
    training = type(small).from_dense(dense, small.places, clock, user_ids=np.arange(20))
    ppmtf.write_traces(training, tmp_path / "traintraces_TK.csv")
    return tmp_path


@pytest.mark.parametrize("method", [["ppmtf", *QUICK], ["sgd", "--copied", "2"], ["uniform"]])
def test_the_ppmtf_tools_files_come_out_as_they_went_in(files, method):
    name, *options = method
    training, out = files / "traintraces_TK.csv", files / "syntraces.csv"
    given = ["--format", "ppmtf", "--places", files / "POI_TK.csv", "--traces-per-user", 3, "--seed", 1]
    result = run(name, training, out, *given, *options)
    assert (result["users"], result["events"]) == (20, 20 * 3 * 30)
    table = pl.read_csv(out)
    assert table.columns == ["user", "trace_no", "time_slot", "time_instant", "poi_index", "category"]
    assert table["trace_no"].unique().sort().to_list() == [0, 1, 2]
    again = files / "again.csv"
    run(name, training, again, *given, *options)
    assert out.read_bytes() == again.read_bytes()


def test_log_likelihoods_are_a_running_sum_of_each_trace(files):
    out = files / "out.csv"
    run(
        "ppmtf", files / "traintraces_TK.csv", out, "--places", files / "POI_TK.csv", "--seed", 1,
        "--traces-per-user", 2, "--log-likelihoods", *QUICK,
    )  # fmt: skip
    sums = pl.read_csv(out)["loglikeli"].to_numpy().reshape(-1, 30)
    assert (np.diff(sums, axis=1) <= 0).all()
    assert (sums[:, 0] <= 0).all()


def test_contest_files_are_found_out(files):
    out = files / "out.csv"
    run("sgd", files / "reftraces.csv", out, "--places", files / "info_region.csv", "--seed", 1)
    made = pwscup.read_traces(out, pwscup.read_places(files / "info_region.csv"))
    assert made.n_instants == 10 * 20


def test_a_model_is_used_again_and_exported(files):
    training, places, model = files / "traintraces_TK.csv", files / "POI_TK.csv", files / "model.npz"
    first, second, third = (files / f"{number}.csv" for number in (1, 2, 3))
    given = ["--places", places, "--seed", 5, *QUICK]
    run("ppmtf", training, first, *given, "--model", model, "--export", files / "parameters")
    stamp = model.read_bytes()
    run("ppmtf", training, second, *given, "--model", model)
    assert first.read_bytes() == second.read_bytes()
    assert PPMTF_ITERATIONS in [path.name for path in (files / "parameters").iterdir()]
    run(
        "ppmtf",
        training,
        third,
        "--places",
        places,
        "--seed",
        5,
        "--iterations",
        3,
        "--model",
        files / "parameters",
    )
    assert pl.read_csv(third).shape == pl.read_csv(first).shape
    assert len(stamp) == len(model.read_bytes())


PPMTF_ITERATIONS = "modelparameter_Itr3_A.csv"


def test_raw_check_ins_become_places_and_slots(tmp_path):
    rows = [
        f"{u},2024-05-0{d}T{h:02d}:10:00Z,{40 + u % 3},-74.0,{u % 3}"
        for u in range(6)
        for d in (1, 2)
        for h in (8, 9, 20)
    ]
    source = tmp_path / "checkins.csv"
    source.write_text("user,time,latitude,longitude,place\n" + "\n".join(rows) + "\n")
    result = run(
        "ppmtf",
        source,
        tmp_path / "out.csv",
        "--interval",
        "1h",
        "--slot",
        "2h",
        "--traces-per-user",
        1,
        "--seed",
        1,
        *QUICK,
    )
    assert (result["users"], result["events"], result["places"]) == (6, 6 * 24, 3)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["magic"], "METHOD"),
        (["sgd", "--alpha", "3"], "--alpha has no meaning for sgd"),
        (["uniform", "--copied", "3"], "--copied has no meaning for uniform"),
        (["ppmtf", "--copied", "3"], "--copied has no meaning for ppmtf"),
        (["ppmtf", "--alpha", "0"], "alpha"),
        (["ppmtf", "--factors", "0"], "factors"),
    ],
)
def test_options_without_meaning_are_refused(files, arguments, problem):
    method, *options = arguments
    given = [
        method,
        files / "traintraces_TK.csv",
        files / "o.csv",
        "--places",
        files / "POI_TK.csv",
        *options,
    ]
    with pytest.raises(ParameterError, match=problem):
        run(*given, "--seed", 1)
    assert not (files / "o.csv").exists()
