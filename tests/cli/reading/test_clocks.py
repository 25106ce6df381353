"""What time ids mean goes with the file, and a file without it is not read by a wrong clock."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import tracearena as run

from tracearena.errors import TracearenaError
from tracearena.io import pwscup, read
from tracearena.traces import Clock, Traces

HOURS = Clock(instants_per_day=24)


def done(*arguments: object) -> str:
    status, out, err = run(*arguments)
    assert status == 0, err
    return out


def test_hours_of_many_days_come_back_as_they_were(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    from tracearena.io import write

    write(make_check_ins(events=3000), tmp_path / "in.csv")
    box = ("--grid", "8x8", "--bounds", "40.5,-74.3,41.0,-73.7", "--timezone", "America/New_York")
    before = json.loads(done("describe", tmp_path / "in.csv", *box, "--json"))
    said = done(
        "convert", tmp_path / "in.csv", tmp_path / "out.csv", "--to", "pwscup", *box,
        "--places-out", tmp_path / "info_region.csv", "--json",
    )  # fmt: skip
    assert str(tmp_path / "info_time.csv") in json.loads(said)["written"]
    after = json.loads(done("describe", tmp_path / "out.csv", "--json"))
    assert before["days"] == after["days"] == 20
    there, _ = read(tmp_path / "in.csv", grid="8x8", bounds=box[3], timezone=box[5])
    back, _ = read(tmp_path / "out.csv")
    assert (back.clock.instants_per_day, back.clock.start_s, back.clock.interval_s) == (24, 0, 3600)
    first = np.concatenate([[True], (np.diff(there.instants) != 0) | (np.diff(there.user_index) != 0)])
    np.testing.assert_array_equal(back.instants, there.instants[first])
    np.testing.assert_array_equal(back.place_index, there.place_index[first])
    np.testing.assert_array_equal(back.user_ids, there.user_ids)


def test_the_first_day_is_told_because_the_files_hold_no_dates(
    make_check_ins: Callable[..., Traces], tmp_path: Path
) -> None:
    from tracearena.io import write

    write(make_check_ins(), tmp_path / "in.csv")
    _, _, err = run("convert", tmp_path / "in.csv", tmp_path / "out.csv", "--to", "pwscup", "--grid", "4x4")
    assert "day 1 is 2012-04-03" in err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, make_walks: Callable[..., Traces]) -> Path:
    """A small team with 24 instants a day, and the times kept in another folder."""
    folder = tmp_path_factory.mktemp("team")
    walks = make_walks(users=12, days=6)
    hourly = Traces.from_dense(walks.dense()[:, :96], walks.places, HOURS)
    reference, original = hourly.split_days(2)
    (folder / "times").mkdir()
    pwscup.write_places(walks.places, folder / "places.csv")
    pwscup.write_traces(reference, folder / "ref.csv")
    pwscup.write_traces(original, folder / "org.csv")
    common = ("--places", folder / "places.csv")
    done("obfuscate", "PL(4,1)", folder / "org.csv", folder / "obf.csv", *common, "--seed", 1)
    done(
        "pseudonymise", folder / "obf.csv", folder / "pub.csv", "--original", folder / "org.csv",
        "--id-table", folder / "ptable.csv", *common,
    )  # fmt: skip
    for kind in ("R", "T"):
        done(
            "attack", f"VisitProb-{kind}", folder / f"answer{kind}.csv", "--anonymized",
            folder / "pub.csv", "--reference", folder / "ref.csv", *common, "--seed", 1,
        )  # fmt: skip
    shutil.move(folder / "info_time.csv", folder / "times" / "info_time.csv")
    return folder


@pytest.fixture
def team(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "team"))


COMMANDS = {
    "attack": "attack VisitProb-R out.csv --anonymized pub.csv --reference ref.csv --places places.csv "
    "--seed 1",
    "sweep": "sweep out.csv --reference ref.csv --original org.csv --places places.csv --seed 1 "
    "--defences PL(4,1) --attacks VisitProb-R",
    "utility": "score utility --original org.csv --obfuscated obf.csv --places places.csv",
    "inference": "score trace-inference --original org.csv --inferred answerT.csv --places places.csv",
    "obfuscated": "check obfuscated obf.csv --original org.csv --places places.csv",
    "inferred-table": "check inferred-table answerR.csv --original org.csv --places places.csv",
    "inferred-traces": "check inferred-traces answerT.csv --original org.csv --places places.csv",
    "describe": "describe org.csv --places places.csv",
    "obfuscate": "obfuscate PL(4,1) org.csv out.csv --places places.csv --seed 1",
    "pseudonymise": "pseudonymise obf.csv out.csv --original org.csv --id-table table.csv "
    "--places places.csv",
    "synthesize": "synthesize Uniform org.csv out.csv --places places.csv --seed 1",
    "evaluate": "evaluate --train org.csv --test ref.csv --synthetic org.csv --places places.csv",
    "convert": "convert org.csv out.csv --places places.csv",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_reads_other_times_by_the_contest_clock(
    team: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(team)
    words = COMMANDS[name].split()
    status, _, err = run(*words)
    assert status == 2
    assert "--times" in err
    assert "info_time.csv" in err
    assert not (team / "out.csv").exists()
    status, _, err = run(*words, "--times", "times/info_time.csv")
    assert status == 0, err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_finds_the_times_beside_the_traces(
    team: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(team)
    shutil.copy("times/info_time.csv", "info_time.csv")
    status, _, err = run(*COMMANDS[name].split())
    assert status == 0, err


def test_times_that_end_too_early_are_refused(team: Path) -> None:
    pwscup.write_times(pwscup.ContestTimes(HOURS, 2, 1), team / "info_time.csv")
    status, _, err = run("describe", team / "org.csv", "--places", team / "places.csv")
    assert status == 2
    assert "ends with time 72" in err


def test_public_traces_take_their_times_to_another_folder(team: Path) -> None:
    (team / "public").mkdir()
    done(
        "pseudonymise", team / "obf.csv", team / "public" / "pub.csv", "--original", team / "org.csv",
        "--id-table", team / "another.csv", "--places", team / "places.csv",
        "--times", team / "times" / "info_time.csv",
    )  # fmt: skip
    assert pwscup.read_times(team / "public" / "info_time.csv").clock == HOURS


def test_times_of_another_clock_are_not_replaced(tmp_path: Path, make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=3)
    pwscup.write_times(pwscup.ContestTimes(pwscup.PWS_CLOCK, 1, 1), tmp_path / "info_time.csv")
    before = (tmp_path / "info_time.csv").read_bytes()
    hourly = Traces.from_dense(walks.dense()[:, :24], walks.places, HOURS)
    with pytest.raises(TracearenaError, match="20 times per day, every 30 min from 08:00"):
        pwscup.write_traces(hourly, tmp_path / "org.csv")
    assert (tmp_path / "info_time.csv").read_bytes() == before
    assert not (tmp_path / "org.csv").exists()


def test_a_longer_file_adds_its_days_to_the_times(tmp_path: Path, make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=3, days=6)
    for name, days in (("ref.csv", 2), ("org.csv", 4)):
        hourly = Traces.from_dense(walks.dense()[:, : 24 * days], walks.places, HOURS)
        pwscup.write_traces(hourly, tmp_path / name)
        assert pwscup.read_traces(tmp_path / name, walks.places) == hourly
    assert pwscup.read_times(tmp_path / "info_time.csv").original_days == 4


def test_the_organisers_files_need_no_times(osaka: Path, tmp_path: Path) -> None:
    team = "team001_data01_IDP"
    for name in (f"orgtraces_{team}.csv", f"anotraces_{team}.csv.gz", "info_region.csv"):
        shutil.copy(osaka / name, tmp_path / name)
    out = done(
        "check", "obfuscated", tmp_path / f"anotraces_{team}.csv.gz",
        "--places", tmp_path / "info_region.csv", "--original", tmp_path / f"orgtraces_{team}.csv",
    )  # fmt: skip
    assert out.startswith("OK")


def test_a_first_user_with_35_events_does_not_make_people_flow(
    tmp_path: Path, make_walks: Callable[..., Traces]
) -> None:
    walks = make_walks(users=3, days=6)
    dense = walks.dense()[:, :96].copy()
    dense[0, 35:] = -1
    hourly = Traces.from_dense(dense, walks.places, HOURS)
    pwscup.write_traces(hourly, tmp_path / "org.csv")
    traces, report = read(tmp_path / "org.csv", places=walks.places)
    assert (report.format, traces.clock) == ("pwscup", HOURS)


def test_times_have_no_meaning_for_other_formats(
    tmp_path: Path, make_check_ins: Callable[..., Traces]
) -> None:
    from tracearena.io import write

    write(make_check_ins(), tmp_path / "in.csv")
    pwscup.write_times(pwscup.ContestTimes(HOURS, 0, 1), tmp_path / "t.csv")
    status, _, err = run("describe", tmp_path / "in.csv", "--times", tmp_path / "t.csv")
    assert status == 2
    assert "pwscup" in err
