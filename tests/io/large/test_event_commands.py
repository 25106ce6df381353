"""The commands on tables of events that are too large to read whole; the limit is lowered instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.io.large.event_tables import city, crowd, frame_of, laid_out, options_of

from tracearena.engine import use
from tracearena.io import read
from tracearena.jobs import chunking

PL = ("obfuscate", "PL(4,1)")


def as_a_whole(run: Callable[..., str], *arguments: object) -> str:
    """Run a command that reads all at once."""
    with use(chunk_rows=10**9):
        return run(*arguments)


def said_to(layout: str) -> list[str]:
    return [word for name, value in options_of(layout).items() for word in (f"--{name}", value)]


def alike(one: Path, other: Path) -> bool:
    if one.suffix != ".parquet":
        return one.read_bytes() == other.read_bytes()
    return pl.read_parquet(one).equals(pl.read_parquet(other))


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("command", "layout", "name"),
    [
        pytest.param(PL, "parts", "out.parquet", marks=pytest.mark.long),
        (("obfuscate", "RR(3)"), "offsets", "out.csv"),
        (("obfuscate", "MRLH(1,1,0.4)"), "on a grid", "out.csv"),
        (("convert",), "shuffled", "out.parquet"),
        pytest.param(("convert",), "UTC", "out.csv", marks=pytest.mark.long),
        (("convert",), "twenty minutes", "out.csv.gz"),
        pytest.param(("convert",), "mixed zones csv", "out.parquet", marks=pytest.mark.long),
        (PL, "shuffled csv", "out.csv"),
    ],
)
def test_a_large_table_is_worked_on_as_a_small_one(
    command: tuple[str, ...], layout: str, name: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path, how = laid_out(tmp_path, layout), [*said_to(layout), "--json"]
    how += ["--seed", "3"] if command[0] == "obfuscate" else []
    streamed = json.loads(run(*command, path, tmp_path / name, *how))
    whole = json.loads(as_a_whole(run, *command, path, tmp_path / f"whole-{name}", *how))
    unlike = {"file": "", "written": [], "examples": {}}
    assert streamed | unlike == whole | unlike
    assert alike(tmp_path / name, tmp_path / f"whole-{name}")


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("layout", ["parts", "numbered", "on a grid", "packed csv"])
def test_a_large_table_is_described_as_a_small_one(
    layout: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    command = ("describe", laid_out(tmp_path, layout), "--json", *said_to(layout))
    assert json.loads(run(*command)) == json.loads(as_a_whole(run, *command))


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("layout", ["text ids", "shuffled", "csv"])
def test_a_large_table_is_pseudonymised_as_a_small_one(
    layout: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(tmp_path, layout)
    for folder, way in (("streamed", run), ("whole", lambda *words: as_a_whole(run, *words))):
        (tmp_path / folder).mkdir()
        out, ids = tmp_path / folder / "out.parquet", tmp_path / folder / "ids.csv"
        told = json.loads(way("pseudonymise", path, out, "--id-table", ids, "--seed", 5, "--json"))
        assert told["pseudonyms"] == city().n_users
    assert alike(tmp_path / "streamed" / "out.parquet", tmp_path / "whole" / "out.parquet")
    assert (tmp_path / "streamed" / "ids.csv").read_bytes() == (tmp_path / "whole" / "ids.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize(
    ("defence", "layout", "name"),
    [
        ("PL(4,1)", "text ids", "out.csv"),
        ("MRLH(1,1,0.4)", "on a grid", "out.parquet"),
        ("RR(2)", "numbered", "out.csv"),
    ],
)
def test_a_large_release_is_pseudonymised_as_a_small_one(
    defence: str, layout: str, name: str, tmp_path: Path, run: Callable[..., str]
) -> None:
    parts = tmp_path / "parts"
    path = laid_out(tmp_path, layout)
    run("obfuscate", defence, path, parts, "--to", "partitions", "--seed", 1, *said_to(layout))
    for folder, way in (("streamed", run), ("whole", lambda *words: as_a_whole(run, *words))):
        (tmp_path / folder).mkdir()
        out, ids = tmp_path / folder / name, tmp_path / folder / "ids.csv"
        told = json.loads(way("pseudonymise", parts, out, "--id-table", ids, "--seed", 5, "--json"))
        assert told["pseudonyms"] == pl.read_parquet(parts / "*.parquet")["user_id"].n_unique()
    assert alike(tmp_path / "streamed" / name, tmp_path / "whole" / name)
    assert (tmp_path / "streamed" / "ids.csv").read_bytes() == (tmp_path / "whole" / "ids.csv").read_bytes()


@pytest.mark.usefixtures("small_portions")
def test_events_without_coordinates_go_to_the_places_of_a_file(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    frame = frame_of("file")
    path = laid_out(tmp_path, "file", frame.drop("lat", "lng", "category"))
    places = frame.unique("place").sort("place").select("place", "lat", "lng").slice(20)
    places.write_csv(tmp_path / "places.csv")
    command = (*PL, path, "--places", tmp_path / "places.csv", "--seed", 2, "--json")
    streamed = json.loads(run(*command[:3], tmp_path / "out.parquet", *command[3:]))
    whole = json.loads(as_a_whole(run, *command[:3], tmp_path / "whole.parquet", *command[3:]))
    assert streamed | {"file": ""} == whole | {"file": ""}
    assert alike(tmp_path / "out.parquet", tmp_path / "whole.parquet")
    said = run(*PL, path, tmp_path / "none.parquet", status=2)
    assert "has places without coordinates; give their file with --places" in said


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("seed", [("--seed", "3"), ()])
def test_a_stopped_run_goes_on_where_it_was(
    seed: tuple[str, ...], tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(tmp_path, "shuffled")
    out, command = tmp_path / "out", (*PL, path, tmp_path / "out", "--to", "partitions", *seed)
    write, written = chunking.write_part, list[Path]()

    def interrupted(traces: object, part: Path) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(part)
        write(traces, part)

    with monkeypatch.context() as patch:
        patch.setenv("TRACEARENA_THREADS", "1")
        patch.setattr(chunking, "write_part", interrupted)
        said = run(*command, status=130)
    assert "2 of " in said
    assert "with --resume" in said
    left = {part.name: part.stat().st_mtime_ns for part in written}
    assert not out.exists()
    assert "belongs to a run with other" in run("obfuscate", "PL(5,1)", *command[2:], "--resume", status=2)
    run(*command, "--resume")
    assert {name: (out / name).stat().st_mtime_ns for name in left} == left
    assert sorted(one.name for one in tmp_path.iterdir()) == ["events", "out"]
    assert len(pl.read_parquet(out / "*.parquet")) == city().n_events
    if seed:
        undisturbed = tmp_path / "undisturbed"
        run(*PL, path, undisturbed, "--to", "partitions", *seed)
        assert all(part.read_bytes() == (out / part.name).read_bytes() for part in undisturbed.iterdir())


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("to", [("out", "--to", "partitions"), ("out.parquet",)])
def test_text_that_is_refused_near_its_end_leaves_nothing_behind(
    to: tuple[str, ...], tmp_path: Path, run: Callable[..., str]
) -> None:
    path = laid_out(tmp_path, "csv")
    path.write_bytes(path.read_bytes()[:-20] + b"\0\n")
    assert "zero bytes" in run(*PL, path, tmp_path / to[0], *to[1:], status=2)
    assert [one.name for one in tmp_path.iterdir()] == ["events.csv"]


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_a_wrong_row_of_text_is_named_and_left_out(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(tmp_path, "csv")
    lines = path.read_text().splitlines()
    lines[3000] = lines[3000].replace("2019-", "soon ")
    path.write_text("\n".join(lines))
    command = ("convert", path, tmp_path / "out.parquet", "--json")
    told = json.loads(run(*command))
    assert told["dropped"] == {"unparsable time": 1}
    assert told["examples"]["unparsable time"][0]["row"] == 3000
    (tmp_path / "out.parquet").unlink()
    assert told == json.loads(as_a_whole(run, *command))


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
def test_released_parts_are_read_as_one_table(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(tmp_path, "file")
    for name, to in (("parts", ("--to", "partitions")), ("one.parquet", ())):
        run(*PL, path, tmp_path / name, "--seed", 1, *to)
    score = ("score", "utility", "--original", path, "--json", "--obfuscated")
    assert run(*score, tmp_path / "parts") == run(*score, tmp_path / "one.parquet")
    described = [json.loads(run("describe", tmp_path / name, "--json")) for name in ("parts", "one.parquet")]
    assert described[0] | {"file": ""} == described[1] | {"file": ""}


@pytest.mark.usefixtures("small_portions")
def test_parts_are_the_events_by_whole_blocks_of_users(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(tmp_path, "shuffled", crowd())
    places = ("--places-out", tmp_path / "places.csv")
    told = json.loads(run("convert", path, tmp_path / "out", "--to", "partitions", *places, "--json"))
    assert (tmp_path / "places.csv").read_text().count("\n") == told["places"] + 1
    assert (told["to"], told["events"]) == ("partitions", len(crowd()))
    users = [pl.read_parquet(part)["user_id"].n_unique() for part in sorted((tmp_path / "out").iterdir())]
    assert users == [1_024] * 4 + [224]
    assert read(tmp_path / "out").traces == read(path).traces


def test_what_needs_all_users_is_refused_in_parts(tmp_path: Path, run: Callable[..., str]) -> None:
    path = laid_out(tmp_path, "file")
    for defence in ("Cheat(0.5)", "Decoy(0.7)", "ClusterAveraging(0.7)", "KAnonymous(3)"):
        said = run("obfuscate", defence, path, tmp_path / "out", "--to", "partitions", status=2)
        assert "needs all users at once" in said
    legacy = ("obfuscate", "RR(1)", path, tmp_path / "out", "--to", "partitions", "--legacy-2019")
    assert "random numbers of 2019" in run(*legacy, status=2)
    top = run(*PL, path, tmp_path / "out", "--to", "partitions", "--top", 5, status=2)
    assert "most visited places, which needs all rows at once" in top
    grid = run(*PL, path, tmp_path / "out", "--to", "partitions", "--grid", "8x8", status=2)
    assert "a grid without --bounds" in grid
    assert [one.name for one in tmp_path.iterdir()] == ["events.parquet"]


@pytest.mark.slow
@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("layout", ["shuffled", pytest.param("csv", marks=pytest.mark.long)])
def test_workers_write_the_parts_that_threads_write(
    layout: str, tmp_path: Path, run: Callable[..., str], workers: tuple[str, str]
) -> None:
    path = laid_out(tmp_path, layout)
    for name, cluster in (("here", ()), ("there", workers)):
        run(*PL, path, tmp_path / name, "--to", "partitions", "--seed", 1, *cluster)
    assert len([*(tmp_path / "here").iterdir()]) > 3
    for part in (tmp_path / "here").iterdir():
        assert part.read_bytes() == (tmp_path / "there" / part.name).read_bytes()
    described = [json.loads(run("describe", path, "--json", *way)) for way in ((), workers)]
    assert described[0] == described[1]
