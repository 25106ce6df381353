"""Invented teams that play a contest over HTTP, as people with a browser and a program would."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tracearena.algorithms import catalogue, validation
from tracearena.arena.ensemble import Ensemble, make_attacks
from tracearena.contest import Player
from tracearena.contest.data import REGIONS, TIMES, official
from tracearena.engine import child_seed, seed_sequence, use
from tracearena.errors import DataError
from tracearena.formats import pwscup
from tracearena.server.client.connection import Client
from tracearena.server.client.transfers import download, download_bundle, upload
from tracearena.traces import IdTable, Traces

_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_TOKEN = re.compile(r"tracearena_[\w-]{43}", re.ASCII)
_LOOK_S = 0.2
_PATIENCE_S = 600.0
_DEFENCE, _ATTACK = range(2)
SETTLED = ("scored", "published", "refused", "late", "judge error")


def come_in(url: str, link_secret: str, name: str, password: str) -> None:
    """Make an account of a link as a browser does."""
    with _browser(url) as browser:
        _send(browser, "/join", secret=link_secret, name=name, password=password)


def joined(url: str, link_secret: str, name: str, password: str | None = None) -> str:
    """Come in by a link as a browser does, and return a new token of the team.

    Without a password one is drawn that nobody is told.
    """
    with _browser(url) as browser:
        password = password or secrets.token_urlsafe(16)
        _send(browser, "/join", secret=link_secret, name=name, password=password)
        page = _send(browser, "/team/tokens", label="bot")
    found = _TOKEN.search(page)
    if found is None:
        raise DataError(f"{url}/team/tokens: shows no token")
    return found[0]


def _browser(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, follow_redirects=True, timeout=60)


def _send(browser: httpx.Client, path: str, **fields: str) -> str:
    """Fill in a form and send it; return the page that comes."""
    form = _CSRF.search(browser.get(path).raise_for_status().text)
    if form is None:
        raise DataError(f"{path}: has no form")
    return browser.post(path, data=fields | {"csrfmiddlewaretoken": form[1]}).raise_for_status().text


@dataclass(frozen=True, kw_only=True)
class Bot:
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
    player: Player
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
        return self.hand_in(self.obfuscated())

    def hand_in(self, path: Path) -> dict[str, Any]:
        """Hand in obfuscated traces."""
        return upload(self.client, "uploads/obfuscated/1", path)

    def obfuscated(self) -> Path:
        """Obfuscate one's own people, and return the file."""
        original = self._traces("orgtraces", self.number, 1)
        obfuscator = catalogue.create(self.player.defence, "obfuscator")
        seed = child_seed(seed_sequence(self.seed), int(self.number), _DEFENCE)
        path = self.folder / "obfuscated.csv"
        pwscup.write_obfuscated(validation.transformed(obfuscator, original, seed=seed), path)
        return path

    def attack(self, target: dict[str, Any]) -> list[dict[str, Any]]:
        """Attack one target in the ways that the team knows, and hand that in."""
        place = f"uploads/attack/{target['team']}/{target['data_set']}"
        made = self.answers(target).items()
        return [upload(self.client, f"{place}/{kind}", path) for kind, path in made]

    def answers(self, target: dict[str, Any]) -> dict[str, Path]:
        """Attack one target in the ways that the team knows, and return the files by what they are."""
        names = [name for name in (self.player.identification, self.player.inference) if name]
        team, number = target["team"], target["data_set"]
        public = pwscup.read_anonymized(self.folder / target["anonymized"], *self._frame())
        seed = child_seed(seed_sequence(self.seed), int(self.number), _ATTACK, int(team))
        made = {}
        with use(progress=None):
            ensemble = Ensemble(make_attacks(names)).fit(self._traces("reftraces", team, number))
            for _, answer in ensemble.answers(public, seed=seed):
                kind = "inferred-table" if isinstance(answer, IdTable) else "inferred-traces"
                made[kind] = self._written(answer, self.folder / f"{kind}-{team}.csv")
        return made

    def _written(self, answer: IdTable | Traces, path: Path) -> Path:
        if isinstance(answer, IdTable):
            pwscup.write_inferred_table(answer, path)
        else:
            pwscup.write_inferred_traces(answer, path)
        return path

    def _frame(self) -> tuple[Any, Any]:
        return pwscup.read_places(self.folder / REGIONS), pwscup.read_times(self.folder / TIMES)

    def _traces(self, kind: str, team: str, number: int) -> Any:
        return pwscup.read_traces(self.folder / str(official(kind, int(team), number)), *self._frame())


def wait_for(what: str, is_so: Callable[[], bool], patience_s: float = _PATIENCE_S) -> None:
    """Wait until something is so, and say what did not come if it takes too long."""
    end = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end:
            raise DataError(f"{what}: has not come within {patience_s:.0f} s")
        time.sleep(_LOOK_S)


def all_checked(bots: Sequence[Bot]) -> bool:
    """Whether every upload has been checked, and what is scored at once is scored."""
    return all(
        one["state"] in SETTLED or (one["state"] == "checked" and one["target"] is not None)
        for bot in bots
        for one in bot.client.get("submissions")
    )


def all_released(bots: Sequence[Bot]) -> bool:
    """Whether every valid data set and the pseudonymised team are there to be attacked."""
    released = all(
        one["released_at"] is not None or not one["valid"]
        for bot in bots
        for one in bot.client.get("data_sets")
    )
    return released and any(one["team"] == "000" for one in bots[0].client.get("targets"))
