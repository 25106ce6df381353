"""A contest's own file, ``contest.toml``: its name, its teams, its rules, its schedule and its data.

::

    name = "Friday's contest"
    teams = 5

    [rules]              # as in `Rules`; what is left out keeps its default
    users = 500

    [schedule]           # optional; all points of `Schedule`, each with its time zone
    anonymization_begin = 2026-05-01T09:00:00+09:00

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
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from tracearena.checks import require_choice, require_whole
from tracearena.cities import simulate
from tracearena.contest.phases import Schedule
from tracearena.contest.rules import Rules
from tracearena.engine import SeedLike
from tracearena.errors import Fault, FileError, ParameterError, shorten
from tracearena.files import csv_rows, read_bytes
from tracearena.traces import Traces

NAME = "contest.toml"
PSEUDONYMISED = "000"
"""The number of the pseudonymised team."""
_TABLES = ("rules", "schedule", "names", "extra_time", "data")
_NUMBER = re.compile(r"[0-9]{3}", re.ASCII)
_LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class ContestFile:
    """A contest: its name, teams, rules, schedule and source of data.

    Parameters
    ----------
    name
        Name of the contest.
    teams
        Number of teams, which are numbered from 001. 000 is the pseudonymised team, and the numbers after the
        last team are the sample teams; 999 is the highest number.
    rules, schedule
        The rules and the schedule; without a schedule nothing is late.
    names
        Names of teams, by their numbers.
    extra_time
        Later ends for single teams, by their numbers (see `Schedule.with_extra_time`).
    data
        The source of the data; None if not given.

    Examples
    --------
    >>> ContestFile(name="Friday", teams=2, names={"001": "Red"}).team_label("001")
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
        _require_team_names(self.names)
        if self.extra_time and self.schedule is None:
            raise ParameterError("extra_time needs a [schedule]")
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
    def for_everybody(self) -> ContestFile:
        """The same without the organiser's secrets: seeds and paths of the data."""
        return self if self.data is None else replace(self, data=self.data.for_everybody)

    def schedule_of(self, team: str) -> Schedule | None:
        """Return the schedule of a team, which may have more time than the others."""
        return None if self.schedule is None else self.schedule.with_extra_time(self.extra_time.get(team, {}))

    def team_label(self, team: str) -> str:
        """Return the number of a team and, if it has one, its name."""
        return f"{team} {self.names[team]}" if team in self.names else team


def read_contest_file(path: str | PathLike[str], *, to_make: bool = False) -> ContestFile:
    """Read the file of a contest; errors name the line of an unknown key or an invalid value.

    Parameters
    ----------
    path
        The file.
    to_make
        Whether the contest is created from it; the source of the data is then required.
    """
    file = Path(path)
    try:
        text = read_bytes(path, max_bytes=2**20).decode("utf-8-sig")
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError.whole(file, f"is not TOML: {error}", "not-toml") from None
    place = _KeyLocator(file, text)
    known = ("name", "teams", *_TABLES)
    for key in found:
        if key not in known:
            raise place.fault(key, found[key], f"unknown key; it must be one of {', '.join(known)}")
    for key in _TABLES:
        if not isinstance(found.get(key, {}), dict):
            raise place.fault(key, found[key], f"it must be a table: [{key}]")
    given: dict[str, Any] = {key: found[key] for key in ("name", "teams") if key in found}
    rules = found.get("rules", {})
    for rule, value in rules.items():
        # One by one, so that the message can name the line. What only another rule allows comes below.
        more = {"overall_total": True} if rule == "winner_takes_attack_awards" else {}
        place.build_value(f"rules.{rule}", Rules.from_dict, {rule: value} | more)
    given["rules"] = place.build_value("rules", Rules.from_dict, rules)
    if "schedule" in found:
        given["schedule"] = place.build_value(
            "schedule", Schedule.from_dict, _format_times(found["schedule"])
        )
    if "data" in found:
        source = found["data"]
        kind = {"source": source["source"]} if "source" in source else {}
        for key, value in source.items():
            place.build_value(f"data.{key}", DataSource.from_dict, kind | {key: value})
        made = place.build_value("data", DataSource.from_dict, source)
        if to_make:
            place.build_value("data", made.require_complete)
        given["data"] = made.with_absolute_paths(file.parent)
    for key in ("name", "teams"):
        if key in found:
            place.build_value(key, ContestFile, **{key: found[key], "rules": given["rules"]})
    for team, called in found.get("names", {}).items():
        place.build_value(f"names.{team}", ContestFile, **given, names={team: called})
    given["names"] = found.get("names", {})
    extra_time = {}
    for team, ends in found.get("extra_time", {}).items():
        if not isinstance(ends, dict):
            raise place.fault(f"extra_time.{team}", ends, f"it must be a table: [extra_time.{team}]")
        extra_time[team] = _format_times(ends)
        place.build_value(f"extra_time.{team}", ContestFile, **given, extra_time={team: extra_time[team]})
    return ContestFile(**given, extra_time=extra_time)


