"""Secrets lie apart: whoever gets a folder whole gets nothing that is not hers."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.contest.residents import Residents
from tests.contest.small_contest import SCHEDULE, charter, hashes, make_contest

from tracearena.contest import ContestPlan, data, read_contest_file, verify, write_contest_data
from tracearena.contest.data import read_commitments
from tracearena.errors import FileError, ParameterError
from tracearena.io import pwscup


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_contest(tmp_path_factory.mktemp("contest") / "friday", data_sets=2)


def owner(name: str) -> int:
    return pwscup.PwsName.parse(name).team


def test_there_is_one_folder_for_each_reader(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        "contest.toml", "judge", "everybody", "teams", "submissions",
    }  # fmt: skip
    assert {path.name for path in (folder / "teams").iterdir()} == {f"team{n:03d}" for n in range(1, 6)}
    assert not any((folder / "submissions").iterdir())


def test_only_the_owner_looks_into_the_judges_folder(folder: Path) -> None:
    assert stat.S_IMODE((folder / "judge").stat().st_mode) == 0o700
    for path in folder.rglob("*"):
        team_own = path.name.startswith("orgtraces") and "everybody" not in path.parts
        if team_own or path.name.startswith(("ptable", "salts", "manifest")) or "anotraces" in path.name:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_no_bundle_has_anything_of_another_team(folder: Path) -> None:
    judge = hashes(folder / "judge")
    of = {digest: name for name, digest in judge.items() if "_team" in name}
    for team in range(1, 6):
        given = hashes(folder / "teams" / f"team{team:03d}")
        traces = {name: of[digest] for name, digest in given.items() if digest in of}
        assert {owner(name) for name in traces.values()} == {team}
        assert {name.split("_")[0] for name in traces.values()} == {"reftraces", "orgtraces"}
        assert set(given) - set(traces) == {"LETTER.txt", "contest.toml", "info_region.csv", "info_time.csv"}
    shared = hashes(folder / "everybody")
    assert {owner(of[digest]) for digest in shared.values() if digest in of} == {6, 7}
    secret = {digest for name, digest in judge.items() if name.startswith(("ptable", "salts", "manifest"))}
    outside = [folder / "everybody", folder / "teams"]
    assert not secret & {digest for place in outside for digest in hashes(place).values()}


def test_no_seed_leaves_the_judges_folder(folder: Path) -> None:
    for place in ("everybody", "teams"):
        for path in (folder / place).rglob("*"):
            if path.is_file():
                assert b"entropy" not in path.read_bytes()
                assert b"spawn_key" not in path.read_bytes()


def test_the_pseudonymised_team_has_one_data_set(folder: Path) -> None:
    names = {path.name for path in (folder / "judge").glob("*team000*")}
    kinds = ("reftraces", "orgtraces", "anotraces", "pubtraces", "ptable")
    assert names == {f"{kind}_team000_data01_IDP.csv" for kind in kinds}


def test_a_letter_says_what_to_do_and_until_when(folder: Path) -> None:
    letter = (folder / "teams" / "team003" / "LETTER.txt").read_text()
    words = " ".join(letter.split())
    assert "team 003" in words
    assert "anotraces_team003_data01_IDP.csv and anotraces_team003_data02_TRP.csv" in words
    assert f"before {SCHEDULE.anonymization_end:%Y-%m-%d %H:%M} UTC" in words
    assert "at least 0.7" in words
    assert "re-identification challenge and trace-inference challenge" in words
    assert "data01_IDP is for the re-identification challenge" in words


def test_letters_name_challenges_where_teams_have_two_data_sets() -> None:
    for data_sets in (1, 2):
        rules = charter(data_sets=data_sets)
        for letter in (data.format_team_letter(rules, "001"), data.format_public_letter(rules, ["002"])):
            says = "data02_TRP for the trace-inference challenge" in " ".join(letter.split())
            assert says == (data_sets == 2)


def test_a_letter_lets_teams_score_as_the_judge_does() -> None:
    usual, own = (
        data.format_team_letter(one, "001")
        for one in (charter(), charter(utility_rule="2019", utility_threshold=0.65))
    )
    assert "--rule" not in usual
    assert "--threshold" not in usual
    assert "--places info_region.csv --rule 2019 --threshold 0.65\n" in own


def test_the_commitment_is_for_everybody_and_opens_the_judges_table(folder: Path) -> None:
    made = read_commitments(folder)
    assert set(made) == {"ptable_team000_data01_IDP.csv"}
    for name, one in made.items():
        assert verify(one.digest, pwscup.read_id_table(folder / "judge" / name), one.salt)
        assert one.salt not in (folder / "everybody" / "commitments.csv").read_text()


def test_the_contests_file_says_what_holds(folder: Path) -> None:
    assert read_contest_file(folder / "contest.toml") == charter(data_sets=2)
    assert (folder / "teams" / "team001" / "contest.toml").read_bytes() == (
        folder / "contest.toml"
    ).read_bytes()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"users": 13}, "users = 12, but the rules say 13"),
        ({"reference_days": 3}, "reference_days = 2, but the rules say 3"),
        ({"original_days": 1}, "original_days = 2, but the rules say 1"),
        ({"data_sets": 2}, "data_sets = 1, but the rules say 2"),
        ({"sample_teams": 0}, "sample_teams = 2, but the rules say 0"),
        ({"pseudonymised_team": False}, "pseudonymised_team = True, but the rules say False"),
    ],
)
def test_data_and_rules_must_agree(tmp_path: Path, rules: dict[str, object], message: str) -> None:
    plan = ContestPlan(teams=5, users=12, days=4)
    with pytest.raises(ParameterError, match=message):
        write_contest_data(tmp_path / "x", Residents(), plan, charter=charter(**rules))
    with pytest.raises(ParameterError, match="5 teams, but the rules are for 4"):
        write_contest_data(tmp_path / "x", Residents(), plan, charter=charter(4))
    assert not any(tmp_path.iterdir())


def test_a_contest_may_do_without_samples_and_pseudonymised_team(tmp_path: Path) -> None:
    plan = ContestPlan(teams=1, users=12, days=4, sample_teams=0, pseudonymised_team=False)
    write_contest_data(tmp_path / "x", Residents(), plan, seed=1)
    assert {owner(path.name) for path in (tmp_path / "x" / "judge").glob("*_team*")} == {1}
    assert (tmp_path / "x" / "everybody" / "commitments.csv").read_text() == "file,sha256\n"


def test_a_hash_without_its_salt_is_noticed(tmp_path: Path) -> None:
    folder = make_contest(tmp_path / "friday", 1)
    (folder / "judge" / "salts.csv").write_text("file,salt\n")
    with pytest.raises(FileError, match="must have both a hash and a salt"):
        read_commitments(folder)
    (folder / "judge" / "salts.csv").write_text("hello\n")
    with pytest.raises(FileError, match="not a table of file,salt"):
        read_commitments(folder)
