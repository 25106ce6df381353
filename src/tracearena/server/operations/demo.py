"""A contest in full swing, to be looked at: invented teams play it up to a phase, and further when asked.

One team is late, one falls short of the threshold, one never comes; the two whose accounts are given away
leave something to do. Everything goes over HTTP, as with real teams, and the clock is driven.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tracearena.algorithms import catalogue, validation
from tracearena.arena.ensemble import Ensemble, make_attacks
from tracearena.contest import Role, Schedule, SimulatedTeam
from tracearena.contest.data import REGIONS, TIMES, official_file_name
from tracearena.contest.report_data import SIMULATED_TEAMS
from tracearena.engine import child_seed, seed_sequence, use
from tracearena.errors import DataError
from tracearena.io import pwscup
from tracearena.server import clock
from tracearena.server.client import Client, ServerRefused, download, download_bundle, upload
from tracearena.server.operations.create import ContestLinks
from tracearena.traces import IdTable

# Tables can be imported once Django is configured, and stops and schedule are needed before.
if TYPE_CHECKING:
    from tracearena.server.accounts import DemoAccount

_VISITOR_TEAMS = ("001", "002")
_LATE, _ABSENT = "003", "006"
_FIRST_WAVE = (("001", "000"), ("003", "001"), ("005", "001"), ("001", "002"), ("004", "005"))
"""Who attacks whom early enough for the live board; most of the others follow while somebody looks."""
_CHANGED_ROW = 17
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_TOKEN = re.compile(r"tracearena_[\w-]{43}", re.ASCII)
_POLL_S = 0.2
_WAIT_TIMEOUT_S = 600.0
_DEFENCE, _ATTACK = range(2)
FINAL_STATES = ("scored", "published", "refused", "late", "judge error")
TEAM_COUNT = 6
"""Invented teams of a demonstration."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class DemoSetup:
    """Where a demonstration takes place.

    Attributes
    ----------
    url
        Where the contest answers.
    made
        The secrets of its links.
    folder
        Where the teams keep their files.
    put
        Sets the clock: to when, and whether it goes on from there.
    seed
        Of the teams' defences and attacks.
    """

    url: str
    made: ContestLinks = field(repr=False)
    folder: Path
    put: Callable[[datetime, bool], None]
    seed: int


