"""Portions of a table of events are the users of the whole, whatever its layout and the size of chunks."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from tests.io.large.event_tables import LAYOUTS, city, frame_of, laid_out, options_of

from tracearena.algorithms import catalogue
from tracearena.engine import seed_sequence, use
from tracearena.errors import FileError, ParameterError
from tracearena.io import Choices, Reading, large, read, write
from tracearena.io.large.checkpoint import PartsCheckpoint
from tracearena.io.large.first_pass import EventFirstPass
from tracearena.jobs import chunking, description, obfuscation
from tracearena.pages.describe import summarise
from tracearena.traces import Traces


def whole(path: Path, layout: str) -> Reading[Traces]:
    """Read all at once; the reader of whole folders does not know what folders are called."""
    if layout == "hive":
        return read(city().to_frame()).as_events()
    return read(path, **options_of(layout)).as_events()


def streamed(
    path: Path, layout: str, scratch: Path, chunk: int = 999
) -> tuple[large.UserChunkTable[Traces], EventFirstPass]:
    choices = Choices.parse(**options_of(layout))
    with use(chunk_rows=700):
        return large.open_event_chunks(path, scratch, choices=choices, chunk=chunk)


class Laid(NamedTuple):
    """A table read by portions, and the events that it holds."""

    layout: str
    table: large.UserChunkTable[Traces]
    found: EventFirstPass
    whole: Reading[Traces]


def read_both_ways(layout: str, folder: Path, chunk: int = 999) -> Laid:
    path = laid_out(folder, layout)
    return Laid(layout, *streamed(path, layout, folder, chunk), whole(path, layout))


@pytest.fixture(scope="module", params=LAYOUTS)
def laid(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Laid:
    return read_both_ways(request.param, tmp_path_factory.mktemp("events"))


def require_portions_of_the_whole(one: Laid) -> None:
    expected = one.whole.traces
    assert len(one.table.portions) > 5
    assert one.found.n_events == len(expected)
    for portion in one.table.portions:
        own = expected.take_users(slice(portion.first_user, portion.stop_user))
        assert one.table.traces(portion.number) == own


def test_portions_are_what_the_whole_has_of_their_users(laid: Laid) -> None:
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
    require_portions_of_the_whole(read_both_ways(layout, tmp_path, chunk=1 << 20))


def test_rows_in_order_are_not_sorted_again(laid: Laid) -> None:
    mixed = ("hive", "shuffled", "text ids", "offsets", "twenty minutes", "shuffled csv", "mixed zones csv")
    assert laid.found.is_sorted == (laid.layout not in mixed)


def test_a_description_by_portions_is_that_of_the_whole(laid: Laid) -> None:
    summary = description.describe_events(laid.table, laid.found).to_dict()
    expected = summarise(*laid.whole).to_dict()
    if laid.layout == "hive":  # a data frame has no file
        summary, expected = ({**one, "file": "", "format": ""} for one in (summary, expected))
    assert {**summary, "examples": {}} == {**expected, "examples": {}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "layout"),
    [
        pytest.param("No", "shuffled", marks=pytest.mark.long),
        ("RR(2)", "shuffled"),
        ("PL(4,1)", "shuffled"),
        ("PL(4,1)", "on a grid"),
        pytest.param("PL(4,1)", "UTC", marks=pytest.mark.long),
        ("PL(4,1)", "offsets"),
        pytest.param("PL(4,1)", "mixed zones csv", marks=pytest.mark.long),
        ("MRLH(1,2,0.3)", "on a grid"),
        pytest.param("MRLH(0,0,0.5)", "on a grid", marks=pytest.mark.long),
    ],
)
def test_every_defence_writes_what_it_gives_on_the_whole(name: str, layout: str, tmp_path: Path) -> None:
    path = laid_out(tmp_path, layout)
    defence = catalogue.create(name, "obfuscator")
    expected = defence.transform(whole(path, layout).traces, seed=7).to_frame()
    for number, (threads, chunk) in enumerate([(1, 999), (3, 1 << 20)]):
        with use(threads=threads):
            table, found = streamed(path, layout, tmp_path, chunk)
            form = obfuscation.build_released_format(keeps_times=True)
            change = obfuscation.build_event_obfuscation(table, defence, seed_sequence(7))
            one = tmp_path / f"out{number}.parquet"
            counts = chunking.write_chunks(table, found, one, change, form)
            parts = PartsCheckpoint(tmp_path / f"out{number}", "x")
            parts.begin(resume=False)
            chunking.write_chunks(table, found, parts.out, change, form, unfinished=parts)
            parts.finish()
        assert pl.read_parquet(one).equals(expected)
        assert pl.read_parquet(parts.out / "*.parquet").equals(expected)
        assert len(list(parts.out.iterdir())) == len(table.portions)
        assert counts["events"] == expected.height
        assert counts["kept"] + counts["moved"] + counts["generalised"] + counts["deleted"] == expected.height
    assert (tmp_path / "out0.parquet").read_bytes() == (tmp_path / "out1.parquet").read_bytes()
    for part in (tmp_path / "out0").iterdir():
        assert part.read_bytes() == (tmp_path / "out1" / part.name).read_bytes()


CHANGES = (
    *("RoundTime(3h)", "RoundTime(10min)", "PerDay(2)", "ShuffleDays(month)", "Resample(2h)"),
    *("PL(4,1)+RoundTime(part)", "PerDay(5)+RR(1)+RoundTime(1h)"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "layout"),
    [
        *((name, "shuffled") for name in CHANGES),
        *((CHANGES[-1], layout) for layout in ("UTC", "offsets")),
        *(
            pytest.param(name, layout, marks=pytest.mark.long)
            for name in CHANGES[:-1]
            for layout in ("UTC", "offsets")
        ),
    ],
)
def test_changed_times_are_written_as_on_the_whole(name: str, layout: str, tmp_path: Path) -> None:
    path = laid_out(tmp_path, layout)
    defence = catalogue.create(name, "obfuscator")
    original = whole(path, layout).traces
    expected = defence.transform(original, seed=7)
    table, found = streamed(path, layout, tmp_path)
    form = obfuscation.build_released_format(keeps_times=False)
    change = obfuscation.build_event_obfuscation(table, defence, seed_sequence(7))
    for out in ("x.parquet", "x.csv"):
        counts = chunking.write_chunks(table, found, tmp_path / out, change, form)
        write(expected, tmp_path / f"whole-{out}")
        assert counts["events"] == len(expected)
        assert counts["withheld"] == len(original) - len(expected)
    assert pl.read_parquet(tmp_path / "x.parquet").equals(pl.read_parquet(tmp_path / "whole-x.parquet"))
    assert (tmp_path / "x.csv").read_bytes() == (tmp_path / "whole-x.csv").read_bytes()


@pytest.mark.parametrize("name", ["RR(1)", "PL(1,1)", "MRLH(1,0,0.4)"])
def test_draws_belong_to_events_wherever_the_users_are_cut(name: str) -> None:
    traces = city(700, 3, 2)
    defence = catalogue.create(name, "obfuscator")
    expected = defence.transform(traces, seed=3)
    assert traces.n_events > 2**16
    for first, stop in [(0, 1), (300, 460), (460, 700)]:
        part = defence.transform_part(
            traces.take_users(slice(first, stop)),
            seed=seed_sequence(3),
            first=int(traces.offsets[first]),
            total=traces.n_events,
        )
        assert part == expected.take_users(slice(first, stop))


def test_the_draws_of_2019_are_not_cut() -> None:
    defence = catalogue.create("RR(1)", "obfuscator", legacy_2019=True)
    with pytest.raises(ParameterError, match="all users at once"):
        defence.transform_part(city(), seed=seed_sequence(1), first=1, total=2 * city().n_events)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [("lat", 95.0, "bad latitude"), ("place", None, "no place"), ("user_id", None, "missing fields")],
)
def test_a_row_that_cannot_be_used_is_named_with_its_file(
    column: str, value: float | None, reason: str, tmp_path: Path
) -> None:
    path = laid_out(tmp_path, "parts")
    third = path / "part-002.parquet"
    frame = pl.read_parquet(third)
    wrong = pl.lit(value, frame.schema[column])
    bad = pl.when(pl.int_range(pl.len()) == 16).then(wrong).otherwise(pl.col(column)).alias(column)
    frame.with_columns(bad).write_parquet(third)
    table, found = streamed(path, "parts", tmp_path)
    assert found.report.dropped == {reason: 1}
    (example,) = found.report.examples_of(reason)
    assert (example.path, example.fault.row) == (str(third), 17)
    expected = read(path).as_events().traces
    assert [table.traces(one.number) for one in table.portions] == [
        expected.take_users(slice(one.first_user, one.stop_user)) for one in table.portions
    ]


def test_bad_rows_of_text_are_named_as_by_reading_all(tmp_path: Path) -> None:
    rows = frame_of("file").select("user_id", "time", "place", "lat", "lng").write_csv().splitlines()
    user, _, place, lat, lng = rows[1].split(",")
    for number, bad in {
        17: f"{user},1999-01-01T00:00:00,{place},95.0,{lng}",  # broken twice: the first rule counts it
        901: f"{user},soon,{place},{lat},{lng}",
        1500: f"{user},2024-01-01T00:00:00,,{lat},{lng}",
        1501: f"{user},2024-01-01T00:00:00,{place},north,{lng}",
        1502: f"{user},2024-01-01T00:00:00,{place}",
    }.items():
        rows[number] = bad
    path = tmp_path / "events.csv"
    path.write_text("\n".join([*rows, ""]))
    expected = read(path).as_events()
    table, found = streamed(path, "csv", tmp_path, chunk=200)
    assert len(table.chunks) > 5
    assert found.report.to_dict() == {**expected.report.to_dict(), "noticed": found.report.noticed}
    assert set(found.report.dropped) == {
        "implausible date", "unparsable time", "no place", "bad latitude", "missing fields"
    }  # fmt: skip
    assert found.report.examples_of("implausible date")[0].fault.value == "1999-01-01T00:00:00"
    for one in table.portions:
        own = expected.traces.take_users(slice(one.first_user, one.stop_user))
        assert table.traces(one.number) == own


def test_a_part_of_other_columns_and_a_table_without_a_usable_row_are_refused(tmp_path: Path) -> None:
    path = laid_out(tmp_path, "parts")
    frame_of("file").drop("place").head(5).write_parquet(path / "part-999.parquet")
    with pytest.raises(FileError, match=r"part-999.parquet.*has no column place, which part-000.parquet has"):
        large.open_event_chunks(path, tmp_path)
    nowhere = frame_of("file").with_columns(lat=pl.lit(None, pl.Float64))
    nowhere.write_parquet(tmp_path / "e.parquet")
    with pytest.raises(FileError, match="bad latitude"):
        large.open_event_chunks(tmp_path / "e.parquet", tmp_path)


def test_parts_for_training_hold_whole_blocks_of_users(tmp_path: Path) -> None:
    with use(chunk_rows=700):
        table, _ = large.open_event_chunks(laid_out(tmp_path, "file"), tmp_path, users=8)
    sizes = [one.stop_user - one.first_user for one in table.portions]
    assert sizes == [8, 8, 8, 8, 8]
    assert sum(map(len, table.portions)) == city().n_events
