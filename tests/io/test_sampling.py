"""A sample of people: drawn at random, with all of their rows and nobody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena.io import read, write
from tracearena.io.suggestions import Sample
from tracearena.traces import Traces

PEOPLE = 400
ROWS = 6


def table(*, people: int = PEOPLE, names: bool = True) -> pl.DataFrame:
    """Rows of people in turn, of whom everybody has six."""
    number = pl.int_range(people * ROWS, eager=True)
    user = number % people
    return pl.DataFrame(
        {
            "user_id": "person " + user.cast(pl.String) if names else user,
            "time": pl.from_epoch(1_333_000_000 + 600 * number).dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lat": 40 + number / 10_000,
            "lng": -74 + number / 10_000,
        }
    )


def file_of(folder: Path, form: str, frame: pl.DataFrame) -> Path:
    path = folder / f"t.{form}"
    if form == "parts":
        path.mkdir()
        frame[:1000].write_parquet(path / "part-1.parquet")
        frame[1000:].write_parquet(path / "part-2.parquet")
    elif form == "parquet":
        frame.write_parquet(path, row_group_size=500)
    else:
        frame.write_csv(path)
    return path


@pytest.mark.parametrize("names", [True, False], ids=["names", "numbers"])
@pytest.mark.parametrize("form", ["csv", "parquet", "parts"])
def test_people_who_are_drawn_have_all_of_their_rows(tmp_path: Path, form: str, names: bool) -> None:
    path = file_of(tmp_path, form, table(names=names))
    whole = read(path).traces
    some, report = read(path, sample=Sample(users=50, seed=3))
    assert (some.n_users, report.sampled) == (50, (50, PEOPLE))
    assert f"a random sample of 50 of {PEOPLE} people was read" in "\n".join(report.lines())
    at = np.flatnonzero(np.isin(whole.user_ids, some.user_ids))
    assert some == whole.take_users(at).with_trajectory_ids(some.trajectory_ids)
    again = read(path, sample=Sample(users=50, seed=3)).traces
    other = read(path, sample=Sample(users=50, seed=4)).traces
    assert again == some
    assert set(other.user_ids.tolist()) != set(some.user_ids.tolist())


@pytest.mark.parametrize("form", ["csv", "parquet", "parts"])
def test_all_people_are_read_where_there_are_no_more(tmp_path: Path, form: str) -> None:
    path = file_of(tmp_path, form, table())
    traces, report = read(path, sample=Sample(users=PEOPLE))
    assert (traces, report.sampled) == (read(path).traces, None)


def test_everybody_is_as_likely_to_be_drawn() -> None:
    counts = pl.DataFrame({"user": range(100), "len": [1] * 100})
    drawn = [Sample(users=20, seed=seed).draw_users(counts) for seed in range(500)]
    often = np.bincount(np.concatenate([one.to_numpy() for one in drawn if one is not None]), minlength=100)
    # Chi-square with 99 degrees of freedom, of counts whose variance is 500 x 0.2 x 0.8.
    assert ((often - 100) ** 2 / 80).sum() < 149


def test_people_with_many_rows_are_fewer_but_at_least_200() -> None:
    counts = pl.DataFrame({"user": range(5000), "len": [1000] * 5000})
    for rows, people in ((2_000_000, 2000), (500_000, 500), (1000, 200)):
        drawn = Sample(users=2000, rows=rows).draw_users(counts)
        assert drawn is not None
        assert len(drawn) == people


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_keep_their_numbers(tmp_path: Path, form: str) -> None:
    good = table()
    path = file_of(tmp_path, form, good.with_columns(good["lat"].scatter(2000, 95.0)))
    drawn = (read(path, sample=Sample(users=200, seed=seed)).report for seed in range(40))
    report = next(one for one in drawn if one.dropped)
    assert report.examples[0].fault.row == 2001


def test_of_other_formats_people_are_drawn_after_reading(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    write(make_check_ins(users=60, events=900), tmp_path / "t.txt", to="gowalla")
    traces, report = read(tmp_path / "t.txt", sample=Sample(users=25, seed=1))
    assert (traces.n_users, report.sampled) == (25, (25, 60))
    whole = read(tmp_path / "t.txt").traces
    drawn = np.flatnonzero(np.isin(whole.user_ids, traces.user_ids))
    assert traces == whole.take_users(drawn)


@pytest.mark.slow
def test_a_quick_audit_says_how_many_people_it_read(tmp_path: Path) -> None:
    path = file_of(tmp_path, "parquet", table(people=2100).with_columns(place=pl.col("lat").cast(pl.String)))
    done = tracearena("audit", path, "--quick", "--seed", 1, "--out", tmp_path / "audit")
    assert done.status == 0, done.err
    assert "people read: 2,000 of 2,100 (a random sample" in done.err
    assert "2,000 of 2,100" in (tmp_path / "audit" / "audit.html").read_text()
