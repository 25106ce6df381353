"""The utility of a release that is too large to read whole is that of the whole, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.io.large.event_tables import city, laid_out, options_of

from tracearena.engine import use

SCORE = ("score", "utility", "--json")
Score = Callable[..., dict[str, object]]


@pytest.fixture
def score(run: Callable[..., str]) -> Score:
    """Score a release beside its original, in parts and as a whole, and compare."""

    def scored(original: Path, obfuscated: Path, *options: object) -> dict[str, object]:
        command = (*SCORE, "--original", original, "--obfuscated", obfuscated, *options)
        streamed: dict[str, object] = json.loads(run(*command))
        with use(chunk_rows=10**9):
            assert json.loads(run(*command)) == streamed
        return streamed

    return scored


def released(run: Callable[..., str], defence: str, path: Path, out: Path, *options: object) -> Path:
    run("obfuscate", defence, path, out, "--seed", 4, *options)
    return out


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("defence", "layout"),
    [("PL(4,1)", "shuffled"), ("RR(3)", "numbered"), ("MRLH(1,1,0.4)", "on a grid"), ("No", "offsets")],
)
def test_a_large_release_is_scored_as_a_small_one(
    defence: str, layout: str, tmp_path: Path, run: Callable[..., str], score: Score
) -> None:
    path = laid_out(tmp_path, layout)
    how = [word for name, value in options_of(layout).items() for word in (f"--{name}", value)]
    parts = released(run, defence, path, tmp_path / "parts", "--to", "partitions", *how)
    found = score(path, parts, *how)
    assert found["cells"] == len(pl.read_parquet(parts / "*.parquet"))
    assert (found["utility"] == 1) == (defence == "No")


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_a_release_in_any_order_is_scored_beside_its_original(
    tmp_path: Path, run: Callable[..., str], score: Score
) -> None:
    path = laid_out(tmp_path, "file")
    one = released(run, "PL(4,1)", path, tmp_path / "one.parquet")
    frame = pl.read_parquet(one)
    mixed = tmp_path / "mixed.parquet"
    frame[np.random.default_rng(2).permutation(frame.height)].write_parquet(mixed)
    assert score(path, mixed) == score(path, one)


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (pl.col("time") + pl.duration(minutes=67), "at other times or places than the original"),
        (pl.col("time").dt.offset_by("-9000y"), "part-00002.parquet: row 1, column time"),
        (pl.col("lat").list.head(0), "part-00002.parquet: row 1, column lat"),
        (pl.col("user_id") + 1000, "has a user '1009' who is not in the original"),
    ],
)
def test_a_release_of_something_else_is_refused(
    change: pl.Expr, problem: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(tmp_path, "file")
    parts = released(run, "PL(4,1)", path, tmp_path / "parts", "--to", "partitions")
    part = parts / "part-00002.parquet"
    pl.read_parquet(part).with_columns(change).write_parquet(part)
    assert problem in run(*SCORE, "--original", path, "--obfuscated", parts, status=2)


@pytest.mark.usefixtures("small_portions")
def test_a_lost_part_is_noticed(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(tmp_path, "file")
    parts = released(run, "PL(4,1)", path, tmp_path / "parts", "--to", "partitions")
    (parts / "part-00001.parquet").unlink()
    said = run(*SCORE, "--original", path, "--obfuscated", parts, status=2)
    assert "has 0 events of user '5', but the original has 144" in said


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_workers_score_as_threads_do(
    tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    path = laid_out(tmp_path, "file")
    parts = released(run, "RR(3)", path, tmp_path / "parts", "--to", "partitions")
    command = (*SCORE, "--original", path, "--obfuscated", parts)
    found = json.loads(run(*command))
    assert found["cells"] == city().n_events
    assert json.loads(run(*command, *workers)) == found
