"""What the web never says: a crawl of every address by every role in every phase, and answers of attacks."""

from __future__ import annotations

import io
import json
import logging
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server import hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.routes import addresses
from tests.server.visitors import (
    PASSWORD,
    Program,
    browser,
    joined,
    organiser,
    served,
    token,
    upload_headers,
)

from tracearena.contest import id_table_text
from tracearena.server.store.crypto import unseal

TEAMS = ("001", "002", "003")
UTILITY, BOARD = 0.8765432198765, "canary of the final board"
_AS_002 = re.compile("team00[34]")
"""Files of teams that are to the first one what the second is."""
_ROWS = 2_000
"""Bytes of a file that tell it from what is rightly public: rows of several users in their order."""


@dataclass
class Crawl:
    """Everything that the roles have been told, phase by phase."""

    held: Held
    programs: dict[str, Program]
    clients: dict[str, Any]
    heard: dict[str, bytes] = field(default_factory=dict)

    def go(self) -> dict[str, bytes]:
        """Ask for every address in every role, and return what was answered to each."""
        asked = addresses(self._values())
        for role, client in self.clients.items():
            self.heard[role] = b"\n".join(_said(client, address, {}) for address in asked)
        head = {"Authorization": f"Bearer {self.programs['001'].secret}"}
        self.heard["program"] = b"\n".join(
            _said(browser(), address, head) for address in asked if address.startswith("/api/")
        )
        return self.heard

    def _values(self) -> dict[str, list[str]]:
        from tracearena.server.models import Submission

        folder = self.held.folder
        places = [folder.everybody, folder.for_judge(""), folder.path, folder.for_team("001").parent]
        names = {path.name for place in places for path in place.iterdir() if not _AS_002.search(path.name)}
        uploads = [str(number) for number in Submission.objects.values_list("pk", flat=True)]
        return {
            "name": sorted(names | {"..", ".", "%2e%2e%2fserver.json"}),
            "number": [*uploads, "002", "999"],
            "team": ["000", "001", "002", "004"],
            "kind": ["inferred-table"],
            "table": ["board.csv"],
        }


def _said(client: Any, address: str, head: dict[str, str]) -> bytes:
    """Return all bytes of an answer, those of archives and of the headers among them."""
    answer = client.get(address, headers=head)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if content[:2] == b"PK":
        archive = zipfile.ZipFile(io.BytesIO(content))
        content = b"\n".join(archive.read(name) for name in archive.namelist())
    return f"{address} {answer.status_code} {dict(answer.headers)}".encode() + content