class Demonstration:
    """The invented teams of one contest, and how far they have come."""

    def __init__(self, stage: DemoSetup) -> None:
        self._stage = stage
        self.accounts: list[DemoAccount] = []
        self.playing: dict[str, DemoBot] = {}
        self.stop: DemoStop | None = None

    def play_until(self, stop: DemoStop, tell: Callable[[DemoStop], None]) -> None:
        """Play until a stop, and tell of each on the way; the clock runs from there, or from now if later."""
        while self.stop is not stop:
            tell(self.next_stop)
            self.play_next()
        self._start_clock(clock.machine_now())

    def play_next(self) -> None:
        """Play until the next stop; the clock runs from there.

        A team whose token was revoked plays no more: somebody who looks has taken it over.
        """
        self.playing = {number: bot for number, bot in self.playing.items() if _can_play(bot)}
        following = self.next_stop
        {
            DemoStop.ANONYMIZATION: self._play_defences,
            DemoStop.ATTACK: self._play_attacks,
            DemoStop.CEREMONY: self._play_closing,
            DemoStop.RESULTS: self._play_results,
        }[following]()
        self.stop = following

    @property
    def next_stop(self) -> DemoStop:
        """The next stop."""
        return list(DemoStop)[0 if self.stop is None else list(DemoStop).index(self.stop) + 1]

    @property
    def is_over(self) -> bool:
        """Whether there is no further stop."""
        return self.stop is DemoStop.RESULTS

    def close(self) -> None:
        """End the teams' connections."""
        for bot in self.playing.values():
            bot.client.close()

    def _play_defences(self) -> None:
        from tracearena.server.accounts import make_demo_account

        begin = self._schedule.anonymization_begin
        self._set_clock(begin + HOUR)
        organiser = make_demo_account("organiser", "/organiser")
        join_by_link(self._stage.url, self._stage.made.organiser, organiser.name, organiser.password)
        self.accounts.append(organiser)
        for number, secret in self._stage.made.invitations.items():
            if number != _ABSENT:
                self._join_team(number, secret)
        for number, bot in self.playing.items():
            self._set_clock(begin + int(number) * 18 * HOUR)
            bot.fetch()
            path = bot.obfuscate()
            if number == _VISITOR_TEAMS[0]:
                bot.submit_obfuscated(_copy_with_change(path, "broken.csv", "0"))
            if number != _VISITOR_TEAMS[1]:
                bot.submit_obfuscated(path)
        self._set_clock(begin + 5 * DAY)
        wait_for("the judge's check", lambda: are_all_checked(self._bots))
        self._start_clock(begin + 5 * DAY)

    def _play_attacks(self) -> None:
        from tracearena.server.models import DataSet
        from tracearena.server.store import queue

        schedule = self._schedule
        waiting = self.playing.get(_VISITOR_TEAMS[1])
        if waiting is not None and not waiting.client.get("submissions"):
            waiting.submit_obfuscated(waiting.folder / "obfuscated.csv")
        wait_for("the judge's check", lambda: are_all_checked(self._bots))
        self._set_clock(schedule.anonymization_end + HOUR)
        if late := self.playing.get(_LATE):
            late.submit_obfuscated(_copy_with_change(late.folder / "obfuscated.csv", "late.csv", "*"))
        # Teams see their targets when the attack phase begins, and the judge is ready before.
        left = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True)
        wait_for("the release", lambda: not left.all().exists())
        self._set_clock(schedule.attack_begin + DAY)
        for bot in self._bots:
            bot.fetch()
        pairs = list(self._iterate_pairs())
        early = [(bot, target) for bot, target in pairs if (bot.number, target["team"]) in _FIRST_WAVE]
        for hours, (bot, target) in enumerate(early):
            self._set_clock(schedule.attack_begin + DAY + hours * 3 * HOUR)
            bot.attack(target)
        wait_for("the judge", lambda: not queue.find_open_jobs().exists())
        later = [pair for pair in pairs if pair not in early]
        for hours, (bot, target) in enumerate(later):
            self._set_clock(schedule.attack_begin + 2 * DAY + hours * HOUR)
            if bot.number in _VISITOR_TEAMS:
                bot.write_answers(target)
            else:
                bot.attack(target)
        self._start_clock(schedule.attack_begin + 3 * DAY)

    def _play_closing(self) -> None:
        from tracearena.server import results

        for bot, target in self._iterate_pairs():
            attacked = {one["target"] for one in bot.client.get("submissions")}
            if target["uploads_left"] and target["team"] not in attacked:
                bot.attack(target)
        wait_for("the judge's check", lambda: are_all_checked(self._bots))
        self._start_clock(self._schedule.attack_end + 12 * HOUR)
        wait_for("the final board", lambda: results.find_final_snapshot() is not None)

    def _play_results(self) -> None:
        from tracearena.server.models import Contest
        from tracearena.server.store import queue

        self._start_clock(self._schedule.results_begin + 6 * HOUR)
        wait_for("the result", lambda: Contest.get_current().published_at is not None)
        wait_for("the open tables", lambda: not queue.find_open_jobs().exists())

    def _join_team(self, number: str, secret: str) -> None:
        from tracearena.server.accounts import make_demo_account

        stage, player = self._stage, SIMULATED_TEAMS[int(number) - 1]
        account = make_demo_account(f"team {number}", "/team", stage.folder / f"team{number}")
        token = join_and_get_token(stage.url, secret, account.name, account.password)
        if number in _VISITOR_TEAMS:
            self.accounts.append(account)
        assert account.files is not None
        client = Client(stage.url, token)
        self.playing[number] = DemoBot(
            number=number, player=player, client=client, folder=account.files, seed=stage.seed
        )

    def _iterate_pairs(self) -> Iterator[tuple[DemoBot, dict[str, Any]]]:
        for bot in self._bots:
            for target in bot.client.get("targets"):
                yield bot, target

    @property
    def _bots(self) -> list[DemoBot]:
        return list(self.playing.values())

    @property
    def _schedule(self) -> Schedule:
        """The schedule as it stands: an organiser may have moved it."""
        from tracearena.server.models import Contest

        return Contest.get_current().schedule

    def _set_clock(self, moment: datetime) -> None:
        self._stage.put(max(moment, clock.now()), False)

    def _start_clock(self, moment: datetime) -> None:
        self._stage.put(max(moment, clock.now()), True)


