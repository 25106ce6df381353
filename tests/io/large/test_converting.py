"""`convert` of tables of points that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.io.large.tables import city, laid_out

from tracearena.engine import use
from tracearena.jobs import chunking


def as_a_whole(run: Callable[..., str], *arguments: object) -> str:
    """Run a command that reads all at once."""
    with use(chunk_rows=10**9):
        return run(*arguments)


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize(
    ("layout", "name"),
    [
        pytest.param("csv", "out.parquet", marks=pytest.mark.long),
        ("shuffled csv", "out.csv"),
        ("packed csv", "out.csv.gz"),
        ("quoted csv", "out.parquet"),
        pytest.param("shuffled", "out.parquet", marks=pytest.mark.long),
        ("no trajectories", "out.csv"),
    ],
)
def test_a_large_table_is_converted_as_a_small_one(
    layout: str, name: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(), tmp_path, layout)
    streamed = json.loads(run("convert", path, tmp_path / name, "--json"))
    whole = json.loads(as_a_whole(run, "convert", path, tmp_path / f"whole-{name}", "--json"))
    assert {**streamed, "written": []} == {**whole, "written": []}
    if name.endswith(".parquet"):
        assert pl.read_parquet(tmp_path / name).equals(pl.read_parquet(tmp_path / f"whole-{name}"))
    else:
        assert pl.read_csv(tmp_path / name).equals(pl.read_csv(tmp_path / f"whole-{name}"))


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
def test_parts_of_text_are_its_points_and_a_stopped_run_goes_on(
    tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(city(), tmp_path, "shuffled csv")
    command = ("convert", path, tmp_path / "out", "--to", "partitions")
    write, written = chunking.write_part, list[Path]()

    def interrupted(traces: object, part: Path) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(part)
        write(traces, part)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setenv("TRACEARENA_THREADS", "1")
        patch.setattr(chunking, "write_part", interrupted)
        assert "with --resume" in run(*command, status=130)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.unfinished", "points.csv"]
    left = {part.name: part.stat().st_mtime_ns for part in written}
    told = json.loads(run(*command, "--resume", "--json"))
    assert (told["to"], told["points"]) == ("partitions", len(city()))
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in left} == left
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(city().to_frame())


@pytest.mark.slow
@pytest.mark.usefixtures("portions_of_points")
def test_a_bad_row_is_left_out_and_nothing_else(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(city(), tmp_path, "csv")
    rows = path.read_text().splitlines()
    rows[30_000] = "1,soon,35,139,1"
    path.write_text("\n".join(rows))
    told = json.loads(run("convert", path, tmp_path / "out.parquet", "--json"))
    assert told["points"] == len(city()) - 1
    as_a_whole(run, "convert", path, tmp_path / "whole.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").equals(pl.read_parquet(tmp_path / "whole.parquet"))


@pytest.mark.usefixtures("small_portions")
def test_a_zone_that_does_not_apply_is_refused_before_anything_is_written(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(city(3, 3), tmp_path, "csv")
    for target in (("out.parquet",), ("out", "--to", "partitions")):
        said = run("convert", path, tmp_path / target[0], *target[1:], "--timezone", "Asia/Tokyo", status=2)
        assert "--timezone does not apply" in said
    assert [one.name for one in tmp_path.iterdir()] == ["points.csv"]


def test_a_few_events_are_converted_to_partitions_as_ever(tmp_path: Path, run: Callable[..., str]) -> None:
    events = tmp_path / "events.csv"
    events.write_text("user,time,place,lat,lon\n1,2024-05-01T12:00:00Z,a,35.7,139.7\n")
    said = run("convert", events, tmp_path / "out", "--to", "partitions", "--resume", status=2)
    assert "there is no interrupted run to resume" in said
    run("convert", events, tmp_path / "out", "--to", "partitions")
    assert "place" in " ".join(pl.read_parquet_schema(tmp_path / "out" / "part-00000.parquet"))
