"""The judge's desk: what counts, what does not, and that nothing is done twice."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.contest.small_contest import DEFENCES, attack, charter, defend, hashes, make_contest, original

from tracearena.arena import UNINFORMED_ATTACKS
from tracearena.contest import (
    AttackKind,
    Judgement,
    attack_all,
    data,
    format_contest_file,
    judge,
    make_awards,
    read_submissions,
    release_all,
    verify,
)
from tracearena.contest import file_judge as desk_module
from tracearena.contest.data import read_commitments
from tracearena.errors import FileError
from tracearena.io import pwscup
from tracearena.metrics import reidentification_score, trace_inference_score, utility_score
from tracearena.traces import IdTable

R, T = AttackKind.REIDENTIFICATION, AttackKind.TRACE_INFERENCE


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A contest in which everybody has defended and attacked."""
    folder = make_contest(tmp_path_factory.mktemp("contest") / "friday")
    for team, defence in DEFENCES.items():
        defend(folder, team, defence)
    release_all(read_submissions(folder), seed=3)
    for attacker, name in (("001", "VisitProb-R"), ("001", "VisitProb-T"), ("005", "Random-R")):
        for target in ("000", "002", "004"):
            attack(folder, attacker, target, name)
    attack(folder, "002", "001", "Replay-T")
    return folder