def read_team_names(path: str | PathLike[str]) -> dict[str, str]:
    """Read what teams are called, by their numbers, from a CSV file.

    It has the columns ``team`` and ``name``, or ``name`` alone: then the rows are the teams 001, 002, …
    """
    try:
        rows = [row for row in csv_rows(read_bytes(path, max_bytes=2**20).decode("utf-8-sig")) if any(row)]
    except UnicodeDecodeError:
        raise FileError.whole(path, "is not UTF-8; save it as CSV UTF-8", "not-utf8") from None
    header = [cell.strip().casefold() for cell in rows[0]] if rows else []
    if sorted(header) not in (["name"], ["name", "team"]):
        raise FileError.whole(path, "its first line must be team,name or name", "wrong-header")
    names: dict[str, str] = {}
    for number, row in enumerate(rows[1:], 1):
        cells = dict(zip(header, map(str.strip, row), strict=False))
        team = cells.get("team", f"{number}").zfill(3)
        problem = "there must be one cell for each column" if len(row) != len(header) else ""
        if not problem and (not _NUMBER.fullmatch(team) or team == PSEUDONYMISED or team in names):
            problem = "it must be the number of a team, such as 001, and of no other row"
        if not problem:
            try:
                _require_team_names(names | {team: cells["name"]})
            except ParameterError as error:
                problem = str(error)
        if problem:
            raise FileError(path, [Fault(number, None, ",".join(row), problem, "wrong-name")])
        names[team] = cells["name"]
    return names


def format_contest_file(charter: ContestFile) -> str:
    """Return the file of a contest as TOML, with all rules."""
    lines = [f"name = {_format_toml(charter.name)}", f"teams = {charter.teams}", "", "[rules]"]
    lines += [f"{rule} = {_format_toml(value)}" for rule, value in charter.rules.to_dict().items()]
    if charter.schedule is not None:
        lines += ["", "[schedule]", *(f"{key} = {at}" for key, at in charter.schedule.to_dict().items())]
    if charter.names:
        lines += ["", "[names]"]
        lines += [f"{team} = {_format_toml(called)}" for team, called in sorted(charter.names.items())]
    for team, ends in sorted(charter.extra_time.items()):
        lines += ["", f"[extra_time.{team}]", *(f"{point} = {at}" for point, at in sorted(ends.items()))]
    if charter.data is not None:
        said = charter.data.with_absolute_paths(Path()).to_dict()
        lines += ["", "[data]", *(f"{key} = {_format_toml(value)}" for key, value in said.items())]
    return "\n".join([*lines, ""])


