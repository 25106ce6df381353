"""``tracearena synthesize``: training traces in, synthetic traces out."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena
from typer.testing import CliRunner

from tracearena.algorithms import create, entries, names
from tracearena.cli import build
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import ParameterError
from tracearena.io import ppmtf, pwscup
from tracearena.jobs.reading import ReadingOptions
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import privacy_budget

QUICK = "PPMTF(2,iterations=3)"


def run(*arguments: object) -> dict:
    done = CliRunner().invoke(
        build(["synthesize"]), ["synthesize", *map(str, arguments), "--json"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def files(tmp_path, make_walks):
    """Training traces in the layout of the PPMTF tools, and as contest files."""
    walks = make_walks(users=20, days=2, side=12)
    pwscup.write_traces(walks, tmp_path / "reftraces.csv")
    pwscup.write_places(walks.places, tmp_path / "info_region.csv")
    small = make_walks(users=20, days=1, side=5)
    ppmtf.write_places(small.places, tmp_path / "POI_TK.csv")
    clock = ppmtf.people_flow_clock()
    dense = np.tile(small.dense(), 2)[:, :30]
    training = type(small).from_dense(dense, small.places, clock, user_ids=np.arange(20))
    ppmtf.write_traces(training, tmp_path / "traintraces_TK.csv")
    return tmp_path


@pytest.mark.parametrize("name", [QUICK, "SGD(2)", "Uniform"])
def test_the_ppmtf_tools_files_come_out_as_they_went_in(files, name):
    training, out = files / "traintraces_TK.csv", files / "syntraces.csv"
    given = ["--format", "ppmtf", "--places", files / "POI_TK.csv", "--traces-per-user", 3, "--seed", 1]
    result = run(name, training, out, *given)
    assert (result["users"], result["events"]) == (20, 20 * 3 * 30)
    table = pl.read_csv(out)
    assert table.columns == ["user", "trace_no", "time_slot", "time_instant", "poi_index", "category"]
    assert table["trace_no"].unique().sort().to_list() == [0, 1, 2]
    again = files / "again.csv"
    run(name, training, again, *given)
    assert out.read_bytes() == again.read_bytes()


def test_log_likelihoods_are_a_running_sum_of_each_trace(files):
    out = files / "out.csv"
    run(
        QUICK, files / "traintraces_TK.csv", out, "--places", files / "POI_TK.csv", "--seed", 1,
        "--traces-per-user", 2, "--log-likelihoods",
    )  # fmt: skip
    sums = pl.read_csv(out)["loglikeli"].to_numpy().reshape(-1, 30)
    assert (np.diff(sums, axis=1) <= 0).all()
    assert (sums[:, 0] <= 0).all()


def test_contest_files_are_found_out(files):
    out = files / "out.csv"
    run("SGD", files / "reftraces.csv", out, "--places", files / "info_region.csv", "--seed", 1)
    places = pwscup.read_places(files / "info_region.csv")
    root = seed_sequence(1)
    model = create("SGD").fit(pwscup.read_traces(files / "reftraces.csv", places), seed=child_seed(root, 0))
    expected = model.synthesize(10, seed=child_seed(root, 1)).dense()
    assert np.array_equal(pwscup.read_traces(out, places).dense(), expected)


def test_a_model_is_used_again_and_exported(files):
    training, places, model = files / "traintraces_TK.csv", files / "POI_TK.csv", files / "model.npz"
    first, second, third = (files / f"{number}.csv" for number in (1, 2, 3))
    given = ["--places", places, "--seed", 5]
    run(QUICK, training, first, *given, "--model", model, "--export", files / "parameters")
    stamp = model.read_bytes()
    run(QUICK, training, second, *given, "--model", model)
    assert first.read_bytes() == second.read_bytes()
    assert model.read_bytes() == stamp
    assert PPMTF_ITERATIONS in [path.name for path in (files / "parameters").iterdir()]
    # With another seed, other traces of the same model.
    other = ["--places", places, "--seed", 6, "--model", model, "--export", files / "of-the-file"]
    run(QUICK, training, files / "4.csv", *other)
    assert (files / "4.csv").read_bytes() != first.read_bytes()
    assert read_folder(files / "of-the-file") == read_folder(files / "parameters")
    run("PPMTF(iterations=3)", training, third, *given, "--model", files / "parameters")
    assert third.read_bytes() == first.read_bytes()


def read_folder(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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
    hours = ("--interval", "1h", "--slot", "2h")
    result = run(QUICK, source, tmp_path / "out.csv", *hours, "--traces-per-user", 1, "--seed", 1)
    assert (result["users"], result["events"], result["places"]) == (6, 6 * 24, 3)


def test_slots_may_be_any_sets_of_instants(files):
    training, places = files / "traintraces_TK.csv", ("--places", files / "POI_TK.csv")
    unequal = ("--slots", "9-12,12-13,13-19")
    run(QUICK, training, files / "made.csv", *places, *unequal, "--traces-per-user", 2, "--seed", 1)
    table = pl.read_csv(files / "made.csv")
    assert table["time_slot"].value_counts().sort("time_slot")["count"].to_list() == [360, 120, 720]
    assert table["time_instant"].max() == 17
    known = ("--train", training, "--test", training, "--synthetic", files / "made.csv")
    found = tracearena("evaluate", *places, *known, *unequal, "--json").json
    assert 0 <= found["tp_tv"] <= 1
    done = tracearena("synthesize", "SGD", training, files / "no.csv", *places, "--slots", "9-12")
    assert done.status == 2
    assert "12:00 on mon is in no slot" in done.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["magic"], "no synthesizer called 'magic'"),
        (["Zzz"], "synthesizers PPMTF, SGD, PrivateRoles, SGLT, Uniform, Training"),
        (
            ["PL(4,1)"],
            "PL is a defence for events at places; a synthesizer or a synthesizer of GPS trips is",
        ),
        (["PPMTF+(16)", "--virtual-users", "3"], r"use 'PPMTF\(16\)' with --virtual-users N"),
        (["SGD(alpha=3)"], "SGD has no parameter 'alpha'; it has copied"),
        (["PPMTF(alpha=0)"], "alpha"),
        (["PPMTF(0)"], "factors"),
        (["SGD", "--model", "m.npz"], "--model does not apply to SGD"),
        (["SGLT", "--virtual-users", "3", "--homes"], "--virtual-users, --homes do not apply to SGLT"),
        (["Uniform", "--deniable", "2,1"], "--deniable does not apply to Uniform"),
        (["PPMTF", "--homes"], "--homes does not apply to traces of training users; add --virtual-users"),
        (
            ["PPMTF", "--virtual-users", "3", "--deniable", "2,1"],
            "--deniable does not apply to virtual users",
        ),
    ],
)
def test_options_without_meaning_are_refused(files, arguments, problem):
    name, *options = arguments
    given = [name, files / "traintraces_TK.csv", files / "o.csv", "--places", files / "POI_TK.csv", *options]
    with pytest.raises(ParameterError, match=problem):
        run(*given, "--seed", 1)
    assert not (files / "o.csv").exists()


@pytest.mark.parametrize("name", [QUICK, "SGD(2)", "SGLT(3,privacy_tests=false)"])
def test_the_command_draws_what_python_draws(files, name):
    training, places, out = files / "reftraces.csv", files / "info_region.csv", files / "out.csv"
    run(name, training, out, "--places", places, "--seed", 7, "--traces-per-user", 2)
    regions = pwscup.read_places(places)
    root = seed_sequence(7)
    model = create(name).fit(pwscup.read_traces(training, regions), seed=child_seed(root, 0))
    pwscup.write_traces(model.synthesize(2, seed=child_seed(root, 1)), files / "python.csv")
    assert out.read_bytes() == (files / "python.csv").read_bytes()


def test_virtual_users_have_as_many_days_as_are_asked_for(files):
    out, places = files / "out.csv", files / "info_region.csv"
    given = ("--places", places, "--virtual-users", 4, "--traces-per-user", 3, "--only-seen", "--seed", 1)
    result = run(QUICK, files / "reftraces.csv", out, *given)
    assert (result["users"], result["traces_per_user"]) == (4, 3)
    assert pwscup.read_traces(out, pwscup.read_places(places)).user_ids.tolist() == [1, 2, 3, 4]


def test_the_command_has_options_about_reading_writing_and_running_only():
    (command,) = build(["synthesize"]).registered_commands
    options = set(inspect.signature(command.callback).parameters)
    # A division of the privacy budget is too long for a name.
    assert options & {
        field.name for name in names("synthesizer") for field in fields(entries()[name].load())
    } == {"shares"}
    assert len(options - {field.name for field in fields(ReadingOptions)}) <= 20


OWN = """
from dataclasses import dataclass
from typing import ClassVar
from tracearena.synthesis import PPMTF

