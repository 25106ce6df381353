"""Users keep their numbers from file to file, and files different numbers for users are not compared."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from tests.command_line import tracearena as run

BOX = ("--grid", "8x8", "--bounds", "40.5,-74.3,41.0,-73.7")
USERS = 60


def done(*arguments: object) -> str:
    status, out, err = run(*arguments)
    assert status == 0, err
    return out


def write_check_ins(path: Path, names: Iterable[object], half: int) -> Path:
    """Each user goes to three places of her own, on the days of one half; the name decides which."""
    rows = ["user_id,datetime,lat,lon,place"]
    for name in names:
        rng = np.random.default_rng(list(str(name).encode()))
        spots = rng.integers(0, 64, 3)
        visits = np.random.default_rng([*str(name).encode(), 1000 + half])
        for day in range(20):
            for hour in sorted(visits.choice(24, 3, replace=False).tolist()):
                spot = int(visits.choice(spots))
                lat, lon = 40.53 + spot // 8 * 0.0625, -74.26 + spot % 8 * 0.075
                stamp = f"2012-{4 + half:02d}-{day + 1:02d}T{hour:02d}:00:00"
                rows.append(f"{name},{stamp},{lat:.4f},{lon:.4f},p{spot}")
    path.write_text("\n".join(rows) + "\n")
    return path


def converted(source: Path, out: Path, *more: object, to: str = "pwscup") -> Path:
    done("convert", source, out, "--to", to, *BOX, "--places-out", out.parent / "info_region.csv", *more)
    return out


def rows_of(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


def users_of(path: Path) -> list[int]:
    return [int(user) for user in dict.fromkeys(row[0] for row in rows_of(path))]


def reidentification(folder: Path, reference: Path, original: Path) -> float:
    places = ("--places", folder / "info_region.csv")
    done("obfuscate", "MRLH(0,0,0)", original, folder / "obf.csv", *places, "--seed", 1)
    done(
        "pseudonymise", folder / "obf.csv", folder / "pub.csv", "--original", original,
        "--id-table", folder / "ptable.csv", *places, "--seed", 1,
    )  # fmt: skip
    done(
        "attack", "VisitProb-R", folder / "etable.csv", "--anonymized", folder / "pub.csv",
        "--reference", reference, *places, "--seed", 1,
    )  # fmt: skip
    found = done(
        "score", "reidentification", "--id-table", folder / "ptable.csv",
        "--inferred", folder / "etable.csv", "--json",
    )  # fmt: skip
    return float(json.loads(found)["reidentification"])


@pytest.mark.slow
def test_a_user_missing_in_each_half_does_not_move_s_R(tmp_path: Path) -> None:
    scores = []
    for name, without in (("whole", (None, None)), ("less", (3, USERS - 4))):
        folder = tmp_path / name
        folder.mkdir()
        halves = []
        for half, missing in enumerate(without):
            people = [user for user in range(USERS) if user != missing]
            source = write_check_ins(folder / f"in{half}.csv", people, half)
            halves.append(converted(source, folder / f"half{half}.csv"))
        scores.append(reidentification(folder, *halves))
    assert scores[0] < 0.3
    assert abs(scores[1] - scores[0]) <= 3 / USERS


def test_ids_that_are_numbers_are_kept(tmp_path: Path) -> None:
    source = write_check_ins(tmp_path / "in.csv", [5, 70, 900], 0)
    out = converted(source, tmp_path / "out.csv")
    assert users_of(out) == [5, 70, 900]
    assert not (tmp_path / "out.csv.users.csv").exists()


def test_a_number_keeps_its_own_beside_ids_that_are_none(tmp_path: Path) -> None:
    source = write_check_ins(tmp_path / "in.csv", ["0", "ann", "5", "007"], 0)
    out = converted(source, tmp_path / "out.csv")
    key = {own: int(number) for number, own in rows_of(tmp_path / "out.csv.users.csv")}
    assert key["5"] == 5
    assert sorted(key.values()) == users_of(out) == [5, 6, 7, 8]


def test_the_key_is_its_owners_and_numbers_the_next_file_alike(tmp_path: Path) -> None:
    key = tmp_path / "users.csv"
    first = converted(
        write_check_ins(tmp_path / "a.txt", ["bob", "eve"], 0), tmp_path / "a.csv", "--user-key", key
    )
    assert key.stat().st_mode & 0o777 == 0o600
    assert rows_of(key) == [["1", "bob"], ["2", "eve"]]
    second = converted(
        write_check_ins(tmp_path / "b.txt", ["ann", "eve"], 1), tmp_path / "b.csv", "--user-key", key
    )
    assert rows_of(key) == [["1", "bob"], ["2", "eve"], ["3", "ann"]]
    assert (users_of(first), users_of(second)) == ([1, 2], [2, 3])
    beside = tmp_path / "b.csv.users.csv"
    assert rows_of(beside) == [["2", "eve"], ["3", "ann"]]
    assert beside.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "row", "value"),
    [
        ("user_id,original_id\n1,bob\n1,eve\n", "row 2", "'1'"),
        ("user_id,original_id\n1,bob\n2,bob\n", "row 2", "'bob'"),
        ("user_id,original_id\n0,bob\n", "row 1", "'0'"),
        ("user_id,original_id\nx,bob\n", "row 1", "'x'"),
        ("user_id,original_id\n1\n", "row 1", "'1'"),
        ("user_id,original_id\n7,\n", "row 1", "''"),
        ("pse_id,user_id\n7,1\n", "header", "'pse_id,user_id'"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_with_row_and_value(
    tmp_path: Path, text: str, row: str, value: str
) -> None:
    key = tmp_path / "users.csv"
    key.write_text(text)
    source = write_check_ins(tmp_path / "in.csv", ["bob", "eve"], 0)
    status, _, err = run("convert", source, tmp_path / "out.csv", "--to", "pwscup", *BOX, "--user-key", key)
    assert status == 2
    assert row in err
    assert value in err
    assert key.read_text() == text
    assert not (tmp_path / "out.csv").exists()


def test_halves_numbered_apart_are_not_swept(tmp_path: Path) -> None:
    for half, people in enumerate((["bob", "eve", "zoe"], ["ann", "eve", "zoe"])):
        converted(write_check_ins(tmp_path / f"{half}.txt", people, half), tmp_path / f"{half}.csv")
    status, _, err = run(
        "sweep", tmp_path / "table.csv", "--places", tmp_path / "info_region.csv",
        "--reference", tmp_path / "0.csv", "--original", tmp_path / "1.csv",
        "--defences", "MRLH(0,0,0)", "--attacks", "VisitProb-R", "--seed", 1,
    )  # fmt: skip
    assert status == 2
    assert "different numbers for users" in err
    assert "1 is user 'bob' in one and 'ann' in the other" in err
    assert not (tmp_path / "table.csv").exists()


def test_a_half_with_a_key_is_not_swept_with_one_that_kept_other_users_ids(tmp_path: Path) -> None:
    for half, people in enumerate((["bob", "eve", "zoe"], [1, 2, 3])):
        converted(write_check_ins(tmp_path / f"{half}.txt", people, half), tmp_path / f"{half}.csv")
    status, _, err = run(
        "sweep", tmp_path / "table.csv", "--places", tmp_path / "info_region.csv",
        "--reference", tmp_path / "0.csv", "--original", tmp_path / "1.csv", "--seed", 1,
    )  # fmt: skip
    assert status == 2
    assert "different numbers for users" in err


def test_an_answer_learned_under_other_numbers_is_not_scored(tmp_path: Path) -> None:
    for half, people in enumerate((["bob", "eve", "zoe"], ["ann", "eve", "zoe"])):
        converted(write_check_ins(tmp_path / f"{half}.txt", people, half), tmp_path / f"{half}.csv")
    with pytest.raises(AssertionError, match="different numbers for users"):
        reidentification(tmp_path, tmp_path / "0.csv", tmp_path / "1.csv")


def test_a_key_of_other_files_is_not_replaced(tmp_path: Path) -> None:
    out = converted(write_check_ins(tmp_path / "a.txt", ["bob", "eve"], 0), tmp_path / "out.csv")
    key = tmp_path / "out.csv.users.csv"
    before = out.read_bytes(), key.read_bytes()
    source = write_check_ins(tmp_path / "b.txt", ["ann", "bob"], 0)
    status, _, err = run("convert", source, out, "--to", "pwscup", *BOX)
    assert status == 2
    assert "--user-key" in err
    assert (out.read_bytes(), key.read_bytes()) == before


def test_the_numbers_of_the_ppmtf_tools_lead_back(tmp_path: Path) -> None:
    people = [f"user {letter}" for letter in "abcdefghij"]
    source = write_check_ins(tmp_path / "in.csv", people, 0)
    done(
        "convert", source, tmp_path / "traintraces_X.csv", "--to", "ppmtf", "--top", 40,
        "--places-out", tmp_path / "POI_X.csv", "--test-share", 0.3,
        "--test", tmp_path / "testtraces_X.csv", "--seed", 2,
    )  # fmt: skip
    keys = [rows_of(tmp_path / f"{side}traces_X.csv.users.csv") for side in ("train", "test")]
    assert [int(number) for number, _ in keys[0] + keys[1]] == list(range(10))
    assert sorted(own for _, own in keys[0] + keys[1]) == people
    for side, key in zip(("train", "test"), keys, strict=True):
        assert users_of(tmp_path / f"{side}traces_X.csv") == [int(number) for number, _ in key]


def test_a_second_conversion_leads_back_to_the_first_ids(tmp_path: Path) -> None:
    first = converted(write_check_ins(tmp_path / "in.txt", ["bob", "7", "eve"], 0), tmp_path / "a.csv")
    (tmp_path / "b").mkdir()
    second = converted(first, tmp_path / "b" / "b.csv")
    assert users_of(second) == users_of(first) == [7, 8, 9]
    key = tmp_path / "b" / "b.csv.users.csv"
    assert key.read_bytes() == (tmp_path / "a.csv.users.csv").read_bytes()


def test_an_open_file_of_a_process_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    source = write_check_ins(tmp_path / "in.csv", ["bob", "eve"], 0)
    link, key = tmp_path / "stdout", tmp_path / "key.csv"
    with open(tmp_path / "redirected", "wb") as target:
        link.symlink_to(f"/proc/self/fd/{target.fileno()}")
        status, _, err = run("convert", source, link, "--to", "pwscup", *BOX)
        assert (status, "--user-key" in err) == (2, True)
        done("convert", source, link, "--to", "pwscup", *BOX, "--user-key", key)
        assert link.is_symlink()
    assert users_of(tmp_path / "redirected") == [1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "key.csv", "redirected", "stdout"]


def test_a_format_that_keeps_all_ids_takes_no_key(tmp_path: Path) -> None:
    source = write_check_ins(tmp_path / "in.csv", ["bob", "eve"], 0)
    status, _, err = run("convert", source, tmp_path / "out.parquet", "--user-key", tmp_path / "k.csv")
    assert status == 2
    assert "--user-key does not apply" in err
