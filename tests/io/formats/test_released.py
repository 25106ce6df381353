"""Obfuscated and anonymized traces as tables: what is written is read again, and nothing else is."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from tracearena import io
from tracearena.errors import FileError, ParameterError
from tracearena.io import pwscup, read_released, write
from tracearena.io.fields.columns import has_released_columns
from tracearena.traces import Clock, ObfuscatedTraces, Places, PlaceSets, Traces

CLOCK = Clock(instants_per_day=24, first_day=datetime.date(2012, 4, 3))
NAMES = ["ramen", "the * bar", "100 %"]


def traces_at(ids: list[str] | list[int], clock: Clock = CLOCK) -> Traces:
    places = Places([40.7, 40.8, 40.9], [-74.0, -73.9, -73.8], ids=ids)
    return Traces.from_dense([[0, 1, 2], [2, -1, 1]], places, clock, user_ids=["ann", "bob"])


def release_of(original: Traces) -> ObfuscatedTraces:
    """One kept, one deleted, two sets, one moved."""
    return ObfuscatedTraces.like(original, [0, -1, -2, -3, 0], PlaceSets.of([[0, 1], [2, 1, 0]]))


def named(released: ObfuscatedTraces) -> list[list[object]]:
    return [released.places.ids[cell].tolist() if cell else [] for cell in released.cells()]


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.parquet"])
@pytest.mark.parametrize("ids", [NAMES, [7, 8, 9]], ids=["text", "numbers"])
@pytest.mark.parametrize(
    "clock",
    [CLOCK, Clock(instants_per_day=24), Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)],
    ids=["dates", "numbers", "contest"],
)
def test_what_is_written_is_read_again(tmp_path: Path, name: str, ids: list[str], clock: Clock) -> None:
    original = traces_at(ids, clock)
    released = release_of(original)
    assert write(released, tmp_path / name) == [tmp_path / name]
    assert read_released(tmp_path / name, original).traces == released
    alone = read_released(tmp_path / name, clock=clock).traces
    assert (named(alone), alone.user_ids.tolist()) == (named(released), ["ann", "bob"])
    assert sorted(alone.places.ids.tolist()) == sorted(ids)


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_categories_of_sets_come_back(tmp_path: Path, name: str) -> None:
    categories = ["Bar | Pub", "", "100 %7C"]
    places = Places([40.7, 40.8, 40.9], [-74.0, -73.9, -73.8], ids=NAMES, categories=categories)
    write(release_of(traces_at(NAMES).onto(places)), tmp_path / name)
    alone = read_released(tmp_path / name).traces.places
    assert alone.categories is not None
    assert dict(zip(alone.ids.tolist(), alone.categories.tolist(), strict=True)) == dict(
        zip(NAMES, categories, strict=True)
    )


@pytest.mark.slow
@given(
    cells=st.lists(st.lists(st.integers(0, 4), max_size=5, unique=True), min_size=1, max_size=20),
    names=st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8),
        min_size=5,
        max_size=5,
        unique=True,
    ),
)
@examples(25)
def test_any_sets_of_any_names_survive(
    tmp_path_factory: pytest.TempPathFactory, cells: list[list[int]], names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("released")
    places = Places(np.linspace(40, 41, 5), np.linspace(-74, -73, 5), ids=[f"{name}!" for name in names])
    original = Traces.from_dense([[0] * len(cells)], places, CLOCK)
    sets = [cell for cell in cells if len(cell) > 1]
    numbers = iter(range(len(sets)))
    codes = [-2 - next(numbers) if len(cell) > 1 else cell[0] if cell else -1 for cell in cells]
    released = ObfuscatedTraces.like(original, codes, PlaceSets.of(sets))
    for name in ("x.csv", "x.parquet"):
        write(released, folder / name)
        assert read_released(folder / name, original).traces.cells() == cells


def test_several_events_at_one_instant_keep_their_order(tmp_path: Path) -> None:
    places = Places([40.7, 40.8, 40.9], [-74.0, -73.9, -73.8], ids=NAMES)
    original = Traces.from_events(["a", "a", "a"], [5, 5, 5], [2, 0, 1], places, CLOCK)
    released = ObfuscatedTraces.like(original, [1, -1, 2])
    write(released, tmp_path / "x.csv")
    assert read_released(tmp_path / "x.csv", original).traces == released


def test_users_without_events_are_the_originals(tmp_path: Path) -> None:
    original = Traces.from_dense([[0, 1], [-1, -1]], traces_at(NAMES).places, CLOCK, user_ids=["a", "b"])
    write(ObfuscatedTraces.from_traces(original), tmp_path / "x.csv")
    assert read_released(tmp_path / "x.csv", original).traces.user_ids.tolist() == ["a", "b"]
    alone = read_released(tmp_path / "x.csv").traces
    assert (alone.user_ids.tolist(), alone.n_events) == (["a"], 2)


def test_a_table_of_released_traces_is_no_table_of_points(tmp_path: Path) -> None:
    write(release_of(traces_at(NAMES)), tmp_path / "x.csv")
    with pytest.raises(FileError, match="obfuscated or anonymized traces"):
        io.read(tmp_path / "x.csv")


def test_plain_traces_are_released_as_they_are(tmp_path: Path) -> None:
    original = traces_at(NAMES)
    write(original, tmp_path / "x.csv")
    assert read_released(tmp_path / "x.csv", original).traces == ObfuscatedTraces.from_traces(original)


def test_the_contests_files_are_read_by_the_same_function(
    tmp_path: Path, make_walks: Callable[..., Traces]
) -> None:
    walks = make_walks(users=4)
    released = ObfuscatedTraces.like(walks, np.full(walks.n_events, -1))
    pwscup.write_places(walks.places, tmp_path / "info_region.csv")
    pwscup.write_obfuscated(released, tmp_path / "ano.csv")
    assert read_released(tmp_path / "ano.csv", walks).traces == released
    with pytest.raises(ParameterError, match="--original"):
        read_released(tmp_path / "ano.csv")
    pwscup.write_anonymized(released.with_user_ids([5, 6, 7, 8]), tmp_path / "pub.csv")
    assert read_released(tmp_path / "pub.csv").traces.user_ids.tolist() == [5, 6, 7, 8]


HEADER = "user_id,time,places,lat,lng\n"
GOOD = "ann,2012-04-03T18:00:00,a,40.7,-74.0\n"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("ann,2012-04-03T18:00:00,a b,40.7,-74.0 -73.9", "row 2 (line 3), column lat: got '40.7': must have"),
        ("ann,2012-04-03T18:00:00,a a,40.7 40.7,-74 -74", "column places: got 'a a': must not name a place"),
        ("ann,2012-04-03T18:00:00,a,x,-74.0", "column places: got 'a': must be places with their latitudes"),
        ("ann,2012-04-03T18:00:00,a,91,-74.0", "must be places with their latitudes"),
        ("ann,2012-04-03T18:00:00,a ,40 41,-74 -73", "must be places with their latitudes"),
        ("ann,2012-04-03T18:00:00,,40,-74", "column places: got '': must name places, or be *"),
        ("ann,2012-04-03T18:00:00,*,40,-74", "column lat: got '40.0': must have a number for every place"),
        ("ann,yesterday,a,40,-74", "column time: got 'yesterday': must be a local time"),
        (",2012-04-03T18:00:00,a,40,-74", "column user_id: got '': must name a user"),
        ("ann,2012-04-03T18:00:00,a,40,-74,more", "a row has 5 fields"),
    ],
)
def test_a_row_that_is_wrong_is_refused_by_its_number(tmp_path: Path, row: str, told: str) -> None:
    (tmp_path / "x.csv").write_text(HEADER + GOOD + row + "\n")
    with pytest.raises(FileError) as refused:
        read_released(tmp_path / "x.csv")
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        ({"places": ["a"], "lat": [[40.0]], "lng": [[-74.0]]}, "column places: the column has the type Str"),
        ({"places": [["a"]], "lat": [["x"]], "lng": [[-74.0]]}, "column lat: the column has the type List"),
        ({"places": [[None]], "lat": [[40.0]], "lng": [[-74.0]]}, "must be places with their latitudes"),
    ],
)
def test_a_parquet_table_of_another_kind_is_refused(
    tmp_path: Path, frame: dict[str, list[object]], told: str
) -> None:
    if frame["places"] == [[None]]:
        frame |= {"places": pl.Series([[None]], dtype=pl.List(pl.String))}  # type: ignore[dict-item]
    known = {"user_id": ["ann"], "time": [datetime.datetime(2012, 4, 3, 18)]}
    pl.DataFrame(known | frame).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(FileError) as refused:
        read_released(tmp_path / "x.parquet")
    assert told in str(refused.value)


@pytest.mark.slow
def test_lists_that_unpack_to_far_more_than_the_file_are_refused(tmp_path: Path) -> None:
    lists = pl.Series([["a"] * 3_000_000]), pl.Series([[0.0] * 3_000_000])
    frame = pl.DataFrame(
        {
            "user_id": ["ann"],
            "time": [datetime.datetime(2012, 4, 3, 18)],
            "places": lists[0],
            "lat": lists[1],
            "lng": lists[1],
        }
    )
    frame.write_parquet(tmp_path / "x.parquet", compression="zstd")
    with pytest.raises(FileError, match="times its size"):
        read_released(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("bob", "eve"), "has a user 'eve' who is not in the original"),
        (lambda text: text.rpartition("bob")[0], "has 1 events of user 'bob', but the original has 2"),
        (lambda text: text.replace("T02", "T03"), "of user 'ann' at other times"),
        (lambda text: text.replace("ramen", "noodles"), "is not one of the 3 known places"),
    ],
)
def test_a_release_of_something_else_is_refused(
    tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    original = traces_at(NAMES)
    write(release_of(original), tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(change((tmp_path / "x.csv").read_text()))
    with pytest.raises(FileError) as refused:
        read_released(tmp_path / "x.csv", original)
    assert told in str(refused.value)


def stamped(clock: Clock = CLOCK) -> Traces:
    """Events of New York at 14:04:27, 14:59:59, 15:00:00 and 14:10:00 of the next day, of two people."""
    places = Places([40.7, 40.8, 40.9], [-74.0, -73.9, -73.8], ids=NAMES)
    utc = int(datetime.datetime(2012, 4, 3, 18, 4, 27, tzinfo=datetime.UTC).timestamp())
    moments = np.array([utc, utc + 3332, utc + 3333, utc + 86_400 + 333])
    local = moments - 4 * 3600 - int(datetime.datetime(2012, 4, 3, tzinfo=datetime.UTC).timestamp())
    instants = local // clock.interval_s
    return Traces.from_events(["a", "a", "b", "b"], instants, [0, 1, 2, 0], places, clock, timestamps=moments)


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_times_are_released_to_the_second(tmp_path: Path, name: str) -> None:
    original = stamped()
    released = ObfuscatedTraces.like(original, [2, -1, 0, 1])
    write(released, tmp_path / name)
    times = released.to_frame()["time"].dt.strftime("%d %H:%M:%S").to_list()
    assert times == ["03 14:04:27", "03 14:59:59", "03 15:00:00", "04 14:10:00"]
    assert read_released(tmp_path / name, original).traces == released
    alone = read_released(tmp_path / name).traces
    assert alone.clock == CLOCK
    assert alone.instants.tolist() == original.instants.tolist()
    assert alone.to_frame()["time"].to_list() == released.to_frame()["time"].to_list()
    write(alone, tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("interval_s", [60, 1200, 3600, 86_400])
def test_local_seconds_survive_any_clock(tmp_path: Path, interval_s: int) -> None:
    clock = Clock(instants_per_day=86_400 // interval_s, interval_s=interval_s, first_day=CLOCK.first_day)
    write(ObfuscatedTraces.from_traces(stamped()), tmp_path / "x.csv")
    read = read_released(tmp_path / "x.csv", clock=clock).traces
    assert read.clock == clock
    write(read, tmp_path / "y.csv")
    assert (tmp_path / "x.csv").read_bytes() == (tmp_path / "y.csv").read_bytes()


def test_times_on_instants_are_instants_alone(tmp_path: Path) -> None:
    write(ObfuscatedTraces.from_traces(stamped()).without_timestamps(), tmp_path / "x.csv")
    assert read_released(tmp_path / "x.csv").traces.timestamps is None
    again = read_released(tmp_path / "x.csv", stamped()).traces
    assert again.timestamps is None, "the file does not know them, whatever the original does"


def test_the_times_of_the_file_count_within_an_instant(tmp_path: Path) -> None:
    original = stamped()
    write(ObfuscatedTraces.from_traces(original), tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text().replace("14:04:27", "14:30:00")
    (tmp_path / "x.csv").write_text(text)
    read = read_released(tmp_path / "x.csv", original).traces
    assert read.has_rows_of(original)
    assert "14:30:00" in str(read.to_frame()["time"][0])


def test_times_outside_the_day_of_a_clock_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(HEADER + GOOD)
    clock = Clock(instants_per_day=20, start_s=8 * 3600, interval_s=1800)
    with pytest.raises(
        FileError, match="is not an instant of the day; the instants are 08:00 to 17:30 every 30 min"
    ):
        read_released(tmp_path / "x.csv", clock=clock)


def test_the_layout_is_known_by_its_columns_alone() -> None:
    assert has_released_columns(["places", "user_id", "lat", "lng", "time_id"])
    assert not has_released_columns(["user_id", "time", "places", "lat", "lng", "speed"])
