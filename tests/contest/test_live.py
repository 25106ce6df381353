"""The live board shows some users, and the others decide."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contest.residents import Residents
from tests.contest.small_contest import USERS, attack, charter, defend, hashes

from tracearena.contest import (
    AttackKind,
    ContestFile,
    ContestPlan,
    Judgement,
    Rules,
    attack_all,
    commit,
    format_contest_file,
    judge,
    read_submissions,
    release_all,
    verify,
    write_contest_data,
)
from tracearena.contest.commitments import (
    draw_live_users,
    live_day,
    live_users,
    read_live_users,
    refresh_at,
    round_score,
    select_final_users,
    write_live_users,
)
from tracearena.contest.data import read_commitments
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.io import pwscup
from tracearena.traces import IdTable

TABLE = IdTable([4, 5, 6], [2, 3, 1])
R, T = AttackKind.REIDENTIFICATION, AttackKind.TRACE_INFERENCE


@given(st.sets(st.integers(1, 999), min_size=2, max_size=40), st.floats(0.01, 0.99), st.integers(0, 99))
def test_everybody_is_on_the_board_or_decides(users: set[int], share: float, seed: int) -> None:
    ids = sorted(users)
    live = draw_live_users(ids, share, seed=seed)
    rest = select_final_users(ids, live)
    assert sorted([*live.tolist(), *rest.tolist()]) == ids
    assert abs(len(live) - share * len(ids)) <= 1
    assert len(live) > 0
    assert len(rest) > 0
    assert live.tolist() == sorted(live.tolist())


def test_every_user_is_as_likely_on_the_board() -> None:
    draws = 4000
    shown = Counter(user for _ in range(draws) for user in draw_live_users(range(1, 11), 0.3).tolist())
    expected = 0.3 * draws
    # Variance of a draw without replacement; the 10^-6 quantile of chi-square with 9 degrees is 46.
    chi = sum((shown[user] - expected) ** 2 for user in range(1, 11)) / (expected * 0.7 * 10 / 9)
    assert chi < 46


def test_without_a_seed_no_two_draws_are_alike_and_with_one_they_are() -> None:
    assert len({tuple(draw_live_users(range(100), 0.3).tolist()) for _ in range(20)}) == 20
    assert len({tuple(draw_live_users(range(100), 0.3, seed=1).tolist()) for _ in range(20)}) == 1


def test_ids_may_be_text() -> None:
    live = draw_live_users(["ann", "bob", "eve"], 0.3, seed=1)
    assert len(live) == 1
    assert set(select_final_users(["ann", "bob", "eve"], live)) == {"ann", "bob", "eve"} - set(live)


def test_one_user_cannot_be_shown_and_decide() -> None:
    with pytest.raises(DataError, match="two users"):
        draw_live_users([1], 0.3)


def test_a_sealed_contest_draws_nobody() -> None:
    assert live_users(Rules(), range(10)) is None
    drawn = live_users(Rules(mode="live", live_share=0.5), range(10))
    assert drawn is not None
    assert len(drawn) == 5


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        ("2026-05-09T06:00:00+00:00", "2026-05-09T06:00:00+00:00"),
        ("2026-05-09T05:59:59.999999+00:00", "2026-05-08T18:00:00+00:00"),
        ("2026-05-09T23:59:00+00:00", "2026-05-09T18:00:00+00:00"),
        ("2026-01-01T00:10:00+00:00", "2025-12-31T18:00:00+00:00"),
        ("2026-05-09T16:00:00+09:00", "2026-05-09T06:00:00+00:00"),
    ],
)
def test_the_board_changes_at_its_hours(now: str, shown: str) -> None:
    rules = Rules(mode="live", live_refresh_hours=(6, 18))
    assert refresh_at(rules, datetime.fromisoformat(now)).isoformat() == shown


@given(
    st.sets(st.integers(0, 23), min_size=1),
    st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)),
)
def test_the_last_change_is_a_day_ago_at_most_and_none_came_between(hours: set[int], now: datetime) -> None:
    rules = Rules(live_refresh_hours=tuple(sorted(hours)))
    shown = refresh_at(rules, now)
    assert timedelta() <= now - shown < timedelta(days=1)
    assert shown.hour in hours
    assert refresh_at(rules, shown) == shown
    later = [shown + timedelta(hours=n) for n in range(1, 25)]
    assert all(at.hour not in hours for at in later if at <= now)


def test_a_day_of_answers_is_a_day_of_utc() -> None:
    assert live_day(datetime(2026, 5, 9, 3, tzinfo=timezone(timedelta(hours=9)))) == date(2026, 5, 8)
    with pytest.raises(ParameterError, match="time zone"):
        live_day(datetime(2026, 5, 9))
    with pytest.raises(ParameterError, match="time zone"):
        refresh_at(Rules(), datetime(2026, 5, 9))


def test_a_score_is_shown_with_the_decimals_of_the_rules() -> None:
    assert round_score(2 / 3, Rules()) == 0.67
    assert round_score(2 / 3, Rules(live_decimals=1)) == 0.7


def test_a_commitment_covers_the_users_of_the_board() -> None:
    made = commit(TABLE, live=[3, 1])
    assert verify(made.digest, TABLE, made.salt, [1, 3])
    for live in ([1, 2], [1], [1, 2, 3], None):
        assert not verify(made.digest, TABLE, made.salt, live)
    text = f"{made.salt}\npse_id,user_id\n4,2\n5,3\n6,1\nlive_user_id\n1\n3\n"
    assert made.digest == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("live", [[], [1, 2, 3], [1, 1], [7], ["eve"]])
def test_the_users_of_a_board_are_some_of_the_table(live: list[int]) -> None:
    with pytest.raises(DataError, match="users of a live board"):
        commit(TABLE, live=live)


def test_a_table_of_text_cannot_be_written_to_look_like_a_board() -> None:
    both = IdTable(["P1", "P2"], ["a", "b"])
    made = commit(both, live=["b"])
    assert not verify(made.digest, IdTable(["P1", "P2", "P3"], ["a", "b\nlive_user_id", "b"]), made.salt)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum")
def test_a_shell_can_verify_table_and_board(tmp_path: Path) -> None:
    made = commit(TABLE, live=[3, 1])
    pwscup.write_id_table(TABLE, tmp_path / "ptable.csv")
    write_live_users(tmp_path / "live.csv", [3, 1])
    command = f"(echo {made.salt}; cat ptable.csv live.csv) | sha256sum"
    answer = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert answer.stdout.split()[0] == made.digest
    assert (tmp_path / "live.csv").stat().st_mode & 0o777 == 0o600
    assert read_live_users(tmp_path / "live.csv").tolist() == [1, 3]


@pytest.mark.parametrize(
    "text",
    ["", "user_id\n1\n", "live_user_id\n", "live_user_id\n2\n1\n", "live_user_id\n1\n1\n",
     "live_user_id\n01\n", "live_user_id\n0\n", "live_user_id\n-1\n", "live_user_id\n 1\n",
     "live_user_id\n1.0\n", "live_user_id\n1,2\n", "live_user_id\n99999999999\n", "live_user_id\n\uff11\n"],
)  # fmt: skip
def test_a_file_of_users_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "live.csv").write_text(text)
    with pytest.raises(FileError, match=r"live\.csv"):
        read_live_users(tmp_path / "live.csv")


def live_charter() -> ContestFile:
    return charter(2, mode="live", live_share=0.25)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A contest with a live board in which both teams have defended and attacked."""
    folder = tmp_path_factory.mktemp("contest") / "live"
    plan = ContestPlan(teams=2, users=USERS, days=4)
    write_contest_data(folder, Residents(), plan, charter=live_charter(), seed=5, shuffle_seed=6)
    defend(folder, "001", "PL(5,1)")
    defend(folder, "002", "PL(6,1)")
    release_all(read_submissions(folder), seed=3)
    for attacker, target, name in (
        ("001", "002", "VisitProb-R"), ("001", "002", "VisitProb-T"), ("002", "000", "VisitProb-R"),
        ("002", "001", "HomeProb-T"),
    ):  # fmt: skip
        attack(folder, attacker, target, name)
    return folder


