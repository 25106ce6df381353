"""A contest in full swing, to be looked at: invented teams play it up to a phase, and further when asked.

One team is late, one falls short of the threshold, one never comes; the two whose accounts are given away
leave something to do. Everything goes over HTTP, as with real teams, and the clock is driven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tracearena.contest import Role, Schedule
from tracearena.contest.sample_teams import CAST
from tracearena.server import clock
from tracearena.server.client.connection import Client, ServerRefused
from tracearena.server.models import Contest, DataSet
from tracearena.server.operations import bots
from tracearena.server.operations.creation import Created
from tracearena.server.operations.stops import DAY, HOUR, Stop
from tracearena.server.people.given_accounts import Account, new_account
from tracearena.server.results import boards
from tracearena.server.store import jobs

_GIVEN_AWAY = ("001", "002")
_LATE, _ABSENT = "003", "006"
_FIRST_WAVE = (("001", "000"), ("003", "001"), ("005", "001"), ("001", "002"), ("004", "005"))
"""Who attacks whom early enough for the live board; most of the others follow while somebody looks."""
_CHANGED_ROW = 17


@dataclass(frozen=True, kw_only=True)
class Stage:
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
    made: Created = field(repr=False)
    folder: Path
    put: Callable[[datetime, bool], None]
    seed: int


class Demonstration:
    """The invented teams of one contest, and how far they have come."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.accounts: list[Account] = []
        self.playing: dict[str, bots.Bot] = {}
        self.stop: Stop | None = None

    def go_to(self, stop: Stop, tell: Callable[[Stop], None]) -> None:
        """Play until a stop, and tell of each on the way; the clock runs from there, or from now if later."""
        while self.stop is not stop:
            tell(self.following)
            self.go_on()
        self._run(clock.machine_now())

    def go_on(self) -> None:
        """Play until the next stop; the clock runs from there.

        A team whose token was revoked plays no more: whoever looks has taken it over.
        """
        self.playing = {number: bot for number, bot in self.playing.items() if _may_play(bot)}
        following = self.following
        {
            Stop.ANONYMIZATION: self._defend,
            Stop.ATTACK: self._attack,
            Stop.CEREMONY: self._close,
            Stop.RESULTS: self._open,
        }[following]()
        self.stop = following

    @property
    def following(self) -> Stop:
        """The next stop."""
        return list(Stop)[0 if self.stop is None else list(Stop).index(self.stop) + 1]

    @property
    def is_over(self) -> bool:
        """Whether there is no further stop."""
        return self.stop is Stop.RESULTS

    def close(self) -> None:
        """End the teams' connections."""
        for bot in self.playing.values():
            bot.client.close()

    def _defend(self) -> None:
        begin = self._schedule.anonymization_begin
        self._at(begin + HOUR)
        self._come_in()
        for number, bot in self.playing.items():
            self._at(begin + int(number) * 18 * HOUR)
            bot.fetch()
            path = bot.obfuscated()
            if number == _GIVEN_AWAY[0]:
                bot.hand_in(_changed(path, "broken.csv", "0"))
            if number != _GIVEN_AWAY[1]:
                bot.hand_in(path)
        self._at(begin + 5 * DAY)
        bots.wait_for("the judge's check", lambda: bots.all_checked(self._bots))
        self._run(begin + 5 * DAY)

    def _attack(self) -> None:
        schedule = self._schedule
        waiting = self.playing.get(_GIVEN_AWAY[1])
        if waiting is not None and not waiting.client.get("submissions"):
            waiting.hand_in(waiting.folder / "obfuscated.csv")
        bots.wait_for("the judge's check", lambda: bots.all_checked(self._bots))
        self._at(schedule.anonymization_end + HOUR)
        if late := self.playing.get(_LATE):
            late.hand_in(_changed(late.folder / "obfuscated.csv", "late.csv", "*"))
        bots.wait_for("the release", _is_released)
        self._at(schedule.attack_begin + DAY)
        for bot in self._bots:
            bot.fetch()
        pairs = list(self._pairs())
        early = [(bot, target) for bot, target in pairs if (bot.number, target["team"]) in _FIRST_WAVE]
        for hours, (bot, target) in enumerate(early):
            self._at(schedule.attack_begin + DAY + hours * 3 * HOUR)
            bot.attack(target)
        bots.wait_for("the judge", lambda: not jobs.open_jobs().exists())
        later = [pair for pair in pairs if pair not in early]
        for hours, (bot, target) in enumerate(later):
            self._at(schedule.attack_begin + 2 * DAY + hours * HOUR)
            if bot.number in _GIVEN_AWAY:
                bot.answers(target)
            else:
                bot.attack(target)
        self._run(schedule.attack_begin + 3 * DAY)

    def _close(self) -> None:
        for bot, target in self._pairs():
            if target["uploads_left"] and not _has_attacked(bot, target):
                bot.attack(target)
        bots.wait_for("the judge's check", lambda: bots.all_checked(self._bots))
        self._run(self._schedule.attack_end + 12 * HOUR)
        bots.wait_for("the final board", lambda: boards.final_snapshot() is not None)

    def _open(self) -> None:
        self._run(self._schedule.results_begin + 6 * HOUR)
        bots.wait_for("the result", lambda: Contest.now_held().published_at is not None)
        bots.wait_for("the open tables", lambda: not jobs.open_jobs().exists())

    def _come_in(self) -> None:
        boss = new_account("organiser", "/organiser")
        bots.come_in(self._stage.url, self._stage.made.organiser, boss.name, boss.password)
        self.accounts.append(boss)
        for number, secret in self._stage.made.invitations.items():
            if number != _ABSENT:
                self._join(number, secret)

    def _join(self, number: str, secret: str) -> None:
        stage, player = self._stage, CAST[int(number) - 1]
        account = new_account(f"team {number}", "/team", stage.folder / f"team{number}")
        token = bots.joined(stage.url, secret, account.name, account.password)
        if number in _GIVEN_AWAY:
            self.accounts.append(account)
        assert account.files is not None
        self.playing[number] = bots.Bot(
            number=number,
            player=player,
            client=Client(stage.url, token),
            folder=account.files,
            seed=stage.seed,
        )

    def _pairs(self) -> Iterator[tuple[bots.Bot, dict[str, Any]]]:
        for bot in self._bots:
            for target in bot.client.get("targets"):
                yield bot, target

    @property
    def _bots(self) -> list[bots.Bot]:
        return list(self.playing.values())

    @property
    def _schedule(self) -> Schedule:
        """The schedule as it stands: an organiser may have moved it."""
        return Contest.now_held().schedule

    def _at(self, moment: datetime) -> None:
        self._stage.put(max(moment, clock.now()), False)

    def _run(self, moment: datetime) -> None:
        self._stage.put(max(moment, clock.now()), True)


def _may_play(bot: bots.Bot) -> bool:
    try:
        bot.client.get("me")
    except ServerRefused as refused:
        if refused.status != HTTPStatus.UNAUTHORIZED:
            raise
        bot.client.close()
        return False
    return True


def _changed(path: Path, name: str, cell: str) -> Path:
    """Return a copy of obfuscated traces with another cell in one row."""
    lines = path.read_text().splitlines()
    lines[_CHANGED_ROW] = cell
    other = path.with_name(name)
    other.write_text("\n".join(lines) + "\n")
    return other


def _has_attacked(bot: bots.Bot, target: dict[str, Any]) -> bool:
    return any(one["target"] == target["team"] for one in bot.client.get("submissions"))


def _is_released() -> bool:
    # Teams see their targets when the attack phase begins, and the judge is ready before.
    return not DataSet.objects.exclude(team__role=Role.SAMPLE).filter(closed_at__isnull=True).exists()