@pytest.fixture
def folder(held: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    return Path(shutil.copytree(held, tmp_path / "friday"))


def judged(folder: Path) -> Judgement:
    return judge(read_submissions(folder))


def refused(folder: Path) -> dict[str, str]:
    return {Path(one.file).name: one.code for one in judged(folder).refused}


def test_what_is_valid_is_released_once_and_fixed(held: Path) -> None:
    made = read_commitments(held)
    assert set(made) == {f"ptable_team{team}_data01_IDP.csv" for team in ("000", "001", "002", "004")}
    places = pwscup.read_places(held / "judge" / "info_region.csv")
    for name, one in made.items():
        table = pwscup.read_id_table(held / "judge" / name)
        assert verify(one.digest, table, one.salt)
        public = pwscup.read_anonymized(held / "everybody" / name.replace("ptable", "pubtraces"), places)
        assert public.user_ids.tolist() == table.pseudonyms.tolist()
    assert not list((held / "everybody").glob("*team003*"))
    assert not [path for path in (held / "everybody").glob("orgtraces*") if "team00" in path.name[:16]
                and int(path.name[14:17]) < 6]  # fmt: skip


def test_a_second_release_changes_no_byte_and_draws_no_table(folder: Path) -> None:
    """T25."""
    before = hashes(folder)
    again = release_all(read_submissions(folder))
    assert again.new == ()
    assert len(again.before) == 4
    assert hashes(folder) == before


@pytest.mark.slow
def test_a_release_that_is_killed_is_nothing_or_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T25."""
    folder = make_contest(tmp_path / "friday", 2)
    defend(folder, "001", "PL(5,1)")
    defend(folder, "002", "PL(5,1)")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(data, "write_commitments", killed)
        with pytest.raises(KeyboardInterrupt):
            release_all(read_submissions(folder))
    assert not list(folder.rglob("p*_team001*"))
    with monkeypatch.context() as patch:
        patch.setattr(data, "copy_files", killed)
        with pytest.raises(KeyboardInterrupt):
            release_all(read_submissions(folder))
    fixed = {name: digest for name, digest in hashes(folder / "judge").items() if name.startswith("p")}
    assert len(fixed) == 6
    assert not list((folder / "everybody").glob("pubtraces*"))
    release_all(read_submissions(folder))
    after = hashes(folder / "judge")
    assert {name: after[name] for name in fixed} == fixed
    assert len(list((folder / "everybody").glob("pubtraces*"))) == 3


def test_a_team_that_comes_late_to_the_release_gets_its_own_table_and_nobody_else_another(
    folder: Path,
) -> None:
    before = hashes(folder / "judge")
    defend(folder, "005", "PL(6,1)")
    again = release_all(read_submissions(folder))
    assert again.new == (("005", 1),)
    after = hashes(folder / "judge")
    assert all(after[name] == digest for name, digest in before.items() if name.startswith("p"))


def test_a_table_that_was_changed_after_its_hash_stops_the_release(folder: Path) -> None:
    table = folder / "judge" / "ptable_team001_data01_IDP.csv"
    rows = table.read_text().splitlines()
    (first, a), (second, b) = (row.split(",") for row in rows[1:3])
    table.write_text("\n".join([rows[0], f"{first},{b}", f"{second},{a}", *rows[3:], ""]))
    with pytest.raises(FileError, match="does not match its hash"):
        release_all(read_submissions(folder))


@pytest.mark.parametrize("lost", ["ptable", "pubtraces"])
def test_a_table_that_is_lost_is_not_drawn_again(folder: Path, lost: str) -> None:
    """T25."""
    (folder / "judge" / f"{lost}_team001_data01_IDP.csv").unlink()
    before = hashes(folder)
    with pytest.raises(FileError, match="no other table will be drawn"):
        release_all(read_submissions(folder))
    assert {name: digest for name, digest in hashes(folder).items() if "scores" not in name} == {
        name: digest for name, digest in before.items() if "scores" not in name
    }


def test_a_name_of_any_bytes_is_told_in_plain_letters(folder: Path) -> None:
    strange = os.fsencode(folder / "submissions") + b"/\xff\x1b[31m\n.csv"
    with open(strange, "wb") as file:
        file.write(b"x")
    (one,) = judged(folder).refused
    assert one.file == r"submissions/\udcff\x1b[31m\n.csv"
    assert one.code == "wrong-name"


def test_a_release_that_is_not_what_was_handed_in_stops_the_board(folder: Path) -> None:
    tables = [folder / "judge" / f"ptable_team{team}_data01_IDP.csv" for team in ("001", "002")]
    assert tables[0].read_bytes() != tables[1].read_bytes()
    shutil.copy(tables[0], tables[1])
    with pytest.raises(FileError, match="is not anotraces_team002"):
        judged(folder)


def test_every_score_is_that_of_the_plain_functions(held: Path) -> None:
    board = judged(held).board()
    places = pwscup.read_places(held / "judge" / "info_region.csv")
    for team in ("001", "002", "004"):
        truth = original(held, team)
        handed = pwscup.read_obfuscated(held / "submissions" / f"anotraces_team{team}_data01_IDP.csv", truth)
        assert board.row(team).utility == utility_score(truth, handed).utility
    for (attacker, target, _, kind), score in board.attacks.items():
        name = f"team{attacker}-{target}_data01_IDP.csv"
        truth = pwscup.read_traces(held / "judge" / f"orgtraces_team{target}_data01_IDP.csv", places)
        if kind is R:
            table = pwscup.read_id_table(held / "judge" / f"ptable_team{target}_data01_IDP.csv")
            guess = pwscup.read_inferred_table(held / "submissions" / f"etable_{name}", table.pseudonyms)
            assert score == reidentification_score(table, guess).reidentification
        else:
            found = pwscup.read_inferred_traces(held / "submissions" / f"etraces_{name}", truth)
            assert score == trace_inference_score(truth, found).trace_inference
    assert len(board.attacks) == 10


def test_the_missing_and_the_invalid_are_on_the_board(held: Path) -> None:
    board = judged(held).board()
    assert board.row("005").utility is None
    assert not board.row("003").valid
    assert 0 < (board.row("003").utility or 0) < 0.7
    assert board.targets() == [("000", 1), ("001", 1), ("002", 1), ("004", 1)]
    assert judged(held).refused == ()


def test_sample_attacks_count_where_their_answers_are(folder: Path) -> None:
    before = judged(folder).board()
    after = judge(attack_all(read_submissions(folder))).board()
    assert set(after.roster.samples) == set(charter().rules.sample_attacks)
    for row in after.rows:
        assert row.s_R_min <= before.row(row.team).s_R_min
        assert row.s_T_min <= before.row(row.team).s_T_min
    assert len(after.attacks) == len(before.attacks) + 4 * 4
    shutil.rmtree(folder / "judge" / "answers" / "VisitProb-R")
    fewer = judged(folder).board()
    assert "VisitProb-R" not in fewer.roster.samples


@pytest.mark.long
def test_the_strongest_attacks_are_run_where_the_rules_ask_for_them(folder: Path) -> None:
    rules = folder / "contest.toml"
    rules.write_text(format_contest_file(charter(sample_attacks=["strongest"])))
    after = judge(attack_all(read_submissions(folder, rules))).board()
    assert set(after.roster.samples) == set(UNINFORMED_ATTACKS)
    assert {target for name, target, *_ in after.attacks if name == "Tracking-T"} == {
        "000",
        "001",
        "002",
        "004",
    }


def test_a_second_run_scores_nothing_and_changes_no_byte(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = judge(attack_all(read_submissions(folder)))
    before = hashes(folder)

    def again(*_: object, **__: object) -> float:
        raise AssertionError("scored twice")

    for name in ("score_obfuscated", "score_table", "score_traces"):
        monkeypatch.setattr(desk_module, name, again)
    second = judge(attack_all(read_submissions(folder)))
    assert second.board() == first.board()
    assert hashes(folder) == before


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = judged(folder).board()
    (folder / "judge" / "scores.jsonl").unlink()
    score, made = desk_module.score_table, []

    def dying(path: Path, *rest: object) -> float:
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(path.name)
        return score(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(desk_module, "score_table", dying)
    with pytest.raises(KeyboardInterrupt):
        judged(folder)
    ledger = folder / "judge" / "scores.jsonl"
    ledger.write_bytes(ledger.read_bytes() + b'{"key": "half a li')
    scored_before = list(made)

    def counting(path: Path, *rest: object) -> float:
        assert path.name not in scored_before
        made.append(path.name)
        return score(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(desk_module, "score_table", counting)
    assert judged(folder).board() == whole
    assert len(made) == len(set(made)) == 6


def test_a_file_that_changes_is_scored_again(folder: Path) -> None:
    path = folder / "submissions" / "etable_team001-002_data01_IDP.csv"
    truth = pwscup.read_id_table(folder / "judge" / "ptable_team002_data01_IDP.csv")
    pwscup.write_inferred_table(truth, path)
    assert judged(folder).board().attacks["001", "002", 1, R] == 0
    pwscup.write_inferred_table(IdTable(truth.pseudonyms, np.roll(truth.user_ids, 1)), path)
    assert judged(folder).board().attacks["001", "002", 1, R] == 1


def test_another_rule_gives_another_score(folder: Path) -> None:
    intake = read_submissions(folder)
    usual, wide = judge(intake), judge(intake, replace(intake.rules, inference_limit_km=9.0))
    key = ("001", "002", 1, T)
    assert wide.board().attacks[key] < usual.board().attacks[key]


def spoil(what: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        sent = folder / "submissions"
        table = sent / "etable_team001-002_data01_IDP.csv"
        if what == "row":
            table.write_text(table.read_text().replace("\n", "\nx", 1))
        elif what == "short":
            table.write_text("user_id\n1\n")
        elif what == "stranger":
            table.write_text(table.read_text().rsplit("\n", 2)[0] + "\n99\n")
        elif what == "empty":
            table.write_bytes(b"")
        elif what == "own":
            shutil.copy(table, sent / "etable_team002-002_data01_IDP.csv")
        elif what == "unknown":
            shutil.copy(table, sent / "etable_team009-002_data01_IDP.csv")
        elif what == "organiser":
            shutil.copy(table, sent / "etable_team000-002_data01_IDP.csv")
        elif what == "sample":
            shutil.copy(table, sent / "etable_team001-006_data01_IDP.csv")
        elif what == "second":
            shutil.copy(table, sent / "etable_team001-002_data02_TRP.csv")
        elif what == "invalid":
            shutil.copy(table, sent / "etable_team001-003_data01_IDP.csv")
        elif what == "name":
            shutil.copy(table, sent / "my attack.csv")
        elif what == "secret":
            shutil.copy(table, sent / "ptable_team001_data01_IDP.csv")
        elif what == "link":
            (sent / "etable_team002-001_data01_IDP.csv").symlink_to(folder / "judge" / "salts.csv")
        elif what == "extra":
            shutil.copy(sent / "anotraces_team001_data01_IDP.csv", sent / "anotraces_team000_data01_IDP.csv")
        elif what == "corrupt":
            packed = sent / "anotraces_team001_data01_IDP.csv.gz"
            packed.write_bytes(b"\x1f\x8bnothing that can be unpacked")
            (sent / "anotraces_team001_data01_IDP.csv").unlink()
        elif what == "after":
            defend(folder, "001", "PL(6,1)")

    return change


@pytest.mark.parametrize(
    ("what", "file", "code"),
    [
        ("row", "etable_team001-002_data01_IDP.csv", "not-a-number"),
        ("short", "etable_team001-002_data01_IDP.csv", "row-count"),
        ("stranger", "etable_team001-002_data01_IDP.csv", "unknown-user"),
        ("empty", "etable_team001-002_data01_IDP.csv", "empty-file"),
        ("own", "etable_team002-002_data01_IDP.csv", "own"),
        ("unknown", "etable_team009-002_data01_IDP.csv", "unknown-team"),
        ("organiser", "etable_team000-002_data01_IDP.csv", "unknown-team"),
        ("sample", "etable_team001-006_data01_IDP.csv", "unknown-target"),
        ("second", "etable_team001-002_data02_TRP.csv", "unknown-data-set"),
        ("invalid", "etable_team001-003_data01_IDP.csv", "no-target"),
        ("name", "my attack.csv", "wrong-name"),
        ("secret", "ptable_team001_data01_IDP.csv", "not-theirs"),
        ("link", "etable_team002-001_data01_IDP.csv", "not-a-file"),
        ("after", "anotraces_team001_data01_IDP.csv", "after-release"),
        ("corrupt", "anotraces_team001_data01_IDP.csv.gz", "after-release"),
        ("extra", "anotraces_team000_data01_IDP.csv", "unknown-team"),
    ],
)
def test_a_file_that_does_not_count_is_named_and_moves_nothing_else(
    held: Path, folder: Path, what: str, file: str, code: str
) -> None:
    spoil(what)(folder)
    assert refused(folder) == {file: code}
    whole, found = judged(held).board(), judged(folder).board()
    lost = (
        {("001", "002", 1, R)}
        if code in ("not-a-number", "row-count", "unknown-user", "empty-file")
        else set()
    )
    assert dict(found.attacks) == {key: score for key, score in whole.attacks.items() if key not in lost}
    # A second look finds the same, although what was refused is not read again.
    assert refused(folder) == {file: code}


def test_two_files_of_one_name_count_neither(folder: Path) -> None:
    path = folder / "submissions" / "etable_team001-002_data01_IDP.csv"
    (folder / "submissions" / "again").mkdir()
    shutil.copy(path, folder / "submissions" / "again" / path.name)
    found = [one for one in judged(folder).refused if one.code == "twice"]
    assert sorted(one.file for one in found) == [f"submissions/again/{path.name}", f"submissions/{path.name}"]


@pytest.mark.slow
def test_the_last_valid_file_counts_by_its_arrival(folder: Path) -> None:
    sent = folder / "submissions"
    for day in ("mon", "tue", "wed"):
        (sent / day).mkdir()
    name = "anotraces_team005_data01_IDP.csv"
    for day, defence in (("tue", "PL(6,1)"), ("mon", "No"), ("wed", "RR(0.1)")):
        defend(folder, "005", defence).rename(sent / day / name)
    table = "etable_team001-002_data01_IDP.csv"
    (sent / table).rename(sent / "tue" / table)
    (sent / "wed" / table).write_text("user_id\nnobody\n")
    arrivals(folder, {})
    listed = (sent / "received.csv").read_text()
    for day, date in (("mon", "05"), ("tue", "06"), ("wed", "07")):
        listed += f"{day}/{name},2026-05-{date}T12:00Z\n"
    for day, date in (("tue", "10"), ("wed", "11")):
        listed += f"{day}/{table},2026-05-{date}T12:00Z\n"
    (sent / "received.csv").write_text(listed)
    found = judged(folder)
    wanted = utility_score(
        original(folder, "005"), pwscup.read_obfuscated(sent / "tue" / name, original(folder, "005"))
    )
    assert found.board().row("005").utility == wanted.utility
    assert ("001", "002", 1, R) in found.board().attacks
    assert [one.file for one in found.refused] == [f"submissions/wed/{table}"]
    release_all(read_submissions(folder))
    assert (folder / "judge" / name).read_bytes() == (sent / "tue" / name).read_bytes()
    assert judged(folder).board().row("005").utility == wanted.utility
    assert [one.file for one in judged(folder).refused] == [f"submissions/wed/{table}"]


def arrivals(folder: Path, when: dict[str, str]) -> None:
    names = sorted(path.name for path in (folder / "submissions").glob("*.csv"))
    usual = {"a": "2026-05-07T12:00Z", "e": "2026-05-10T12:00Z"}
    lines = [f"{name},{when.get(name, usual[name[0]])}" for name in names if when.get(name) != ""]
    (folder / "submissions" / "received.csv").write_text("\n".join(["file,received", *lines, ""]))


def test_what_comes_after_the_last_upload_allowed_does_not_count(folder: Path) -> None:
    (folder / "contest.toml").write_text(format_contest_file(charter(attack_uploads=1)))
    late = "etraces_team001-002_data01_IDP.csv"
    arrivals(folder, {late: "2026-05-10T12:00:01Z"})
    found = {Path(one.file).name: one.code for one in judged(folder).refused}
    assert found[late] == "too-many"
    assert "etable_team001-002_data01_IDP.csv" not in found


@pytest.mark.parametrize(
    ("file", "at", "code"),
    [
        ("etable_team001-002_data01_IDP.csv", "2026-05-15T08:59:59.999+09:00", None),
        ("etable_team001-002_data01_IDP.csv", "2026-05-15T09:00:00+09:00", "late"),
        ("etable_team001-002_data01_IDP.csv", "2026-05-08T23:59Z", "early"),
        ("etable_team001-002_data01_IDP.csv", "", "no-arrival"),
        ("anotraces_team003_data01_IDP.csv", "2026-05-08T00:00Z", "late"),
    ],
)
def test_the_schedule_decides_what_is_late(folder: Path, file: str, at: str, code: str | None) -> None:
    arrivals(folder, {file: at})
    assert refused(folder) == ({} if code is None else {file: code})


@pytest.mark.parametrize(
    "rows",
    ["", "file", "x", "x,noon", "x,2026-05-07T12:00", "x,2026-05-07T12:00Z\nx,2026-05-07T12:00Z", "x,y,z"],
)
def test_a_list_of_arrivals_that_cannot_be_read_stops_the_judge(folder: Path, rows: str) -> None:
    header = "file,received\n" if rows not in ("", "file") else ""
    (folder / "submissions" / "received.csv").write_text(f"{header}{rows}\n")
    with pytest.raises(FileError, match=r"received\.csv"):
        read_submissions(folder)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"users": 13}, "has 12 users, and the rules say 13"),
        ({"reference_days": 3}, "has 2 days, and the rules say 3"),
        ({"original_days": 1}, "has 2 original days, and the rules say 1"),
    ],
)
def test_data_and_rules_must_agree_at_the_desk(folder: Path, rules: dict[str, object], message: str) -> None:
    (folder / "contest.toml").write_text(format_contest_file(charter(**rules)))
    with pytest.raises(FileError, match=message):
        judged(folder)


def test_a_team_whose_originals_are_gone_stops_the_judge(folder: Path) -> None:
    (folder / "judge" / "orgtraces_team005_data01_IDP.csv").unlink()
    with pytest.raises(FileError, match=r"orgtraces_team005_data01_IDP\.csv: is not there"):
        read_submissions(folder)


def test_limits_of_the_rules_hold_at_the_desk(folder: Path) -> None:
    intake = read_submissions(folder)
    found = judge(intake, replace(intake.rules, largest_listed_ids=10)).refused
    assert {one.code for one in found if "anotraces" in one.file} == {"too-many-ids"}


@pytest.mark.slow
def test_two_data_sets_are_judged_apart(tmp_path: Path) -> None:
    folder = make_contest(tmp_path / "friday", 2, data_sets=2)
    for team, number in (("001", 1), ("001", 2), ("002", 2)):
        defend(folder, team, "PL(6,1)", number)
    release_all(read_submissions(folder), seed=1)
    attack(folder, "001", "002", "VisitProb-T", 2)
    attack(folder, "002", "001", "VisitProb-R", 1)
    attack(folder, "002", "000", "VisitProb-R", 1)
    board = judged(folder).board()
    assert board.targets() == [("000", 1), ("001", 1), ("001", 2), ("002", 2)]
    assert set(board.attacks) == {
        ("001", "002", 2, T), ("002", "001", 1, R), ("002", "000", 1, R),
    }  # fmt: skip
    assert make_awards(board)[1].winners == ("001",)


@pytest.mark.slow
def test_one_folder_of_official_files_has_the_scores_of_2019(osaka: Path, tmp_path: Path) -> None:
    """T12."""
    folder = tmp_path / "osaka"
    folder.mkdir()
    for path in osaka.glob("*"):
        if not path.name.startswith("sample_results"):
            shutil.copy(path, folder)
    intake = read_submissions(folder)
    assert not intake.has_contest_file
    below = judge(intake)
    assert {one.code for one in below.refused} == {"no-target"}
    assert (below.rules.users, below.rules.original_days) == (2000, 2)
    rules = replace(intake.rules, utility_threshold=0.0, utility_rule="2019")
    board = judge(intake, rules).board()
    assert board.row("001").utility == pytest.approx(0.3255519500386591, abs=1e-12)
    assert board.attacks["020", "001", 1, R] == pytest.approx(0.999, abs=1e-12)
    assert board.attacks["020", "001", 1, T] == pytest.approx(0.966614349241424, abs=1e-12)


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="this folder does not exist"):
        read_submissions(tmp_path / "nowhere")
    with pytest.raises(Exception, match="holds no orgtraces"):
        read_submissions(tmp_path)
