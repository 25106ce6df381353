"""Rows of the findings, computed again in plain NumPy from the formulas of the papers.

The published files are read as numbers, without tracearena's readers and metrics, and the result is compared
with what the commands of the rows printed.
"""

from __future__ import annotations

import csv
import gzip
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import lambertw

from tracearena import metrics
from tracearena.papers.claim_rows_geo import WINDOWS_TESTED
from tracearena.papers.claim_rows_synthesis import PROGRAM_LEVELS
from tracearena.papers.claims_table import iterate_claims
from tracearena.papers.published_claims import CommandRun, read_run
from tracearena.synthesis import PPMTF
from tracearena.synthesis.ppmtf import privacy_budget
from tracearena.traces import Clock, Grid, Places, Traces

Floats = NDArray[np.float64]
SLOTS, PLACES, BINS = 30, 400, 20
"""Instants of a day and regions of the people flow of [ppmtf], and bins along an axis of its metrics."""


def run_of(text: str) -> CommandRun:
    """The kept run of the command of a row; the row is found by what it says."""
    (command,) = {row.command for _, row, _ in iterate_claims() if row.states.startswith(text)}
    found = read_run(command or "")
    assert found is not None
    return found


def rows_of(path: Path) -> list[dict[str, str]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(content.decode().splitlines()))


# The people flow of [ppmtf]: TP-TV and TM-EMD of section 4.3.


@cache
def read_days(path: Path) -> NDArray[np.int64]:
    """Places of the users' days: days x slots. Training and testing users have a single day."""
    rows = rows_of(path)
    return np.array([int(row["poi_index"]) for row in rows]).reshape(-1, SLOTS)


def population(days: NDArray[np.int64]) -> Floats:
    counts = np.zeros((SLOTS, PLACES))
    for slot in range(SLOTS):
        np.add.at(counts[slot], days[:, slot], 1)
    return counts / counts.sum(axis=1, keepdims=True)


def moves(days: NDArray[np.int64]) -> Floats:
    """The probability of every next place; who is never seen to leave a place stays there."""
    counts = np.zeros((PLACES, PLACES))
    np.add.at(counts, (days[:, :-1].ravel(), days[:, 1:].ravel()), 1)
    totals = counts.sum(axis=1, keepdims=True)
    return np.where(totals > 0, counts / np.maximum(totals, 1), np.eye(PLACES))


def tp_tv(truth: Floats, other: Floats) -> float:
    return float(0.5 * np.abs(truth - other).sum(axis=1).mean())


def tm_emd(truth: Floats, other: Floats, bin_of: NDArray[np.int64]) -> float:
    """The area between the cumulative distributions along an axis, in bins."""
    onto = np.eye(BINS)[bin_of]
    return float(np.abs(np.cumsum((truth - other) @ onto, axis=1)).sum(axis=1).mean())


@pytest.fixture(scope="module")
def tokyo(shared_data: Path) -> Path:
    return shared_data / "ppmtf-tokyo"


@pytest.fixture(scope="module")
def column_of(tokyo: Path) -> NDArray[np.int64]:
    """The bin of every region from west to east: the 20 x 20 regions are the bins."""
    return np.array([int(row["x_id"]) for row in rows_of(tokyo / "POI_TK.csv")])


def test_the_levels_of_training_data_and_of_uniform_places(tokyo: Path, column_of: NDArray[np.int64]) -> None:
    training, testing = (read_days(tokyo / f"{name}traces_TK.csv") for name in ("train", "test"))
    here, there = population(testing), moves(testing)
    ours = {row["series"]: row for row in run_of("training data and uniform places").rows("ppmtf-7.csv")}
    uniform_places, uniform_moves = np.full_like(here, 1 / PLACES), np.full_like(there, 1 / PLACES)
    for name, where, how in (
        ("training", population(training), moves(training)),
        ("uniform", uniform_places, uniform_moves),
    ):
        assert tp_tv(here, where) == pytest.approx(float(ours[name]["tp_tv"]), abs=1e-9)
        assert tm_emd(there, how, column_of) == pytest.approx(float(ours[name]["tm_emd_x"]), abs=1e-9)


def test_the_published_row_of_ppmtf_from_its_published_traces(
    tokyo: Path, column_of: NDArray[np.int64]
) -> None:
    testing = read_days(tokyo / "testtraces_TK.csv")
    made = read_days(tokyo / "syntraces_ppmtf_Itr100.csv.gz").reshape(500, 10, SLOTS)
    ours = run_of("the published row, from the published synthetic traces").result
    here, there = population(testing), moves(testing)
    by_trace = [(population(made[:, k]), moves(made[:, k])) for k in range(10)]
    assert np.mean([tp_tv(here, where) for where, _ in by_trace]) == pytest.approx(ours["tp_tv"], abs=1e-9)
    found = np.mean([tm_emd(there, how, column_of) for _, how in by_trace])
    assert found == pytest.approx(ours["tm_emd_x"], abs=1e-9)


