"""The compiled scanner against a slow parser that is nothing but the grammar."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena.errors import FileError
from tracearena.io import pwscup
from tracearena.traces import Clock, Grid, ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.geodesy import CONTEST_KM_PER_DEGREE

GRID = Places.of_grid(
    Grid(rows=3, columns=4, south=0, west=0, north=3, east=4), km_per_degree=CONTEST_KM_PER_DEGREE
)
ROW = re.compile(r"([1-9][0-9]{0,8}),([1-9][0-9]{0,6}),(\*|[1-9][0-9]*(?: [1-9][0-9]*)*)")


def slow_public_traces(text: str) -> list[tuple[int, int, list[int]]] | None:
    """Rows of (pseudonym, time, place indices), None if the text is no such file."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    rows = []
    for line in lines:
        match = ROW.fullmatch(line)
        if match is None:
            return None
        places = [] if match[3] == "*" else [int(piece) - 1 for piece in match[3].split(" ")]
        if len(set(places)) < len(places) or any(place >= len(GRID) for place in places):
            return None
        if int(match[2]) > 1_000_000:
            return None
        rows.append((int(match[1]), int(match[2]), places))
    keys = [row[:2] for row in rows]
    return rows if keys == sorted(set(keys)) else None


CELLS = st.one_of(
    st.just("*"),
    st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True).map(
        lambda ids: " ".join(map(str, ids))
    ),
    st.text("0123456789 *", max_size=4),
)
LINES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), CELLS), min_size=1, max_size=6).map(
    lambda rows: [f"{a},{b},{cell}" for a, b, cell in sorted(rows)]
)


@pytest.mark.slow
@examples(200)
@given(lines=LINES, end=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
def test_scanner_and_slow_parser_agree(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, last: bool
) -> None:
    text = end.join(lines) + (end if last else "")
    path = tmp_path_factory.getbasetemp() / "pub.csv"
    path.write_bytes(f"pse_id,time_id,reg_id{end}{text}".encode())
    expected = slow_public_traces(text)
    try:
        got = pwscup.read_anonymized(path, GRID, pwscup.PWS_CLOCK)
    except FileError:
        assert expected is None
        return
    ids = got.user_ids[got.user_index].tolist()
    times = (got.instants + 1).tolist()
    assert list(zip(ids, times, got.cells(), strict=True)) == expected


@st.composite
def releases(draw: st.DrawFn) -> ObfuscatedTraces:
    users, instants = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, len(GRID), (users, instants))
    dense[rng.random(dense.shape) < draw(st.sampled_from([0, 0.5]))] = -1
    dense[:, -1] = 0
    ids = np.sort(rng.choice(999_999_999, users, replace=False) + 1)
    first = draw(st.integers(0, 100))
    original = Traces.from_dense(dense, GRID, pwscup.PWS_CLOCK, user_ids=ids, first_instant=first)
    sets = PlaceSets.of([rng.permutation(len(GRID))[: rng.integers(2, 13)] for _ in range(4)])
    return ObfuscatedTraces.like(original, rng.integers(-5, len(GRID), len(original)), sets)


def complete(original: Traces) -> Traces:
    """An answer for every user and instant, also where the original has a gap."""
    dense = np.arange(original.n_users * original.n_instants).reshape(original.n_users, -1) % len(GRID)
    first = original.span[0]
    return Traces.from_dense(dense, GRID, original.clock, user_ids=original.user_ids, first_instant=first)


@pytest.mark.slow
@examples(30)
@given(released=releases())
def test_what_is_written_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, released: ObfuscatedTraces
) -> None:
    folder = tmp_path_factory.getbasetemp()
    places = np.maximum(released.codes, 0)
    frame = {name: getattr(released, name) for name in ("user_ids", "offsets", "instants")}
    original = Traces(GRID, released.clock, place_index=places, **frame)
    released = ObfuscatedTraces.like(original, released.codes, released.sets)
    pwscup.write_traces(original, folder / "org.csv")
    assert pwscup.read_traces(folder / "org.csv", GRID) == original
    pwscup.write_obfuscated(released, folder / "ano.csv.gz")
    assert pwscup.read_obfuscated(folder / "ano.csv.gz", original) == released
    pwscup.write_anonymized(released, folder / "pub.csv")
    assert pwscup.read_anonymized(folder / "pub.csv", GRID) == released
    guess = complete(original)
    pwscup.write_inferred_traces(guess, folder / "etraces.csv")
    assert pwscup.read_inferred_traces(folder / "etraces.csv", original) == guess


@examples(50)
@given(
    rows=st.integers(2, 9),
    columns=st.integers(2, 9),
    south=st.one_of(st.just(-0.00004), st.floats(-80, 80)),
    west=st.floats(-170, 160),
    cell=st.floats(0.001, 1),
)
def test_regions_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: int, columns: int, south: float, west: float, cell: float
) -> None:
    south, west, cell = round(south, 6), round(west, 6), round(cell, 3)
    north, east = round(south + rows * cell, 6), round(west + columns * cell, 6)
    grid = Grid(rows=rows, columns=columns, south=south, west=west, north=north, east=east)
    places = Places.of_grid(grid, sensitive=np.arange(len(grid)) % 2, km_per_degree=CONTEST_KM_PER_DEGREE)
    path = tmp_path_factory.getbasetemp() / "info_region.csv"
    pwscup.write_places(places, path)
    assert pwscup.read_places(path) == places


@pytest.mark.parametrize("clock", [pwscup.PWS_CLOCK, Clock(instants_per_day=1), Clock(instants_per_day=24)])
@pytest.mark.parametrize("days", [(1, 1), (0, 2), (3, 0), (20, 20)])
def test_times_read_the_same(clock: Clock, days: tuple[int, int], tmp_path: Path) -> None:
    times = pwscup.ContestTimes(clock, *days)
    pwscup.write_times(times, tmp_path / "info_time.csv")
    assert pwscup.read_times(tmp_path / "info_time.csv") == times
