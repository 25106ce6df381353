"""A contest's file is read strictly, and written so that it reads back the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracearena.contest import (
    ContestFile,
    DataSource,
    Rules,
    Schedule,
    format_contest_file,
    read_contest_file,
)
from tracearena.errors import FileError, ParameterError

SCHEDULE = Schedule.from_dict(
    {
        "anonymization_begin": "2026-05-08T00:00Z",
        "anonymization_end": "2026-05-15T09:00+09:00",
        "attack_begin": "2026-05-16T00:00Z",
        "attack_end": "2026-05-23T00:00Z",
        "results_begin": "2026-05-24T00:00Z",
    }
)


@pytest.mark.parametrize(
    "charter",
    [
        ContestFile(),
        ContestFile(name='A "quoted" name \\ 日本', teams=3, names={"002": "=HYPERLINK(", "001": "<script>"}),
        ContestFile(data=DataSource(seed=4)),
        ContestFile(data=DataSource(source="files", folder=Path("/srv/official"))),
        ContestFile(
            data=DataSource(
                source="traces",
                file=Path("/srv/a b.csv"),
                reference=Path("/srv/r.csv"),
                format="table",
                grid="4x4",
                bounds="1,2,3,4",
                timezone="Asia/Tokyo",
            )
        ),
        ContestFile(
            teams=997,
            schedule=SCHEDULE,
            rules=Rules(data_sets=2, utility_rule="2019", live_refresh_hours=(1, 2), overall_total=True),
        ),
    ],
)
def test_what_is_written_is_read_back(tmp_path: Path, charter: ContestFile) -> None:
    (tmp_path / "contest.toml").write_text(format_contest_file(charter))
    assert read_contest_file(tmp_path / "contest.toml") == charter


def test_an_empty_file_is_the_usual_contest(tmp_path: Path) -> None:
    (tmp_path / "contest.toml").write_text("")
    assert read_contest_file(tmp_path / "contest.toml") == ContestFile()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "line 1, x: got '1': unknown key"),
        ("\nteams = '5'", "line 2, teams: teams = '5' is not allowed"),
        ("teams = 998", "line 1, teams: .* at most 997"),
        ("teams = true", "line 1, teams"),
        ("name = 3", "line 1, name"),
        ("name = ' Friday'", "line 1, name"),
        ('name = "a\\u0007b"', "line 1, name"),
        ("[rules]\nusers = 2.5", "line 2, rules.users: users = 2.5"),
        ("[rules]\nuser = 4", "line 2, rules.user: there is no rule 'user'; did you mean users?"),
        ("[rules]\nsample_attacks = ['Nonsense-R']", "line 2, rules.sample_attacks"),
        ("[rules]\nwinner_takes_attack_awards = false", "line 1, rules: .*overall_total"),
        ("rules = 3", "line 1, rules: got '3': it must be a table"),
        ("[[rules]]\nusers = 3", "rules: .* it must be a table"),
        ("[schedule]\nattack_begin = 2026-05-01T00:00:00Z", "line 1, schedule: a schedule has exactly"),
        ("[names]\n001 = 3", "line 2, names.001"),
        ("[names]\n022 = 'x'", "line 2, names.022: .* from 001 to 021"),
        ("[names]\n1 = 'x'", "line 2, names.1"),
        ("data = 'city'", "line 1, data: got 'city': it must be a table"),
        ("[data]\nsource = 'moon'", "line 2, data.source: source = 'moon'"),
        ("[data]\nfile = 'x.csv'", "line 2, data.file: file belongs to source = 'traces', not to 'city'"),
        ("[data]\nsource = 'files'\ngrid = '2x2'", "line 3, data.grid: grid belongs to source = 'traces'"),
        ("[data]\nsource = 'traces'\nfolder = 'x'", "line 3, data.folder: folder belongs"),
        ("[data]\nsource = 'traces'\nfile = 3", "line 3, data.file: file = 3"),
        ("[data]\nsource = 'traces'\nfile = ''", "line 3, data.file: file = ''"),
        ("[data]\nsource = 'traces'\nformat = 'word'", "line 3, data.format: format = 'word'"),
        ("[data]\nsource = 'traces'\ngrid = 'big'", "line 3, data.grid: grid = 'big'"),
        ("[data]\nsource = 'traces'\ngrid = 4", "line 3, data.grid: grid = 4"),
        ("[data]\nsource = 'traces'\nbounds = '1,2'", "line 3, data.bounds"),
        ("[data]\nsource = 'traces'\ntimezone = 'Asia/Tokio'", "line 3, data.timezone"),
        ("[data]\nseed = -1", "line 2, data.seed: seed = -1"),
        ("[data]\nseed = true", "line 2, data.seed: seed = True"),
        ("[data]\nsede = 1", "line 2, data.sede: unknown name 'sede'; it must be one of source, file"),
        ("teams = [", "is not TOML"),
        ("teams = 1\nteams = 2", "is not TOML"),
        (f"teams = {'9' * 5000}", "contest.toml: "),
        ("teams = " + "[" * 5000, "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "contest.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        read_contest_file(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_schedule_that_is_out_of_order_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    path.write_text(format_contest_file(ContestFile(schedule=SCHEDULE)).replace("2026-05-23T", "2026-05-13T"))
    with pytest.raises(FileError, match=r"schedule: attack_end = .* after attack_begin"):
        read_contest_file(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(FileError, match="is not TOML"):
        read_contest_file(path)


def test_numbers_follow_the_teams() -> None:
    charter = ContestFile(teams=2, rules=Rules(sample_teams=1))
    assert charter.numbers == ("001", "002")
    assert charter.sample_numbers == ("003",)
    with pytest.raises(ParameterError, match="at most 0"):
        ContestFile(teams=1, rules=Rules(sample_teams=999))


def test_paths_of_the_data_count_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "contest.toml"
    path.write_text("[data]\nsource = 'traces'\nfile = 'walks/a.csv'\nreference = '/srv/b.csv'\n")
    data = read_contest_file(path, to_make=True).data
    assert data is not None
    assert data.file == tmp_path / "walks" / "a.csv"
    assert data.reference == Path("/srv/b.csv")


@pytest.mark.parametrize(("source", "missing"), [("traces", "file"), ("files", "folder")])
def test_a_contest_is_not_made_of_data_that_is_not_named(tmp_path: Path, source: str, missing: str) -> None:
    path = tmp_path / "contest.toml"
    path.write_text(f"\n[data]\nsource = '{source}'\n")
    assert read_contest_file(path).data == DataSource(source=source)  # type: ignore[arg-type]
    with pytest.raises(FileError, match=f"line 2, data: source = '{source}' needs {missing}"):
        read_contest_file(path, to_make=True)


def test_only_virtual_users_of_the_city_are_nobody() -> None:
    assert DataSource().people == "virtual"
    assert DataSource(source="traces").people == DataSource(source="files").people == "real"


def test_everybody_is_told_the_source_and_neither_seed_nor_paths(tmp_path: Path) -> None:
    own = ContestFile(data=DataSource(source="traces", file=tmp_path / "secret.csv", seed=77))
    told = format_contest_file(own.for_everybody)
    assert 'source = "traces"' in told
    assert "secret.csv" not in told
    assert "77" not in told
    assert ContestFile().for_everybody == ContestFile()
