"""``tracearena describe``: one JSON object, or lines; a page that stands alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import tracearena
from typer.testing import CliRunner

from tracearena.cli import build, main
from tracearena.io import read, write
from tracearena.pages.describe import build_description_page, summarise
from tracearena.traces import Traces


def described(*arguments: object) -> dict:
    result = CliRunner().invoke(build(["describe"]), ["describe", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_gowalla_is_described_in_json(shared_data: Path) -> None:
    found = described(shared_data / "gowalla-nyc.txt.gz", "--timezone", "America/New_York")
    assert {"users", "events", "places", "first", "last", "dropped"} <= set(found)
    assert (found["users"], found["events"], found["places"]) == (7_115, 138_957, 21_509)
    assert (found["first"], found["last"]) == ("2009-04-23 18:00", "2010-10-22 21:00")
    assert found["dropped"] == {}
    assert found["noticed"]["users with one event"] == 1_414


def test_osaka_is_described_without_dates(osaka: Path) -> None:
    found = described(osaka / "reftraces_team001_data01_IDP.csv")
    assert (found["format"], found["events"], found["missing"]) == ("pwscup", 80_000, 0.0)
    assert (found["first"], found["last"]) == ("day 1, 08:00", "day 2, 17:30")


def test_days_and_hours_between_events_do_not_contradict_each_other(shared_data: Path) -> None:
    # The dates of the authors' traces are months apart; a trace is one day all the same.
    found = described(shared_data / "ppmtf-tokyo" / "traintraces_TK.csv")
    assert found["days"] == 1
    assert found["gap_h"]["longest"] < 24


def test_the_numbers_are_those_of_a_slow_count(make_check_ins: Callable[..., Traces], tmp_path: Path) -> None:
    write(make_check_ins(events=900), tmp_path / "t.csv")
    traces, report = read(tmp_path / "t.csv")
    found = summarise(traces, report).to_dict()
    seen: dict[int, list[tuple[int, int]]] = {}
    for user, instant, stamp in zip(traces.user_index, traces.instants, traces.timestamps, strict=True):  # type: ignore[arg-type]
        seen.setdefault(int(user), []).append((int(instant), int(stamp)))
    assert found["several_at_an_instant"] == sum(
        len(events) - len({instant for instant, _ in events}) for events in seen.values()
    )
    gaps = [(b - a) / 3600 for events in seen.values() for (_, a), (_, b) in pairwise(events)]
    assert found["gap_h"]["longest"] == pytest.approx(max(gaps), abs=1e-3)
    assert found["gap_h"]["median"] == pytest.approx(np.median(gaps), abs=1e-3)
    lengths = [len(times) for times in seen.values()]
    assert found["events_per_user"]["most"] == max(lengths)
    assert found["events_per_user"]["mean"] == pytest.approx(np.mean(lengths), abs=1e-3)
    assert found["events_per_user"]["standard_deviation"] == pytest.approx(np.std(lengths), abs=1e-3)


def test_the_page_stands_alone_and_says_what_was_dropped(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    write(make_check_ins(), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open("a") as file:
        file.write("7,2012-04-05T10:00:00Z,-240,v000,400.17,-74,<b>\n")
    found = described(tmp_path / "t.csv", "--html", tmp_path / "page.html")
    assert found["dropped"] == {"bad latitude": 1}
    page = (tmp_path / "page.html").read_text()
    for words in ("Where people are", "Times", "bad latitude", "row 401, lat"):
        assert words in page
    assert '<meta name="viewport"' in page
    assert "prefers-color-scheme: dark" in page


def test_a_page_of_one_event_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,time,lat,lng\n1,2012-04-03 10:00,40,-74\n")
    html = build_description_page(*read(tmp_path / "t.csv", "table")).html()
    assert "All users have the same number of events: 1." in html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["t.csv", "--from", "gowalla"], "is not a gowalla file: it looks like a table of GPS points"),
        (["t.csv", "--from", "excel"], "format = 'excel' is not allowed; it must be one of pwscup, ppmtf"),
        (["t.csv", "--grid", "many"], "grid = 'many'"),
    ],
)
def test_a_mistake_is_one_message_and_status_2(
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "t.csv").write_text("user,time,lat,lng\n1,2012-04-03 10:00,40,-74\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tracearena", "describe", *arguments, "--html", "page.html"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert message in printed.err
    assert printed.out == ""
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("option", [("--columns", "user=nobody"), ("--one-user", "me"), ("--delimiter", ";")])
def test_a_release_has_no_layout_to_tell(tmp_path: Path, option: tuple[str, str]) -> None:
    (tmp_path / "in.csv").write_text(
        "user,time,lat,lng,place\n1,2012-04-03 10:00,40,-74,a\n1,2012-04-03 11:00,41,-74,b\n"
    )
    assert tracearena("obfuscate", "No", "in.csv", "out.csv", folder=tmp_path).status == 0
    done = tracearena("describe", "out.csv", *option, folder=tmp_path)
    assert done.status == 2
    assert f"{option[0]} does not apply to released traces in a table" in done.err


def test_columns_are_proposed_for_the_file_that_is_described_alone(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "user,time,lat,lng,place\n1,2012-04-03 10:00,40,-74,a\n1,2012-04-03 11:00,41,-74,b\n"
    )
    assert tracearena("obfuscate", "No", "in.csv", "out.csv", folder=tmp_path).status == 0
    (tmp_path / "odd.csv").write_text("a;b;c\n1;2;3\n")
    done = tracearena("describe", "out.csv", "--original", "odd.csv", folder=tmp_path)
    assert done.status == 2
    assert done.err.startswith("odd.csv: ")
    assert "first rows" not in done.err