def _can_play(bot: DemoBot) -> bool:
    try:
        bot.client.get("me")
    except ServerRefused as refused:
        if refused.status != HTTPStatus.UNAUTHORIZED:
            raise
        bot.client.close()
        return False
    return True


def _copy_with_change(path: Path, name: str, cell: str) -> Path:
    """Return a copy of obfuscated traces with another cell in one row."""
    lines = path.read_text().splitlines()
    lines[_CHANGED_ROW] = cell
    other = path.with_name(name)
    other.write_text("\n".join(lines) + "\n")
    return other


# Invented teams that play over HTTP, as people with a browser and a program would.


def join_by_link(url: str, link_secret: str, name: str, password: str) -> None:
    """Make an account of a link as a browser does."""
    with _open_browser(url) as browser:
        _submit_form(browser, "/join", secret=link_secret, name=name, password=password)


def join_and_get_token(url: str, link_secret: str, name: str, password: str | None = None) -> str:
    """Come in by a link as a browser does, and return a new token of the team.

    Without a password one is drawn that nobody is told.
    """
    with _open_browser(url) as browser:
        password = password or secrets.token_urlsafe(16)
        _submit_form(browser, "/join", secret=link_secret, name=name, password=password)
        page = _submit_form(browser, "/team/tokens", label="bot")
    found = _TOKEN.search(page)
    if found is None:
        raise DataError(f"{url}/team/tokens: shows no token")
    return found[0]


def _open_browser(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, follow_redirects=True, timeout=60)


def _submit_form(browser: httpx.Client, path: str, **fields: str) -> str:
    """Fill in a form and send it; return the page that comes."""
    form = _CSRF.search(browser.get(path).raise_for_status().text)
    if form is None:
        raise DataError(f"{path}: has no form")
    return browser.post(path, data=fields | {"csrfmiddlewaretoken": form[1]}).raise_for_status().text


