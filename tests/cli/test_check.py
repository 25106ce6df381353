"""``tracearena check`` says OK or the verdict, to people and to programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracearena.cli import main
from tracearena.io import pwscup
from tracearena.traces import ObfuscatedTraces, PlaceSets, Traces


@pytest.fixture
def contest(make_walks: Callable[..., Traces], tmp_path: Path) -> Traces:
    walks = make_walks(users=5, days=1)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_times(pwscup.ContestTimes(walks.clock, 0, 1), tmp_path / "info_time.csv")
    pwscup.write_traces(walks, tmp_path / "original.csv")
    return walks


@pytest.fixture
def check(
    contest: Traces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    def run(kind: str, *options: str) -> tuple[int, str, str]:
        known = ["--places", str(tmp_path / "places.csv"), "--original", str(tmp_path / "original.csv")]
        arguments = ["tracearena", "check", kind, str(tmp_path / "file.csv"), *known, *options]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return int(stopped.value.code or 0), said.out, said.err

    return run


def test_good_obfuscated_traces_are_ok_with_counts(
    contest: Traces, check: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    codes = contest.place_index.copy()
    codes[:10], codes[10:15] = -1, -2
    codes[15] = (codes[15] + 1) % 64
    pwscup.write_obfuscated(
        ObfuscatedTraces.like(contest, codes, PlaceSets.of([[0, 1]])), tmp_path / "file.csv"
    )
    status, out, err = check("obfuscated")
    assert (status, err) == (0, "")
    assert out.startswith("OK ")
    assert "100 rows, 84 kept, 1 perturbed, 5 generalised, 10 deleted" in out
    status, out, _ = check("obfuscated", "--json")
    result = json.loads(out)
    assert result["valid"]
    assert (result["kept"], result["generalised"], result["deleted"]) == (84, 5, 10)


def test_bad_obfuscated_traces_exit_with_2_and_the_verdict(
    check: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "file.csv").write_text("reg_id\n" + "1\n" * 98 + "1 1\n65\n")
    status, out, err = check("obfuscated")
    assert (status, out) == (2, "")
    assert "row 99 (line 100), column reg_id: got '1 1': the same id twice" in err
    assert "row 100 (line 101), column reg_id: got '65'" in err
    status, out, err = check("obfuscated", "--json")
    verdict = json.loads(out)
    assert (status, verdict["valid"], verdict["total"]) == (2, False, 2)
    assert [fault["code"] for fault in verdict["faults"]] == ["repeated-id", "out-of-range"]
    assert verdict["file"] == str(tmp_path / "file.csv")


def test_inferred_tables_must_name_users_of_the_original(
    check: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "file.csv").write_text("user_id\n1\n1\n2\n3\n5\n")
    assert check("inferred-table")[0] == 0
    (tmp_path / "file.csv").write_text("user_id\n1\n1\n2\n3\n6\n")
    status, _, err = check("inferred-table")
    assert status == 2
    assert "row 5 (line 6), column user_id: got '6': there is no such user" in err


def test_inferred_traces_have_one_region_a_row(
    contest: Traces, check: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    pwscup.write_inferred_traces(contest.with_places(np.zeros(100, int)), tmp_path / "file.csv")
    assert "100 rows, 1 different regions" in check("inferred-traces")[1]
    (tmp_path / "file.csv").write_text("reg_id\n" + "*\n" * 100)
    assert check("inferred-traces")[0] == 2


def test_a_missing_file_is_a_message(check: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    status, out, err = check("obfuscated", "--json")
    assert (status, out) == (2, "")
    assert "No such file" in err


def test_a_submission_may_be_parquet(
    contest: Traces, check: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    ids = contest.places.ids[contest.place_index]
    pl.DataFrame({"reg_id": ids}).write_parquet(tmp_path / "file.csv")
    for kind in ("obfuscated", "inferred-traces"):
        status, out, err = check(kind)
        assert (status, err) == (0, "")
        assert "100 rows" in out
    pl.DataFrame({"user_id": [1, 2, 3, 3, 5]}).write_parquet(tmp_path / "file.csv")
    status, out, err = check("inferred-table")
    assert (status, err) == (0, "")
    assert "5 rows, 4 different users" in out
