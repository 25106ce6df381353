"""A whole contest over HTTP: two commands hold it, teams play with the client only, anybody verifies it."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import Done, tracearena
from tests.server.independent_awards import awards

from tracearena.server import clock
from tracearena.server.client import Client
from tracearena.server.operations.demo import join_and_get_token, wait_for
from tracearena.server.processes.supervisor import find_free_port

pytestmark = pytest.mark.slow

TEAMS = {
    "001": ("PL(4,1)", "VisitProb-R", "VisitProb-T"),
    "002": ("MRLH(1,1,0.1)", "HomeProb-T", "HomeProb-R"),
    "003": ("RR(8)", "FuzzyCount-R"),
}
"""How each team defends and attacks; in a long test by all of its attacks, every day by the first."""
PLAYED = pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.long)],
                                 ids=["one judge", "two judges and all attacks"])  # fmt: skip
MINUTE = timedelta(minutes=1)


class Server:
    """`contest serve` as a process of its own, on a clock that the test drives."""

    def __init__(self, folder: Path, clock_file: Path, judges: int) -> None:
        self.clock_file, port = clock_file, find_free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [
            sys.executable, "-m", "tracearena", "contest", "serve", folder.name, "--port", str(port),
            "--workers", str(judges),
        ]  # fmt: skip
        self.log = (folder.parent / "log").open("wb")
        self.process = subprocess.Popen(
            command, cwd=folder.parent, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        assert self.process.stdout is not None
        said = next(line for line in self.process.stdout if line.startswith("The contest"))
        assert said == f"The contest is at {self.url}/\n"

    def at(self, moment: datetime) -> None:
        clock.set_driven(self.clock_file, moment)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        self.log.close()
        return self.process.returncode


class Person:
    """Somebody of a team, at a terminal with the client."""

    def __init__(self, folder: Path, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.number, self._patch = folder, number, monkeypatch
        folder.mkdir()

    def client(self, *words: object) -> Done:
        self._patch.setenv("XDG_CONFIG_HOME", str(self.folder / "config"))
        return tracearena("contest", "client", *words, folder=self.folder)

    def log_in(self, url: str, secret: str) -> None:
        token = join_and_get_token(url, secret, f"member of {self.number}")
        self._login = url, token
        self._patch.setattr("sys.stdin", io.StringIO(token + "\n"))
        done = self.client("login", url)
        assert done.status == 0, done.err
        assert done.out.startswith(f"team {self.number}")
        kept = self.folder / "config" / "tracearena" / "contest-login.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        assert token not in done.out + done.err

    def asked(self, path: str) -> Any:
        """Ask as the client does, without a command: what is asked again and again costs less."""
        with Client(*self._login) as client:
            return client.get(path)

    def done(self, *words: object) -> Any:
        done = self.client(*words, "--json")
        assert done.status == 0, done.err
        return done.json

    def defend(self) -> dict[str, Any]:
        own = f"contest-data/orgtraces_team{self.number}_data01_IDP.csv"
        made = tracearena(
            "obfuscate", TEAMS[self.number][0], own, "mine.csv", "--seed", 1, folder=self.folder
        )
        assert made.status == 0, made.err
        assert self.client("check", "mine.csv").status == 0
        receipt = self.done("submit", "mine.csv")
        again = self.done("submit", "mine.csv")
        assert (again["id"], again["sha256"]) == (receipt["id"], receipt["sha256"]), "one upload, one receipt"
        asked = self.done("ask", "May we use maps?")
        status = self.done("status")
        assert (len(status["submissions"]), status["questions"]) == (1, [asked])
        return dict(receipt)

    def attack(self, target: dict[str, Any], name: str) -> None:
        made = tracearena(
            "attack", name, "answer.csv",
            "--reference", f"contest-data/{target['reference']}",
            "--anonymized", f"contest-data/{target['anonymized']}", "--seed", 1, folder=self.folder,
        )  # fmt: skip
        assert made.status == 0, made.err
        assert self.client("check", "answer.csv", "--target", target["team"]).status == 0
        assert not self.done("attack", "answer.csv", target["team"])["late"]


@pytest.fixture
def driven(tmp_path: Path) -> Path:
    return tmp_path / "clock"


@contextlib.contextmanager
def running(folder: Path, clock_file: Path, judges: int) -> Iterator[Server]:
    server = Server(folder, clock_file, judges)
    try:
        yield server
    finally:
        status = server.end()
    assert status == 0, "SIGTERM ends it cleanly"


@PLAYED
def test_a_whole_contest_with_the_client_only(
    tmp_path: Path, driven: Path, database: str | None, monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    """New, serve, join, defend, release, attack, awards, export, verify."""
    where = [] if database is None else ["--database", database]
    made = tracearena(
        "contest", "new", "friday", "--name", "Friday", "--teams", 3, "--users", 40, "--days", 2,
        "--factors", 4, "--iterations", 5, "--seed", 1, "--json", *where, folder=tmp_path,
    )  # fmt: skip
    assert made.status == 0, made.err
    points = {name: datetime.fromisoformat(at) for name, at in made.json["schedule"].items()}
    clock.set_driven(driven, points["anonymization_begin"] + MINUTE)
    monkeypatch.setenv(clock.VARIABLE, str(driven))
    with running(tmp_path / "friday", driven, 2 if is_whole else 1) as server:
        people = [Person(tmp_path / f"team{number}", number, monkeypatch) for number in TEAMS]
        for person in people:
            person.log_in(server.url, made.json["invitations"][person.number].rpartition("#")[2])
            person.done("data")
        receipts = {person.number: person.defend() for person in people}
        for person in people:
            assert person.client("watch", "--every", "0.2").status == 0
        early = people[0].client("attack", "mine.csv", "002", "--kind", "inferred-traces")
        assert (early.status, "You can hand" in early.err) == (2, True)
        _deadline(server, people[2], points["anonymization_end"])
        server.at(points["attack_begin"] + MINUTE)
        wait_for("the release", lambda: len(people[0].asked("targets")) == 3)
        targets = _targets(people, receipts)
        for person in people:
            person.done("data")
            attacks = TEAMS[person.number][1:] if is_whole else TEAMS[person.number][1:2]
            for target in targets[person.number][: None if is_whole or person is people[0] else 1]:
                for name in attacks:
                    person.attack(target, name)
            assert person.client("watch", "--every", "0.2").status == 0
        assert people[0].done("board")["snapshot"] is None
        refused = tracearena("contest", "export", "friday", "early.zip", folder=tmp_path)
        assert (refused.status, "not published" in refused.err) == (2, True)
        server.at(points["results_begin"] + MINUTE)
        wait_for("the result", lambda: people[0].asked("board")["snapshot"] is not None)
        shown = people[0].done("board")["snapshot"]
        wait_for("the end of all jobs", lambda: _open_jobs(tmp_path) == 0)
        for person in people:
            checked = person.done("receipts")
            assert len(checked) >= 2
            assert {one["state"] for one in checked} == {"listed"}
    done = tracearena("contest", "export", "friday", "friday.zip", "--json", folder=tmp_path)
    assert done.status == 0, done.err
    assert done.json["originals"] is True
    independent = awards(tmp_path / "friday.zip")
    assert {award["name"]: sorted(award["winners"]) for award in shown["awards"]} == independent
    _verified_and_not(tmp_path)


def _deadline(server: Server, person: Person, end: datetime) -> None:
    """T18 for the client: a millisecond before the end it counts, at the end it is late."""
    own = f"contest-data/orgtraces_team{person.number}_data01_IDP.csv"
    for name, seed in (("in-time.csv", 2), ("late.csv", 3)):
        made = tracearena(
            "obfuscate", TEAMS[person.number][0], own, name, "--seed", seed, folder=person.folder
        )
        assert made.status == 0, made.err
    server.at(end - timedelta(milliseconds=1))
    assert not person.done("submit", "in-time.csv")["late"]
    server.at(end)
    late = person.client("submit", "late.csv", "--json")
    assert (late.json["late"], late.json["state"]) == (True, "late")
    assert "does not count" in late.err


def _targets(people: list[Person], receipts: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Everybody may attack the others and the pseudonymised team, whose tables are fixed by now."""
    found = {person.number: person.done("status")["targets"] for person in people}
    for number, targets in found.items():
        assert {target["team"] for target in targets} == {"000", *receipts} - {number}
        assert all(len(target["commitment"]) == 64 for target in targets)
    return found


def _open_jobs(folder: Path) -> int:
    queue = tracearena("contest", "status", "friday", "--json", folder=folder).json["queue"]
    return int(queue["waiting"] + queue["running"])


def _verified_and_not(folder: Path) -> None:
    """The archive proves the judge right; one byte of a table, a score or a file changes that."""
    done = tracearena("contest", "verify", "friday.zip", "--json", folder=folder)
    assert done.status == 0, done.out + done.err
    names = zipfile.ZipFile(folder / "friday.zip").namelist()
    for wanted in ("judge/ptable_team001", "results/trace_inference.csv", "submissions/team002"):
        name = next(name for name in names if name.startswith(wanted))
        _with_one_byte_changed(folder / "friday.zip", folder / "changed.zip", name)
        done = tracearena("contest", "verify", "changed.zip", "--json", folder=folder)
        assert done.status != 0
        assert name in json.dumps(done.json["findings"])


def _with_one_byte_changed(path: Path, out: Path, name: str) -> None:
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            content = bytearray(source.read(entry))
            if entry.filename == name:
                last = max(at for at, byte in enumerate(content) if chr(byte).isdigit())
                content[last] = ord("1") if content[last] != ord("1") else ord("2")
            target.writestr(entry, bytes(content))