@pytest.mark.long
def test_no_canary_sings_on_any_address_in_any_role_and_phase(
    holding: Callable[..., Held],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """T19: Originals, ID tables, uploads, scores and secrets of others: not a byte, and none in the log."""
    caplog.set_level(logging.DEBUG)
    hands.without_children(monkeypatch)
    held = holding(sample_attacks=("VisitProb-R",))
    clients = {"visitor": browser(), "member": joined(held, "001"), "organiser": organiser(held)}
    members = {"001": clients["member"], "002": joined(held, "002"), "003": joined(held, "003")}
    programs = {team: Program(token(client)) for team, client in members.items()}
    crawl = Crawl(held, programs, clients)
    always = dict(_originals(held)) | dict(_secrets(held, programs, members))
    references = dict(_references(held))

    _quiet(crawl.go(), always, references)
    assert always["original 001"] in crawl.heard["member"]
    assert always["original 001"] in crawl.heard["program"]

    held.anonymization()
    for team in TEAMS:
        content = hands.obfuscated(held, team, tmp_path, "MRLH(1,1,0.1)")
        always[f"upload {team}"] = content[-_ROWS:]
        assert programs[team].upload("obfuscated/1", content, "k").status_code == 201
    hands.judged(held)
    _plant_utility("002")
    always_but_board = {"utility": repr(UTILITY).encode()}
    _quiet(crawl.go(), always, references, always_but_board)

    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    tables = dict(_tables(held))
    assert set(tables) == {"table 000", "table 001", "table 002", "table 003"}
    public = {f"released {path.name}": path.read_bytes()[-_ROWS:] for path in _released(held)}
    assert len(public) == 4
    _quiet(crawl.go(), always, references, always_but_board, tables, public)

    held.attack()
    for team, target in (("001", "002"), ("002", "003"), ("003", "001")):
        content = hands.inferred_table(held, target, tmp_path, right=7)
        always[f"attack of {team}"] = content
        answer = programs[team].upload(f"attack/{target}/1/inferred-table", content, "t")
        assert answer.status_code == 201
    hands.judged(held)
    _quiet(crawl.go(), always, always_but_board, tables)
    assert public["released pubtraces_team002_data01_IDP.csv"] in crawl.heard["member"]
    assert public["released pubtraces_team002_data01_IDP.csv"] not in crawl.heard["visitor"]

    held.at(SCHEDULE.attack_end + DAY / 2)
    hands.judged(held)
    _plant_board()
    frozen = {**always_but_board, "final board": BOARD.encode()}
    _quiet(crawl.go(), always, frozen, tables)

    held.results()
    hands.judged(held)
    clients["organiser"].post("/organiser/publish")
    _quiet(crawl.go(), always)
    for role in ("visitor", "member", "program"):
        assert BOARD.encode() in crawl.heard[role]
    _quiet({"log": caplog.text.encode()}, always, frozen, tables, references)


def _quiet(heard: dict[str, bytes], *canaries: dict[str, bytes]) -> None:
    """Check that nobody has heard what is not theirs."""
    own = {"member": " 001", "program": " 001"}
    for role, said in heard.items():
        for name, needle in [pair for some in canaries for pair in some.items()]:
            assert len(needle) > 8, name
            if name.endswith(own.get(role, "none")) and name.startswith(("original", "reference", "cookie")):
                continue
            assert needle not in said, f"{role} heard {name}"


def _opened(held: Held, name: str) -> bytes:
    return unseal(held.judge_private_key, held.folder.for_judge(name).read_bytes())


def _originals(held: Held) -> Iterator[tuple[str, bytes]]:
    for team in ("000", *TEAMS):
        yield f"original {team}", _opened(held, f"orgtraces_team{team}_data01_IDP.csv")[-_ROWS:]


def _references(held: Held) -> Iterator[tuple[str, bytes]]:
    for team in ("000", *TEAMS):
        yield f"reference {team}", _opened(held, f"reftraces_team{team}_data01_IDP.csv")[-_ROWS:]


def _secrets(
    held: Held, programs: dict[str, Program], members: dict[str, Any]
) -> Iterator[tuple[str, bytes]]:
    from tracearena.server.models import Link, Member, Token

    yield "judge's key", held.judge_private_key
    yield "judge's key in digits", held.judge_private_key.hex().encode()
    yield "secret of the cookies", held.folder.read_secrets().secret_key.encode()
    yield "organiser's link", held.created.organiser.encode()
    yield "password", PASSWORD.encode()
    yield "hash of a password", b"argon2id$"
    for team in TEAMS:
        yield f"link {team}", held.created.invitations[team].encode()
        yield f"token {team}", programs[team].secret.encode()
        yield f"session {team}", members[team].cookies["sessionid"].value.encode()
        yield f"unlock {team}", members[team].cookies["unlock"].value.encode()
    for row in (*Link.objects.all(), *Token.objects.all()):
        yield f"digest {row}", row.digest.encode()
    for row in (*Link.objects.exclude(wrapped_key=None), *Member.objects.exclude(wrapped_key=None)):
        yield f"wrapped {row}", bytes(row.wrapped_key)


def _tables(held: Held) -> Iterator[tuple[str, bytes]]:
    from tracearena.server.judge.scoring import JudgeFiles
    from tracearena.server.models import DataSet

    bench = JudgeFiles(held.folder, held.judge_private_key)
    for data_set in DataSet.objects.select_related("team"):
        table = id_table_text(bench.read_secret(data_set).table)
        yield f"table {data_set.team.number}", table.partition("\n")[2].encode()


def _released(held: Held) -> list[Path]:
    return sorted(held.folder.everybody.glob("pubtraces_*"))


def _plant_utility(team: str) -> None:
    """Give a team a utility that cannot be missed."""
    from tracearena.server.models import DataSet, Score, Submission

    DataSet.objects.filter(team__number=team).update(utility=UTILITY)
    Submission.objects.filter(team__number=team).update(utility=UTILITY)
    Score.objects.filter(data_set__team__number=team).update(value=UTILITY)


def _plant_board() -> None:
    """Give the frozen board something that cannot be missed."""
    from tracearena.server import results

    final = results.find_final_snapshot()
    assert final is not None
    content = json.loads(bytes(final.content))
    content["awards"][0]["title"] = BOARD
    final.content = json.dumps(content).encode()
    final.save()


@pytest.mark.slow
def test_no_secret_is_in_the_log_of_a_server(held: Held) -> None:
    """T19.

    Neither what belongs there, in headers and forms, nor what somebody puts into an address by mistake.
    """
    held.anonymization()
    client = joined(held, "001", "ann")
    secret = token(client)
    link, unlock = held.created.invitations["002"], client.cookies["unlock"].value
    wrong = "a password that is wrong"
    with served(held) as site, httpx.Client(base_url=site.url) as asked:
        head = {"Authorization": f"Bearer {secret}"}
        asked.get(f"/api/v1/me?token={secret}", headers=head)
        asked.get(f"/join?secret={link}")
        csrf = re.search(r'csrfmiddlewaretoken" value="(\w+)"', asked.get("/login").text)
        assert csrf is not None
        form = {"csrfmiddlewaretoken": csrf[1], "name": "ann", "password": wrong}
        assert asked.post("/login", data=form).status_code == 403
        answer = asked.post("/login", data={**form, "password": PASSWORD})
        assert answer.status_code == 302
        cookies = {name: value for name, value in asked.cookies.items() if name != "csrftoken"}
        assert asked.get("/team/data/bundle").status_code == 200
        asked.post("/api/v1/uploads/obfuscated/1", content=b"rows", headers=upload_headers(secret, "k"))
    log = site.log.read_text()
    assert '"GET /api/v1/me" 200' in log
    for hidden in (secret, link, unlock, wrong, PASSWORD, csrf[1], *cookies.values()):
        assert hidden not in log


def _answers(program: Program, client: Any, number: int) -> str:
    """Return all that is said of one upload, without its number, time and hash."""
    said = [program.get(f"submissions/{number}"), client.get(f"/team/submissions/{number}")]
    return _without_names("\n".join(f"{dict(one.headers)} {one.content.decode()}" for one in said))


def _without_names(text: str) -> str:
    text = re.sub(r"[0-9a-f]{64}", "HASH", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.+]+", "TIME", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", "SALT", text)
    text = re.sub(r'(csrfmiddlewaretoken" value=)"\w+"', "FORM", text)
    text = re.sub(r"csrftoken=\w+", "COOKIE", text)
    text = re.sub(r"'Content-Length': '\d+', ", "", text)  # which has the digits of the number in it
    text = re.sub(r'"id": ?\d+', "ID", text)
    text = re.sub(r"/team/submissions/\d+", "ADDRESS", text)
    return re.sub(r"Receipt \d+", "ID", text)


