"""A file whose name is that of another team, target, data set or kind is refused wherever it comes in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import tracearena
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import Program, by_form, joined, token

from tracearena.contest.data import find_other_name
from tracearena.server.models import Quota, Submission

OBFUSCATED = "anotraces_team001_data01_IDP"
TABLE = "etable_team001-002_data01_IDP"
WRONG = {
    "obfuscated/1": (
        "anotraces_team002_data01_IDP.csv",
        "anotraces_team001_data02_TRP.csv",
        "anotraces_team001_data01_TRP.csv",
        "orgtraces_team001_data01_IDP.csv",
        "anotraces_team003_data01_IDP (1).csv.gz",
        "etable_team001-002_data01_IDP.parquet",
    ),
    "attack/002/1/inferred-table": (
        "etable_team001-003_data01_IDP.csv",
        "etable_team003-002_data01_IDP.csv",
        "etraces_team001-002_data01_IDP.csv",
        "etable_team001-002_data02_TRP.csv",
        "etable_team002-001_data01_IDP.csv.gz",
    ),
}
RIGHT = {
    "obfuscated/1": (f"{OBFUSCATED}.csv", f"{OBFUSCATED}.csv.gz", f"{OBFUSCATED} (2).csv", "mine.csv"),
    "attack/002/1/inferred-table": (f"{TABLE}.csv", f"{TABLE}.parquet", "guess.csv"),
}


@pytest.fixture
def database() -> None:
    """SQLite: what a name says does not depend on the database."""


@pytest.mark.parametrize("place", list(WRONG))
def test_form_and_api_refuse_what_is_for_somebody_else(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """With a sentence that has both names, without an upload or a quota; other names say nothing."""
    hands.without_children(monkeypatch)
    client = joined(held, "001")
    caller = Program(token(client))
    held.anonymization()
    hands.defend(held, "002", tmp_path)
    hands.judged(held)
    if place.startswith("attack"):
        held.at(SCHEDULE.anonymization_end)
        hands.judged(held)
        held.attack()
    before = Submission.objects.count()
    for number, name in enumerate(WRONG[place]):
        content = b"reg_id\n%d\n" % number
        refused = by_form(client, place, content, f"f{number}", name)
        assert refused.status_code == 409, name
        assert RIGHT[place][0] in refused.content.decode()
        answer = caller.upload(place, content, f"a{number}", name.replace(" ", "%20"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "other-target"), name
    assert Submission.objects.count() == before
    assert not Quota.objects.filter(team__number="001", used__gt=0).exists()
    for number, name in enumerate(RIGHT[place]):
        assert by_form(client, place, b"x%d" % number, f"g{number}", name).status_code == 302, name


def test_the_same_file_again_is_the_same_upload(held: Held) -> None:
    """By another form, by the API and under another name; a file in between makes it a new one."""
    held.anonymization()
    client = joined(held, "001")
    caller = Program(token(client))
    first = by_form(client, "obfuscated/1", b"one", "a")["Location"]
    again = by_form(client, "obfuscated/1", b"one", "b", "other.csv")["Location"]
    assert again == f"{first}?again"
    assert "no upload was used up" in client.get(again).content.decode()
    assert "no upload was used up" not in client.get(first).content.decode()
    assert caller.upload("obfuscated/1", b"one", "c").json()["id"] == int(first.rpartition("/")[2])
    assert Submission.objects.count() == Quota.objects.get().used == 1
    by_form(client, "obfuscated/1", b"two", "d")
    assert by_form(client, "obfuscated/1", b"one", "e")["Location"] not in (first, again)
    assert Submission.objects.count() == Quota.objects.get().used == 3


def test_a_late_file_that_comes_again_in_time_is_taken(held: Held) -> None:
    """As when the end was moved meanwhile; one that was in time stays so when it is sent again too late."""
    from tracearena.server.operations.schedule import move_point

    client = joined(held, "001")
    held.at(SCHEDULE.anonymization_end)
    late = by_form(client, "obfuscated/1", b"one", "a")["Location"]
    end = SCHEDULE.anonymization_end + (SCHEDULE.attack_begin - SCHEDULE.anonymization_end) / 2
    move_point("anonymization_end", end, reason="the network was down", actor="test")
    good = by_form(client, "obfuscated/1", b"one", "b")["Location"]
    assert late != good
    held.at(end)
    assert by_form(client, "obfuscated/1", b"one", "c")["Location"] == f"{good}?again"
    assert sorted(Submission.objects.values_list("state", flat=True)) == ["late", "received"]


def test_the_checker_refuses_it_at_home(held: Held, tmp_path: Path) -> None:
    """`check` compares the name with that of the traces that it is held against."""
    everybody = held.folder.everybody
    original = everybody / "orgtraces_team004_data01_IDP.csv"
    lines = original.read_text().splitlines()
    content = "reg_id\n" + "\n".join(line.rpartition(",")[2] for line in lines[1:]) + "\n"
    for name, status in (
        ("anotraces_team004_data01_IDP.csv", 0), ("mine.csv", 0),
        ("anotraces_team003_data01_IDP.csv", 2), ("anotraces_team004_data02_TRP.csv", 2),
    ):  # fmt: skip
        (tmp_path / name).write_text(content)
        done = tracearena("check", "obfuscated", tmp_path / name, "--original", original)
        assert done.status == status, (name, done.err)
        assert ("another file than anotraces_team004_data01_IDP.csv" in done.err) == (status == 2)
    reference = everybody / "reftraces_team004_data01_IDP.csv"
    (tmp_path / "etraces_team001-003_data01_IDP.csv").write_text(content)
    done = tracearena(
        "check", "inferred-traces", tmp_path / "etraces_team001-003_data01_IDP.csv", "--original", original
    )
    assert (done.status, "etraces_team001-004_data01_IDP.csv" in done.err) == (2, True)
    assert reference.is_file()


def test_a_name_says_something_only_if_it_begins_as_an_official_one() -> None:
    for name in (
        "mine.csv",
        "anotraces.csv",
        "my anotraces_team002_data01_IDP.csv",
        "anotraces_team02_data01_IDP",
    ):
        assert find_other_name(name, "anotraces", 1, 1) is None
    assert find_other_name("anotraces_team002_data01_IDP", "anotraces", 1, 1) is not None


@pytest.fixture
def contest_data(held: Held, tmp_path: Path) -> Path:
    """What `client data` fetches for team 001, with its contest's file."""
    import zipfile

    folder = tmp_path / "contest-data"
    folder.mkdir()
    held.anonymization()
    packed = b"".join(joined(held, "001").get("/team/data/bundle").streaming_content)
    (tmp_path / "bundle.zip").write_bytes(packed)
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        bundle.extractall(folder)
    for path in held.folder.everybody.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_client_check_says_the_utility_and_what_is_not_enough(
    held: Held, contest_data: Path, tmp_path: Path
) -> None:
    """The judge's own number; below the threshold it is NOT VALID and the status 2."""
    good = hands.obfuscated(held, "001", tmp_path)
    rows = good.count(b"\n") - 1
    cases: tuple[tuple[str, bytes, int, float], ...] = (
        ("good.csv", good, 0, 1.0),
        (
            "half.csv",
            b"reg_id\n" + (rows // 2) * b"*\n" + b"".join(good.splitlines(True)[1 + rows // 2 :]),
            2,
            0.5,
        ),
    )
    for name, content, status, utility in cases:
        (tmp_path / name).write_bytes(content)
        words = ("contest", "client", "check", name, "--data", contest_data)
        done = tracearena(*words, folder=tmp_path)
        assert done.status == status, done.err
        assert f"utility {utility:.4f}" in done.out
        assert ("NOT VALID: it must be at least 0.7" in done.out) == (status == 2)
        told = json.loads(tracearena(*words, "--json", folder=tmp_path).out)
        assert (told["valid"], told["utility"], told["threshold"]) == (status == 0, utility, 0.7)
    (tmp_path / "anotraces_team002_data01_IDP.csv").write_bytes(good)
    other = tracearena(
        "contest",
        "client",
        "check",
        "anotraces_team002_data01_IDP.csv",
        "--data",
        contest_data,
        folder=tmp_path,
    )
    assert (other.status, "another file than anotraces_team001" in other.err) == (2, True)


@pytest.mark.slow
def test_client_practise_tries_defences_on_the_teams_own_people(contest_data: Path, tmp_path: Path) -> None:
    """In one line, by the rules of the contest; nothing is sent."""
    done = tracearena(
        "contest", "client", "practise", "--data", contest_data, "--seed", 1, "--defences", "No",
        "--defences", "PL(4,1)", folder=tmp_path,
    )  # fmt: skip
    assert done.status == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert [line[0] for line in lines] == ["defence", "No", "PL(4,1)"]
    assert lines[1][1] == "1.0000"
    assert (tmp_path / "practise.csv").read_text().startswith("defence,utility,valid,")


def test_attacks_of_a_folder_go_where_their_names_say(tmp_path: Path) -> None:
    """Only those of the team itself; a folder without any is refused."""
    from tracearena.errors import ParameterError
    from tracearena.server.client import find_attacks

    for name in (
        "etraces_team001-003_data02_TRP.csv.gz", "etable_team001-002_data01_IDP.csv",
        "etable_team002-001_data01_IDP.csv", "anotraces_team001_data01_IDP.csv", "notes.txt",
    ):  # fmt: skip
        (tmp_path / name).touch()
    assert [(path.name, place) for path, place in find_attacks(tmp_path, "001")] == [
        ("etable_team001-002_data01_IDP.csv", "uploads/attack/002/1/inferred-table"),
        ("etraces_team001-003_data02_TRP.csv.gz", "uploads/attack/003/2/inferred-traces"),
    ]
    with pytest.raises(ParameterError, match="no attack of team 009"):
        find_attacks(tmp_path, "009")


def test_client_attack_hands_in_a_folder_and_says_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is refused keeps no other from being taken; the status says that something was."""
    from contextlib import contextmanager
    from types import SimpleNamespace

    from tracearena.cli import contest_client
    from tracearena.server import client

    @contextmanager
    def opened() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(url="http://127.0.0.1:1", get=lambda path: {"team": "001"})

    def upload(connection: object, place: str, path: Path) -> dict[str, object]:
        if "003" in place:
            raise client.ServerRefused("quota", "All 20 uploads are used up.", 409)
        return {"id": 7, "late": False}

    monkeypatch.setattr(contest_client, "_open_client", opened)
    monkeypatch.setattr(client, "upload", upload)
    monkeypatch.setattr(client, "save_receipt", lambda url, receipt: None)
    for target in ("002", "003", "004"):
        (tmp_path / f"etable_team001-{target}_data01_IDP.csv").touch()
    done = tracearena("contest", "client", "attack", "--all", tmp_path)
    assert done.status == 2
    assert done.out.splitlines() == [
        "etable_team001-002_data01_IDP.csv: receipt 7",
        "etable_team001-003_data01_IDP.csv: REFUSED: All 20 uploads are used up.",
        "etable_team001-004_data01_IDP.csv: receipt 7",
    ]
    both = tracearena("contest", "client", "attack", "guess.csv", "002", "--all", tmp_path)
    assert (both.status, "use either FILE and TEAM, or --all FOLDER, not both" in both.err) == (2, True)
    assert tracearena("contest", "client", "attack").status == 2
