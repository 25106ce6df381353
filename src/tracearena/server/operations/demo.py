"""A contest with invented teams on a server: they play its script up to a phase, and further when asked.

Everything goes over HTTP, as with real teams, and the clock is driven. In a demonstration one team is late,
one falls short of the threshold, one never comes; the two whose accounts are given away leave something to
do.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from tracearena.arena.ensemble import make_attacks
from tracearena.contest import Role, Schedule, SimulatedTeam
from tracearena.contest.data import REGIONS, TIMES, official_file_name
from tracearena.contest.release import attack_one, write_answer
from tracearena.contest.simulated_teams import DAY, HOUR, SIMULATED_TEAMS, VISITOR_TEAMS, HandIn
from tracearena.engine import child_seed, seed_sequence
from tracearena.errors import DataError
from tracearena.io import pwscup
from tracearena.server import clock
from tracearena.server.client import Client, ServerRefused, download, download_bundle, upload
from tracearena.server.operations.create import ContestLinks
from tracearena.traces import IdTable

# Tables can be imported once Django is configured, and stops and schedule are needed before.
if TYPE_CHECKING:
    from tracearena.server.accounts import DemoAccount

_CHANGED_ROW = 17
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_TOKEN = re.compile(r"tracearena_[\w-]{43}", re.ASCII)
_POLL_S = 0.2
_WAIT_TIMEOUT_S = 600.0
_DEFENCE, _ATTACK = range(2)
_ACTOR = "demonstration"
_INFORMATION = """\
# Venue

Room 7, on Friday from nine to five. There is lunch at noon.

# Contact

Ask on the page Questions. The people in the data are simulated, so their traces are nobody's.
"""
TEAM_COUNT = 6
"""Invented teams of a demonstration."""


class DemoStop(StrEnum):
    """Where a demonstration can be, in order."""

    ANONYMIZATION = "anonymization"
    ATTACK = "attack"
    CEREMONY = "ceremony"
    RESULTS = "results"

    def find_time(self, schedule: Schedule) -> datetime:
        """Return when it is by a schedule."""
        return {
            DemoStop.ANONYMIZATION: schedule.anonymization_begin + 5 * DAY,
            DemoStop.ATTACK: schedule.attack_begin + 3 * DAY,
            DemoStop.CEREMONY: schedule.attack_end + 12 * HOUR,
            DemoStop.RESULTS: schedule.results_begin + 6 * HOUR,
        }[self]


def build_demo_schedule(stop: DemoStop, now: datetime) -> Schedule:
    """Return a schedule by which it is now the time of a stop.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    >>> build_demo_schedule(DemoStop.ATTACK, noon).attack_begin.isoformat()
    '2026-05-01T12:00:00+00:00'
    """

    def begin_at(begin: datetime) -> Schedule:
        return Schedule(
            anonymization_begin=begin,
            anonymization_end=begin + 7 * DAY,
            attack_begin=begin + 8 * DAY,
            attack_end=begin + 15 * DAY,
            results_begin=begin + 16 * DAY,
        )

    return begin_at(now - (stop.find_time(begin_at(now)) - now))


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
    """The invented teams of one contest, and how far they have come.

    Parameters
    ----------
    stage
        Where they play.
    script
        What they hand in (`plan_hand_ins`).
    """

    def __init__(self, stage: DemoSetup, script: Sequence[HandIn]) -> None:
        self.stage, self._left = stage, list(script)
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

        self._set_clock(self._schedule.anonymization_begin + HOUR)
        organiser = make_demo_account("organiser", "/organiser")
        join_by_link(self.stage.url, self.stage.made.organiser, organiser.name, organiser.password)
        self.accounts.append(organiser)
        for number in sorted({one.team for one in self._left}):
            self._join_team(number)
        _write_messages()
        self._hand_in_before(DemoStop.ANONYMIZATION.find_time(self._schedule))
        self._start_clock(DemoStop.ANONYMIZATION.find_time(self._schedule))

    def _play_attacks(self) -> None:
        from tracearena.server.models import DataSet

        schedule = self._schedule
        self._hand_in_before(schedule.attack_begin)
        self._set_clock(schedule.anonymization_end + HOUR)
        # Teams see their targets when the attack phase begins, and the judge is ready before.
        left = DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True)
        wait_for("the release", lambda: not left.all().exists())
        self._set_clock(schedule.attack_begin + DAY)
        for bot in self.playing.values():
            bot.fetch()
        self._hand_in_before(DemoStop.ATTACK.find_time(schedule))
        for one in self._left:
            if one.team in self.playing:
                self.playing[one.team].write_answers(one)
        self._start_clock(DemoStop.ATTACK.find_time(schedule))

    def _play_closing(self) -> None:
        from tracearena.server import results

        self._hand_in_before(self._schedule.attack_end)
        self._start_clock(DemoStop.CEREMONY.find_time(self._schedule))
        wait_for("the final board", lambda: results.find_final_snapshot() is not None)

    def _play_results(self) -> None:
        from tracearena.server.models import Contest

        self._start_clock(DemoStop.RESULTS.find_time(self._schedule))
        wait_for("the result", lambda: Contest.get_current().published_at is not None)
        _wait_for_judge()

    def _join_team(self, number: str) -> None:
        from tracearena.server.accounts import make_demo_account

        stage, player = self.stage, SIMULATED_TEAMS[int(number) - 1]
        folder = stage.folder / f"team{number}"
        account = make_demo_account(f"team {number}", "/team", folder)
        token = join_and_get_token(stage.url, stage.made.invitations[number], account.name, account.password)
        if number in VISITOR_TEAMS:
            self.accounts.append(account)
        client = Client(stage.url, token)
        bot = DemoBot(number=number, player=player, client=client, folder=folder, seed=stage.seed)
        bot.fetch()
        bot.obfuscate()
        self.playing[number] = bot

    def _hand_in_before(self, moment: datetime) -> None:
        """Hand in what is due before a moment, and wait for the judge at the end of every day."""
        schedule = self._schedule
        due = [one for one in self._left if one.find_time(schedule) < moment]
        self._left = [one for one in self._left if one not in due]
        for before, one in zip([None, *due], due, strict=False):
            if before is not None and before.after.days != one.after.days:
                _wait_for_judge()
            self._set_clock(one.find_time(schedule))
            bot = self.playing.get(one.team)
            # From the first stop on, visitors may have handed it in themselves.
            if bot is not None and not (self.stop is not None and bot.has_handed_in(one)):
                bot.hand_in(one)
        _wait_for_judge()

    @property
    def _schedule(self) -> Schedule:
        """The schedule as it stands: an organiser may have moved it."""
        from tracearena.server.models import Contest

        return Contest.get_current().schedule

    def _set_clock(self, moment: datetime) -> None:
        self.stage.put(max(moment, clock.now()), False)

    def _start_clock(self, moment: datetime) -> None:
        self.stage.put(max(moment, clock.now()), True)


def _write_messages() -> None:
    """Announce something, write the organiser's page, and let teams ask, one of them without an answer."""
    from tracearena.server import announcements
    from tracearena.server.models import Member

    announcements.write_information(_INFORMATION, _ACTOR)
    announcements.announce("Welcome! If anything is unclear, ask on the page Questions.", _ACTOR)
    for member in Member.objects.select_related("team").filter(team__number__in=VISITOR_TEAMS):
        asked = announcements.ask(member, "May we use a map of the city?")
        if member.team is not None and member.team.number == VISITOR_TEAMS[0]:
            announcements.answer(asked.pk, "Yes, any map that is public.", _ACTOR, for_all=False)


