"""A contest's own file, ``contest.toml``: its name, its teams, its rules, its schedule and its data.

::

    name = "Friday's contest"
    teams = 5

    [rules]              # as in `Rules`; what is left out keeps its default
    users = 500

    [schedule]           # optional; all points of `Schedule`, each with its time zone
    registration_begin = 2026-05-01T09:00:00+09:00

    [names]              # optional; how the page calls the teams
    001 = "Paper Cranes"

    [extra_time.003]     # optional; ends that come later for one team than for the others
    attack_end = 2026-05-24T12:00:00+09:00

    [data]               # optional; as in `DataSource`, paths counted from this file
    source = "traces"
    file = "walks.csv"
    grid = "32x32"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from tracearena.checks import require_whole
from tracearena.contest.data_source import DataSource
from tracearena.contest.phases import Schedule
from tracearena.contest.rules import Rules
from tracearena.errors import FileError, ParameterError, shorten
from tracearena.files import read_bytes

NAME = "contest.toml"
PSEUDONYMISED = "000"
"""The number of the pseudonymised team."""
_MOST_BYTES = 2**20
_TABLES = ("rules", "schedule", "names", "extra_time", "data")
_NUMBER = re.compile(r"[0-9]{3}", re.ASCII)
_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class Charter:
    """What holds in one contest.

    Parameters
    ----------
    name
        What the contest is called.
    teams
        Teams that take part, numbered from 001. 000 is the pseudonymised team, the numbers after the
        last are the sample teams; 999 is the highest.
    rules, schedule
        The rules, and when it takes place; without a schedule nothing is ever late.
    names
        What teams call themselves, by their numbers.
    extra_time
        Ends that come later for a team, by its number, as `Schedule.extended` takes them.
    data
        What the data is to be made from, or was; None where nothing is said of it.

    Examples
    --------
    >>> Charter(name="Friday", teams=2, names={"001": "Red"}).called("001")
    '001 Red'
    """

    name: str = "A contest"
    teams: int = 21
    rules: Rules = field(default_factory=Rules)
    schedule: Schedule | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    extra_time: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    data: DataSource | None = None

    def __post_init__(self) -> None:
        _require_text("name", self.name)
        require_whole("teams", self.teams, at_least=1, at_most=999 - self.rules.sample_teams)
        for team in (*self.names, *self.extra_time):
            if not _NUMBER.fullmatch(team) or not 1 <= int(team) <= self.teams:
                raise ParameterError.of("team", team, f"a number from 001 to {self.teams:03d}")
        for team, called in self.names.items():
            _require_text(team, called)
        if self.extra_time and self.schedule is None:
            raise ParameterError("without a schedule nothing is late, and nobody can have extra time")
        for team in self.extra_time:
            self.schedule_of(team)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers of the teams."""
        return tuple(f"{team:03d}" for team in range(1, self.teams + 1))

    @property
    def sample_numbers(self) -> tuple[str, ...]:
        """The numbers of the sample teams."""
        return tuple(f"{self.teams + 1 + number:03d}" for number in range(self.rules.sample_teams))

    @property
    def for_everybody(self) -> Charter:
        """The same without what is the organiser's own: seeds and paths of the data."""
        return self if self.data is None else replace(self, data=self.data.for_everybody)

    def schedule_of(self, team: str) -> Schedule | None:
        """Return when what takes place for a team, which may have more time than the others."""
        return None if self.schedule is None else self.schedule.extended(self.extra_time.get(team, {}))

    def called(self, team: str) -> str:
        """Return the number of a team and, if it has one, its name."""
        return f"{team} {self.names[team]}" if team in self.names else team


