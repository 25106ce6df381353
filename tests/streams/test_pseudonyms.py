"""`pseudonymise` of tables of points that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.streams.tables import city, laid_out

from tracearena.cli import _streams
from tracearena.streams import portions, transforming


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("layout", "name"),
    [
        ("file", "out.parquet"),
        ("shuffled", "out.parquet"),
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
    shuffled, made = portions.shuffled, list[portions.Table]()

    def kept(*given: object, **options: object) -> portions.Table:
        made.append(shuffled(*given, **options))  # type: ignore[arg-type]
        return made[-1]

    for way, limit in (("streamed", 1), ("whole", 10**9)):
        monkeypatch.setattr(_streams, "STREAMED_FROM", limit)
        monkeypatch.setattr("tracearena.streams.shuffled", kept)
        (tmp_path / way).mkdir()
        arguments = (path, tmp_path / way / name, "--id-table", tmp_path / way / "ids.csv")
        run("pseudonymise", *arguments, "--seed", 5)
    assert [len(table.portions) > 3 for table in made] == [True]
    read = pl.read_parquet if name.endswith(".parquet") else pl.read_csv
    assert read(tmp_path / "streamed" / name).equals(read(tmp_path / "whole" / name))
    assert (tmp_path / "streamed" / "ids.csv").read_bytes() == (tmp_path / "whole" / "ids.csv").read_bytes()
    names = sorted(one.name for one in (tmp_path / "streamed").iterdir())
    assert names == ["ids.csv", "ids.csv.salt", name]


@pytest.mark.usefixtures("small_portions")
def test_a_run_that_is_stopped_leaves_no_release_and_no_secret(
    tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, "csv")
    change, seen = transforming._changed, list[int]()

    def interrupted(table: object, way: object, number: int) -> object:
        seen.append(number)
        if len(seen) > 3:
            raise KeyboardInterrupt
        return change(table, way, number)  # type: ignore[arg-type]

    monkeypatch.setattr(transforming, "_changed", interrupted)
    run("pseudonymise", path, tmp_path / "out.parquet", "--id-table", tmp_path / "ids.csv", status=130)
    assert [one.name for one in tmp_path.iterdir()] == ["points.csv"]


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("seed", [("--seed", "5"), ()])
def test_parts_are_the_file_in_pieces_and_a_stopped_run_goes_on(
    seed: tuple[str, ...], tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, "shuffled")
    out, ids = tmp_path / "out", tmp_path / "ids.csv"
    command = ("pseudonymise", path, out, "--to", "partitions", "--id-table", ids, *seed)
    write, written = transforming.write_part, list[Path]()

    def interrupted(traces: object, part: Path) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(part)
        write(traces, part)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setenv("TRACEARENA_THREADS", "1")
        patch.setattr(transforming, "write_part", interrupted)
        assert "--resume goes on" in run(*command, status=130)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.unfinished", "points"]
    left = {part.name: part.stat().st_mtime_ns for part in written}
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
@pytest.mark.usefixtures("small_portions")
def test_workers_shuffle_as_threads_do(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(city(), tmp_path, "parts")
    for name, cluster in (("here", ()), ("there", ("--cluster", "local:2"))):
        ids = ("--id-table", tmp_path / f"{name}.csv", "--seed", 1)
        run("pseudonymise", path, tmp_path / name, "--to", "partitions", *ids, *cluster)
    assert len([*(tmp_path / "here").iterdir()]) > 3
    for part in (tmp_path / "here").iterdir():
        assert part.read_bytes() == (tmp_path / "there" / part.name).read_bytes()
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


def test_parts_are_of_gps_traces_alone(tmp_path: Path, run: Callable[..., str]) -> None:
    events = tmp_path / "events.csv"
    events.write_text("user,time,place,lat,lon\n1,2024-05-01T12:00:00Z,a,35.7,139.7\n")
    given = ("--id-table", tmp_path / "ids.csv", "--to")
    assert "--to" in run("pseudonymise", events, tmp_path / "out", *given, "partitions", status=2)
    path = laid_out(city(3, 3), tmp_path, "file")
    assert "partitions" in run("pseudonymise", path, tmp_path / "out", *given, "gpx", status=2)
