"""The commands on tables that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.streams.tables import city, laid_out

from tracearena.cli import _streams
from tracearena.streams import portions, transforming

GEOIND = ("obfuscate", "GeoInd(100m)")


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_streams, "STREAMED_FROM", 1)
    monkeypatch.setattr(
        portions.table_of, "__kwdefaults__", {**portions.table_of.__kwdefaults__, "portion": 20_000}
    )


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("name", ["out.parquet", "out.csv"])
def test_a_large_file_is_obfuscated_as_a_small_one(
    name: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(), tmp_path, "parts")
    streamed = json.loads(run(*GEOIND, path, tmp_path / name, "--seed", 3, "--json"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_streams, "STREAMED_FROM", 10**9)
        whole = json.loads(run(*GEOIND, path, tmp_path / f"whole-{name}", "--seed", 3, "--json"))
    assert {**streamed, "file": ""} == {**whole, "file": ""}
    if name.endswith(".csv"):
        assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    else:
        assert pl.read_parquet(tmp_path / name).equals(pl.read_parquet(tmp_path / f"whole-{name}"))


@pytest.mark.usefixtures("small_portions")
def test_a_large_file_is_described_as_a_small_one(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(city(), tmp_path, "parts")
    streamed = json.loads(run("describe", path, "--json"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_streams, "STREAMED_FROM", 10**9)
        assert streamed == json.loads(run("describe", path, "--json"))


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("seed", [("--seed", "3"), ()])
def test_a_stopped_run_goes_on_where_it_was(
    seed: tuple[str, ...], tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, "shuffled")
    out, command = tmp_path / "out", (*GEOIND, path, tmp_path / "out", "--to", "partitions", *seed)
    written: list[Path] = []
    write = transforming.write_part

    def interrupted(traces: object, part: Path) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(part)
        write(traces, part)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setenv("TRACEARENA_THREADS", "1")
        patch.setattr(transforming, "write_part", interrupted)
        said = run(*command, status=130)
    assert "2 of " in said
    assert "--resume goes on" in said
    left = {part.name: part.stat().st_mtime_ns for part in written}
    assert not out.exists()
    unfinished = tmp_path / "out.unfinished"
    assert (unfinished / "secret-root").exists() == (not seed)
    assert "--resume goes on" in run(*command, status=2)
    other = run("obfuscate", "GeoInd(200m)", *command[2:], "--resume", status=2)
    assert "is of another run" in other
    run(*command, "--resume")
    assert not unfinished.exists()
    assert {name: (out / name).stat().st_mtime_ns for name in left} == left
    assert {file.suffix for file in out.iterdir()} == {".parquet"}
    assert len(pl.read_parquet(out / "*.parquet")) == len(city())
    if seed:
        undisturbed = tmp_path / "undisturbed"
        run(*GEOIND, path, undisturbed, "--to", "partitions", *seed)
        assert all(part.read_bytes() == (out / part.name).read_bytes() for part in undisturbed.iterdir())


def test_what_cannot_be_streamed_is_refused_where_it_is_asked_for(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(3, 3), tmp_path, "file")
    city(3, 3).to_frame().write_csv(tmp_path / "p.csv")
    for arguments, problem in [
        ((tmp_path / "p.csv", tmp_path / "out", "--to", "partitions"), "needs a Parquet file of points"),
        ((path, tmp_path / "o.parquet", "--resume"), "needs --to partitions"),
        ((path, tmp_path / "out", "--to", "partitions", "--resume"), "there is no stopped run"),
    ]:
        assert problem in run(*GEOIND, *arguments, status=2)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["p.csv", "points.parquet"]


def test_a_broken_part_leaves_nothing_behind(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(city(), tmp_path, "parts")
    part = path / "part-002.parquet"
    part.write_bytes(part.read_bytes()[:-5_000] + bytes(4_992) + part.read_bytes()[-8:])
    said = run(*GEOIND, path, tmp_path / "out", "--to", "partitions", status=2)
    assert "part-002.parquet" in said
    assert sorted(one.name for one in tmp_path.iterdir()) == ["points"]


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_workers_write_the_parts_that_threads_write(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(city(), tmp_path, "shuffled")
    for name, cluster in (("here", ()), ("there", ("--cluster", "local:2"))):
        run(*GEOIND, path, tmp_path / name, "--to", "partitions", "--seed", 1, *cluster)
    assert len([*(tmp_path / "here").iterdir()]) > 3
    for part in (tmp_path / "here").iterdir():
        assert part.read_bytes() == (tmp_path / "there" / part.name).read_bytes()
    described = [json.loads(run("describe", path, "--json", *way)) for way in ((), ("--cluster", "local:2"))]
    assert described[0] == described[1]
