"""`contest serve --demo`: a contest in full swing for this machine alone, of which nothing is left."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from tests.command_line import tracearena

from tracearena.contest import phase_at
from tracearena.contest.simulated_teams import plan_hand_ins
from tracearena.server import clock
from tracearena.server.accounts import make_demo_account
from tracearena.server.client import ServerRefused
from tracearena.server.operations.demo import Demonstration, DemoStop, build_demo_schedule
from tracearena.server.processes.supervisor import find_free_port

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ACCOUNT = re.compile(r"(organiser|team \d{3}) +(\S+) +password (\S+) +(http://\S+)")
FORM = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["friday", "--demo"], "--demo makes its own contest"),
        (["--demo", "--host", "0.0.0.0"], "to this machine only"),
        (["--demo", "--host", "contest.example.org"], "to this machine only"),
        (["--demo", "--phase", "registration"], "--phase"),
        (["--demo", "--secure"], "--secure does not apply to a demo"),
        (["--demo", "--allowed-host", "a.example"], "--allowed-host does not apply to a demo"),
        (["--demo", "--judge-key", "key"], "--judge-key does not apply to a demo"),
        (["friday", "--phase", "attack"], "--phase does not apply"),
        ([], "name the folder of the contest"),
    ],
)
def test_a_demo_is_of_its_own_and_for_this_machine(words: list[str], told: str, tmp_path: Path) -> None:
    """Whatever would open it to others, or lay hands on a contest that is there, is refused."""
    done = tracearena("contest", "serve", *words, folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("stop", "phase"), [("anonymization", "anonymization"), ("attack", "attack"), ("ceremony", None),
                        ("results", "results")],
)  # fmt: skip
def test_its_schedule_is_laid_around_now(stop: str, phase: str | None) -> None:
    """At the stop that is asked for it is now, and there is time left."""
    answer = phase_at(build_demo_schedule(DemoStop(stop), NOON), NOON)
    assert answer.phase == phase
    assert answer.next_change is None or answer.next_change >= NOON + timedelta(hours=6)


def test_visitors_find_something_to_do() -> None:
    """Their teams leave a data set for after the first stop, and attacks for after the second."""
    schedule = build_demo_schedule(DemoStop.RESULTS, NOON)
    script = plan_hand_ins(6, incidents=True)
    defences = {one.team for one in script if one.target is None and one.cell is None
                and one.find_time(schedule) >= DemoStop.ANONYMIZATION.find_time(schedule)}  # fmt: skip
    attacks = {one.team for one in script if one.find_time(schedule) >= DemoStop.ATTACK.find_time(schedule)}
    assert (defences, attacks) == ({"002"}, {"001", "002"})


def test_a_driven_clock_stands_or_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is told; pages let what is left tick only where it runs."""
    monkeypatch.setenv(clock.VARIABLE, str(tmp_path / "clock"))
    clock.set_driven(tmp_path / "clock", NOON)
    assert (clock.read_clock(), clock.is_stopped()) == (NOON, True)
    clock.set_driven(tmp_path / "clock", NOON, runs=True)
    first = clock.read_clock()
    assert NOON <= first <= clock.read_clock() < NOON + timedelta(minutes=1)
    assert clock.read_clock() > first
    assert (clock.is_driven(), clock.is_stopped()) == (True, False)