def fold_name(name: str) -> str:
    """Return what names have in common that people take for the same: case, width, spaces at the ends.

    >>> fold_name(" Ｍ001"), fold_name("Straße") == fold_name("STRASSE")
    ('m001', True)
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).strip().casefold())


def _require_team_names(names: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for team, called in names.items():
        _require_text(team, called)
        folded = fold_name(called)
        # A name that is a number would be taken for the team of that number.
        if _NUMBER.fullmatch(folded):
            raise ParameterError.of(team, called, "a name, and not the number of a team")
        if folded in seen:
            raise ParameterError(f"teams {seen[folded]} and {team} are both called {called!r}")
        seen[folded] = team


class _KeyLocator:
    """Where in the file a key stands, for messages."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.lines = file, text.splitlines()

    def fault(self, key: str, value: Any, problem: str) -> FileError:
        line = self._line(key)
        where = key if line is None else f"line {line}, {key}"
        got = "" if isinstance(value, dict) else f"got {shorten(str(value))}: "
        return FileError.whole(self.file, f"{where}: {got}{problem}", "wrong-key")

    def build_value(self, key: str, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Make something of the values under a key; what is wrong with them is said with its place."""
        try:
            return make(*given, **named)
        except ParameterError as error:
            raise self.fault(key, {}, str(error)) from None

    def _line(self, key: str) -> int | None:
        """Return the line of a key, as far as one line shows it."""
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


def _format_times(points: Mapping[str, Any]) -> dict[str, Any]:
    """Return the points of a schedule as text: TOML has times of its own."""
    return {key: at.isoformat() if isinstance(at, datetime) else at for key, at in points.items()}


def _require_text(name: str, value: Any) -> None:
    short = isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()
    if not short or value != value.strip():
        allowed = f"a text of at most {_LONGEST_NAME} printable characters, without blanks around it"
        raise ParameterError.of(name, value, allowed)


def _format_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_format_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


# The table ``[data]``: where the people of a contest come from.

SourceKind = Literal["city", "traces", "files"]
_PATHS = ("file", "reference", "folder")
_OF_SOURCE = dict.fromkeys(("file", "reference", "format", "grid", "bounds", "timezone"), "traces")
_OF_SOURCE["folder"] = "files"


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """The source of the data of a contest.

    Parameters
    ----------
    source
        ``"city"``: virtual users learned from the embedded city. ``"traces"``: virtual users learned
        from the organiser's own traces. ``"files"``: official files that are ready.
    file, reference
        The organiser's traces in any format, and more traces of the same people.
    format, grid, bounds, timezone
        How they are read, as on the command line; recognised if omitted.
    folder
        Folder of the official files.
    seed
        Seed of people and shuffles, at least 0, for experiments. Without a seed, all randomness comes from
        the cryptographic source of the system.

    Examples
    --------
    >>> DataSource().people
    'virtual'
    >>> DataSource(source="traces", file=Path("walks.csv"), grid="32x32").people
    'real'
    """

    source: SourceKind = "city"
    file: Path | None = None
    reference: Path | None = None
    format: str | None = None
    grid: str | None = None
    bounds: str | None = None
    timezone: str | None = None
    folder: Path | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        require_choice("source", self.source, get_args(SourceKind))
        for name, source in _OF_SOURCE.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, Path if name in _PATHS else str):
                raise ParameterError.of(name, value, "a text")
            if value is not None and self.source != source:
                raise ParameterError(f"{name} belongs to source = {source!r}, not to {self.source!r}")
        if self.source == "traces":
            # The readers are loaded only where there is something to read.
            from tracearena.io import FORMATS, GPS_FORMATS, Choices

            if self.format is not None:
                require_choice("format", self.format, (*FORMATS, *GPS_FORMATS))
            Choices.parse(grid=self.grid, bounds=self.bounds, timezone=self.timezone)
        if self.seed is not None:
            require_whole("seed", self.seed, at_least=0)

    @property
    def people(self) -> Literal["virtual", "real"]:
        """``"virtual"`` if the data is of no real person, so that all of it may be published."""
        return "virtual" if self.source == "city" else "real"

    @property
    def for_everybody(self) -> DataSource:
        """The same without the organiser's secrets: the seed would reveal all people."""
        return DataSource(source=self.source)

    def require_complete(self) -> None:
        """Raise an error if the source does not name its traces or files."""
        for source, name in (("traces", "file"), ("files", "folder")):
            if self.source == source and getattr(self, name) is None:
                raise ParameterError(f"source = {source!r} needs {name}")

    def with_absolute_paths(self, folder: Path) -> DataSource:
        """Return the same with absolute paths; relative ones count from the given folder."""
        given = {name: getattr(self, name) for name in _PATHS}
        return replace(
            self, **{name: (folder / path).absolute() for name, path in given.items() if path is not None}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the given settings as plain values, without those that are not set."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: str(value) if isinstance(value, Path) else value for name, value in said.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DataSource:
        """Make a source from plain values."""
        known = [one.name for one in fields(cls)]
        for name in values:
            if name not in known:
                raise ParameterError(f"unknown name {name!r}; it must be one of {', '.join(known)}")
        given = dict(values)
        for name in _PATHS:
            # Values that are not paths stay unchanged: the check of all values refuses them.
            if isinstance(value := given.get(name), str) and value and "\0" not in value:
                given[name] = Path(value)
        return cls(**given)


# People of the embedded city, from whom virtual users are learned.


def simulate_residents(days: int, *, seed: SeedLike) -> Traces:
    """Return days in the lives of a thousand people of the city.

    >>> simulate_residents(1, seed=1).n_users
    1000
    """
    return simulate(users=1_000, days=days, seed=seed)


@dataclass(frozen=True)
class CityPeople:
    """People of the city as they are, others for every team: nothing is learned, so they are there at once.

    For contests that last as long as somebody looks at them. `tracearena.synthesis.PPMTF` makes the
    virtual users of all others.
    """

    def sample_users(self, n: int, days: int, *, homes: bool, only_seen: bool, seed: SeedLike) -> Traces:
        """Return `days` whole days of n people; they have homes, and nobody else has seen them.

        >>> CityPeople().sample_users(3, 2, homes=True, only_seen=True, seed=1).n_users
        3
        """
        return simulate(users=n, days=days, seed=seed)