def read_charter(path: str | PathLike[str], *, to_make: bool = False) -> Charter:
    """Read a contest's file; an unknown key or a value that is not allowed is named with its place.

    Parameters
    ----------
    path
        The file.
    to_make
        Whether the contest is to be made from it: then its data must be named.
    """
    file = Path(path)
    try:
        text = read_bytes(path, max_bytes=_MOST_BYTES).decode("utf-8-sig")
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError.whole(file, f"is not TOML: {error}", "not-toml") from None
    place = _Place(file, text)
    known = ("name", "teams", *_TABLES)
    for key in found:
        if key not in known:
            raise place.fault(key, found[key], f"there is no such key; there are {', '.join(known)}")
    for key in _TABLES:
        if not isinstance(found.get(key, {}), dict):
            raise place.fault(key, found[key], f"it must be a table: [{key}]")
    given: dict[str, Any] = {key: found[key] for key in ("name", "teams") if key in found}
    given["rules"] = _rules(found.get("rules", {}), place)
    if "schedule" in found:
        given["schedule"] = place.checked("schedule", Schedule.from_dict, _texts(found["schedule"]))
    if "data" in found:
        given["data"] = _data(found["data"], place, to_make)
    for key in ("name", "teams"):
        if key in found:
            place.checked(key, Charter, **{key: found[key], "rules": given["rules"]})
    for team, called in found.get("names", {}).items():
        alone = given | {"names": {team: called}}
        place.checked(f"names.{team}", Charter, **alone)
    given["names"] = found.get("names", {})
    for team, ends in found.get("extra_time", {}).items():
        if not isinstance(ends, dict):
            raise place.fault(f"extra_time.{team}", ends, f"it must be a table: [extra_time.{team}]")
        own = {"extra_time": {team: _texts(ends)}}
        place.checked(f"extra_time.{team}", Charter, **given, **own)
    extra_time = {team: _texts(ends) for team, ends in found.get("extra_time", {}).items()}
    return Charter(**given, extra_time=extra_time)


def charter_text(charter: Charter) -> str:
    """Return a contest's file as TOML, with every rule in it."""
    lines = [f"name = {_toml(charter.name)}", f"teams = {charter.teams}", "", "[rules]"]
    lines += [f"{rule} = {_toml(value)}" for rule, value in charter.rules.to_dict().items()]
    if charter.schedule is not None:
        lines += ["", "[schedule]", *(f"{key} = {at}" for key, at in charter.schedule.to_dict().items())]
    if charter.names:
        lines += ["", "[names]"]
        lines += [f"{team} = {_toml(called)}" for team, called in sorted(charter.names.items())]
    for team, ends in sorted(charter.extra_time.items()):
        lines += ["", f"[extra_time.{team}]", *(f"{point} = {at}" for point, at in sorted(ends.items()))]
    if charter.data is not None:
        said = charter.data.beside(Path()).to_dict()
        lines += ["", "[data]", *(f"{key} = {_toml(value)}" for key, value in said.items())]
    return "\n".join([*lines, ""])


class _Place:
    """Where in the file a key stands, for messages."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.lines = file, text.splitlines()

    def fault(self, key: str, value: Any, problem: str) -> FileError:
        line = self._line(key)
        where = key if line is None else f"line {line}, {key}"
        got = "" if isinstance(value, dict) else f"got {shorten(str(value))}: "
        return FileError.whole(self.file, f"{where}: {got}{problem}", "wrong-key")

    def checked(self, key: str, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Make something of the values under a key; what is wrong with them is said with its place."""
        try:
            return make(*given, **named)
        except ParameterError as error:
            raise self.fault(key, {}, str(error)) from None

    def _line(self, key: str) -> int | None:
        """Return the line of a key, as far as it can be told from one line."""
        table, _, last = key.rpartition(".")
        inside = ""
        for number, line in enumerate(self.lines, 1):
            header = re.fullmatch(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?", line)
            if header:
                inside = header[1]
                if not table and inside == last:
                    return number
            elif inside == table and re.match(rf"\s*[\"']?{re.escape(last)}[\"']?\s*=", line):
                return number
        return None


def _rules(values: Mapping[str, Any], place: _Place) -> Rules:
    for rule, value in values.items():
        # One by one, so that the message can name the line. What only another rule allows comes below.
        alone = {rule: value}
        if rule == "winner_takes_attack_awards":
            alone["overall_total"] = True
        place.checked(f"rules.{rule}", Rules.from_dict, alone)
    made: Rules = place.checked("rules", Rules.from_dict, values)
    return made


def _data(values: Mapping[str, Any], place: _Place, to_make: bool) -> DataSource:
    for key, value in values.items():
        alone = {name: values[name] for name in ("source",) if name in values} | {key: value}
        place.checked(f"data.{key}", DataSource.from_dict, alone)
    made: DataSource = place.checked("data", DataSource.from_dict, values)
    if to_make:
        place.checked("data", made.require_complete)
    return made.beside(place.file.parent)


def _texts(points: Mapping[str, Any]) -> dict[str, Any]:
    """Return the points of a schedule as text: TOML has times of its own."""
    return {key: at.isoformat() if isinstance(at, datetime) else at for key, at in points.items()}


def _require_text(name: str, value: Any) -> None:
    short = isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()
    if not short or value != value.strip():
        allowed = f"a text of at most {_LONGEST_NAME} printable characters, without blanks around it"
        raise ParameterError.of(name, value, allowed)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
