"""Files of every format get pseudonyms, in an order that tells nothing, and a secret way back."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena as run

from tracearena.io import pwscup, read, write
from tracearena.traces import GpsTraces, Traces


def done(*arguments: object) -> tuple[str, str]:
    status, out, err = run(*arguments)
    assert status == 0, err
    return out, err


def id_table(path: Path) -> dict[str, str]:
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["pse_id", "user_id"]
    return dict(rows[1:])


def walkers(users: int = 25) -> GpsTraces:
    rng = np.random.default_rng(5)
    who = np.repeat([f"u{user:02d}" for user in range(users)], 8)
    count = len(who)
    return GpsTraces.from_points(
        who,
        1_333_411_200_000 + np.arange(count) * 60_000,
        rng.uniform(40, 41, count).round(6),
        rng.uniform(-74, -73, count).round(6),
    )


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out"])
@pytest.mark.parametrize("source", ["in.csv", "in.parquet", "geolife", "gpx"])
def test_gps_traces_get_pseudonyms(tmp_path: Path, source: str, name: str) -> None:
    traces = walkers()
    write(traces, tmp_path / source, to="gpx" if source == "gpx" else None)
    table = tmp_path / "table.csv"
    out, _ = done("pseudonymise", tmp_path / source, tmp_path / name, "--id-table", table, "--json")
    secret = id_table(table)
    assert sorted(secret.values()) == traces.user_ids.tolist()
    assert list(secret.values()) != traces.user_ids.tolist()
    back = read(tmp_path / name).traces
    assert list(map(str, back.user_ids.tolist())) == sorted(secret)
    for pseudonym in back.user_ids.tolist():
        mine = np.flatnonzero(traces.user_ids == secret[pseudonym])
        theirs = np.flatnonzero(back.user_ids == pseudonym)
        np.testing.assert_array_equal(back.take_users(theirs).latitude, traces.take_users(mine).latitude)
    assert table.stat().st_mode & 0o777 == 0o600
    said = json.loads(out)
    salt = Path(said["commitment_salt_file"])
    assert salt.stat().st_mode & 0o777 == 0o600
    assert hashlib.sha256(salt.read_bytes() + table.read_bytes()).hexdigest() == said["commitment"]
    assert salt.read_text().strip() not in out


@pytest.mark.parametrize("format", ["table", "parquet", "partitions", "gowalla", "tsmc", "foursquare"])
def test_events_get_pseudonyms(make_check_ins: Callable[..., Traces], tmp_path: Path, format: str) -> None:
    traces = make_check_ins(users=30)
    name = {"table": "in.csv", "parquet": "in.parquet", "partitions": "in"}.get(format, "in.txt")
    (tmp_path / "out").mkdir()
    write(traces, tmp_path / name, to=None if format in ("table", "parquet") else format)
    out, table = tmp_path / "out" / name, tmp_path / "table.csv"
    done("pseudonymise", tmp_path / name, out, "--id-table", table)
    secret = id_table(table)
    assert sorted(map(int, secret.values())) == traces.user_ids.tolist()
    back, report = read(out)
    assert report.format == {"parquet": "table"}.get(format, format)
    assert back.user_ids.tolist() == sorted(map(int, secret)) != traces.user_ids.tolist()
    before, _ = read(tmp_path / name)
    for pseudonym, user in secret.items():
        theirs = back.take_users(back.user_ids == int(pseudonym))
        mine = before.take_users(before.user_ids == int(user))
        np.testing.assert_array_equal(theirs.timestamps, mine.timestamps)
        np.testing.assert_array_equal(
            theirs.places.ids[theirs.place_index], mine.places.ids[mine.place_index]
        )
    assert table.stat().st_mode & 0o777 == 0o600


def test_contest_traces_become_public_ones(tmp_path: Path, make_walks: Callable[..., Traces]) -> None:
    walks = make_walks(users=9)
    pwscup.write_places(walks.places, tmp_path / "info_region.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    done("pseudonymise", tmp_path / "org.csv", tmp_path / "pub.csv", "--id-table", tmp_path / "t.csv")
    public = pwscup.read_anonymized(tmp_path / "pub.csv", walks.places)
    assert public.user_ids.tolist() == list(range(10, 19))
    assert sorted(map(int, id_table(tmp_path / "t.csv").values())) == list(range(1, 10))


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    walks = make_walks(users=10)
    pwscup.write_places(walks.places, tmp_path / "places.csv")
    pwscup.write_traces(walks, tmp_path / "org.csv")
    for defence, name in (("MRLH(0,0,1)", "gone.csv"), ("MRLH(0,0,0)", "kept.csv")):
        done(
            "obfuscate", defence, tmp_path / "org.csv", tmp_path / name,
            "--places", tmp_path / "places.csv", "--seed", 1,
        )  # fmt: skip
    return tmp_path


def test_a_release_below_the_threshold_is_warned_of(team: Path) -> None:
    common = ("--original", team / "org.csv", "--places", team / "places.csv", "--id-table", team / "t.csv")
    out, err = done("pseudonymise", team / "gone.csv", team / "pub.csv", *common, "--json")
    said = json.loads(out)
    assert not said["valid"]
    assert f"utility {said['utility']:.6g} is below the contest's threshold 0.7" in err
    assert (team / "pub.csv").is_file()
    out, err = done("pseudonymise", team / "kept.csv", team / "pub.csv", *common, "--again", "--json")
    assert (json.loads(out)["utility"], json.loads(out)["valid"]) == (1.0, True)
    assert "threshold" not in err


def test_the_way_back_from_another_release_is_never_replaced(team: Path) -> None:
    common = ("--original", team / "org.csv", "--places", team / "places.csv", "--id-table", team / "t.csv")
    done("pseudonymise", team / "kept.csv", team / "pub.csv", *common)
    secret, public = (team / "t.csv").read_bytes(), (team / "pub.csv").read_bytes()
    status, _, err = run("pseudonymise", team / "kept.csv", team / "pub2.csv", *common)
    assert status == 2
    assert "only way to reverse" in err
    assert ((team / "t.csv").read_bytes(), (team / "pub.csv").read_bytes()) == (secret, public)
    assert not (team / "pub2.csv").exists()


def everything(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("moved", ["t.csv", None])
def test_the_same_command_again_changes_nothing(team: Path, moved: str | None) -> None:
    common = ("--original", team / "org.csv", "--places", team / "places.csv", "--id-table", team / "t.csv")
    done("pseudonymise", team / "kept.csv", team / "pub.csv", *common)
    if moved is not None:
        (team / moved).rename(team / "kept-safe.csv")
    before = everything(team)
    status, out, err = run("pseudonymise", team / "kept.csv", team / "pub.csv", *common, "--json")
    assert (status, out) == (2, "")
    assert "t.csv.salt: exists" in err if moved else "t.csv: exists" in err
    assert "--again" in err
    assert everything(team) == before


def test_again_draws_anew_and_says_what_is_void(team: Path) -> None:
    common = ("--original", team / "org.csv", "--places", team / "places.csv", "--id-table", team / "t.csv")
    _, err = done("pseudonymise", team / "kept.csv", team / "pub.csv", *common, "--again")
    assert "void" not in err
    before = everything(team)
    out, err = done("pseudonymise", team / "kept.csv", team / "pub.csv", *common, "--again", "--json")
    after = everything(team)
    assert {name for name in before if before[name][0] != after[name][0]} == {
        "t.csv",
        "t.csv.salt",
        "pub.csv",
    }
    assert "no longer valid" in err
    opened = hashlib.sha256(after["t.csv.salt"][0] + after["t.csv"][0]).hexdigest()
    assert opened == json.loads(out)["commitment"]


def test_a_release_that_fails_leaves_the_table_of_the_one_before(team: Path) -> None:
    common = ("--original", team / "org.csv", "--places", team / "places.csv", "--id-table", team / "t.csv")
    done("pseudonymise", team / "kept.csv", team / "pub.csv", *common)
    (team / "bad.csv").write_text("reg_id\n1\n")
    before = everything(team)
    status, _, err = run("pseudonymise", team / "bad.csv", team / "pub.csv", *common, "--again")
    assert status == 2
    assert "void" not in err
    assert everything(team) == before


def test_obfuscated_traces_need_their_original(team: Path) -> None:
    status, _, err = run("pseudonymise", team / "kept.csv", team / "pub.csv", "--id-table", team / "t.csv")
    assert status == 2
    assert "--original" in err
    assert not (team / "t.csv").exists()


@pytest.mark.parametrize("option", ["original", "places", "times"])
def test_an_option_that_does_not_apply_to_gps_is_refused(tmp_path: Path, option: str) -> None:
    write(walkers(), tmp_path / "in.csv")
    status, _, err = run(
        "pseudonymise", tmp_path / "in.csv", tmp_path / "out.csv", "--id-table", tmp_path / "t.csv",
        f"--{option}", tmp_path / "in.csv",
    )  # fmt: skip
    assert status == 2
    assert f"--{option} does not apply to GPS traces" in err


@pytest.mark.parametrize("option", ["original", "timezone"])
def test_an_option_that_does_not_apply_to_events_is_refused(
    tmp_path: Path, make_check_ins: Callable[..., Traces], option: str
) -> None:
    write(make_check_ins(), tmp_path / "in.csv")
    status, _, err = run(
        "pseudonymise", tmp_path / "in.csv", tmp_path / "out.csv", "--id-table", tmp_path / "t.csv",
        f"--{option}", "UTC",
    )  # fmt: skip
    assert status == 2
    assert f"--{option} does not apply to events" in err


def test_no_id_table_stays_where_the_traces_cannot_be_written(tmp_path: Path) -> None:
    write(walkers(), tmp_path / "in.csv")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "something").touch()
    status, _, _ = run(
        "pseudonymise", tmp_path / "in.csv", tmp_path / "out", "--id-table", tmp_path / "t.csv"
    )
    assert status == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out"]


def with_more_columns(path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "user": ["ann", "bob"],
            "time": ["2012-04-03T10:00:00Z", "2012-04-03T11:00:00Z"],
            "lat": [40.5, 40.6],
            "lon": [-74.0, -73.9],
            "speed": [1.0, 2.0],
            "phone": ["555", "556"],
        }
    )
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


@pytest.mark.parametrize("name", ["in.csv", "in.parquet"])
def test_obfuscate_says_that_ids_stay_and_which_columns_go(tmp_path: Path, name: str) -> None:
    source = with_more_columns(tmp_path / name)
    _, err = done("obfuscate", "GeoInd(expected_noise=100m)", source, tmp_path / "out.csv", "--seed", 1)
    assert "ignored columns: speed, phone" in err
    assert "has the user ids of" in err
    assert "tracearena pseudonymise" in err
    assert "555" not in (tmp_path / "out.csv").read_text()


def test_pseudonymise_says_which_columns_go(tmp_path: Path) -> None:
    source = with_more_columns(tmp_path / "in.csv")
    _, err = done("pseudonymise", source, tmp_path / "out.csv", "--id-table", tmp_path / "t.csv")
    assert "ignored columns: speed, phone" in err
    released = (tmp_path / "out.csv").read_text()
    assert not [word for word in ("ann", "bob", "555", "556") if word in released]


def test_obfuscated_contest_traces_are_said_to_be_in_the_order_of_the_original(team: Path) -> None:
    _, err = done(
        "obfuscate", "MRLH(0,0,0)", team / "org.csv", team / "x.csv", "--places", team / "places.csv",
        "--seed", 1,
    )  # fmt: skip
    assert "tracearena pseudonymise" in err


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A table under names of its own, and a release of it."""
    (tmp_path / "org.csv").write_text(
        "who;when;where;y;x\na;2012-04-03T18:00:00;p;40.7;-74.0\nb;2012-04-03T19:00:00;q;40.71;-74.0\n"
    )
    (tmp_path / "ano.csv").write_text(
        "user_id,time,places,lat,lng\na,2012-04-03T18:00:00,p,40.7,-74.0\nb,2012-04-03T19:00:00,q,40.71,-74.0\n"
    )
    return tmp_path


LAYOUT = ("--columns", "user=who,time=when,place=where,lat=y,lng=x", "--delimiter", ";")


@pytest.mark.parametrize("more", [(), ("--from", "table")])
def test_the_original_is_read_as_it_is_said_to_be_laid_out(release: Path, more: tuple[str, ...]) -> None:
    common = ("--original", release / "org.csv", "--id-table", release / "t.csv", *LAYOUT, *more, "--json")
    out, _ = done("pseudonymise", release / "ano.csv", release / "pub.csv", *common)
    assert json.loads(out)["utility"] == 1


@pytest.mark.parametrize("option", [LAYOUT[:2], LAYOUT[2:], ("--one-user", "me"), ("--no-header",)])
def test_a_release_alone_has_no_layout_to_tell(release: Path, option: tuple[str, ...]) -> None:
    files = (release / "ano.csv", release / "pub.csv", "--id-table", release / "t.csv")
    status, _, err = run("pseudonymise", *files, *option)
    assert status == 2
    assert f"{option[0]} does not apply to released traces without --original" in err