def test_the_re_identification_rate_of_the_published_traces(tokyo: Path) -> None:
    """[ppmtf] appendix D: the user whose maximum-likelihood chain makes the transitions most likely."""
    training = read_days(tokyo / "traintraces_TK.csv")
    made = read_days(tokyo / "syntraces_ppmtf_Itr100.csv.gz").reshape(500, 10, SLOTS)
    score = np.empty((500, 500, 10))
    for user, day in enumerate(training):
        counts = np.zeros((PLACES, PLACES))
        np.add.at(counts, (day[:-1], day[1:]), 1)
        chain = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        seen = np.log(np.where(chain > 0, chain, 1e-8))
        score[user] = seen[made[:, :, :-1], made[:, :, 1:]].sum(axis=2)
    # Sums of the same logarithms in another order differ in their last bits: of equals the first counts.
    found = (score.round(7).argmax(axis=0) == np.arange(500)[:, None]).mean()
    ours = run_of("the published row, from the published synthetic traces").result
    assert found == pytest.approx(ours["reidentification_rate"], abs=1e-9)


def test_the_metrics_of_invented_days() -> None:
    """The same formulas against the functions, where no published data is at hand."""
    days = [np.random.default_rng(seed).integers(0, PLACES, (40, SLOTS)) for seed in (1, 2)]
    grid = Places.of_grid(Grid(rows=BINS, columns=BINS, south=0, west=0, north=1, east=1))
    one, other = (
        Traces.from_dense(some, grid, Clock(instants_per_day=SLOTS, interval_s=1800)) for some in days
    )
    assert metrics.tp_tv(one, other) == pytest.approx(tp_tv(*map(population, days)), abs=1e-9)
    column = np.arange(PLACES) % BINS
    found = tm_emd(moves(days[0]), moves(days[1]), column)
    assert metrics.tm_emd(one, other, "x") == pytest.approx(found, abs=1e-9)


# The published scores of the final of PWS Cup 2019: [contest] sections 3.3, 5.1 and appendix E.


def least_of(path: Path) -> dict[tuple[str, str], float]:
    """The least score that any team or sample attack left of a data set."""
    found = {}
    for row in rows_of(path):
        scores = [value for name, value in row.items() if name[0] in "0123456789IT" and value != "-"]
        found[row["target"], row["data_set"]] = min(map(float, scores))
    return found


@pytest.fixture(scope="module")
def final(shared_data: Path) -> tuple[dict[Any, float], dict[Any, float], dict[Any, float]]:
    """s_R,min, s_T,min and utility of every data set."""
    folder = shared_data / "pwscup2019-results"
    utility = {
        (row["team"], row["data_set"]): float(row["utility"]) for row in rows_of(folder / "final_utility.csv")
    }
    return (
        least_of(folder / "final_reidentification.csv"),
        least_of(folder / "final_trace_inference.csv"),
        utility,
    )


def test_the_correlation_of_the_published_final(final: Any) -> None:
    s_R, s_T, utility = final
    ours = run_of("17 of the teams are valid").result
    shown = [key for key in s_T if utility[key] >= 0.7 and (key[1] == "2" or key[0] == "000")]
    assert len([key for key in shown if key[0] != "000"]) == ours["valid"]
    found = np.corrcoef([s_R[key] for key in shown], [s_T[key] for key in shown])[0, 1]
    assert found == pytest.approx(ours["correlation"], abs=1e-9)
    drawn = run_of("over the valid releases of the contest").findings
    (figure_9,) = [one for one in drawn if one["statement"].endswith("in the published final")]
    assert found == pytest.approx(figure_9["number"], abs=1e-9)


def test_the_scores_of_the_pseudonymised_traces(final: Any) -> None:
    s_R, s_T, _ = final
    (ours,) = [
        row
        for row in run_of("the pseudonymised traces are completely violated").result["board"]
        if row["team"] == "000"
    ]
    assert s_R["000", "1"] == pytest.approx(ours["s_R_min"], abs=1e-9)
    assert s_T["000", "1"] == pytest.approx(ours["s_T_min"], abs=1e-9)


def test_the_three_best_privacies_against_trace_inference(final: Any) -> None:
    _, s_T, utility = final
    best = sorted(
        (s_T[key] for key in s_T if key[1] == "2" and key[0] != "000" and utility[key] >= 0.7), reverse=True
    )
    ours = run_of("the best, second and third privacy").result["awards"][0]["places"]
    assert best[:3] == pytest.approx([place["value"] for place in ours[:3]], abs=1e-9)


