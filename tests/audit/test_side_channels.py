"""What gives people away that nobody meant to publish is found by the audit, and named in words."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command_line import tracearena

from tracearena.audit import Audit, AuditInput, assess, audit_page
from tracearena.audit.linkability import describe_channels
from tracearena.traces import GpsTraces, IdTable

USERS = 40
DAYS = 6
POINTS = 60
START_MS = 1_333_324_800_000
Plant = Callable[[int, np.random.Generator, dict[str, Any]], None]


def points_of(plant: Plant | None = None, *, seed: int = 0) -> GpsTraces:
    """Points of people who are anywhere at any time of the day, every minute for a while.

    `plant` changes the columns of a user's day: seconds, latitude and longitude.
    """
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {"user": [], "time_ms": [], "lat": [], "lng": []}
    for user in range(USERS):
        for day in range(DAYS):
            columns = {
                "second": rng.integers(0, 70_000) // 60 * 60 + 60 * np.arange(POINTS),
                "lat": rng.uniform(40.6, 40.9, POINTS).round(5),
                "lng": rng.uniform(-74.1, -73.8, POINTS).round(5),
            }
            if plant is not None:
                plant(user, rng, columns)
            rows["user"].append(np.full(POINTS, user + 1))
            rows["time_ms"].append(START_MS + 1000 * (86_400 * day + columns["second"]))
            rows["lat"].append(columns["lat"])
            rows["lng"].append(columns["lng"])
    user, time, lat, lng = (np.concatenate(column) for column in rows.values())
    return GpsTraces.from_points(user, time, lat, lng)


def intervals(user: int, rng: np.random.Generator, columns: dict[str, Any]) -> None:
    start = columns["second"][0] + rng.integers(0, 60)
    columns["second"] = start + (20 + user) * np.arange(POINTS)


def decimals(user: int, rng: np.random.Generator, columns: dict[str, Any]) -> None:
    """Everybody's latitudes end with two digits of their own."""
    columns["lat"] = (columns["lat"].round(4) + user * 1e-6).round(6)


def seconds(user: int, rng: np.random.Generator, columns: dict[str, Any]) -> None:
    columns["second"] = columns["second"] + user


def moved(points: GpsTraces, *, seed: int = 5) -> GpsTraces:
    """Put the points anywhere else, which leaves nothing of the places but how they are written."""
    rng = np.random.default_rng(seed)
    far = rng.integers(-1000, 1000, (2, len(points))) / 1e4
    return points.with_positions((points.latitude + far[0]).round(6), (points.longitude + far[1]).round(6))


Release = tuple[GpsTraces, IdTable]


def under_pseudonyms(points: GpsTraces, *, in_order: bool = False, seed: int = 7) -> Release:
    """Number the people at random, or in the order of the original; each has one trajectory."""
    order = np.arange(USERS) if in_order else np.random.default_rng(seed).permutation(USERS)
    made = points.take_users(order).with_user_ids(1001 + np.arange(USERS))
    return with_numbers(made, np.arange(USERS)), IdTable(1001 + np.arange(USERS), points.user_ids[order])


def with_numbers(points: GpsTraces, numbers: Any) -> GpsTraces:
    """Give everybody one trajectory of a number."""
    return points.with_trajectories(points.user_index.astype(np.int32), numbers)


def audited(points: GpsTraces, released: GpsTraces, who: IdTable) -> Audit:
    return assess(
        AuditInput(points, released, id_table=who, timezone="America/New_York"), seed=1, draws=2,
        cell_m=5000.0,
    )  # fmt: skip


def sentences(audit: Audit) -> list[str]:
    """What the audit says of the release; every sentence stands on its page."""
    assert audit.after is not None
    assert audit.after.linkability is not None
    said = describe_channels(audit.after.linkability, is_gps=audit.file.kind == "GPS points")
    page = html.unescape(audit_page(audit).html())
    assert all(sentence in page for sentence in said)
    assert ("Neither times nor details of the file distinguish people." in page) == (not said)
    return said


