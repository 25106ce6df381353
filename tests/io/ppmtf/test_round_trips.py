"""Every published file comes back byte for byte."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tracearena.io import ppmtf
from tracearena.traces import Places


@pytest.fixture(scope="module")
def tokyo(shared_data: Path) -> Path:
    return shared_data / "ppmtf-tokyo"


@pytest.fixture(scope="module")
def places(tokyo: Path) -> Places:
    return ppmtf.read_places(tokyo / "POI_TK.csv")


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def test_regions_are_recognised_as_a_grid(places: Places) -> None:
    grid = places.grid
    assert grid is not None
    assert (grid.rows, grid.columns) == (20, 20)
    assert (grid.south, grid.west, grid.north, grid.east) == (35.65, 139.68, 35.75, 139.8)
    assert places.categories is None


def test_places_and_their_index(tokyo: Path, places: Places, tmp_path: Path) -> None:
    ppmtf.write_places(places, tmp_path / "POI_TK.csv")
    ppmtf.write_place_index(places, tmp_path / "POIindex_TK.csv")
    for name in ("POI_TK.csv", "POIindex_TK.csv"):
        assert content(tmp_path / name) == content(tokyo / name)


@pytest.mark.parametrize("name", ["traintraces_TK.csv", "testtraces_TK.csv"])
def test_traces(tokyo: Path, places: Places, tmp_path: Path, name: str) -> None:
    traces = ppmtf.read_traces(tokyo / name, places)
    assert traces.is_complete
    assert (traces.n_users, traces.span, traces.clock.slots_per_day) == (500, (0, 30), 30)
    ppmtf.write_traces(traces, tmp_path / name)
    assert content(tmp_path / name) == content(tokyo / name)


@pytest.mark.parametrize("name", ["tuserindex_TK.csv", "euserindex_TK.csv"])
def test_user_indices(tokyo: Path, tmp_path: Path, name: str) -> None:
    ids, numbers = ppmtf.read_user_index(tokyo / name)
    ppmtf.write_user_index(ids, tmp_path / name, int(numbers[0]))
    assert content(tmp_path / name) == content(tokyo / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "slot_name"),
    [
        pytest.param("syntraces_ppmtf_Itr100.csv.gz", "time_slot", marks=pytest.mark.slow),
        pytest.param("syntraces_sgd_cn0.csv.gz", "time_slot", marks=pytest.mark.long),
        ("syntraces_sglt_c100_1.csv.gz", "time_period"),
    ],
)
def test_synthetic_traces(tokyo: Path, places: Places, tmp_path: Path, name: str, slot_name: str) -> None:
    synthetic = ppmtf.read_synthetic(tokyo / name, places, ppmtf.people_flow_clock())
    assert (synthetic.traces.n_users, synthetic.traces.span) == (500, (0, 300))
    ppmtf.write_synthetic(synthetic, tmp_path / name, slot_name=slot_name)
    assert content(tmp_path / name) == content(tokyo / name)


def test_the_last_event_of_a_trace_holds_its_log_likelihood(tokyo: Path, places: Places) -> None:
    synthetic = ppmtf.read_synthetic(tokyo / "syntraces_ppmtf_Itr100.csv.gz", places)
    whole = synthetic.trace_loglikelihood()
    assert whole.shape == (500, 10)
    assert whole[499, 9] == -91.443339


def test_tensors(tokyo: Path, tmp_path: Path) -> None:
    transitions = ppmtf.read_transition_tensor(tokyo / "traintranstensor_TK_mnt100.csv", 500, 400)
    visits = ppmtf.read_visit_tensor(tokyo / "trainvisittensor_TK_mnv100.csv", 500, 400, 30)
    assert (len(transitions), int(transitions.counts.sum())) == (8_915, 14_500)
    assert (len(visits), int(visits.counts.sum())) == (15_000, 15_000)
    ppmtf.write_transition_tensor(transitions, tmp_path / "traintranstensor_TK_mnt100.csv")
    ppmtf.write_visit_tensor(visits, tmp_path / "trainvisittensor_TK_mnv100.csv")
    for name in ("traintranstensor_TK_mnt100.csv", "trainvisittensor_TK_mnv100.csv"):
        assert content(tmp_path / name) == content(tokyo / name)


def test_parameters(tokyo: Path, tmp_path: Path) -> None:
    parameters = ppmtf.read_parameters(tokyo)
    assert (parameters.shape, parameters.n_factors) == ((500, 400, 30), 16)
    ppmtf.write_parameters(parameters, tmp_path)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == sorted(path.name for path in tokyo.glob("modelparameter_*"))
    for name in written:
        assert content(tmp_path / name) == content(tokyo / name)


def test_published_results(shared_data: Path) -> None:
    results = ppmtf.read_utility_and_privacy(shared_data / "published-results" / "PF_utilpriv_PPMTF_TK.csv")
    assert len(results) == 12
    best = next(result for result in results if "alp200_" in result["tracedir"])
    assert (best["reid_rate"], best["MIA_adv"], best["TP-TV_syn"], best["VF-TV_syn"]) == (
        0.016,
        0.023,
        0.42736,
        None,
    )


def test_sglt_inputs(tokyo: Path, places: Places, tmp_path: Path) -> None:
    traces = ppmtf.read_traces(tokyo / "traintraces_TK.csv", places)
    ppmtf.write_sglt_traces(traces, tmp_path / "input.trace")
    again = ppmtf.read_sglt_traces(tmp_path / "input.trace", places, traces.clock)
    assert np.array_equal(again.dense(), traces.dense())
    ppmtf.write_sglt_locations(places, tmp_path / "locations")
    corners = ppmtf.read_sglt_locations(tmp_path / "locations")
    assert np.allclose(corners[0], (139.68 * 91, 35.65 * 111), atol=1e-9)
    assert np.array_equal(corners, ppmtf.locations_km(places))
