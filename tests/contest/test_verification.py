"""An archive is proved right, and with one byte changed it is told what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contest.archived import changed, finished
from tests.contest.small_contest import USERS

from tracearena.contest import Verification, verify_archive, write_archive
from tracearena.errors import FileError

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("sealed") / "friday")


@pytest.fixture(scope="module")
def archive(sealed: Path) -> Path:
    write_archive(sealed, sealed.parent / "friday.zip", originals=True)
    return sealed.parent / "friday.zip"


@pytest.fixture(scope="module")
def without_originals(sealed: Path) -> Path:
    write_archive(sealed, sealed.parent / "given.zip")
    return sealed.parent / "given.zip"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished(tmp_path_factory.mktemp("live") / "friday", mode="live")
    write_archive(folder, folder.parent / "live.zip", originals=True)
    return folder.parent / "live.zip"


def flip(name: str, position: int = -2, digit: str | None = None) -> Change:
    """Change one digit of a file, counted from its end or its begin."""

    def change(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        assert chr(data[position]).isdigit(), data[position : position + 3]
        data[position] = ord(digit) if digit else ord("0") + (data[position] - ord("0") + 1) % 10
        (folder / name).write_bytes(data)

    return change


def swap(name: str, first: int = 1, second: int = 2) -> Change:
    """Exchange the last cells of two rows of a table."""

    def change(folder: Path) -> None:
        rows = (folder / name).read_text().splitlines()
        (head, a), (tail, b) = (rows[row].rpartition(",")[::2] for row in (first, second))
        assert a != b
        rows[first], rows[second] = (
            f"{start},{end}" if start else end for start, end in ((head, b), (tail, a))
        )
        (folder / name).write_text("\n".join([*rows, ""]))

    return change


def reword(name: str, old: str, new: str) -> Change:
    """Write something else in a text."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def all_of(*changes: Change) -> Change:
    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


