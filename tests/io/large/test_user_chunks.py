"""Portions of a table are the users of the whole, whatever its layout and the size of chunks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from tests.io.large.tables import LAYOUTS, city, laid_out

from tracearena.engine import seed_sequence, use
from tracearena.errors import FileError
from tracearena.io import Report, large, points
from tracearena.io.large.checkpoint import PartsCheckpoint
from tracearena.io.large.first_pass import FirstPass
from tracearena.jobs import chunking, description, obfuscation
from tracearena.pages.describe import summarise
from tracearena.traces import GpsTraces


class Streamed(NamedTuple):
    """A table read by portions, and the points that it holds."""

    layout: str
    table: large.UserChunkTable[GpsTraces]
    found: FirstPass
    traces: GpsTraces
    report: Report


def streamed(layout: str, folder: Path, chunk: int = 4_001) -> Streamed:
    """Write a table and read it by portions and as a whole."""
    path = laid_out(city(), folder, layout)
    with use(chunk_rows=9_000):
        table, found = large.open_point_chunks(path, folder, chunk=chunk)
    # the reader of whole folders does not know what folders are called
    traces, report = (city(), found.report) if layout == "hive" else points.read(path)
    return Streamed(layout, table, found, traces, report)


@pytest.fixture(scope="module", params=LAYOUTS)
def laid(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Streamed:
    return streamed(request.param, tmp_path_factory.mktemp("points"))


def require_portions_of_the_whole(one: Streamed) -> None:
    assert one.found.is_sorted == ("shuffled" not in one.layout)
    assert len(one.table.portions) > 3
    assert one.found.n_points == len(one.traces)
    for portion in one.table.portions:
        own = one.traces.take_users(slice(portion.first_user, portion.stop_user))
        assert one.table.traces(portion.number) == own


def test_portions_are_what_the_whole_has_of_their_users(laid: Streamed) -> None:
    require_portions_of_the_whole(laid)


@pytest.mark.parametrize(
    "layout",
    [
        "shuffled",
        "csv",
        *(pytest.param(one, marks=pytest.mark.long) for one in LAYOUTS if one not in ("shuffled", "csv")),
    ],
)
def test_so_are_those_of_one_large_chunk(layout: str, tmp_path: Path) -> None:
    require_portions_of_the_whole(streamed(layout, tmp_path, chunk=1 << 20))


def test_a_description_by_portions_is_that_of_the_whole(laid: Streamed) -> None:
    summary = description.describe_points(laid.table, laid.found).to_dict()
    expected = summarise(laid.traces, laid.report).to_dict()
    if laid.layout == "hive":
        summary = {name: summary[name] for name in ("users", "events", "gap_h", "bounds", "trajectories")}
        assert summary == {name: expected[name] for name in summary}
    else:
        if "shuffled" in laid.layout:  # at borders of chunks the same rows fall
            assert summary["noticed"] == expected["noticed"]
        assert {**summary, "examples": {}} == {**expected, "examples": {}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["GeoInd(100m)", "GeoInd(100m,5min)", "Snap(500m)", "Thin(60s)", "Zones(500m)", "TrimEnds(300m)"]
)
@pytest.mark.parametrize(
    "layout",
    [
        pytest.param("parts", marks=pytest.mark.long),
        "shuffled",
        pytest.param("text ids", marks=pytest.mark.long),
    ],
)
def test_every_defence_writes_what_it_gives_on_the_whole(name: str, layout: str, tmp_path: Path) -> None:
    from tracearena.algorithms import catalogue

    path = laid_out(city(), tmp_path, layout)
    defence = catalogue.create(name, "gps-obfuscator")
    expected = defence.transform(points.read(path).traces, seed=7).to_frame()
    for number, (threads, chunk) in enumerate([(1, 4_001), (3, 1 << 20)]):
        with use(threads=threads, chunk_rows=9_000):
            table, found = large.open_point_chunks(path, tmp_path, chunk=chunk)
            change = obfuscation.build_point_obfuscation(table, defence, seed_sequence(7), 6)
            one = tmp_path / f"out{number}.parquet"
            written = chunking.write_chunks(table, found, one, change, chunking.POINT_ROWS)
            parts = PartsCheckpoint(tmp_path / f"out{number}", "x")
            parts.begin(resume=False)
            chunking.write_chunks(table, found, parts.out, change, chunking.POINT_ROWS, unfinished=parts)
            parts.finish()
        assert pl.read_parquet(one).equals(expected)
        assert pl.read_parquet(parts.out / "*.parquet").equals(expected)
        assert len(list(parts.out.iterdir())) == len(table.portions)
        assert written["points"] == expected.height
    assert (tmp_path / "out0.parquet").read_bytes() == (tmp_path / "out1.parquet").read_bytes()
    for part in (tmp_path / "out0").iterdir():
        assert part.read_bytes() == (tmp_path / "out1" / part.name).read_bytes()


def test_a_row_that_cannot_be_used_is_named_with_its_file(tmp_path: Path) -> None:
    path = laid_out(city(), tmp_path, "parts")
    third = path / "part-002.parquet"
    frame = pl.read_parquet(third)
    bad = pl.when(pl.int_range(pl.len()) == 16).then(95.0).otherwise(pl.col("latitude")).alias("latitude")
    frame.with_columns(bad).write_parquet(third)
    with use(chunk_rows=9_000):
        table, found = large.open_point_chunks(path, tmp_path, chunk=4_000)
    assert found.report.dropped == {"bad latitude": 1}
    (example,) = found.report.examples_of("bad latitude")
    assert (example.path, example.fault.row, example.fault.value) == (str(third), 17, "95.0")
    expected = points.read(path).traces
    assert [table.traces(one.number) for one in table.portions] == [
        expected.take_users(slice(one.first_user, one.stop_user)) for one in table.portions
    ]


def test_a_broken_part_and_one_of_other_columns_are_refused_by_name(tmp_path: Path) -> None:
    path = laid_out(city(3, 3), tmp_path, "parts")
    (path / "part-999.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(FileError, match=r"part-999.parquet: is not a complete Parquet file"):
        large.open_point_chunks(path, tmp_path)
    pl.DataFrame({"user_id": ["a"], "time": [0], "latitude": [1.0], "longitude": [1.0]}).write_parquet(
        path / "part-999.parquet"
    )
    with pytest.raises(FileError, match=r"part-999.parquet.*in the column time.*part-000.parquet has"):
        large.open_point_chunks(path, tmp_path)


def test_a_file_without_a_usable_row_is_refused(tmp_path: Path) -> None:
    frame = city(2, 2).to_frame().with_columns(latitude=pl.lit(None, pl.Float64))
    frame.write_parquet(tmp_path / "p.parquet")
    with pytest.raises(FileError, match="bad latitude"):
        large.open_point_chunks(tmp_path / "p.parquet", tmp_path)
