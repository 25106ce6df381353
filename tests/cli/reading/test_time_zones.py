"""Zones that do not exist, hours that do not exist, dates beyond every calendar."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena import io
from tracearena.errors import ParameterError
from tracearena.io import read

POINTS = "user,time,lat,lng\na,2010-03-14 01:30:00,40.7,-74\na,2010-03-14 02:30:00,40.7,-74\n"
EVENTS = "user,time,lat,lng,place\na,2010-03-14 02:30:00,40.7,-74,x\na,2010-11-07 01:30:00,40.7,-74,x\n"
WRONG = ["Mars/Phobos", "UTC+9", "Asia/Tokyo ", "../../etc/passwd", "", "Asia/Tokyo\0", "/etc/localtime", "9"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "points.csv").write_text(POINTS)
    (tmp_path / "events.csv").write_text(EVENTS)
    point = '<trkpt lat="40" lon="1"><time>2012-01-01T00:00:00Z</time></trkpt>'
    (tmp_path / "t.gpx").write_text(f"<gpx><trk><trkseg>{point}</trkseg></trk></gpx>")
    return tmp_path


COMMANDS = [
    ["describe", "points.csv"],
    ["describe", "events.csv"],
    ["describe", "t.gpx"],
    ["describe", "points.csv", "--grid", "2x2"],
    ["convert", "points.csv", "OUT"],
    ["convert", "events.csv", "OUT"],
    ["convert", "t.gpx", "OUT", "--grid", "2x2"],
    ["obfuscate", "GeoInd(100m)", "points.csv", "OUT"],
    ["attack", "Smooth(3)", "OUT", "--anonymized", "t.gpx"],
    ["applications", "error", "--original", "points.csv", "--released", "points.csv"],
]


@pytest.mark.parametrize(
    ("command", "zone"),
    [(command, WRONG[number % len(WRONG)]) for number, command in enumerate(COMMANDS)]
    + [(COMMANDS[0], zone) for zone in WRONG[1:]],
)
def test_a_zone_that_does_not_exist_is_refused(folder: Path, command: list[str], zone: str) -> None:
    before = sorted(folder.iterdir())
    words = [folder / word if word.endswith((".csv", ".gpx")) else word for word in command]
    words = [folder / "out.csv" if word == "OUT" else word for word in words]
    done = tracearena(*words, "--timezone", zone)
    assert (done.status, done.out, sorted(folder.iterdir())) == (2, "", before)
    assert done.err.startswith("timezone = ")
    assert "it must be a name such as America/New_York" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("zone", "meant"),
    [
        ("Asia/Tokyo ", "Asia/Tokyo"),
        ("asia/tokyo", "Asia/Tokyo"),
        ("UTC+9", "Etc/GMT-9"),
        ("New York", "America/New_York"),
    ],
)
def test_the_nearest_zone_is_suggested(folder: Path, zone: str, meant: str) -> None:
    with pytest.raises(ParameterError, match=rf"\(perhaps {meant}\)"):
        read(folder / "points.csv", timezone=zone)
    with pytest.raises(ParameterError, match=rf"\(perhaps {meant}\)"):
        io.read(folder / "events.csv", timezone=zone)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_hour_that_clocks_skip_or_repeat_is_read_by_a_rule_and_reported(folder: Path, kind: str) -> None:
    """02:30 is read as if the clocks had not been set yet: 03:30 summer time, 07:30 UTC."""
    path = folder / "points.csv"
    rows = [*POINTS.splitlines(), "a,2010-11-07 01:30:00,40.7,-74"]
    path.write_text("\n".join(rows) + "\n")
    if kind == "parquet":
        path = folder / "points.parquet"
        pl.read_csv(folder / "points.csv", try_parse_dates=True).write_parquet(path)
    reading = read(path, timezone="America/New_York")
    times = [str(pl.Series([t]).cast(pl.Datetime("ms"))[0]) for t in reading.traces.time_ms.tolist()]
    assert times == ["2010-03-14 06:30:00", "2010-03-14 07:30:00", "2010-11-07 05:30:00"]
    assert reading.report.noticed == {"skipped hour": 1, "repeated hour": 1}
    done = tracearena("describe", path, "--timezone", "America/New_York")
    assert "the clocks of America/New_York skip" in done.out


def test_events_follow_the_same_rule(folder: Path) -> None:
    found = tracearena("describe", folder / "events.csv", "--timezone", "America/New_York", "--json").json
    assert found["noticed"]["local times that clocks skip in spring, read as before the change"] == 1
    assert found["noticed"]["local times that clocks show twice in autumn, read as the first"] == 1


FAR = ["-99999999999999", "99999999999999999", "-1e30", "253402300800000", "-62135596801", "9e18", "1e309"]


KINDS = ["points", "table", "tsmc", "foursquare", "gowalla"]


@pytest.mark.parametrize(
    ("kind", "far", "zone"),
    [
        pytest.param(kind, far, zone, marks=[] if (i + j) % 3 == 0 else [pytest.mark.slow])
        for i, kind in enumerate(KINDS)
        for j, far in enumerate(FAR)
        for zone in (None, "America/New_York")
    ],
)
def test_a_date_beyond_every_calendar_is_left_out_and_reported(
    folder: Path, kind: str, far: str, zone: str | None
) -> None:
    good = "Tue Apr 03 18:00:09 +0000 2012"
    files = {
        "points": "user,time,lat,lng\n" + "a,1333476006,40.7,-74\n" * 3 + f"a,{far},40.7,-74\n",
        "table": "user,time,lat,lng,place\n" + "a,1333476006,40.7,-74,x\n" * 3 + f"a,{far},40.7,-74,x\n",
        "tsmc": f"a\tv\tc\tBar\t40.7\t-74\t-240\t{good}\n" * 3 + f"a\tv\tc\tBar\t40.7\t-74\t{far}\t{good}\n",
        "foursquare": f"a\tv\t{good}\t-240\n" * 3 + f"a\tv\t{good}\t{far}\n",
        "gowalla": "a\t2012-04-03T18:00:09Z\t40.7\t-74\tv\n" * 3 + "a\t0000-00-00T00:00:00Z\t40.7\t-74\tv\n",
    }
    (folder / "raw_POIs.txt").write_text("v\t40.7\t-74\tBar\tUS\n")
    path = folder / "file.txt"
    path.write_text(files[kind])
    options = [] if zone is None else ["--timezone", zone]
    done = tracearena("describe", path, "--json", *options)
    assert done.status == 0, done.err
    # With a zone the offsets of the file are not used, so that none can be wrong.
    kept = 4 if zone is not None and kind in ("tsmc", "foursquare") else 3
    assert (done.json["events"], done.json["dropped_rows"]) == (kept, 4 - kept)