@pytest.fixture
def folder(held: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    return Path(shutil.copytree(held, tmp_path / "live"))


def judged(folder: Path) -> Judgement:
    return judge(attack_all(read_submissions(folder)))


@pytest.mark.slow
def test_every_release_has_its_own_users_under_its_commitment(held: Path) -> None:
    made = read_commitments(held)
    assert len(made) == 3
    for name, one in made.items():
        path = held / "judge" / name.replace("ptable", "live")
        live, table = read_live_users(path), pwscup.read_id_table(held / "judge" / name)
        assert len(live) == USERS // 4
        assert verify(one.digest, table, one.salt, live)
        assert not verify(one.digest, table, one.salt)
        assert path.stat().st_mode & 0o777 == 0o600
    assert not list((held / "everybody").glob("live*"))


def test_a_second_release_draws_nobody_anew(folder: Path) -> None:
    """T25."""
    before = hashes(folder)
    assert release_all(read_submissions(folder)).new == ()
    assert hashes(folder) == before


def test_the_final_scores_are_those_of_the_others(folder: Path) -> None:
    board = judged(folder).board()
    own = {key: score for key, score in board.attacks.items() if key[0] in ("001", "002")}
    assert len(own) == 4
    for (attacker, target, _, kind), score in own.items():
        name = f"team{target}_data01_IDP.csv"
        table = pwscup.read_id_table(folder / "judge" / f"ptable_{name}")
        deciding = set(table.user_ids.tolist()) - set(
            read_live_users(folder / "judge" / f"live_{name}").tolist()
        )
        sent = folder / "submissions" / f"{{}}_team{attacker}-{target}_data01_IDP.csv"
        if kind is R:
            said = pwscup.read_inferred_table(str(sent).format("etable"), table.pseudonyms).user_ids
            pairs = [(a, b) for a, b in zip(table.user_ids.tolist(), said.tolist(), strict=True)]
            counted = [a != b for a, b in pairs if a in deciding]
            assert score == sum(counted) / len(deciding)
        else:
            places = pwscup.read_places(folder / "judge" / "info_region.csv")
            truth = pwscup.read_traces(folder / "judge" / f"orgtraces_{name}", places)
            guess = pwscup.read_inferred_traces(str(sent).format("etraces"), truth)
            mine = np.isin(truth.user_ids[truth.user_index], sorted(deciding))
            near = np.minimum(places.distance_km(truth.place_index, guess.place_index) / 2, 1)
            weight = np.where(places.sensitive[truth.place_index], 10.0, 1.0)
            assert score == pytest.approx(np.average(near[mine], weights=weight[mine]), rel=1e-12)


def test_the_board_of_all_users_is_another_one(folder: Path) -> None:
    final = judged(folder)
    (folder / "contest.toml").write_text(format_contest_file(charter(2)))
    everybody = judge(read_submissions(folder))
    assert everybody.board().attacks != final.board().attacks


def test_other_users_of_the_board_give_other_scores_although_scores_are_kept(folder: Path) -> None:
    before = judged(folder).board().attacks
    path = folder / "judge" / "live_team002_data01_IDP.csv"
    write_live_users(path, select_final_users(range(1, USERS + 1), read_live_users(path)))
    after = judged(folder).board().attacks
    assert before.keys() == after.keys()
    assert {key[1] for key in before if before[key] != after[key]} == {"002"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is missing; rules with a live board need it"),
        ("live_user_id\n99\n", "must be some of"),
        ("live_user_id\n" + "".join(f"{n}\n" for n in range(1, USERS + 1)), "and not all"),
    ],
)
def test_a_board_without_its_users_stops_the_judge(folder: Path, text: str | None, message: str) -> None:
    path = folder / "judge" / "live_team002_data01_IDP.csv"
    path.unlink()
    if text is not None:
        path.write_text(text)
    for step in (judge, release_all):
        with pytest.raises(FileError, match=message):
            step(read_submissions(folder))


def test_other_users_than_the_fixed_ones_stop_the_release(folder: Path) -> None:
    path = folder / "judge" / "live_team002_data01_IDP.csv"
    write_live_users(path, select_final_users(range(1, USERS + 1), read_live_users(path)))
    with pytest.raises(FileError, match="does not match its hash"):
        release_all(read_submissions(folder))