@dataclass(kw_only=True)
class Mine(PPMTF):
    name: ClassVar[str] = "Mine"
"""


def test_a_class_derived_from_ours_is_a_synthesizer_of_its_own(files, monkeypatch):
    (files / "derived_model.py").write_text(OWN)
    monkeypatch.syspath_prepend(files)
    name, given = "derived_model:Mine(2,iterations=2)", ("--places", files / "info_region.csv", "--seed", 1)
    done = run(name, files / "reftraces.csv", files / "out.csv", *given)
    assert done["method"].startswith("Mine(2,200,2")
    with pytest.raises(ParameterError, match="--model does not apply to derived_model:Mine"):
        run(name, files / "reftraces.csv", files / "o.csv", *given, "--model", files / "m.npz")


def test_epsilon_of_the_parameters_is_printed_or_refused_before_training(files):
    training, out = files / "traintraces_TK.csv", files / "out.csv"
    given = [
        training,
        out,
        "--format",
        "ppmtf",
        "--places",
        files / "POI_TK.csv",
        "--seed",
        1,
        "--privacy-cost",
    ]
    found = run(QUICK, *given, "--model", files / "model.ptf")
    expected = privacy_budget(PPMTF.load(files / "model.ptf"))
    assert {name: found[name] for name in expected.to_dict()} == pytest.approx(expected.to_dict())
    assert found["kappa"] > 0
    out.unlink()
    refused = tracearena("synthesize", "PPMTF(2,zeros=all)", *given)
    assert (refused.status, "zeros='sampled'" in refused.err, out.exists()) == (2, True, False)
    refused = tracearena("synthesize", "SGD", *given)
    assert (refused.status, "--privacy-cost" in refused.err) == (2, True)
