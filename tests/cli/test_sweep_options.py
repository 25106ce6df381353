"""What attackers know, and tuned attacks, in `tracearena sweep`."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Done

WHAT = ("--defences", "No", "--defences", "PL(2,1)", "--seed", 1, "--json")


@pytest.fixture
def sweep(run: Callable[..., Done], team: Path) -> Callable[..., Done]:
    """Sweep the small team."""
    files = ("--places", team / "places.csv", "--reference", team / "ref.csv", "--original", team / "org.csv")
    return lambda *options: run("sweep", team / "table.csv", *files, *WHAT, *options)


def test_the_command_says_what_attackers_know(sweep: Callable[..., Done]) -> None:
    result = sweep("--knowledge", "maximum").json
    assert result["knowledge"] == "maximum"
    assert result["best_s_T_min"] is None
    assert result["best_s_R_min"] == 0
    assert sweep().json["knowledge"] is None


@pytest.mark.slow
def test_the_table_has_tuned_and_untuned_minima(sweep: Callable[..., Done], team: Path) -> None:
    result = sweep("--tune").json
    with (team / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert float(row["s_R_min_tuned"]) == min(float(row["s_R_min"]), float(row["s_R_tuned"]))
        assert float(row["s_T_min_tuned"]) == min(float(row["s_T_min"]), float(row["s_T_tuned"]))
        assert row["tuned_R"].startswith("FuzzyCount-R")
    lowered = [float(row["s_R_min"]) - float(row["s_R_min_tuned"]) for row in rows]
    assert result["tuning_lowers_s_R_min"] == pytest.approx(sum(lowered) / len(lowered))


@pytest.mark.slow
def test_sample_teams_are_read_from_contest_files(sweep: Callable[..., Done], team: Path) -> None:
    folder = team / "everybody"
    folder.mkdir()
    for name, source in (
        ("info_region", "places"),
        ("reftraces_team001", "ref"),
        ("orgtraces_team001", "org"),
    ):
        (folder / f"{name}.csv").write_bytes((team / f"{source}.csv").read_bytes())
    assert sweep("--tune", "--samples", folder).status == 0
    refused = sweep("--samples", folder)
    assert refused.status == 2
    assert "--samples" in refused.err
