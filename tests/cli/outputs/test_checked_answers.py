"""An answer is checked by what an attacker has, and what she finds good the judge finds good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import Done, tracearena

from tracearena import arena
from tracearena.io import pwscup, write
from tracearena.traces import ObfuscatedTraces, Traces

USERS, TIMES = 10, 40


def run(*arguments: object) -> Done:
    return tracearena(*arguments)


@pytest.fixture
def team(tmp_path: Path, make_walks: Callable[..., Traces]) -> Path:
    """What an attacker is given, in one folder, and what the judge keeps, in another."""
    reference, original = make_walks(users=USERS, days=4, missing=0.2).split_days(2)
    public = arena.pseudonymise(ObfuscatedTraces.from_traces(original), seed=1).anonymized
    for folder in ("given", "judge"):
        (tmp_path / folder).mkdir()
        pwscup.write_places(original.places, tmp_path / folder / "info_region.csv")
        pwscup.write_times(pwscup.ContestTimes(original.clock, 2, 2), tmp_path / folder / "info_time.csv")
    pwscup.write_traces(reference, tmp_path / "given" / "ref.csv")
    pwscup.write_anonymized(public, tmp_path / "given" / "pub.csv")
    pwscup.write_traces(original, tmp_path / "judge" / "org.csv")
    return tmp_path


def by_attacker(team: Path) -> tuple[object, ...]:
    return "--reference", team / "given" / "ref.csv", "--anonymized", team / "given" / "pub.csv"


def by_judge(team: Path) -> tuple[object, ...]:
    return "--original", team / "judge" / "org.csv"


GOOD = {
    "inferred-table": "user_id\n" + "".join(f"{k % USERS + 1}\n" for k in range(1, USERS + 1)),
    "inferred-traces": "reg_id\n" + "".join(f"{k % 64 + 1}\n" for k in range(USERS * TIMES)),
}
BAD = {
    "no such user": ("inferred-table", "user_id\n" + "1\n" * (USERS - 1) + f"{USERS + 1}\n"),
    "a pseudonym too few": ("inferred-table", "user_id\n" + "1\n" * (USERS - 1)),
    "a pseudonym too many": ("inferred-table", "user_id\n" + "1\n" * (USERS + 1)),
    "a time too few": ("inferred-traces", "reg_id\n" + "1\n" * (USERS * TIMES - 1)),
    "a time too many": ("inferred-traces", "reg_id\n" + "1\n" * (USERS * TIMES + 1)),
    "no such region": ("inferred-traces", "reg_id\n" + "1\n" * (USERS * TIMES - 1) + "65\n"),
    "a star": ("inferred-traces", "reg_id\n*\n" + "1\n" * (USERS * TIMES - 1)),
    "another file": ("inferred-traces", GOOD["inferred-table"]),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_good_answer_is_good_for_both(team: Path, kind: str) -> None:
    answer = team / "answer.csv"
    answer.write_text(GOOD[kind])
    hers, theirs = (run("check", kind, answer, *known(team), "--json") for known in (by_attacker, by_judge))
    assert hers.status == theirs.status == 0, hers.err + theirs.err
    assert hers.json == theirs.json


@pytest.mark.parametrize("what", BAD)
def test_a_bad_answer_has_the_same_verdict_for_both(team: Path, what: str) -> None:
    kind, text = BAD[what]
    answer = team / "answer.csv"
    answer.write_text(text)
    hers, theirs = (run("check", kind, answer, *known(team), "--json") for known in (by_attacker, by_judge))
    assert hers.status == theirs.status == 2
    assert hers.json == theirs.json
    assert not hers.json["valid"]


@pytest.mark.parametrize(
    ("attack", "kind", "form"),
    [
        ("VisitProb-R", "table", "pwscup"),
        ("VisitProb-R", "table", "table"),
        ("VisitProb-T", "traces", "pwscup"),
    ],
)
def test_the_answers_of_attack_are_good(team: Path, attack: str, kind: str, form: str) -> None:
    done = run("attack", attack, team / "answer.csv", *by_attacker(team), "--to", form, "--seed", 1)
    assert done.status == 0, done.err
    checked = run("check", f"inferred-{kind}", team / "answer.csv", *by_attacker(team))
    assert checked.status == 0, checked.err


def test_a_table_of_pseudonyms_answers_all_of_them(team: Path) -> None:
    answer = team / "answer.csv"
    pseudonyms = range(USERS + 1, 2 * USERS + 1)
    answer.write_text("pse_id,user_id\n" + "".join(f"{name},1\n" for name in pseudonyms))
    assert run("check", "inferred-table", answer, *by_attacker(team)).status == 0
    answer.write_text("pse_id,user_id\n" + "".join(f"{name},1\n" for name in [*pseudonyms[1:], 99]))
    done = run("check", "inferred-table", answer, *by_attacker(team), "--json")
    assert done.status == 2
    assert {(fault["code"], fault["value"]) for fault in done.json["faults"]} == {
        ("other-pseudonyms", "11"),
        ("other-pseudonyms", "99"),
    }


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("given", [(), ("--reference",), ("--anonymized",)])
def test_half_of_what_is_needed_is_refused_with_the_rest(
    team: Path, kind: str, given: tuple[str, ...]
) -> None:
    (team / "answer.csv").write_text(GOOD[kind])
    files = {"--reference": "ref.csv", "--anonymized": "pub.csv"}
    options = [word for name in given for word in (name, team / "given" / files[name])]
    done = run("check", kind, team / "answer.csv", *options)
    assert done.status == 2
    assert all(option in done.err for option in ("--reference", "--anonymized", "--original"))


def test_both_ways_at_once_are_refused(team: Path) -> None:
    (team / "answer.csv").write_text(GOOD["inferred-table"])
    done = run("check", "inferred-table", team / "answer.csv", *by_attacker(team), *by_judge(team))
    assert done.status == 2
    assert "--reference, --anonymized do not apply" in done.err


def test_reference_traces_of_another_team_are_refused(team: Path, make_walks: Callable[..., Traces]) -> None:
    pwscup.write_traces(make_walks(users=USERS + 1, days=2), team / "given" / "ref.csv")
    (team / "answer.csv").write_text(GOOD["inferred-table"])
    done = run("check", "inferred-table", team / "answer.csv", *by_attacker(team))
    assert done.status == 2
    assert "not files of the same team" in done.err


LIMITED = {
    "check obfuscated": ("check", "obfuscated", "answer.csv", "--original", "judge/org.csv"),
    "check inferred-traces": ("check", "inferred-traces", "answer.csv", "--original", "judge/org.csv"),
    "check inferred-table": ("check", "inferred-table", "answer.csv", "--original", "judge/org.csv"),
    "score utility": ("score", "utility", "--obfuscated", "answer.csv", "--original", "judge/org.csv"),
    "score trace-inference": (
        "score", "trace-inference", "--inferred", "answer.csv", "--original", "judge/org.csv",
    ),
    "score reidentification": (
        "score", "reidentification", "--inferred", "answer.csv", "--id-table", "judge/ptable.csv",
    ),
    "pseudonymise": (
        "pseudonymise", "answer.csv", "pub.csv", "--original", "judge/org.csv", "--id-table", "t.csv",
    ),
}  # fmt: skip


def answer_for(team: Path, command: str) -> int:
    """Write a good answer and return its bytes."""
    events = (team / "judge" / "org.csv").read_text().count("\n") - 1
    text = "reg_id\n" + "1 2 3\n" * events
    if "traces" in command or "trace-" in command:
        text = GOOD["inferred-traces"]
    if "table" in command or "reid" in command:
        text = GOOD["inferred-table"]
        pseudonyms = np.arange(USERS) + USERS + 1
        rows = "".join(f"{name},{user}\n" for user, name in enumerate(pseudonyms.tolist(), 1))
        (team / "judge" / "ptable.csv").write_text(f"pse_id,user_id\n{rows}")
    (team / "answer.csv").write_text(text)
    return len(text)


@pytest.mark.parametrize("command", LIMITED)
def test_the_size_of_a_submission_is_an_option(team: Path, command: str) -> None:
    size = answer_for(team, command)
    small = tracearena(*LIMITED[command], "--max-bytes", size - 1, folder=team)
    assert small.status == 2
    assert f"larger than the limit of {size - 1:,} bytes, which --max-bytes (max_bytes) sets" in small.err
    enough = tracearena(*LIMITED[command], "--max-bytes", size, folder=team)
    assert enough.status == 0, enough.err


@pytest.mark.parametrize("command", ["check obfuscated", "score utility", "pseudonymise"])
def test_the_listed_ids_of_a_submission_are_an_option(team: Path, command: str) -> None:
    answer_for(team, command)
    ids = 3 * (team / "answer.csv").read_text().count("1")
    few = tracearena(*LIMITED[command], "--max-listed-ids", ids - 1, folder=team)
    assert few.status == 2
    assert "--max-listed-ids (max_listed_ids) sets" in few.err
    assert not (team / "pub.csv").exists()
    enough = tracearena(*LIMITED[command], "--max-listed-ids", ids, folder=team)
    assert enough.status == 0, enough.err


@pytest.mark.parametrize("value", ["0", "-1", "nan", "many"])
def test_a_limit_is_a_whole_number_from_one(team: Path, value: str) -> None:
    answer_for(team, "check obfuscated")
    done = tracearena(*LIMITED["check obfuscated"], "--max-bytes", value, folder=team)
    assert done.status == 2
    assert "--max-bytes" in done.err


def test_a_limit_is_not_ignored_where_it_has_no_meaning(
    tmp_path: Path, make_check_ins: Callable[..., Traces]
) -> None:
    write(make_check_ins(), tmp_path / "org.csv")
    for command in (
        ("check", "obfuscated", "org.csv", "--original", "org.csv"),
        ("check", "inferred-traces", "org.csv", "--original", "org.csv"),
        ("score", "utility", "--obfuscated", "org.csv", "--original", "org.csv"),
        ("score", "trace-inference", "--inferred", "org.csv", "--original", "org.csv"),
        ("pseudonymise", "org.csv", "pub.csv", "--id-table", "t.csv"),
    ):
        done = tracearena(*command, "--max-bytes", 10**9, folder=tmp_path)
        assert done.status == 2, command
        assert "--max-bytes" in done.err