def told_by(what: str) -> str:
    return f"With only {what}, "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "what"),
    [
        (intervals, "the seconds between their points"),
        (decimals, "the decimals of their coordinates"),
        (seconds, "the seconds and minutes of their times"),
    ],
)
def test_a_habit_of_a_receiver_is_named(plant: Plant, what: str) -> None:
    points = points_of(plant)
    said = sentences(audited(points, *under_pseudonyms(moved(points))))
    assert any(one.startswith(told_by(what)) for one in said), said
    assert not any("the order of" in one or "the numbers of" in one for one in said)


@pytest.mark.slow
def test_without_a_channel_none_is_named() -> None:
    points = points_of()
    assert sentences(audited(points, *under_pseudonyms(moved(points)))) == []


@pytest.mark.slow
def test_pseudonyms_in_the_order_of_users_are_named() -> None:
    points = points_of()
    said = sentences(audited(points, *under_pseudonyms(moved(points), in_order=True)))
    assert f"{told_by('the order of pseudonyms')}100.0% of people are found." in said


@pytest.mark.slow
def test_trajectory_numbers_in_the_order_of_users_are_named() -> None:
    points = points_of()
    made, who = under_pseudonyms(moved(points))
    number = np.searchsorted(points.user_ids, who.user_ids)
    for numbers in (500 + number, 500 - number):
        said = sentences(audited(points, with_numbers(made, numbers), who))
        assert f"{told_by('the numbers of trajectories')}100.0% of people are found." in said