def manifest(**values: object) -> Change:
    def change(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def found(archive: Path, tmp_path: Path, change: Change, *, mend: bool = True) -> Verification:
    return verify_archive(changed(archive, tmp_path / "changed.zip", change, mend=mend))


@pytest.mark.slow
def test_an_archive_is_right(archive: Path) -> None:
    result = verify_archive(archive)
    assert result.findings == ()
    assert result.is_right
    assert result.assumed == ()
    assert result.name == "Friday"
    counts = {"commitments": 3, "releases": 3, "utilities": 3, "attacks": 5 + 3 * 4}
    assert result.checked.items() >= counts.items()
    assert result.checked["files"] > 40


@pytest.mark.slow
def test_an_archive_of_a_contest_with_a_live_board_is_right(live: Path) -> None:
    assert verify_archive(live).findings == ()


def test_without_originals_it_is_said_what_could_not_be_found_again(without_originals: Path) -> None:
    result = verify_archive(without_originals)
    assert result.findings == ()
    assert result.assumed[:3] == tuple(
        f"utility of team {team}, data set 1" for team in ("000", "001", "002")
    )
    assert "s_T of 002 on team 001, data set 1" in result.assumed
    assert result.checked["utilities"] == 0
    assert result.checked["attacks"] == 3 + 3 * 2
    assert result.checked["releases"] == result.checked["commitments"] == 3


def test_packing_it_anew_changes_nothing(archive: Path, tmp_path: Path) -> None:
    assert found(archive, tmp_path, lambda folder: None).is_right


JUDGE, ALL, SENT = "judge/", "everybody/", "submissions/"
OF_PYTHON = re.compile(r"[\[({]['\"{\[]|\b(None|True|False)\b|\w\(\w+=")
"""How Python shows lists, dictionaries, nothing and records: not how a finding shows them."""
CHANGES = {
    "an ID table": (swap(JUDGE + "ptable_team001_data01_IDP.csv"), "commitment", "ptable_team001"),
    "an ID table that names one twice": (flip(JUDGE + "ptable_team001_data01_IDP.csv"), "", "ptable_team001"),
    "a salt": (flip(JUDGE + "salts.csv", -2, None), "commitment", "ptable_team002"),
    "a commitment": (flip(ALL + "commitments.csv", -2, None), "commitment", "ptable_team002"),
    "a release": (flip(JUDGE + "pubtraces_team001_data01_IDP.csv"), "release", "pubtraces_team001"),
    "both copies of a release": (
        all_of(*(flip(place + "pubtraces_team001_data01_IDP.csv") for place in (JUDGE, ALL))),
        "release",
        "pubtraces_team001",
    ),
    "what everybody had": (flip(ALL + "reftraces_team001_data01_IDP.csv"), "copy", "reftraces_team001"),
    "what was handed in": (flip(SENT + "anotraces_team001_data01_IDP.csv"), "upload", "anotraces_team001"),
    "what was released of it": (flip(JUDGE + "anotraces_team001_data01_IDP.csv"), "release", "team001"),
    "an original": (flip(JUDGE + "orgtraces_team001_data01_IDP.csv"), "score", "results/utility.csv"),
    "inferred traces": (flip(SENT + "etraces_team002-001_data01_IDP.csv"), "score", "trace_inference.csv"),
    "an answer of the judge": (
        flip(JUDGE + "answers/VisitProb-T/etraces_team000-001_data01_IDP.csv"),
        "score",
        "results/trace_inference.csv",
    ),
    "a file that is not listed": (
        reword("submissions/received.csv", "etraces_team002-001_data01_IDP.csv,", "etraces_team009.csv,"),
        "arrival",
        "submissions/etraces_team002-001",
    ),
    "a refusal that nobody made": (
        lambda folder: (folder / "results/refused.csv").write_text(
            "file,code,reason\nsubmissions/etraces_team002-001_data01_IDP.csv,late,came late\n"
        ),
        "refusal",
        "results/refused.csv",
    ),
    "an empty row among the refusals": (
        lambda folder: (folder / "results/refused.csv").write_text("file,code,reason\n\n"),
        "refusal",
        "results/refused.csv",
    ),
    "teams that are not there any more": (
        all_of(*(reword(place + "contest.toml", "teams = 2", "teams = 1") for place in ("", ALL))),
        "unreadable",
        "judge/answers/",
    ),
    "an arrival": (
        reword("submissions/received.csv", "etraces_team002-001_data01_IDP.csv,2026-05-1",
               "etraces_team002-001_data01_IDP.csv,2026-05-2"),
        "score",
        "results/trace_inference.csv",
    ),
    "a rule": (
        all_of(*(reword(place + "contest.toml", "weight = 10.0", "weight = 1.0") for place in ("", ALL))),
        "score",
        "results/trace_inference.csv",
    ),
    "the contest's file": (flip("contest.toml", -8), "copy", "everybody/contest.toml"),
    "winners": (manifest(awards={"best-anonymization": ["002"]}), "award", "manifest.json, awards"),
    "who was released": (manifest(released=[]), "release", "manifest.json, released"),
}  # fmt: skip
NONSENSE = [b'{"board": 3}', *(pytest.param(one, marks=pytest.mark.long) for one in (b"", b"\xff\x00"))]
FILES = [
    "contest.toml",
    "results/board.json",
    JUDGE + "orgtraces_team001_data01_IDP.csv",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in (
            "results/awards.csv",
            JUDGE + "salts.csv",
            SENT + "received.csv",
            JUDGE + "info_region.csv",
            JUDGE + "ptable_team001_data01_IDP.csv",
            ALL + "commitments.csv",
            JUDGE + "reftraces_team001_data01_IDP.csv",
        )
    ),
]
RESULTS = (
    "board.csv",
    "utility.csv",
    "reidentification.csv",
    "trace_inference.csv",
    "sums.csv",
    "awards.csv",
)