def _wait_for_judge() -> None:
    from tracearena.server.store import queue

    wait_for("the judge", lambda: not queue.find_open_jobs().exists())


def _can_play(bot: DemoBot) -> bool:
    try:
        bot.client.get("me")
    except ServerRefused as refused:
        if refused.status != HTTPStatus.UNAUTHORIZED:
            raise
        bot.client.close()
        return False
    return True


# Invented teams that play over HTTP, as people with a browser and a program would.


def join_by_link(url: str, link_secret: str, name: str, password: str) -> None:
    """Make an account of a link as a browser does."""
    with _open_browser(url) as browser:
        _submit_form(browser, "/join", secret=link_secret, name=name, password=password)


def join_and_get_token(url: str, link_secret: str, name: str, password: str | None = None) -> str:
    """Come in by a link as a browser does, and return a new token of the team.

    Without a password, a secret one is drawn.
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

    def obfuscate(self) -> None:
        """Obfuscate one's own people."""
        original = self._read_team_traces("orgtraces", self.number, 1)
        seed = child_seed(seed_sequence(self.seed), int(self.number), _DEFENCE)
        pwscup.write_obfuscated(self.player.obfuscate(original, seed=seed), self.folder / "obfuscated.csv")

    def has_handed_in(self, planned: HandIn) -> bool:
        """Whether the team has handed in its own data, or attacked the target; changed files come besides."""
        return planned.cell is None and any(
            one["target"] == planned.target for one in self.client.get("submissions")
        )

    def hand_in(self, planned: HandIn) -> None:
        """Hand in obfuscated traces, or the answers about a target."""
        if planned.target is None:
            path = self.folder / planned.file
            if planned.cell is not None:
                lines = (self.folder / "obfuscated.csv").read_text().splitlines()
                lines[_CHANGED_ROW] = planned.cell
                path.write_text("\n".join(lines) + "\n")
            upload(self.client, "uploads/obfuscated/1", path)
        else:
            for place, path in self.write_answers(planned).items():
                upload(self.client, place, path)

    def write_answers(self, planned: HandIn) -> dict[str, Path]:
        """Attack a target, if it may still be attacked, and return the files by where they are handed in."""
        found = (one for one in self.client.get("targets") if one["team"] == planned.target)
        target = next(found, None)
        if target is None or not target["uploads_left"]:
            return {}
        team, number = target["team"], target["data_set"]
        public = pwscup.read_anonymized(self.folder / target["anonymized"], *self._read_grid_files())
        reference = self._read_team_traces("reftraces", team, number)
        seed = child_seed(seed_sequence(self.seed), int(self.number), _ATTACK)
        attacks = make_attacks(self.player.attacks)
        made = {}
        for _, answer in attack_one(attacks, reference, public, seed=seed, target=(team, number)):
            kind = "inferred-table" if isinstance(answer, IdTable) else "inferred-traces"
            path = self.folder / f"{kind}-{team}.csv"
            write_answer(answer, path)
            made[f"uploads/attack/{team}/{number}/{kind}"] = path
        return made

    def _read_grid_files(self) -> tuple[Any, Any]:
        return pwscup.read_places(self.folder / REGIONS), pwscup.read_times(self.folder / TIMES)

    def _read_team_traces(self, kind: str, team: str, number: int) -> Any:
        return pwscup.read_traces(
            self.folder / str(official_file_name(kind, int(team), number)), *self._read_grid_files()
        )


def wait_for(what: str, is_so: Callable[[], bool], timeout_s: float = _WAIT_TIMEOUT_S) -> None:
    """Wait until a condition is true, and raise an error that names it if it takes too long."""
    end = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > end:
            raise DataError(f"{what}: did not arrive within {timeout_s:.0f} s")
        time.sleep(_POLL_S)
