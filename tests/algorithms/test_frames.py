"""Algorithms take data frames of any library, and give frames of the same library back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

import tracearena as ta
from tracearena.algorithms import create
from tracearena.cities import simulate_gps
from tracearena.errors import DataError, ParameterError, TracearenaWarning
from tracearena.obfuscation import PlanarLaplace, SwapTimes
from tracearena.traces import DELETED, Clock, GpsTraces, ObfuscatedTraces, Places, PlaceSets, Traces

pytest.importorskip("geopandas")

PLACES = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.2], ids=["home", "work", "gym"])
CLOCK = Clock(instants_per_day=24, first_day=date(2012, 4, 2))
LIBRARIES = ("polars", "pandas", "arrow", "geopandas")


@pytest.fixture
def traces() -> Traces:
    table = np.random.default_rng(1).integers(0, 3, (5, 48))
    return Traces.from_dense(table, PLACES, CLOCK, user_ids=["ann", "bob", "cy", "dee", "eve"])


@pytest.fixture(scope="module")
def points() -> GpsTraces:
    return simulate_gps(users=2, days=1, seed=1)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_defence_answers_a_frame_with_a_frame_of_the_same_library(library: str, traces: Traces) -> None:
    frame = traces.to_frame(library)
    made = PlanarLaplace(l=4, r=1).transform(frame, seed=1)
    assert type(made) is type(frame)
    released = PlanarLaplace(l=4, r=1).transform(ta.read(frame).traces, seed=1)
    assert ta.read(made).traces.place_index.tolist() == released.codes.tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_defence_of_points_answers_with_points(library: str, points: GpsTraces) -> None:
    frame = points.to_frame(library)
    defence = create("GeoInd(100m,5min)")
    made = defence.transform(frame, seed=1)
    assert type(made) is type(frame)
    again = ta.read(made).traces
    wanted = defence.transform(points, seed=1)
    assert again.n_points == wanted.n_points
    assert again.latitude == pytest.approx(wanted.latitude)


def test_a_released_place_has_a_row_of_its_own_and_a_deleted_event_none(traces: Traces) -> None:
    codes = traces.place_index.copy()
    codes[0], codes[1] = DELETED, -2
    released = ObfuscatedTraces.like(traces, codes, PlaceSets.of([[0, 2]]))
    rows = released.to_frame(one_place_per_row=True)
    assert rows.columns == ["user_id", "time", "place", "lat", "lng"]
    assert len(rows) == traces.n_events
    assert rows.head(2).get_column("place").to_list() == ["home", "gym"]
    assert rows.head(2).get_column("time").n_unique() == 1
    with pytest.raises(ParameterError, match="needs points"):
        released.to_frame("geopandas")
    assert len(released.to_frame("geopandas", one_place_per_row=True)) == len(rows)


def test_a_pipeline_of_scikit_learn_runs_on_frames_and_on_traces(traces: Traces) -> None:
    pipeline = Pipeline(
        [
            ("noise", PlanarLaplace(l=4, r=1)),
            ("again", create("RR(2)")),
            ("times", SwapTimes(cell=1e3, period="week")),
        ]
    )
    frame = pipeline.fit_transform(traces.to_frame("pandas"))
    assert list(frame.columns) == ["user_id", "time", "place", "lat", "lng"]
    assert len(frame) == traces.n_events
    released = pipeline.fit_transform(traces, noise__seed=1)
    assert isinstance(released, ObfuscatedTraces)
    assert released.n_events == traces.n_events
    pipeline.set_params(noise__l=2)
    assert pipeline["noise"] == PlanarLaplace(l=2, r=1)
    assert pipeline.get_params()["times__period"] == "week"


def test_a_stage_that_needs_one_place_per_event_refuses_a_release_without(traces: Traces) -> None:
    deleted = ObfuscatedTraces.like(traces, np.full(traces.n_events, DELETED))
    with pytest.raises(DataError, match=r"PL\(4,1\) needs one place for every event, .* deleted events"):
        PlanarLaplace(l=4, r=1).transform(deleted)


def test_a_synthesizer_makes_one_trace_of_each_user(traces: Traces) -> None:
    for library in ("polars", "pandas"):
        frame = traces.to_frame(library)
        made = create("SGD").fit_transform(frame, seed=1)
        assert type(made) is type(frame)
        assert len(made) == traces.n_users * CLOCK.instants_per_day
        assert set(made["user_id"]) == set(traces)


def test_an_attack_finds_people_of_one_frame_in_another(traces: Traces) -> None:
    table = traces.to_frame("pandas")
    first, second = table[table.time < "2012-04-03"], table[table.time >= "2012-04-03"]
    found = create("VisitProb-R").fit(first).identify(second, seed=1)
    reference, original = traces.split_days(1)
    wanted = create("VisitProb-R").fit(reference).identify(ObfuscatedTraces.from_traces(original), seed=1)
    assert found["pse_id"].tolist() == wanted.pseudonyms.tolist()
    assert found["user_id"].tolist() == wanted.user_ids.tolist()
    inferred = create("VisitProb-T").fit(first).infer(second, seed=1)
    assert list(inferred.columns) == list(table.columns)


def test_an_attack_learns_the_places_that_only_the_release_has(traces: Traces) -> None:
    table = traces.to_frame("pandas")
    known = table[table.place != "gym"]
    attack = create("VisitProb-R").fit(known)
    assert len(attack.identify(table, seed=1)) == traces.n_users


def test_an_attack_on_a_frame_needs_a_frame_to_learn_from(traces: Traces) -> None:
    attack = create("VisitProb-R").fit(traces)
    with pytest.raises(DataError, match="only attack a data frame if it was fitted to one"):
        attack.identify(traces.to_frame())


def test_an_attack_forgets_the_frame_that_it_was_fitted_to_before(traces: Traces) -> None:
    attack = create("VisitProb-R").fit(traces[["ann", "bob"]].to_frame()).fit(traces)
    with pytest.raises(DataError, match="only attack a data frame if it was fitted to one"):
        attack.identify(traces.to_frame(), seed=1)


def test_rows_of_a_frame_that_cannot_be_used_are_reported(traces: Traces) -> None:
    table = traces.to_frame("pandas")
    table.loc[3, "user_id"] = None
    with pytest.warns(TracearenaWarning, match="rows of the data frame were dropped: .* \\(1\\)"):
        made = PlanarLaplace(l=4, r=1).transform(table, seed=1)
    assert len(made) == traces.n_events - 1


def test_points_need_a_grid_before_a_defence_of_places(points: GpsTraces) -> None:
    with pytest.raises(DataError, match="GPS points become events on a grid: read"):
        PlanarLaplace(l=4, r=1).transform(points.to_frame("pandas"))


def test_parameters_of_a_nested_algorithm_are_reached_with_two_underscores() -> None:
    attack = create("Polya-R(PL(4,1))")
    if not isinstance(attack.get_params(deep=False)["mechanism"], str):
        assert attack.get_params()["mechanism__l"] == 4
    for setting in ParameterGrid({"l": [1, 2], "r": [1]}):
        assert PlanarLaplace(l=4, r=1).set_params(**setting) == PlanarLaplace(**setting)


def test_a_parameter_out_of_range_leaves_the_algorithm_as_it_was() -> None:
    defence = PlanarLaplace(l=4, r=1)
    with pytest.raises(ParameterError, match="l = -1"):
        defence.set_params(l=-1)
    assert defence == PlanarLaplace(l=4, r=1)


@pytest.mark.parametrize("make", [dict, list, tuple])
def test_what_is_no_frame_is_refused_as_before(make: Callable[[], Any]) -> None:
    with pytest.raises(DataError, match="works on Traces; it got"):
        PlanarLaplace(l=4, r=1).transform(make())


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_gets_pseudonyms_and_a_secret_table(library: str, traces: Traces) -> None:
    frame = traces.to_frame(library)
    release = ta.pseudonymise(frame, seed=1)
    assert type(release.anonymized) is type(frame)
    wanted = ta.pseudonymise(traces, seed=1)
    released = ta.read(release.anonymized).traces
    assert list(released) == list(wanted.anonymized) == list(wanted.id_table)
    assert released.instants.tolist() == wanted.anonymized.instants.tolist()
    assert len(release.id_table) == len(wanted.id_table)


def test_pseudonyms_need_traces_or_a_frame(traces: Traces) -> None:
    with pytest.raises(DataError, match="pseudonymise works on ObfuscatedTraces; it got list"):
        ta.pseudonymise([1, 2])  # type: ignore[type-var]


def test_a_frame_is_written_like_the_traces_in_it(points: GpsTraces, tmp_path: Path) -> None:
    ta.write(points, tmp_path / "traces.csv")
    ta.write(points.to_frame("pandas"), tmp_path / "frame.csv")
    assert (tmp_path / "frame.csv").read_bytes() == (tmp_path / "traces.csv").read_bytes()
