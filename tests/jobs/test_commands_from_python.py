"""A function of `ta.jobs` does what the command of its name does."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import tracearena

import tracearena as ta
from tracearena.io import Input
from tracearena.jobs import ReadingOptions

GRID = ReadingOptions(grid="4x4", bounds="34.7,149.8,35.3,150.4")
WITH_GRID = ("--grid", "4x4", "--bounds", "34.7,149.8,35.3,150.4")
CHECKED = {"valid": True, "file": "in.csv"}
JOBS: dict[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "obfuscate": (
        ("obfuscate", "PL(4,1)", "in.csv", "OUT.csv", "--seed", "1"),
        lambda out: ta.jobs.obfuscate("PL(4,1)", "in.csv", f"{out}.csv", seed=1),
    ),
    "obfuscate points": (
        ("obfuscate", "GeoInd(100m)", "gps.csv", "OUT.parquet", "--seed", "1"),
        lambda out: ta.jobs.obfuscate("GeoInd(100m)", "gps.csv", f"{out}.parquet", seed=1),
    ),
    "convert": (
        ("convert", "in.csv", "OUT.parquet", *WITH_GRID),
        lambda out: ta.jobs.convert(Path("in.csv"), f"{out}.parquet", reading=GRID).result,
    ),
    "convert in parts": (
        ("convert", "gps.csv", "OUT", "--to", "partitions"),
        lambda out: ta.jobs.convert("gps.csv", out, to="partitions").result,
    ),
    "pseudonymise": (
        ("pseudonymise", "in.csv", "OUT.csv", "--id-table", "OUT.secret.csv", "--seed", "1"),
        lambda out: ta.jobs.pseudonymise("in.csv", f"{out}.csv", f"{out}.secret.csv", seed=1),
    ),
    "describe": (
        ("describe", "in.csv", "--html", "OUT.html"),
        lambda out: ta.jobs.describe(Input("in.csv"), html=f"{out}.html").to_dict(),
    ),
    "score": (
        ("score", "utility", "--original", "in.csv", "--obfuscated", "in.csv"),
        lambda out: ta.jobs.score_utility("in.csv", "in.csv").to_dict() | {"valid": True, "threshold": 0.7},
    ),
    "score traces": (
        ("score", "trace-inference", "--original", "in.csv", "--inferred", "in.csv"),
        lambda out: ta.jobs.score_trace_inference("in.csv", "in.csv"),
    ),
    "score a table": (
        ("score", "reidentification", "--id-table", "ids.csv", "--inferred", "ids.csv"),
        lambda out: ta.jobs.score_reidentification("ids.csv", "ids.csv").to_dict(),
    ),
    "check obfuscated": (
        ("check", "obfuscated", "in.csv", "--original", "in.csv"),
        lambda out: CHECKED | ta.jobs.check_obfuscated("in.csv", "in.csv"),
    ),
    "check a table": (
        ("check", "inferred-table", "ids.csv", "--original", "in.csv"),
        lambda out: (
            CHECKED | {"file": "ids.csv"} | ta.jobs.check_inferred_table("ids.csv", original="in.csv")
        ),
    ),
    "check traces": (
        ("check", "inferred-traces", "in.csv", "--original", "in.csv"),
        lambda out: CHECKED | ta.jobs.check_inferred_traces("in.csv", original="in.csv"),
    ),
}
DRAWN = ("commitment",)
"""What comes from the system's source of randomness, and differs."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of events and one of GPS points."""
    monkeypatch.chdir(tmp_path)
    city = ta.simulate(users=6, days=2, seed=1)
    ta.write(city, "in.csv")
    Path("ids.csv").write_text("".join(["pse_id,user_id\n", *(f"{7 + n},{n + 1}\n" for n in range(6))]))
    rows = [
        f"u{user},2020-01-01T{hour:02d}:00:00Z,35.{user}{hour:02d},139.7"
        for user in range(3)
        for hour in range(9)
    ]
    Path("gps.csv").write_text("\n".join(["user_id,datetime,lat,lng", *rows, ""]))
    return tmp_path


