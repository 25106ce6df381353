"""`pseudonymise` of tables of points that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.command_line import tracearena
from tests.io.large.tables import city, laid_out

from tracearena.engine import use
from tracearena.io.large import user_chunks


@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize(
    ("layout", "name"),
    [
        pytest.param("file", "out.parquet", marks=pytest.mark.long),
        pytest.param("shuffled", "out.parquet", marks=pytest.mark.long),
        ("shuffled csv", "out.csv"),
        ("text ids", "out.parquet"),
        ("no trajectories", "out.csv"),
        ("overlapping", "out.parquet"),
    ],
)
def test_a_large_table_gets_the_pseudonyms_of_a_small_one(
    layout: str, name: str, tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, layout)
    shuffled, made = user_chunks.shuffle_users, list[user_chunks.UserChunkTable]()

    def kept(*given: object, **options: object) -> user_chunks.UserChunkTable:
        made.append(shuffled(*given, **options))  # type: ignore[arg-type]
        return made[-1]

    for way, chunk_rows in (("streamed", 9_000), ("whole", 10**9)):
        monkeypatch.setattr("tracearena.jobs.pseudonyms.shuffle_users", kept)
        (tmp_path / way).mkdir()
        arguments = (path, tmp_path / way / name, "--id-table", tmp_path / way / "ids.csv")
        with use(chunk_rows=chunk_rows):
            run("pseudonymise", *arguments, "--seed", 5)
    assert [len(table.portions) > 3 for table in made] == [True]
    read = pl.read_parquet if name.endswith(".parquet") else pl.read_csv
    assert read(tmp_path / "streamed" / name).equals(read(tmp_path / "whole" / name))
    assert (tmp_path / "streamed" / "ids.csv").read_bytes() == (tmp_path / "whole" / "ids.csv").read_bytes()
    names = sorted(one.name for one in (tmp_path / "streamed").iterdir())
    assert names == ["ids.csv", "ids.csv.salt", name]


@pytest.mark.usefixtures("portions_of_points")
def test_a_run_that_is_stopped_leaves_no_release_and_no_secret(
    tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, "csv")
    traces, seen = user_chunks.UserChunkTable.traces, list[int]()

    def interrupted(table: user_chunks.UserChunkTable, number: int) -> object:
        seen.append(number)
        if len(seen) > 3:
            raise KeyboardInterrupt
        return traces(table, number)

    monkeypatch.setattr(user_chunks.UserChunkTable, "traces", interrupted)
    run("pseudonymise", path, tmp_path / "out.parquet", "--id-table", tmp_path / "ids.csv", status=130)
    assert len(seen) > 3
    assert [one.name for one in tmp_path.iterdir()] == ["points.csv"]


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("seed", [("--seed", "5"), ()])
def test_parts_are_the_file_in_pieces_and_a_stopped_run_goes_on(
    seed: tuple[str, ...],
    tmp_path: Path,
    run: Callable[..., str],
    stop: Callable[..., dict[str, int]],
) -> None:
    path = laid_out(city(), tmp_path, "shuffled")
    out, ids = tmp_path / "out", tmp_path / "ids.csv"
    command = ("pseudonymise", path, out, "--to", "partitions", "--id-table", ids, *seed)
    left = stop(*command)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.unfinished", "points"]
    run(*command, "--resume")
    assert {name: (out / name).stat().st_mtime_ns for name in left} == left
    assert {file.suffix for file in out.iterdir()} == {".parquet"}
    parts = pl.read_parquet(out / "*.parquet")
    names, pseudonyms = parts["user_id"].unique(maintain_order=True), pl.read_csv(ids)["pse_id"]
    assert names.to_list() == sorted(pseudonyms.to_list())
    assert parts["traj"].unique().sort().to_list() == list(range(parts["traj"].n_unique()))
    assert parts.filter(parts["traj"] != parts["traj"].shift())["traj"].is_sorted()
    if seed:
        one = tmp_path / "one.parquet"
        run("pseudonymise", path, one, "--id-table", tmp_path / "other.csv", *seed)
        assert parts.equals(pl.read_parquet(one))
        assert ids.read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
def test_workers_shuffle_as_threads_do(
    tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    path = laid_out(city(), tmp_path, "parts")
    for name, cluster in (("here", ()), ("there", workers)):
        ids = ("--id-table", tmp_path / f"{name}.csv", "--seed", 1)
        run("pseudonymise", path, tmp_path / name, "--to", "partitions", *ids, *cluster)
    assert len([*(tmp_path / "here").iterdir()]) > 3
    for part in (tmp_path / "here").iterdir():
        assert part.read_bytes() == (tmp_path / "there" / part.name).read_bytes()
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("seed", [("--seed", "5"), ()])
def test_a_run_that_was_killed_at_its_very_end_goes_on_with_its_id_table(
    seed: tuple[str, ...],
    again: bool,
    tmp_path: Path,
    run: Callable[..., str],
    kill_at_the_end: Callable[..., None],
) -> None:
    path = laid_out(city(), tmp_path, "file")
    out, secrets = tmp_path / "out", (tmp_path / "ids.csv", tmp_path / "ids.csv.salt")
    command = ("pseudonymise", path, out, "--to", "partitions", "--id-table", secrets[0], *seed)
    kill_at_the_end(*command)
    assert not out.exists()
    kept = [(one.read_bytes(), one.stat().st_mtime_ns) for one in secrets]
    told = json.loads(run(*command, "--resume", "--json", *(["--again"] if again else [])))
    assert [(one.read_bytes(), one.stat().st_mtime_ns) for one in secrets] == kept
    assert told["commitment"] == hashlib.sha256(kept[1][0] + kept[0][0]).hexdigest()
    pseudonyms = pl.read_csv(secrets[0])["pse_id"]
    assert pl.read_parquet(out / "*.parquet")["user_id"].unique().sort().equals(pseudonyms, check_names=False)


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("stopped", ["after two parts", "before any"])
def test_a_run_that_goes_on_replaces_no_other_id_table(
    stopped: str,
    tmp_path: Path,
    run: Callable[..., str],
    stop: Callable[..., dict[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = laid_out(city(), tmp_path, "file")
    out, ids, salt = tmp_path / "out", tmp_path / "ids.csv", tmp_path / "ids.csv.salt"
    command = ("pseudonymise", path, out, "--to", "partitions", "--id-table", ids)
    if stopped == "before any":
        with monkeypatch.context() as patch:
            patch.setattr("tracearena.jobs.pseudonyms.shuffle_users", interrupted)
            run(*command, status=130)
    else:
        stop(*command)
    for there in (
        {ids: "pse_id,user_id\n7,1\n"},
        {ids: "pse_id,user_id\n7,1\n", salt: "0" * 64},
        {salt: "0"},
    ):
        for file, text in there.items():
            file.write_text(text)
        assert "only way to reverse" in run(*command, "--resume", status=2)
        assert {file: file.read_text() for file in there} == there
        for file in there:
            file.unlink()
    assert not out.exists()
    run(*command, "--resume")
    assert len(pl.read_csv(ids)) == city().n_users


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("portions_of_points")
def test_an_id_table_whose_salt_is_of_something_else_is_not_the_runs_own(
    tmp_path: Path, run: Callable[..., str], kill_at_the_end: Callable[..., None]
) -> None:
    path, ids = laid_out(city(), tmp_path, "file"), tmp_path / "ids.csv"
    command = ("pseudonymise", path, tmp_path / "out", "--to", "partitions", "--id-table", ids)
    kill_at_the_end(*command)
    (tmp_path / "ids.csv.salt").write_text("")
    assert "only way to reverse" in run(*command, "--resume", status=2)
    assert "no longer valid" in tracearena(*command, "--resume", "--again").err


def test_parts_have_one_name(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(city(3, 3), tmp_path, "file")
    given = ("--id-table", tmp_path / "ids.csv", "--to", "gpx")
    assert "partitions" in run("pseudonymise", path, tmp_path / "out", *given, status=2)
