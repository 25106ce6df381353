"""The organisers' own results for the sample programs ([samples] section 3), made again."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tracearena.arena import SAMPLE_ATTACKS, SAMPLE_DEFENCES, run_sweep
from tracearena.arena.ensemble import Scoring
from tracearena.io import pwscup
from tracearena.metrics import reidentification_score, trace_inference_score, utility_score
from tracearena.traces import Traces

PROGRAMS = {"A1": "No", "A2": "MRLH", "A3": "RR", "A4": "PL", "A5": "Cheat"}
COLUMNS = dict(zip(("I1", "I2", "I3", "T1", "T2", "T3"), SAMPLE_ATTACKS, strict=True))
SEEDS = range(1, 11)


def our_name(program: str) -> str:
    kind, *parameters = program.split("-")
    return PROGRAMS[kind] + (f"({','.join(parameters)})" if parameters else "")


@pytest.fixture(scope="module")
def table(osaka: Path) -> dict[str, dict[str, float]]:
    with open(osaka / "sample_results_team001_data01.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return {our_name(row.pop("Ano")): {key: float(value) for key, value in row.items()} for row in rows}


@pytest.fixture(scope="module")
def team(osaka: Path) -> tuple[Traces, Traces]:
    places = pwscup.read_places(osaka / "info_region.csv")
    names = ("reftraces_team001_data01_IDP.csv", "orgtraces_team001_data01_IDP.csv")
    reference, original = (pwscup.read_traces(osaka / name, places) for name in names)
    return reference, original


def test_the_default_sweep_is_the_organisers(table: dict[str, dict[str, float]]) -> None:
    assert list(table) == list(SAMPLE_DEFENCES)


@pytest.mark.slow
def test_utilities_equal_the_organisers_to_twelve_digits(
    table: dict[str, dict[str, float]], team: tuple[Traces, Traces]
) -> None:
    rows = run_sweep(*team, attacks=["HomeProb-R"], scoring=Scoring(utility_rule="2019"), legacy_2019=True)
    for row in rows:
        assert row.utility == pytest.approx(table[row.defence]["Util"], abs=1e-12), row.defence
        if not row.defence.startswith("MRLH(1,1"):
            identified = row.scores.reidentification["HomeProb-R"]
            assert identified == pytest.approx(table[row.defence]["I3"], abs=1e-12), row.defence


@pytest.mark.long
def test_attack_scores_agree_with_the_organisers_over_ten_seeds(
    table: dict[str, dict[str, float]], team: tuple[Traces, Traces]
) -> None:
    runs = []
    for seed in SEEDS:
        rows = run_sweep(*team, scoring=Scoring(utility_rule="2019"), legacy_2019=True, seed=seed)
        scores = [{**row.scores.reidentification, **row.scores.trace_inference} for row in rows]
        runs.append([[one[attack] for attack in COLUMNS.values()] for one in scores])
    ours = np.mean(runs, axis=0)
    theirs = np.array([[table[defence][column] for column in COLUMNS] for defence in SAMPLE_DEFENCES])
    off = np.abs(ours - theirs)
    assert off.max() <= 0.015
    assert (off <= 0.01).mean() >= 0.95


@pytest.mark.slow
def test_cheating_is_safe_from_reidentification_and_not_from_trace_inference(
    team: tuple[Traces, Traces],
) -> None:
    rows = {row.defence: row for row in run_sweep(*team, seed=1)}
    none, cheating = rows["No"].scores, rows["Cheat(1)"].scores
    assert cheating.s_R_min > 0.998
    assert cheating.s_T_min == pytest.approx(none.s_T_min, abs=0.02)
    others = [row.scores for name, row in rows.items() if not name.startswith("Cheat")]
    assert np.corrcoef([s.s_R_min for s in others], [s.s_T_min for s in others])[0, 1] > 0.8


def test_the_example_chain_has_the_organisers_scores(osaka: Path, team: tuple[Traces, Traces]) -> None:
    _, original = team
    obfuscated = pwscup.read_obfuscated(
        osaka / "anotraces_team001_data01_IDP.csv.gz", original, allow_repetition=True
    )
    assert utility_score(original, obfuscated, rule="2019").utility == pytest.approx(
        0.3255519500386591, abs=1e-12
    )
    truth = pwscup.read_id_table(osaka / "ptable_team001_data01_IDP.csv")
    guess = pwscup.read_inferred_table(osaka / "etable_team020-001_data01_IDP.csv", truth.pseudonyms)
    assert reidentification_score(truth, guess).reidentification == 0.999
    inferred = pwscup.read_inferred_traces(osaka / "etraces_team020-001_data01_IDP.csv", original)
    score = trace_inference_score(original, inferred)
    assert score.trace_inference == pytest.approx(0.966614349241424, abs=1e-12)


def test_replay_beats_the_sample_attacks_of_the_short_round(team: tuple[Traces, Traces]) -> None:
    (row,) = run_sweep(*team, defences=["RR(1)"], attacks=["Replay-T", "VisitProb-T"], seed=1)
    assert 0.795 < row.scores.trace_inference["Replay-T"] < 0.81
    assert row.scores.trace_inference["Replay-T"] < row.scores.trace_inference["VisitProb-T"]