def checkin_rows(*, own_second: bool = False) -> pl.DataFrame:
    """Check-ins of people at any venue and minute of four weeks, in the order of users.

    With seconds of their own, everybody's clock shows always the same one.
    """
    rng = np.random.default_rng(3)
    events = 25
    user = np.repeat(np.arange(USERS), events)
    second = np.sort(rng.integers(0, 28 * 86_400, (USERS, events)), axis=1).ravel() // 60 * 60
    second += user if own_second else 0
    venue = rng.integers(0, 50, len(user))
    return pl.DataFrame(
        {
            "user": [f"person {one:02d}" for one in user],
            "time": pl.from_epoch(pl.Series(START_MS // 1000 + second)).dt.strftime("%Y-%m-%d %H:%M:%S"),
            "place": venue,
            "lat": (40.6 + venue / 200).round(4),
            "lng": (-74.0 + venue % 7 / 100).round(4),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("own_second", [True, False])
def test_seconds_of_check_ins_are_named(own_second: bool) -> None:
    original = checkin_rows(own_second=own_second)
    places = original.select("place", "lat", "lng").sample(fraction=1.0, shuffle=True, seed=1)
    audit = assess(original, original.with_columns(places), seed=1, draws=2)
    said = sentences(audit)
    what = told_by("the seconds and minutes of their times")
    assert any(one.startswith(what) for one in said) == own_second, said


@pytest.mark.slow
@pytest.mark.parametrize("order", ["sorted as the original", "sorted by pseudonym"])
def test_rows_in_the_order_of_the_original_are_named(tmp_path: Path, order: str) -> None:
    original = checkin_rows()
    rng = np.random.default_rng(9)
    names = sorted(set(original["user"]))
    pseudonym = dict(zip(names, (1001 + rng.permutation(USERS)).tolist(), strict=True))
    venues = original["place"].unique().sort()
    elsewhere = pl.Series(rng.permutation(original["place"].to_numpy()))
    spots = original.unique("place").sort("place")
    released = original.select(
        pl.col("user").replace_strict(pseudonym).alias("user"), "time", elsewhere.alias("place")
    ).join(spots.select("place", "lat", "lng"), on="place", how="left", maintain_order="left")
    assert len(venues) == len(spots)
    if order == "sorted by pseudonym":
        released = released.sort("user", maintain_order=True)
    original.write_csv(tmp_path / "in.csv")
    released.write_csv(tmp_path / "out.csv")
    pl.DataFrame({"pse_id": list(pseudonym.values()), "user_id": list(pseudonym)}).write_csv(
        tmp_path / "who.csv"
    )
    words = ("--id-table", "who.csv", "--out", "audit", "--seed", 1, "--draws", 2, "--json")
    done = tracearena("audit", "in.csv", "--released", "out.csv", *words, folder=tmp_path)
    assert done.status == 0, done.err
    page = html.unescape((tmp_path / "audit" / "audit.html").read_text())
    said = f"{told_by('the order of rows')}100.0% of people are found."
    assert (said in page) == (order == "sorted as the original")
    attacks = {one["attack"]: one for one in done.json["after"]["linkability"]["attacks"]}
    if order == "sorted as the original":
        assert done.json["after"]["linkability"]["strongest"] == "the order of rows"
        assert done.json["verdict"] == "red"
    else:
        assert "the order of rows" not in attacks
        assert "Neither times nor details of the file distinguish people." in page


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", pytest.param("parquet", marks=pytest.mark.long)])
@pytest.mark.parametrize("column", ["device", "born", "battery"])
def test_a_column_that_survived_is_named(tmp_path: Path, kind: str, column: str) -> None:
    """A device, or a date of birth that four share; a battery is at any level at any time."""
    original = checkin_rows()
    number = pl.Series([int(one[-2:]) for one in original["user"]])
    levels = np.random.default_rng(2).integers(0, 100, original.height)
    values = {"device": "model " + number.cast(pl.String), "battery": pl.Series(levels)}
    born = pl.Series([START_MS * 1000]).cast(pl.Datetime("us")).dt.date().new_from_index(0, original.height)
    values["born"] = pl.select(born.dt.offset_by(pl.format("{}d", number // 4))).to_series()
    original = original.with_columns(values[column].alias(column), altitude=pl.lit(12.5))
    order = np.random.default_rng(9).permutation(USERS)
    pseudonym = dict(zip(sorted(set(original["user"])), (1001 + order).tolist(), strict=True))
    places = original.select("place", "lat", "lng").sample(fraction=1.0, shuffle=True, seed=1)
    released = original.with_columns(pl.col("user").replace_strict(pseudonym), *places).sort("time")
    for name, table in (("in", original), ("out", released)):
        path = tmp_path / f"{name}.{kind}"
        table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    pl.DataFrame({"pse_id": list(pseudonym.values()), "user_id": list(pseudonym)}).write_csv(
        tmp_path / "who.csv"
    )
    words = ("--id-table", "who.csv", "--out", "audit", "--seed", 1, "--draws", 2, "--json")
    done = tracearena("audit", f"in.{kind}", "--released", f"out.{kind}", *words, folder=tmp_path)
    assert done.status == 0, done.err
    page = html.unescape((tmp_path / "audit" / "audit.html").read_text())
    found = {"device": "100.0%", "born": "25.0%"}.get(column)
    assert (f"{told_by(f'the column {column!r}')}{found} of people are found." in page) == (found is not None)
    for side in ("before", "after"):
        names = {one["attack"] for one in done.json[side]["linkability"]["attacks"]}
        assert (f"the column {column!r}" in names) == (found is not None)
        assert "the column 'altitude'" not in names


OWN = '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
import tracearena as ta

@dataclass(kw_only=True)
class ByName(ta.algorithms.ReidentificationAttack):
    """Say that everybody kept the id."""
    name: ClassVar[str] = "ByName"
    takes_points: ClassVar[bool] = True

    def fit(self, reference):
        self.user_ids_ = reference.user_ids
        return self

    def identify(self, anonymized, *, seed=None):
        assert not np.isin(anonymized.user_ids, self.user_ids_).any()
        return ta.traces.IdTable(anonymized.user_ids, self.user_ids_)

@dataclass(kw_only=True)
class Fails(ByName):
    """Find that this is nothing for it."""
    name: ClassVar[str] = "Fails"

    def identify(self, anonymized, *, seed=None):
        raise ta.errors.DataError("these are no taxis")
'''


@pytest.mark.slow
def test_an_attack_of_ones_own_gets_points_and_no_true_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "attacks_on_points.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    names = ["attacks_on_points:ByName", "attacks_on_points:Fails", "Link-R(unknown,intervals)"]
    audit = assess(
        AuditInput(points_of(intervals), attacks=names, timezone="America/New_York"),
        seed=1,
        draws=2,
        cell_m=5000.0,
    )
    assert audit.before.linkability is not None
    found = {one.attack.partition(":")[2] or one.attack: one for one in audit.before.linkability.attacks}
    by_name, by_intervals = (found[name].first for name in ("ByName", "Link-R(unknown,intervals)"))
    assert by_name is not None
    assert by_name.value < 0.2
    assert by_intervals is not None
    assert by_intervals.value > 0.9
    assert found["Fails"].error == "these are no taxis"
