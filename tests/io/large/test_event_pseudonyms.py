"""Folders of parts that `pseudonymise` writes of events, and of what was released of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.io.large.event_tables import crowd, laid_out, options_of

from tracearena.engine import use
from tracearena.io import read

pytestmark = pytest.mark.usefixtures("small_portions")
PARTS = ("--to", "partitions")
KINDS = ["events", "text events", "release"]


@pytest.fixture
def table(request: pytest.FixtureRequest, tmp_path: Path, run: Callable[..., str]) -> Path:
    """A table of events in any order, or of what was released of it."""
    path = laid_out(tmp_path, "shuffled csv" if request.param == "text events" else "shuffled", crowd())
    if request.param != "release":
        return path
    grid = [word for name, value in options_of("on a grid").items() for word in (f"--{name}", value)]
    run("obfuscate", "MRLH(1,1,0.4)", path, tmp_path / "released", *PARTS, *grid, "--seed", 1)
    return tmp_path / "released"


def parts_of(folder: Path) -> list[Path]:
    assert {file.suffix for file in folder.iterdir()} == {".parquet"}
    return sorted(folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "seed"),
    [
        ("events", ("--seed", "5")),
        ("events", ()),
        ("release", ("--seed", "5")),
        pytest.param("release", (), marks=pytest.mark.long),
        pytest.param("text events", ("--seed", "5"), marks=pytest.mark.long),
        pytest.param("text events", (), marks=pytest.mark.long),
    ],
    indirect=["table"],
)
def test_parts_are_the_whole_in_pieces_and_a_stopped_run_goes_on(
    table: Path,
    seed: tuple[str, ...],
    tmp_path: Path,
    run: Callable[..., str],
    stop: Callable[..., dict[str, int]],
) -> None:
    out, ids = tmp_path / "out", tmp_path / "ids.csv"
    before = {one.name for one in tmp_path.iterdir()}
    command = ("pseudonymise", table, out, *PARTS, "--id-table", ids, *seed)
    left = stop(*command)
    assert {one.name for one in tmp_path.iterdir()} == {*before, "out.unfinished"}
    assert (tmp_path / "out.unfinished").stat().st_mode & 0o077 == 0
    run(*command, "--resume")
    assert {one.name for one in tmp_path.iterdir()} == {*before, "out", "ids.csv", "ids.csv.salt"}
    assert {name: (out / name).stat().st_mtime_ns for name in left} == left
    parts = pl.read_parquet(out / "*.parquet")
    pseudonyms = pl.read_csv(ids)["pse_id"].to_list()
    assert parts["user_id"].unique(maintain_order=True).to_list() == pseudonyms == sorted(pseudonyms)
    if seed:
        with use(chunk_rows=10**9):
            run("pseudonymise", table, tmp_path / "one.parquet", "--id-table", tmp_path / "other.csv", *seed)
        assert parts.equals(pl.read_parquet(tmp_path / "one.parquet"))
        assert ids.read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("table", ["events", "release"], indirect=True)
def test_neither_names_nor_times_nor_sizes_of_parts_tell_how_users_stood_before(
    table: Path, tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEARENA_THREADS", "1")
    out, ids = tmp_path / "out", tmp_path / "ids.csv"
    run("pseudonymise", table, out, *PARTS, "--id-table", ids, "--seed", 5)
    parts = parts_of(out)
    assert len(parts) > 3
    users = [pl.read_parquet(part)["user_id"].unique(maintain_order=True).to_list() for part in parts]
    assert [user for some in users for user in some] == pl.read_csv(ids)["pse_id"].to_list()
    written = [part.stat().st_mtime_ns for part in parts]
    assert written == sorted(written)
    who = dict(pl.read_csv(ids).iter_rows())
    before = [who[user] for some in users for user in some]
    assert before != sorted(before)


@pytest.mark.parametrize("table", ["events"], indirect=True)
def test_parts_of_events_can_be_trained_on(table: Path, tmp_path: Path, run: Callable[..., str]) -> None:
    run("pseudonymise", table, tmp_path / "out", *PARTS, "--id-table", tmp_path / "ids.csv")
    users = [pl.read_parquet(part)["user_id"].n_unique() for part in parts_of(tmp_path / "out")]
    assert {count % 1_024 for count in users[:-1]} == {0}
    assert sum(users) == crowd()["user_id"].n_unique()
    assert read(tmp_path / "out").traces.n_events == len(crowd())


@pytest.mark.slow
@pytest.mark.parametrize("table", ["events", "release"], indirect=True)
def test_a_run_that_was_killed_at_its_very_end_goes_on_with_its_id_table(
    table: Path, tmp_path: Path, run: Callable[..., str], kill_at_the_end: Callable[..., None]
) -> None:
    secrets = (tmp_path / "ids.csv", tmp_path / "ids.csv.salt")
    command = ("pseudonymise", table, tmp_path / "out", *PARTS, "--id-table", secrets[0])
    kill_at_the_end(*command)
    kept = [one.read_bytes() for one in secrets]
    told = json.loads(run(*command, "--resume", "--json"))
    assert [one.read_bytes() for one in secrets] == kept
    assert told["pseudonyms"] == pl.read_parquet(table / "*.parquet")["user_id"].n_unique()
    assert len(parts_of(tmp_path / "out")) > 3


@pytest.mark.slow
@pytest.mark.parametrize("table", ["release"], indirect=True)
def test_a_release_does_not_go_on_with_other_places(
    table: Path, tmp_path: Path, run: Callable[..., str], stop: Callable[..., dict[str, int]]
) -> None:
    listed = pl.read_parquet(table / "*.parquet").explode("places", "lat", "lng").drop_nulls()
    places = listed.unique("places").select("lat", "lng", place="places")
    places.write_csv(tmp_path / "places.csv")
    places.with_columns(pl.col("lat") + 0.1).write_csv(tmp_path / "elsewhere.csv")
    command = ("pseudonymise", table, tmp_path / "out", *PARTS, "--id-table", tmp_path / "ids.csv")
    stop(*command, "--places", tmp_path / "places.csv")
    elsewhere = run(*command, "--places", tmp_path / "elsewhere.csv", "--resume", status=2)
    assert "belongs to a run with other" in elsewhere
    run(*command, "--places", tmp_path / "places.csv", "--resume")


@pytest.mark.long
@pytest.mark.parametrize("table", KINDS, indirect=True)
def test_workers_shuffle_as_threads_do(
    table: Path, tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    for name, cluster in (("here", ()), ("there", workers)):
        ids = ("--id-table", tmp_path / f"{name}.csv", "--seed", 1)
        run("pseudonymise", table, tmp_path / name, *PARTS, *ids, *cluster)
    assert len(parts_of(tmp_path / "here")) > 3
    for here, there in zip(parts_of(tmp_path / "here"), parts_of(tmp_path / "there"), strict=True):
        assert here.read_bytes() == there.read_bytes()
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


@pytest.mark.slow
def test_what_cannot_be_written_in_parts_is_refused(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(tmp_path, "file")
    run("obfuscate", "RR(2)", path, tmp_path / "released.csv", "--seed", 1)
    run("obfuscate", "RR(2)", path, tmp_path / "released.parquet", "--seed", 1)
    (tmp_path / "gowalla.txt").write_text("1\t2024-05-01T12:00:00Z\t35.7\t139.7\t7\n")
    released, original = tmp_path / "released.parquet", ("--original", path)
    there = {one.name for one in tmp_path.iterdir()}
    for given, problem in [
        ((tmp_path / "gowalla.txt", "out", *PARTS), "needs a CSV or Parquet file of events"),
        ((tmp_path / "released.csv", "out", *PARTS), "needs a Parquet file of released traces"),
        ((released, "out", *PARTS, *original), "--to does not apply to a release compared with --original"),
        ((released, "out.parquet", "--resume"), "--resume needs --to partitions"),
        ((path, "out.parquet", "--cluster", "local:2"), "--cluster needs --to partitions"),
        ((path, "out", *PARTS, "--resume"), "there is no interrupted run"),
        ((path, "out", "--to", "table"), "partitions"),
    ]:
        source, name, *how = given
        command = ("pseudonymise", source, tmp_path / name, "--id-table", tmp_path / "ids.csv", *how)
        assert problem in run(*command, status=2)
    assert {one.name for one in tmp_path.iterdir()} == there
