"""The commands on tables that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.io.large.tables import city, laid_out

from tracearena.engine import use
from tracearena.jobs import chunking

GEOIND = ("obfuscate", "GeoInd(100m)")


@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize(("layout", "name"), [("parts", "out.parquet"), ("shuffled csv", "out.csv")])
def test_a_large_file_is_obfuscated_as_a_small_one(
    layout: str, name: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(), tmp_path, layout)
    streamed = json.loads(run(*GEOIND, path, tmp_path / name, "--seed", 3, "--json"))
    with use(chunk_rows=10**9):
        whole = json.loads(run(*GEOIND, path, tmp_path / f"whole-{name}", "--seed", 3, "--json"))
    assert {**streamed, "file": ""} == {**whole, "file": ""}
    if name.endswith(".csv"):
        assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    else:
        assert pl.read_parquet(tmp_path / name).equals(pl.read_parquet(tmp_path / f"whole-{name}"))


@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("layout", ["parts", "csv"])
def test_a_large_file_is_described_as_a_small_one(
    layout: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(), tmp_path, layout)
    streamed = json.loads(run("describe", path, "--json"))
    with use(chunk_rows=10**9):
        assert streamed == json.loads(run("describe", path, "--json"))


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("seed", [("--seed", "3"), ()])
def test_a_stopped_run_goes_on_where_it_was(
    seed: tuple[str, ...], tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, "shuffled")
    out, command = tmp_path / "out", (*GEOIND, path, tmp_path / "out", "--to", "partitions", *seed)
    written: list[Path] = []
    write = chunking.write_part

    def interrupted(traces: object, part: Path) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(part)
        write(traces, part)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setenv("TRACEARENA_THREADS", "1")
        patch.setattr(chunking, "write_part", interrupted)
        said = run(*command, status=130)
    assert "2 of " in said
    assert "--resume" in said
    left = {part.name: part.stat().st_mtime_ns for part in written}
    assert not out.exists()
    unfinished = tmp_path / "out.unfinished"
    assert (unfinished / "secret-root").exists() == (not seed)
    assert "--resume" in run(*command, status=2)
    other = run("obfuscate", "GeoInd(200m)", *command[2:], "--resume", status=2)
    assert "belongs to a run with other" in other
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
    (tmp_path / "p.csv").write_text("user,date,clock,lat,lon\n1,2024-05-01,12:00,35.7,139.7\n")
    columns = ("--columns", "date=date,time=clock")
    for arguments, problem in [
        ((tmp_path / "p.csv", tmp_path / "out", "--to", "partitions", *columns), "needs a CSV or Parquet"),
        ((path, tmp_path / "o.parquet", "--resume"), "needs --to partitions"),
        ((path, tmp_path / "out", "--to", "partitions", "--resume"), "there is no interrupted run"),
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


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("to", [("out", "--to", "partitions"), ("out.parquet",)])
def test_text_that_is_refused_near_its_end_leaves_nothing_behind(
    to: tuple[str, ...], tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(3, 3), tmp_path, "csv")
    path.write_bytes(path.read_bytes()[:-20] + b"\0\n")
    assert "zero bytes" in run(*GEOIND, path, tmp_path / to[0], *to[1:], status=2)
    assert [one.name for one in tmp_path.iterdir()] == ["points.csv"]


@pytest.mark.long
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("layout", ["shuffled", "csv"])
def test_workers_write_the_parts_that_threads_write(
    layout: str, tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    path = laid_out(city(), tmp_path, layout)
    for name, cluster in (("here", ()), ("there", workers)):
        run(*GEOIND, path, tmp_path / name, "--to", "partitions", "--seed", 1, *cluster)
    assert len([*(tmp_path / "here").iterdir()]) > 3
    for part in (tmp_path / "here").iterdir():
        assert part.read_bytes() == (tmp_path / "there" / part.name).read_bytes()
    described = [json.loads(run("describe", path, "--json", *way)) for way in ((), workers)]
    assert described[0] == described[1]


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize(
    "layout", [*(pytest.param(one, marks=pytest.mark.long) for one in ("parts", "no trajectories")), "csv"]
)
def test_users_outside_the_bounds_are_users_still(
    layout: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(), tmp_path, layout)
    homes = city().latitude[city().offsets[:-1]]
    bounds = ("--bounds", f"{sorted(homes)[5]},-180,90,180")
    streamed, whole = tmp_path / "streamed.csv", tmp_path / "whole.csv"
    described = json.loads(run("describe", path, *bounds, "--json"))
    blurred = json.loads(run(*GEOIND, path, streamed, "--seed", 1, *bounds, "--json"))
    with use(chunk_rows=10**9):
        assert described == json.loads(run("describe", path, *bounds, "--json"))
        at_once = json.loads(run(*GEOIND, path, whole, "--seed", 1, *bounds, "--json"))
    assert described["users"] == city().n_users
    assert {**blurred, "file": ""} == {**at_once, "file": ""}
    assert streamed.read_bytes() == whole.read_bytes()


def test_times_have_fractions_only_where_a_released_one_has(tmp_path: Path, run: Callable[..., str]) -> None:
    rows = [f"{user},2024-05-01T12:{minute:02}:00{part}Z,35.7,139.7"
            for user in range(3) for minute in range(9) for part in ("", ".500")]  # fmt: skip
    path = tmp_path / "points.csv"
    path.write_text("\n".join(["user,time,lat,lon", *rows, ""]))
    for defence in ("Thin(60s)", "GeoInd(100m)"):
        with use(chunk_rows=1):
            run("obfuscate", defence, path, tmp_path / "streamed.csv", "--seed", 1)
        with use(chunk_rows=10**9):
            run("obfuscate", defence, path, tmp_path / "whole.csv", "--seed", 1)
        assert (tmp_path / "streamed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_name_that_tells_no_format_is_refused_before_anything_is_read(
    tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(3, 3), tmp_path, "csv")
    monkeypatch.setattr("tracearena.io.read", None)
    for command in (GEOIND, ("convert",)):
        assert "out.xyz: give a format" in run(*command, path, tmp_path / "out.xyz", status=2)
        assert "partitions" in run(*command, path, tmp_path / "out.csv", "--to", "parts", status=2)
