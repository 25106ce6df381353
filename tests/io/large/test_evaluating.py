"""The utility of synthetic traces that are too many to read at once is that of the whole, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena
from tests.io.large.event_tables import frame_of, laid_out

from tracearena.engine import use

UTILITY = ("evaluate", "--utility-only", "--json")
PRIVACY = {
    *("reidentification_rate", "membership_advantage"),
    *("membership_accuracy", "membership_accuracy_guess"),
}


def tables(folder: Path, layout: str, *, kept: float = 0.6) -> list[object]:
    """Write training, testing and synthetic traces; return the options that name them."""
    rng = np.random.default_rng(7)
    frame = frame_of(layout)
    users = frame["user_id"].unique(maintain_order=True)
    people = {
        "train": frame.filter(pl.col("user_id").is_in(users[:22].implode())),
        "test": frame.filter(pl.col("user_id").is_in(users[22:].implode())),
    }
    at = ["place", "lat", "lng"]
    real = people["train"]
    people["synthetic"] = real.with_columns(real.select(at)[rng.permutation(real.height)])
    words: list[object] = []
    for name, own in people.items():
        (folder / name).mkdir(exist_ok=True)
        some = own.filter(pl.Series(rng.random(own.height) < kept))
        words += [f"--{name}", laid_out(folder / name, layout, some)]
    return words


def in_portions(run: Callable[..., str], *words: object) -> dict[str, Any]:
    """Evaluate tables that must not be read at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracearena.io.read", None)
        found: dict[str, Any] = json.loads(run(*UTILITY, *words))
    return found


def at_once(run: Callable[..., str], *words: object) -> dict[str, Any]:
    with use(chunk_rows=10**9):
        found: dict[str, Any] = json.loads(run(*words))
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("layout", "more"),
    [
        ("parts", ()),
        ("shuffled", ("--against", "training")),
        ("text ids", ("--slots", "weekday 0-12,12-24; weekend 0-24")),
        ("numbered", ("--bounds", "34.8,149.9,35.1,150.3")),
        ("UTC", ("--timezone", "America/New_York")),
        ("twenty minutes", ("--slot", "2h")),
        ("packed csv", ()),
    ],
)
def test_large_tables_are_as_useful_as_small_ones(
    layout: str, more: tuple[str, ...], tmp_path: Path, run: Callable[..., str]
) -> None:
    words = [*tables(tmp_path, layout), *more]
    found = in_portions(run, *words)
    assert found == at_once(run, *UTILITY, *words)
    assert found["vf_tv"] is not None
    assert found["halves"]["users"] == [11, 11]
    assert not PRIVACY & set(found)


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_complete_traces_have_no_visit_fractions(tmp_path: Path, run: Callable[..., str]) -> None:
    words = tables(tmp_path, "file", kept=1)
    found = in_portions(run, *words)
    assert found["vf_tv"] is found["halves"]["mean"]["vf_tv"] is None
    assert found == at_once(run, *UTILITY, *words)


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("slots", ["", "weekday 0-12,12-24; weekend 0-24"])
def test_days_of_synthetic_traces_may_be_numbers(slots: str, tmp_path: Path, run: Callable[..., str]) -> None:
    words = tables(tmp_path, "file")
    (tmp_path / "numbered").mkdir()
    words[-1] = tables(tmp_path / "numbered", "numbered")[-1]
    words += ["--slots", slots] if slots else []
    assert in_portions(run, *words) == at_once(run, *UTILITY, *words)


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_the_exact_distance_is_that_of_the_whole(tmp_path: Path, run: Callable[..., str]) -> None:
    pytest.importorskip("ot")
    words = [*tables(tmp_path, "file"), "--exact-emd"]
    found = in_portions(run, *words)
    assert found["tm_emd_exact"] > found["tm_emd_sliced"]
    assert found == at_once(run, *UTILITY, *words)


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_folders_that_name_a_column_are_tables_too(tmp_path: Path, run: Callable[..., str]) -> None:
    (tmp_path / "hive").mkdir()
    (tmp_path / "file").mkdir()
    found = [in_portions(run, *tables(tmp_path / layout, layout)) for layout in ("hive", "file")]
    assert found[0] | {"file": ""} == found[1] | {"file": ""}


@pytest.mark.slow
def test_without_the_attacks_the_rest_is_the_same(tmp_path: Path, run: Callable[..., str]) -> None:
    words = tables(tmp_path, "file")
    all_of_it = at_once(run, "evaluate", "--json", *words)
    assert set(all_of_it) >= PRIVACY
    assert {name: value for name, value in all_of_it.items() if name not in PRIVACY} == at_once(
        run, *UTILITY, *words
    )


@pytest.mark.usefixtures("small_portions")
def test_with_the_attacks_large_tables_are_read_at_once_and_it_is_said(tmp_path: Path) -> None:
    done = tracearena("evaluate", "--json", *tables(tmp_path, "file"))
    assert set(done.json) >= PRIVACY
    assert "--utility-only, which leaves out the attacks" in done.err


def test_people_are_shown_utility_alone(tmp_path: Path, run: Callable[..., str]) -> None:
    shown = run("evaluate", "--utility-only", *tables(tmp_path, "file"))
    assert "tp tv" in shown
    assert "membership" not in shown


@pytest.mark.usefixtures("small_portions")
def test_what_attacks_need_does_not_apply_to_utility_alone(tmp_path: Path, run: Callable[..., str]) -> None:
    words = tables(tmp_path, "file")
    said = run(*UTILITY, *words, "--legacy-ppmtf", status=2)
    assert "--legacy-ppmtf does not apply to utility alone" in said
    said = run(*UTILITY, *words, "--top", 5, "--cluster", "local:2", status=2)
    assert "is restricted to the most visited places, which needs all rows at once" in said


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_workers_count_as_threads_do(
    tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    words = tables(tmp_path, "parts")
    assert in_portions(run, *words, *workers) == in_portions(run, *words)
