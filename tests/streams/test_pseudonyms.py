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

    def kept(*given: object) -> portions.Table:
        made.append(shuffled(*given))  # type: ignore[arg-type]
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