@dataclass(frozen=True, kw_only=True)
class DemoBot:
    """One invented team.

    Attributes
    ----------
    number, player
        Its number, and how it plays.
    client
        Its connection.
    folder
        Where it keeps its files.
    seed
        Of its defence and its attacks.
    """

    number: str
    player: SimulatedTeam
    client: Client = field(repr=False)
    folder: Path
    seed: int

    def fetch(self) -> None:
        """Download all that there is."""
        download_bundle(self.client, self.folder)
        for one in self.client.get("data")["files"]:
            target = self.folder / one["name"]
            download(self.client, f"files/{one['name']}", target, sha256=one["sha256"], size=one["size"])

    def defend(self) -> dict[str, Any]:
        """Obfuscate one's own people, and hand that in."""
        return self.submit_obfuscated(self.obfuscate())

    def submit_obfuscated(self, path: Path) -> dict[str, Any]:
        """Hand in obfuscated traces."""
        return upload(self.client, "uploads/obfuscated/1", path)

    def obfuscate(self) -> Path:
        """Obfuscate one's own people, and return the file."""
        original = self._read_team_traces("orgtraces", self.number, 1)
        obfuscator = catalogue.create(self.player.defence, "obfuscator")
        seed = child_seed(seed_sequence(self.seed), int(self.number), _DEFENCE)
        path = self.folder / "obfuscated.csv"
        pwscup.write_obfuscated(validation.run_transform(obfuscator, original, seed=seed), path)
        return path

    def attack(self, target: dict[str, Any]) -> list[dict[str, Any]]:
        """Attack one target in the ways that the team knows, and hand that in."""
        place = f"uploads/attack/{target['team']}/{target['data_set']}"
        made = self.write_answers(target).items()
        return [upload(self.client, f"{place}/{kind}", path) for kind, path in made]

    def write_answers(self, target: dict[str, Any]) -> dict[str, Path]:
        """Attack one target in the ways that the team knows, and return the files by what they are."""
        names = [name for name in (self.player.identification, self.player.inference) if name]
        team, number = target["team"], target["data_set"]
        public = pwscup.read_anonymized(self.folder / target["anonymized"], *self._read_grid_files())
        seed = child_seed(seed_sequence(self.seed), int(self.number), _ATTACK, int(team))
        made = {}
        with use(progress=None):
            ensemble = Ensemble(make_attacks(names)).fit(self._read_team_traces("reftraces", team, number))
            for _, answer in ensemble.answers(public, seed=seed):
                kind = "inferred-table" if isinstance(answer, IdTable) else "inferred-traces"
                path = self.folder / f"{kind}-{team}.csv"
                if isinstance(answer, IdTable):
                    pwscup.write_inferred_table(answer, path)
                else:
                    pwscup.write_inferred_traces(answer, path)
                made[kind] = path
        return made

    def _read_grid_files(self) -> tuple[Any, Any]:
        return pwscup.read_places(self.folder / REGIONS), pwscup.read_times(self.folder / TIMES)

    def _read_team_traces(self, kind: str, team: str, number: int) -> Any:
        return pwscup.read_traces(
            self.folder / str(official_file_name(kind, int(team), number)), *self._read_grid_files()
        )


def wait_for(what: str, is_so: Callable[[], bool], timeout_s: float = _WAIT_TIMEOUT_S) -> None:
    """Wait until something is so, and say what did not come if it takes too long."""
    end = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > end:
            raise DataError(f"{what}: has not come within {timeout_s:.0f} s")
        time.sleep(_POLL_S)


def are_all_checked(bots: Sequence[DemoBot]) -> bool:
    """Whether every upload has been checked, and what is scored at once is scored."""
    return all(
        one["state"] in FINAL_STATES or (one["state"] == "checked" and one["target"] is not None)
        for bot in bots
        for one in bot.client.get("submissions")
    )


def are_all_released(bots: Sequence[DemoBot]) -> bool:
    """Whether every valid data set and the pseudonymised team are there to be attacked."""
    released = all(
        one["released_at"] is not None or not one["valid"]
        for bot in bots
        for one in bot.client.get("data_sets")
    )
    return released and any(one["team"] == "000" for one in bots[0].client.get("targets"))


class DemoStop(StrEnum):
    """Where a demonstration can be, in order."""

    ANONYMIZATION = "anonymization"
    ATTACK = "attack"
    CEREMONY = "ceremony"
    RESULTS = "results"


def build_demo_schedule(stop: DemoStop, now: datetime) -> Schedule:
    """Return a schedule by which it is now the time of a stop.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    >>> build_demo_schedule(DemoStop.ATTACK, noon).attack_begin.isoformat()
    '2026-05-01T12:00:00+00:00'
    """
    passed = {
        DemoStop.ANONYMIZATION: 5 * DAY,
        DemoStop.ATTACK: 11 * DAY,
        DemoStop.CEREMONY: 15 * DAY + 12 * HOUR,
        DemoStop.RESULTS: 16 * DAY + 6 * HOUR,
    }
    begin = now - passed[stop]
    return Schedule(
        registration_begin=begin - DAY,
        registration_end=begin,
        anonymization_begin=begin,
        anonymization_end=begin + 7 * DAY,
        attack_begin=begin + 8 * DAY,
        attack_end=begin + 15 * DAY,
        results_begin=begin + 16 * DAY,
    )