@pytest.mark.parametrize("job", JOBS)
def test_a_job_does_what_its_command_does(folder: Path, job: str) -> None:
    words, call = JOBS[job]
    done = tracearena(*(word.replace("OUT", "command") for word in words), "--json")
    assert done.status == 0, done.err
    result = json.loads(json.dumps(call("python")))
    said = {name: value for name, value in done.json.items() if not name.startswith(DRAWN)}
    assert {name: value for name, value in result.items() if not name.startswith(DRAWN)} == json.loads(
        json.dumps(said).replace("command", "python")
    )
    for path in [one for one in folder.rglob("command*") if one.is_file() and "salt" not in one.name]:
        assert path.with_name(path.name.replace("command", "python")).read_bytes() == path.read_bytes()


def test_what_a_job_says_goes_to_the_logger_or_to_who_listens(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ta.jobs.obfuscate("PL(4,1)", "in.csv", "one.csv", seed=1)
    said = caplog.messages[:]
    assert {one.name for one in caplog.records} == {"tracearena"}
    assert any("can draw the same random numbers" in message for message in said)

    class Ear(ta.jobs.Listener):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def note(self, message: str) -> None:
            self.heard.append(message)

    ear = Ear()
    with ta.jobs.listen(ear):
        ta.jobs.obfuscate("PL(4,1)", "in.csv", "two.csv", seed=1)
    assert [one.replace("two", "one") for one in ear.heard] == said
    assert caplog.messages == said


def test_a_mistake_is_the_same_error(folder: Path) -> None:
    with pytest.raises(ta.errors.ParameterError, match=r"in\.csv: is an input; write to another file"):
        ta.jobs.obfuscate("PL(4,1)", "in.csv", "in.csv")


@pytest.mark.slow
def test_an_audit_from_python_writes_the_same_page(folder: Path) -> None:
    done = tracearena("audit", "in.csv", "--out", "command", "--quick", "--seed", "1", "--json")
    assert done.status == 0, done.err
    found = ta.jobs.audit("in.csv", "python", settings=ta.audit.Settings(quick=True), seed=1)
    assert json.loads(json.dumps(found.to_dict())) == done.json
    assert Path("python/audit.html").read_bytes() == Path("command/audit.html").read_bytes()


SEMICOLONS = "who;when;y;x\nu0;2020-01-01T00:00:00Z;35.1;139.7\nu1;2020-01-01T01:00:00Z;35.2;139.7\n"
LAID_OUT = ReadingOptions(columns="user=who,time=when,lat=y,lng=x", delimiter=";")


def test_an_input_keeps_what_the_options_do_not_say(folder: Path) -> None:
    Path("semi.csv").write_text(SEMICOLONS)
    source = Input("semi.csv", LAID_OUT.parse_layout())
    assert ta.read(source, "points").traces.n_users == 2
    assert isinstance(ta.read(Input("in.csv", asked_format="points"), decimal=".").traces, ta.GpsTraces)
    assert ta.jobs.describe(source).to_dict()["users"] == 2
    assert ta.jobs.describe(Input("semi.csv"), reading=LAID_OUT).to_dict()["users"] == 2
    assert ta.jobs.pseudonymise(source, "out.csv", "secret.csv", seed=1)["pseudonyms"] == 2


@pytest.mark.parametrize("chunk_rows", [20, 10**9])
def test_an_input_is_read_alike_whatever_its_size(folder: Path, chunk_rows: int) -> None:
    with ta.engine.use(chunk_rows=chunk_rows):
        assert ta.jobs.describe(Input("in.csv", asked_format="points")).to_dict()["format"] == "gps"
        assert ta.jobs.convert(Input("in.csv", asked_format="points"), "out.parquet").are_points


def test_files_beside_may_be_named_by_text(folder: Path) -> None:
    city = ta.simulate(users=3, days=1, seed=1)
    ta.write(city, "contest.csv", to="pwscup", places_out="places.csv")
    assert (
        ta.jobs.describe("contest.csv", reading=ReadingOptions(places="places.csv")).to_dict()["users"] == 3
    )


@pytest.mark.parametrize(
    ("function", "keywords"),
    [
        (ta.read, ("grid", "timezone", "columns", "strict")),
        (ta.io.read_released, ("clock", "grid", "max_bytes")),
        (ta.jobs.convert, ("test_share", "cluster")),
        (ta.jobs.protect, ("settings", "seed")),
    ],
)
def test_keywords_that_functions_share_are_listed_and_others_refused(function, keywords):
    assert {*keywords} <= {*inspect.signature(function).parameters}
    with pytest.raises(ta.errors.ParameterError, match=f"{function.__name__} has no option 'sead'"):
        function(sead=1)
