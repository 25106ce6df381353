"""`applications` on tables that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.io.large.tables import city, laid_out

from tracearena.engine import use
from tracearena.jobs import comparison

ERROR = ("error",)
HOMES = ("homes",)
HOTSPOTS = ("hotspots",)
ZONES = ("zones", "--mechanism", "Zones(500m)")


@pytest.fixture
def both_ways(
    run: Callable[..., str], monkeypatch: pytest.MonkeyPatch, portions_of_points: None
) -> Callable[..., dict[str, object]]:
    """Run an application on both ways; return the result if it is one."""
    made, together = list[comparison.TablePair](), comparison.pair_tables

    def kept(*given: object, **options: object) -> comparison.TablePair:
        made.append(together(*given, **options))  # type: ignore[arg-type]
        return made[-1]

    def command(*arguments: object) -> dict[str, object]:
        streamed = json.loads(run("applications", *arguments, "--json"))
        assert len(made.pop().original.portions) > 2
        with use(chunk_rows=10**9):
            assert streamed == json.loads(run("applications", *arguments, "--json"))
        assert not made
        return dict(streamed)

    monkeypatch.setattr("tracearena.jobs.pairs.pair_tables", kept)
    return command


def released(run: Callable[..., str], path: Path, defence: str, name: str = "released.parquet") -> Path:
    out = path.parent / name
    run("obfuscate", defence, path, out, "--seed", 1)
    return out


@pytest.mark.long
@pytest.mark.parametrize("application", [ERROR, HOMES, HOTSPOTS], ids=lambda one: one[0])
@pytest.mark.parametrize(
    ("layout", "defence"),
    [("parts", "GeoInd(100m)"), ("shuffled csv", "Thin(120s)"), ("text ids", "GeoInd(500m, 5min)")],
)
def test_a_large_release_is_worth_what_a_small_one_is(
    application: tuple[str, ...],
    layout: str,
    defence: str,
    tmp_path: Path,
    run: Callable[..., str],
    both_ways: Callable[..., dict[str, object]],
) -> None:
    path = laid_out(city(), tmp_path, layout)
    both_ways(*application, "--original", path, "--released", released(run, path, defence))


@pytest.mark.slow
def test_homes_behind_zones_are_found_alike(
    tmp_path: Path, run: Callable[..., str], both_ways: Callable[..., dict[str, object]]
) -> None:
    path = laid_out(city(5, 8), tmp_path, "file")
    hidden = released(run, path, "Zones(500m)")
    result = both_ways(*ZONES, "--original", path, "--released", hidden)
    assert result["points_hidden"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "application",
    [ERROR, *(pytest.param(one, marks=pytest.mark.long) for one in (HOMES, HOTSPOTS))],
    ids=lambda one: one[0],
)
def test_pseudonyms_are_told_by_their_table_and_strangers_come_last(
    application: tuple[str, ...],
    tmp_path: Path,
    run: Callable[..., str],
    both_ways: Callable[..., dict[str, object]],
) -> None:
    path = laid_out(city(), tmp_path, "file")
    frame = pl.read_parquet(path)
    frame.filter(pl.col("user_id") != "003").write_parquet(tmp_path / "original.parquet")
    frame.filter(pl.col("user_id") != "005").write_parquet(tmp_path / "blurred.parquet")
    table = tmp_path / "ids.csv"
    names = ("blurred.parquet", "hidden.parquet")
    run("pseudonymise", *(tmp_path / name for name in names), "--id-table", table, "--seed", 5)
    given = ("--original", tmp_path / "original.parquet", "--released", tmp_path / "hidden.parquet")
    assert "--id-table" in run("applications", *application, *given, status=2)
    both_ways(*application, *given, "--id-table", table)


def test_ids_that_are_other_peoples_are_refused_in_large_tables_too(
    tmp_path: Path, run: Callable[..., str], portions_of_points: None
) -> None:
    path = laid_out(city(), tmp_path, "file")
    swapped = tmp_path / "swapped.parquet"
    ids = city().user_ids.tolist()
    others = pl.col("user_id").replace(dict(zip(ids, [*ids[1:], ids[0]], strict=True)))
    pl.read_parquet(path).with_columns(user_id=others).write_parquet(swapped)
    said = run("applications", "error", "--original", path, "--released", swapped, status=2)
    assert "the recording times of another user" in said


@pytest.mark.long
def test_a_city_is_chosen_among_far_ones_alike(
    tmp_path: Path, run: Callable[..., str], both_ways: Callable[..., dict[str, object]]
) -> None:
    path = laid_out(city(), tmp_path, "file")
    frame = pl.read_parquet(path)
    far = frame.with_columns(latitude=pl.when(pl.col("user_id") < "003").then(-35.0).otherwise("latitude"))
    far.write_parquet(path)
    both_ways(*HOTSPOTS, "--original", path, "--released", path, "--expected-noise", "100m")


@pytest.mark.long
@pytest.mark.usefixtures("portions_of_points")
@pytest.mark.parametrize("layout", ["parts", "shuffled"])
def test_workers_find_what_threads_find(
    layout: str, tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    path = laid_out(city(), tmp_path, layout)
    given = ("--original", path, "--released", released(run, path, "GeoInd(100m)"), "--json")
    for application in (ERROR, HOMES, HOTSPOTS):
        here = run("applications", *application, *given)
        assert run("applications", *application, *given, *workers) == here