@pytest.mark.parametrize("name", CHANGES)
def test_one_byte_is_named_although_the_hashes_fit(archive: Path, tmp_path: Path, name: str) -> None:
    change, what, where = CHANGES[name]
    result = found(archive, tmp_path, change)
    assert not result.is_right
    assert any(where in one.where and what in one.what for one in result.findings), result.findings
    assert not [str(one) for one in result.findings if OF_PYTHON.search(str(one))]
    assert "hash" not in {one.what for one in result.findings}


@pytest.mark.parametrize("name", RESULTS)
def test_a_changed_result_is_named_with_its_cell(archive: Path, tmp_path: Path, name: str) -> None:
    def change(folder: Path) -> None:
        path = folder / "results" / name
        text = path.read_text()
        at = max(number.start(1) for number in re.finditer(r"0\.\d{5}(\d)", text))
        path.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])

    (one,) = found(archive, tmp_path, change).findings
    assert one.what == "score"
    assert one.where.startswith(f"results/{name}, row ")
    assert re.fullmatch(r".*, row \d+ \(.+\), column \S+", one.where)
    assert abs(float(one.expected) - float(one.found)) > 1e-12
    assert str(one) == f"score: {one.where}: got {one.found}; expected {one.expected}"


def test_a_changed_score_of_the_board_is_named(archive: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        path = folder / "results" / "board.json"
        board = json.loads(path.read_text())
        board["attacks"][0]["score"] += 1e-9
        path.write_text(json.dumps(board))

    (one,) = found(archive, tmp_path, change).findings
    assert (one.what, one.where) == ("score", "results/board.json, attacks, row 1, score")


def test_rounding_is_no_finding(archive: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        path = folder / "results" / "board.json"
        board = json.loads(path.read_text())
        board["attacks"][0]["score"] += 1e-14
        path.write_text(json.dumps(board))

    assert found(archive, tmp_path, change).is_right


def test_a_byte_that_changes_no_score_is_named_by_its_hash(archive: Path, tmp_path: Path) -> None:
    file = ALL + "LETTER-attack.txt"

    def change(folder: Path) -> None:
        (folder / file).write_text((folder / file).read_text() + " ")

    (one,) = found(archive, tmp_path, change, mend=False).findings
    assert (one.what, one.where) == ("hash", file)


def test_files_that_are_gone_or_new_are_named(archive: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        (folder / ALL / "LETTER-attack.txt").unlink()
        (folder / ALL / "more.txt").write_text("x")

    result = found(archive, tmp_path, change, mend=False)
    assert [(one.what, one.where) for one in result.findings] == [
        ("hash", "everybody/LETTER-attack.txt"),
        ("hash", "everybody/more.txt"),
    ]


@pytest.mark.parametrize(
    "gone",
    ["contest.toml", "results/board.json", "results/awards.csv", JUDGE + "salts.csv", ALL + "commitments.csv",
     JUDGE + "ptable_team001_data01_IDP.csv", JUDGE + "pubtraces_team001_data01_IDP.csv",
     ALL + "pubtraces_team001_data01_IDP.csv", SENT + "anotraces_team001_data01_IDP.csv",
     SENT + "etable_team001-002_data01_IDP.csv", JUDGE + "info_region.csv"],
)  # fmt: skip
def test_a_file_that_is_gone_is_missed(archive: Path, tmp_path: Path, gone: str) -> None:
    assert not found(archive, tmp_path, lambda folder: (folder / gone).unlink()).is_right


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("content", NONSENSE)
def test_nonsense_in_a_file_is_a_finding(archive: Path, tmp_path: Path, file: str, content: bytes) -> None:
    result = found(archive, tmp_path, lambda folder: (folder / file).write_bytes(content))
    assert not result.is_right
    assert str(tmp_path) not in json.dumps(result.to_dict())


@pytest.mark.parametrize(
    "value", ["x", True, *(pytest.param(one, marks=pytest.mark.long) for one in ({}, [], -1, 10**400))]
)
@pytest.mark.parametrize(
    "place",
    [
        ("attacks", "score"),
        pytest.param(("board", "utility"), marks=pytest.mark.long),
        pytest.param(("board", "data_set"), marks=pytest.mark.long),
    ],
)
def test_a_score_that_is_none_is_a_finding(
    without_originals: Path, tmp_path: Path, place: tuple[str, str], value: object
) -> None:
    """An archive without originals is believed in some scores, and in numbers alone."""

    def change(folder: Path) -> None:
        path = folder / "results" / "board.json"
        board = json.loads(path.read_text())
        for row in board[place[0]]:
            row[place[1]] = value
        path.write_text(json.dumps(board))

    assert not found(without_originals, tmp_path, change).is_right


def test_a_valid_upload_that_was_held_back_is_named(archive: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        for path in folder.rglob("p*_team002_data01_IDP.csv"):
            path.unlink()
        (folder / "judge" / "anotraces_team002_data01_IDP.csv").unlink()
        for name in ("judge/salts.csv", "everybody/commitments.csv"):
            rows = (folder / name).read_text().splitlines(keepends=True)
            (folder / name).write_text("".join(row for row in rows if "team002" not in row))

    result = found(archive, tmp_path, change)
    name = "judge/pubtraces_team002_data01_IDP.csv"
    assert ("release", name, "a release", "no release") in {
        (one.what, one.where, one.expected, one.found) for one in result.findings
    }


def test_scores_that_somebody_kept_are_not_believed(sealed: Path, archive: Path, tmp_path: Path) -> None:
    kept = (sealed / "judge" / "scores.jsonl").read_bytes()
    path = changed(
        archive, tmp_path / "kept.zip", lambda folder: (folder / "judge/scores.jsonl").write_bytes(kept)
    )
    with pytest.raises(FileError, match="does not belong in an archive"):
        verify_archive(path)


@pytest.mark.parametrize("team", ["000", "001"])
def test_other_users_of_a_live_board_are_named(live: Path, tmp_path: Path, team: str) -> None:
    name = f"judge/live_team{team}_data01_IDP.csv"

    def change(folder: Path) -> None:
        users = (folder / name).read_text().split()[1:]
        other = next(str(user) for user in range(1, USERS + 1) if str(user) not in users)
        new = sorted([other, *users[1:]], key=int)
        (folder / name).write_text("\n".join(["live_user_id", *new, ""]))

    result = found(live, tmp_path, change)
    assert ("commitment", f"judge/ptable_team{team}_data01_IDP.csv") in {
        (one.what, one.where) for one in result.findings
    }


def test_a_live_contest_scored_on_everybody_is_found_out(live: Path, tmp_path: Path) -> None:
    change = all_of(*(reword(place + "contest.toml", '"live"', '"sealed"') for place in ("", ALL)))
    what = {one.what for one in found(live, tmp_path, change).findings}
    assert {"commitment", "score"} <= what


@pytest.mark.parametrize(
    "name", ["an ID table", "a release", "both copies of a release", "a salt", "winners"]
)
def test_without_originals_the_rest_is_still_held_to_account(
    without_originals: Path, tmp_path: Path, name: str
) -> None:
    change, what, where = CHANGES[name]
    result = found(without_originals, tmp_path, change)
    assert any(where in one.where and what in one.what for one in result.findings), result.findings
    assert not [str(one) for one in result.findings if OF_PYTHON.search(str(one))]


def test_without_originals_a_wrong_s_R_or_sum_is_named(without_originals: Path, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        path = folder / "results" / "board.json"
        board = json.loads(path.read_text())
        row = next(row for row in board["attacks"] if row["kind"] == "reidentification")
        row["score"] = row["score"] / 2 + 0.01
        board["sums"]["trace-inference"]["001"] += 0.5
        path.write_text(json.dumps(board))

    where = {one.where for one in found(without_originals, tmp_path, change).findings}
    assert "results/board.json, sums, trace-inference, 001" in where
    assert any(re.fullmatch(r"results/board\.json, attacks, row \d+, score", one) for one in where)