def _check_indistinguishable(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    hands.without_children(monkeypatch)
    held = holding(attack_uploads=2_000, sample_attacks=())
    client, caller = _defended(held, tmp_path)
    content = {
        True: hands.inferred_table(held, "002", tmp_path, right=20),
        False: hands.inferred_table(held, "002", tmp_path, right=0),
    }
    guesses = [True] * each + [False] * each
    random.Random(22).shuffle(guesses)
    receipts: dict[bool, set[str]] = {True: set(), False: set()}
    numbers: dict[bool, list[int]] = {True: [], False: []}
    for key, right in enumerate(guesses):
        answer = caller.upload("attack/002/1/inferred-table", content[right], f"k{key}")
        assert answer.status_code == 201
        receipts[right].add(_without_names(f"{dict(answer.headers)} {answer.content.decode()}"))
        numbers[right].append(answer.json()["id"])
    assert receipts[True] == receipts[False]
    assert len(receipts[True]) == 1
    hands.judged(held)
    answers = {_answers(caller, client, number) for some in numbers.values() for number in some}
    assert len(answers) == 1
    listed = {_without_names(json.dumps(one)) for one in caller.get("submissions").json()}
    assert len(listed) == 1
    _check_scored(held, client, caller, tmp_path)


def _check_scored(held: Held, client: Any, caller: Program, tmp_path: Path) -> None:
    """Check that the attacks that count look the same when they are scored: one is right, one is wrong."""
    numbers = {}
    for target, right in (("002", 20), ("003", 0)):
        content = hands.inferred_table(held, target, tmp_path, right=right)
        answer = caller.upload(f"attack/{target}/1/inferred-table", content, f"last-{target}")
        numbers[target] = answer.json()["id"]
    held.at(SCHEDULE.attack_end + DAY / 2)
    hands.judged(held)
    scored = {_answers(caller, client, numbers[target]).replace(target, "TARGET") for target in numbers}
    assert len(scored) == 1
    assert "scored" in scored.pop()


def _defended(held: Held, tmp_path: Path) -> tuple[Any, Program]:
    """Let two teams defend themselves, and go into the attack phase as the first one."""
    client = joined(held, "001")
    caller = Program(token(client))
    held.anonymization()
    for team in ("002", "003"):
        hands.defend(held, team, tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()
    return client, caller


@pytest.mark.slow
def test_right_and_wrong_attacks_get_the_same_answers(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T22.

    Fifty of each: byte for byte, but for number, time and hash; at once, when checked, when scored.
    """
    _check_indistinguishable(holding, tmp_path, monkeypatch, 50)


@pytest.mark.long
def test_five_hundred_right_and_wrong_attacks(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T22: The same."""
    _check_indistinguishable(holding, tmp_path, monkeypatch, 500)


@pytest.mark.slow
def test_the_oracle_budget_holds_in_parallel(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T23: Twenty attacks on one target at once, two judges: three are scored that day, three the next."""
    from django.db import connection

    from tracearena.server.models import Score

    hands.without_children(monkeypatch)
    held = holding(mode="live", sample_attacks=())
    _, caller = _defended(held, tmp_path)
    content = [hands.inferred_table(held, "002", tmp_path, right=right) for right in range(10)]

    def judge(name: str) -> None:
        from tracearena.server.processes.judge_process import run_all_jobs

        try:
            run_all_jobs(held.folder, held.judge_private_key, name)
        finally:
            connection.close()

    scored = []
    with served(held) as site, httpx.Client(timeout=60) as client:
        for day in range(2):
            held.at(SCHEDULE.attack_begin + (1 + day) * DAY)

            def send(number: int, day: int = day) -> int:
                path = f"{site.url}/api/v1/uploads/attack/002/1/inferred-table"
                head = upload_headers(caller.secret, f"{day}-{number}")
                return client.post(path, content=content[number % 10], headers=head).status_code

            with ThreadPoolExecutor(10) as pool:
                assert set(pool.map(send, range(10))) == {201}
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(judge, ("first", "second")))
            scored.append(Score.objects.filter(key__startswith="live/").count())
    assert scored == [3, 6]