def test_what_the_strongest_samples_leave_of_the_pseudonymised_traces(shared_data: Path) -> None:
    ours = run_of("attacks by the teams are much stronger").result["attacks"]
    for kind, sample in (("reidentification", "I2"), ("trace_inference", "T2")):
        (row,) = [
            row
            for row in rows_of(shared_data / "pwscup2019-results" / f"final_{kind}.csv")
            if row["target"] == "000"
        ]
        samples = {name: float(row[name]) for name in row if name[0] == sample[0] and row[name] != "-"}
        assert min(samples, key=samples.__getitem__) == sample
        (found,) = [one for one in ours if (one["attacker"], one["target"]) == (sample, "000")]
        assert found["score"] == pytest.approx(samples[sample], abs=1e-9)


# The sample of Osaka: planar Laplace noise of 2019, and the utility that it leaves ([samples] A4).


@pytest.mark.parametrize("per_km", [4, 3])
def test_the_utility_of_planar_laplace_noise(shared_data: Path, per_km: int) -> None:
    """The draws of 2019 move points in the box of Tokyo: 32 x 32 cells, 111 and 91 km per degree."""
    path = shared_data / "pwscup2019-osaka" / "orgtraces_team001_data01_IDP.csv"
    row, column = np.divmod([int(event["reg_id"]) - 1 for event in rows_of(path)], 32)
    high_km, wide_km = 0.10 / 32 * 111, 0.12 / 32 * 91
    angle, share = np.random.RandomState(1).random_sample((len(row), 2)).T
    away_km = -(lambertw((share - 1) / np.e, -1).real + 1) / per_km
    north = np.trunc(row + 0.5 + away_km * np.sin(2 * np.pi * angle) / high_km).clip(0, 31)
    east = np.trunc(column + 0.5 + away_km * np.cos(2 * np.pi * angle) / wide_km).clip(0, 31)
    moved_km = np.hypot((north - row) * high_km, (east - column) * wide_km)
    (ours,) = [
        float(one["utility"])
        for one in run_of("with a threshold of 0.7").rows("samples-4.csv")
        if one["defence"] == f"PL({per_km},1)"
    ]
    assert 1 - np.minimum(moved_km / 2, 1).mean() == pytest.approx(ours, abs=1e-9)


# The sample of GeoLife: gossip of [geo-ind] section 5.2 among people as they were.