@contextmanager
def shown(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a demo until it has said who can log in; give what it said."""
    command = [
        sys.executable,
        "-m",
        "tracearena",
        "contest",
        "serve",
        "--demo",
        "--port",
        str(find_free_port()),
    ]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        try:
            for line in process.stdout:
                said += line
                if "deletes these accounts" in line:
                    break
            yield said, process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)
    assert process.returncode == 0, "SIGTERM ends it cleanly"


def _login(url: str, name: str, password: str) -> httpx.Response:
    with httpx.Client(follow_redirects=True, timeout=60, verify=False) as browser:
        form = FORM.search(browser.get(url).text)
        assert form is not None
        page = url.partition("?next=")[2]
        fields = {"name": name, "password": password, "next": page, "csrfmiddlewaretoken": form[1]}
        return browser.post(url.partition("?")[0], data=fields)


@pytest.mark.long
def test_the_accounts_of_a_demo_are_drawn_work_and_vanish() -> None:
    """T37.

    An organiser and two teams, by names and passwords of this run alone; afterwards nothing is left.
    """
    with shown("--phase", "anonymization") as (said, _):
        accounts = ACCOUNT.findall(said)
        assert [role for role, *_ in accounts] == ["organiser", "team 001", "team 002"]
        for role, name, password, url in accounts:
            assert len(password) == 16
            assert _login(url, name, "admin").status_code == 403
            page = _login(url, name, password)
            assert page.status_code == 200
            assert ("Control room" if role == "organiser" else "What to do next") in page.text
        for name in ("admin", "organiser", "demo", "root", "team", "001"):
            assert _login(accounts[0][3], name, name).status_code == 403
        files = [Path(one) for one in re.findall(r"can submit: (\S+)", said)]
        assert all((one / "obfuscated.csv").is_file() for one in files)
        home = httpx.get(accounts[0][3].partition("/login")[0])
        assert "set by hand" in home.text
    assert not any(one.parent.exists() for one in files)
    with pytest.raises(httpx.TransportError):
        httpx.get(str(home.url))


def test_no_password_of_a_demo_comes_twice() -> None:
    """T37: They are drawn from the system's source."""
    drawn = [make_demo_account("organiser", "/organiser") for _ in range(50)]
    assert len({one.password for one in drawn}) == 50
    assert len({one.name for one in drawn}) > 1
    assert drawn[0].password not in repr(drawn[0])


class _Line:
    """A connection of which the server says one thing."""

    def __init__(self, status: int) -> None:
        self.status, self.is_closed = status, False

    def get(self, path: str) -> dict[str, str]:
        if self.status != 200:
            raise ServerRefused("refused", "no", self.status)
        return {}

    def close(self) -> None:
        self.is_closed = True


def test_a_team_whose_token_was_revoked_is_left_to_whoever_did_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others play on; before, the whole demo ended at the next phase."""
    played = Demonstration(SimpleNamespace(), [])  # type: ignore[arg-type]
    lines = {"001": _Line(401), "002": _Line(200)}
    played.playing = {number: SimpleNamespace(client=line) for number, line in lines.items()}  # type: ignore[misc]
    monkeypatch.setattr(played, "_play_defences", lambda: None)
    played.play_next()
    assert list(played.playing) == ["002"]
    assert lines["001"].is_closed
    assert played.stop is DemoStop.ANONYMIZATION


@pytest.mark.long
def test_a_demo_shows_the_results() -> None:
    """All phases are played, and the board is open."""
    with shown("--phase", "results") as (said, _):
        url = said.split()[4]
        board = httpx.get(f"{url}board").text
    assert "Best anonymization" in board
    assert "Heavy Weather" in board
    assert "invalid" in board


@pytest.mark.long
def test_a_rehearsal_goes_through_all_phases() -> None:
    """The same teams, on a server that is gone afterwards; every team and every target is on the board."""
    done = tracearena("contest", "rehearse", "--teams", 2, "--users", 20, "--seed", 1, "--json")
    assert done.status == 0, done.err
    shown = done.json["board"]["snapshot"]
    assert {row["team"] for row in shown["board"]} == {"000", "001", "002"}
    pairs = {(one["attacker"], one["target"]) for one in shown["attacks"]}
    assert {("001", "000"), ("001", "002"), ("002", "000"), ("002", "001")} <= pairs
    stages = [line for line in done.err.splitlines() if line in ("teams defend", "teams attack")]
    assert stages == ["teams defend", "teams attack"]