def read_beijing(path: Path) -> tuple[list[str], Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Names of the users, latitude and longitude of the points in the box, their user and second."""
    names, rows, owner = list[str](), list[tuple[float, float, float]](), list[int]()
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            if not member.name.endswith(".plt"):
                continue
            user = member.name.split("/")[-3]
            names += [user] if user not in names else []
            content = archive.extractfile(member)
            assert content is not None
            for line in content.read().decode().splitlines()[6:]:
                latitude, longitude, _, _, days, *_ = line.split(",")
                rows.append((float(latitude), float(longitude), float(days)))
                owner.append(names.index(user))
    table, users = np.array(rows), np.array(owner)
    (south, north), (west, east) = (39.85, 40.05), (116.25, 116.5)
    inside = (table[:, 0] >= south) & (table[:, 0] <= north) & (table[:, 1] >= west) & (table[:, 1] <= east)
    return names, table[inside, :2], users[inside], np.rint(table[inside, 2] * 86_400).astype(np.int64)


def test_the_gossip_of_people_as_they_were(shared_data: Path) -> None:
    names, position, user, second = read_beijing(shared_data / "geolife-sample.tar.gz")
    latitude, longitude = np.radians(position).T
    metres = np.column_stack([latitude, longitude * np.cos(np.radians(39.95))]) * 6_371_000
    slot = second // 5
    heard = np.eye(len(names), dtype=bool)  # user x source
    order = np.argsort(slot, kind="stable")
    starts = np.flatnonzero(np.diff(slot[order], prepend=-1))
    for here in np.split(order, starts[1:]):
        who = user[here]
        if len(set(who)) < 2:
            continue
        near = np.linalg.norm(metres[here][:, None] - metres[here][None], axis=2) <= 50
        for _ in here:  # along chains of people
            for i, j in np.argwhere(near):
                heard[who[i]] |= heard[who[j]]
    ours = [
        float(row["infection_rate"])
        for row in run_of("gossip reaches more people in noisy traces").rows("geo-5.csv")
        if row["window_s"] == "original"
    ]
    assert heard.mean() == pytest.approx(ours[0], abs=1e-6)


def test_the_windows_that_the_network_has_right() -> None:
    """Shares of the confusion matrices, and the number of windows that their standard error is of."""
    rows = run_of("a network of three LSTM layers").rows("geo-6.csv")
    for noise in ("independent", "T = 5 min"):
        mine = [row for row in rows if (row["method"], row["noise"]) == ("LSTM", noise)]
        size = int(max(mine, key=lambda row: int(row["true_class"]))["true_class"]) + 1
        confusion = np.zeros((size, size), int)
        for row in mine:
            confusion[int(row["true_class"]), int(row["answered_class"])] = int(row["windows"])
        assert confusion.sum() == WINDOWS_TESTED
        right = np.trace(confusion) / confusion.sum()
        assert right == pytest.approx(float(mine[0]["accuracy"]), abs=1e-6)


# Rows that need no published data: the numbers that figures drew, and formulas.


def test_utility_and_privacy_by_distance() -> None:
    """[contest] section 3.4: g_U and g_T are straight lines that meet 0 and 1 at 2 km."""
    for row in run_of("utility falls, and privacy rises").rows("contest-7.csv"):
        distance = float(row["distance_km"])
        loss = distance / 2 if distance < 2 else 1.0
        assert float(row["g_U"]) == pytest.approx(1 - loss, abs=1e-9)
        assert float(row["g_T"]) == pytest.approx(loss, abs=1e-9)


def strongest(rows: Iterable[dict[str, str]], column: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in rows:
        found[row["defence"]] = min(found.get(row["defence"], np.inf), float(row[column]))
    return found


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("the score of the contest goes with the plain expected error", 10),
        ("with larger weights of hospitals it goes with it less", 1000),
    ],
)
def test_the_correlation_of_the_score_with_the_expected_error(text: str, weight: int) -> None:
    run = run_of(text)
    table = run.rows("contest-12.csv")
    error = strongest(table, "expected_error_km")
    score = strongest(table, f"s_T_weight_{weight}")
    assert len(error) == 18
    found = np.corrcoef(list(error.values()), [score[defence] for defence in error])[0, 1]
    (ours,) = [
        float(row["correlation"])
        for row in run.rows("contest-12-weights.csv")
        if row["hospital_weight"] == str(weight)
    ]
    assert found == pytest.approx(ours, abs=1e-9)


def test_the_correlation_of_both_privacies_of_our_defences_on_osaka() -> None:
    run = run_of("the same on the organisers' sample of Osaka")
    minima = [
        [min(float(row[name]) for name in row if name.endswith(kind) and row[name]) for kind in ("-R", "-T")]
        for row in run.rows("contest-9.csv")
        if row["valid"] == "true"
    ]
    found = np.corrcoef(np.array(minima).T)[0, 1]
    assert found == pytest.approx(run.findings[0]["number"], abs=1e-9)


def test_the_privacy_budget_of_the_parameters() -> None:
    """[ppmtf] proposition 1 with the parameters of section 4.2, and of a single location (appendix F.2)."""
    kept, zeros, largest = 100, 1000, 10
    for row in run_of("parameters are useful only with an ε above 20,000").rows("ppmtf-15.csv"):
        alpha, kappa = float(row["alpha"]), float(row["kappa"])
        for assumed, column in ((0.0, "_kappa_0"), (kappa, "")):
            trace = alpha * 2 * min(3 * kept, kept + zeros) * (largest + assumed) ** 2
            location = alpha * (4 * largest + 8 * largest + 12 * assumed - 6)
            assert float(row[f"epsilon_trace{column}"]) == pytest.approx(trace, rel=1e-9)
            assert float(row[f"epsilon_location{column}"]) == pytest.approx(location, rel=1e-9)
            budget = privacy_budget(PPMTF(alpha=alpha), kappa=assumed)
            assert (budget.epsilon_trace, budget.epsilon_location) == pytest.approx((trace, location))


def test_the_limits_of_sglt_s_levels_are_the_published_table_and_our_spread(shared_data: Path) -> None:
    """One published run against the mean of three of ours, within three standard errors."""
    (table,) = (shared_data / "published-results").glob("PF_utilpriv_SGLT_*.csv")
    published = {row[" tracefile"]: float(row[" TP-TV_syn"]) for row in rows_of(table)}
    spread = {
        int(row["classes"]): float(row["spread_tp_tv"])
        for row in run_of("TP-TV of SGLT with 50 to 200 classes").rows("sglt-published.csv")
        if (row["rules"], row["par_l"]) == ("program", "1")
    }
    for classes, (level, own) in PROGRAM_LEVELS.items():
        (found,) = (value for name, value in published.items() if f"_c{classes}_0.25_0.75_1_4_" in name)
        assert level == pytest.approx(found, abs=1e-5)
        assert own == pytest.approx(spread[classes], abs=1e-4)
