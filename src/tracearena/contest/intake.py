"""What lies in a contest's folder: which files count by their names, and why others do not.

Nothing is opened here but the contest's file and the list of arrivals; what is inside the files is
`tracearena.contest.desk`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tracearena.contest import charter as charters
from tracearena.contest.arrivals import ARRIVALS, read_arrivals
from tracearena.contest.board import PSEUDONYMISED_DATA_SET, Target
from tracearena.contest.charter import Charter, read_charter
from tracearena.contest.handout import COMMITMENTS, JUDGE, MANIFEST, REGIONS, SALTS, SUBMISSIONS, TIMES
from tracearena.contest.phases import Gate, phase_at
from tracearena.contest.rules import Rules
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.files import read_bytes
from tracearena.formats.pwscup import PwsName

ANSWERS, LEDGER = "answers", "scores.jsonl"
PSEUDONYMISED = "000"
HANDED_IN = ("anotraces", "etable", "etraces")
"""What teams hand in; everything else is the judge's own."""
_FRAME = {charters.NAME, REGIONS, TIMES, MANIFEST, SALTS, COMMITMENTS, ARRIVALS, LEDGER}
_DATA_SET = {"IDP": 1, "TRP": 2}
_NEVER = datetime.min.replace(tzinfo=UTC)
_WRONG_NAME = (
    "is no name of a file that teams hand in, such as anotraces_team001_data01_IDP.csv, "
    "etable_team001-002_data01_IDP.csv or etraces_team001-002_data02_TRP.csv"
)


@dataclass(frozen=True)
class Refusal:
    """A file that does not count, and why.

    Attributes
    ----------
    file
        Its path inside the contest's folder.
    code
        A fixed word: one of the checker's verdicts, or ``late``, ``early``, ``wrong-name``, ``twice``, …
    reason
        The same for people, with the row where there is one.
    """

    file: str
    code: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain values for JSON."""
        return {"file": self.file, "code": self.code, "reason": self.reason}


@dataclass(frozen=True)
class Intake:
    """Everything that can be told of a contest from the names of its files.

    Attributes
    ----------
    folder, judge, submissions
        The contest's folder, and where in it the judge's files and those of the teams lie.
    charter, rules_file
        Name, rules and schedule, and the file they come from; without a ``contest.toml`` the usual ones.
    teams
        Numbers of the teams that take part.
    versions
        Every file that may count, by its name. Several of one name stand in the order in which they came.
    answers
        The judge's own attacks, by the attack and the name of the file.
    refused
        What does not count.
    has_arrivals
        Whether there is a list of when files came; without one nothing is late.
    """

    folder: Path
    judge: Path
    submissions: Path
    charter: Charter
    rules_file: Path | None
    teams: tuple[str, ...]
    versions: Mapping[PwsName, tuple[Path, ...]]
    answers: Mapping[tuple[str, PwsName], Path]
    refused: tuple[Refusal, ...]
    has_arrivals: bool

    @property
    def rules(self) -> Rules:
        """The rules of the contest."""
        return self.charter.rules

    @property
    def has_charter(self) -> bool:
        """Whether the contest has a file of its own."""
        return self.rules_file is not None

    @property
    def pseudonymised(self) -> str | None:
        """The number of the pseudonymised team, if its traces are there."""
        there = PwsName(kind="orgtraces", team=0, purpose="IDP") in self.versions
        return PSEUDONYMISED if there and self.rules.pseudonymised_team else None

    def targets(self) -> list[Target]:
        """Return every data set that there may be, the pseudonymised team's last."""
        numbers = range(1, self.rules.data_sets + 1)
        found = [(team, number) for team in self.teams for number in numbers]
        if not self.has_charter:
            found = [target for target in found if self.path("orgtraces", target) is not None]
        extra = [] if self.pseudonymised is None else [(self.pseudonymised, PSEUDONYMISED_DATA_SET)]
        return found + extra

    def path(self, kind: str, target: Target) -> Path | None:
        """Return the last file of a kind about a data set, if there is one."""
        return next(reversed(self.of(kind, target)), None)

    def of(self, kind: str, target: Target) -> tuple[Path, ...]:
        """Return all files of a kind about a data set, in the order in which they came."""
        purpose = next(name for name, number in _DATA_SET.items() if number == target[1])
        return self.versions.get(PwsName(kind=kind, team=int(target[0]), purpose=purpose), ())

    def shown(self, path: Path) -> str:
        """Return a path as people see it: inside the contest's folder."""
        return visible(path, self.folder)


def read_submissions(folder: Path, rules: Path | None = None) -> Intake:
    """Look through a contest's folder.

    Parameters
    ----------
    folder
        As `tracearena.contest.handout` lays it out, or one folder with all files in it.
    rules
        The contest's file, if it lies elsewhere.
    """
    if not folder.is_dir():
        raise FileError.whole(folder, "there is no such folder", "no-folder")
    judge = folder / JUDGE if (folder / JUDGE).is_dir() else folder
    submissions = folder / SUBMISSIONS if (folder / SUBMISSIONS).is_dir() else folder
    own_rules = folder / charters.NAME
    found = rules or (own_rules if own_rules.is_file() else None)
    own = _judges_files(judge)
    if found is None:
        charter, teams = _usual(own, submissions)
    else:
        charter = read_charter(found)
        teams = charter.numbers
        _require_originals(judge, own, charter)
    arrivals = read_arrivals(submissions / ARRIVALS)
    return _Sorting(folder, judge, submissions, charter, teams, arrivals).intake(own, found)


def visible(path: Path, folder: Path) -> str:
    """Return a path inside a folder as text that disturbs no terminal and fits every file."""
    name = path.relative_to(folder).as_posix()
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)


def answer_path(judge: Path, attack: str, name: PwsName) -> Path:
    """Return where the answer of one of the judge's own attacks lies."""
    return judge / ANSWERS / quote(attack, safe="()=,-_:") / str(name)


class _Sorting:
    """One pass through the folder: what counts, and what does not."""

    def __init__(
        self,
        folder: Path,
        judge: Path,
        submissions: Path,
        charter: Charter,
        teams: tuple[str, ...],
        arrivals: Mapping[str, datetime] | None,
    ) -> None:
        self.folder, self.judge, self.submissions = folder, judge, submissions
        self.charter, self.teams, self.arrivals = charter, teams, arrivals
        self.refused: list[Refusal] = []

    def intake(self, own: dict[PwsName, Path], rules_file: Path | None) -> Intake:
        handed_in = self._handed_in()
        files = {name: (path,) for name, path in own.items() if name.kind not in HANDED_IN}
        if self.judge != self.submissions:
            released = {name: (path,) for name, path in own.items() if name.kind == "anotraces"}
            for name in sorted(released.keys() & handed_in.keys(), key=str):
                last = handed_in[name][-1]
                contents = {read_bytes(path) for path in handed_in[name]}
                if read_bytes(released[name][0]) not in contents:
                    self._refuse(last, "after-release", "another file was released before it came")
            handed_in |= released
        return Intake(
            self.folder, self.judge, self.submissions, self.charter, rules_file, self.teams,
            files | handed_in, self._answers(), tuple(self.refused), self.arrivals is not None,
        )  # fmt: skip

    def _refuse(self, path: Path, code: str, reason: str) -> None:
        self.refused.append(Refusal(visible(path, self.folder), code, reason))

    def _handed_in(self) -> dict[PwsName, tuple[Path, ...]]:
        named: dict[PwsName, list[Path]] = defaultdict(list)
        for path in self._submitted():
            try:
                name = PwsName.parse(path)
            except ParameterError:
                self._refuse(path, "wrong-name", _WRONG_NAME)
                continue
            if name.kind in HANDED_IN:
                named[name].append(path)
            elif self.judge != self.submissions:
                problem = f"a team hands in {', '.join(HANDED_IN)}, and no {name.kind}"
                self._refuse(path, "not-theirs", problem)
        counting = {name: self._in_order(name, paths) for name, paths in sorted(named.items(), key=_by_name)}
        beyond = self._beyond_limits(counting)
        kept = {name: tuple(p for p in paths if p not in beyond) for name, paths in counting.items()}
        return {name: paths for name, paths in kept.items() if paths}

    def _beyond_limits(self, counting: Mapping[PwsName, tuple[Path, ...]]) -> set[Path]:
        """Refuse what came after as many uploads as the rules allow, where it is known when files came."""
        if self.arrivals is None:
            return set()
        uploads: dict[tuple[int | None, int, str], list[Path]] = defaultdict(list)
        for name, paths in counting.items():
            uploads[name.attacker, name.team, name.purpose] += paths
        beyond: set[Path] = set()
        for (attacker, _, _), came in uploads.items():
            rules = self.charter.rules
            most = rules.obfuscated_uploads if attacker is None else rules.attack_uploads
            for path in sorted(came, key=lambda path: (self._arrival(path) or _NEVER, path))[most:]:
                self._refuse(path, "too-many", f"came after the {most} uploads that the rules allow")
                beyond.add(path)
        return beyond

    def _in_order(self, name: PwsName, paths: list[Path]) -> tuple[Path, ...]:
        """Return the files of one name that may count, by their arrival; refuse the others."""
        kept = []
        for path in paths:
            why = self._wrong(name, path)
            if why is None:
                kept.append(path)
            else:
                self._refuse(path, *why)
        times = {path: self._arrival(path) for path in kept}
        known = [at for at in times.values() if at is not None]
        if len(kept) > 1 and len(set(known)) < len(kept):
            for path in kept:
                self._refuse(path, "twice", f"files of one name count if {ARRIVALS} says which came last")
            return ()
        return tuple(sorted(kept, key=lambda path: times[path] or _NEVER))

    def _key(self, path: Path) -> str:
        return path.relative_to(self.submissions).as_posix()

    def _arrival(self, path: Path) -> datetime | None:
        return (self.arrivals or {}).get(self._key(path))

    def _submitted(self) -> Iterator[Path]:
        flat = self.judge == self.submissions
        for path in sorted(self.submissions.glob("*") if flat else self.submissions.rglob("*")):
            if path.name.startswith(".") or path.is_dir() or path.name in _FRAME:
                continue
            if path.is_symlink() or not path.is_file():
                self._refuse(path, "not-a-file", "is a link or a device, and no file")
            else:
                yield path

    def _wrong(self, name: PwsName, path: Path) -> tuple[str, str] | None:
        """Return why a file cannot count whatever is in it."""
        team, number = f"{name.team:03d}", _DATA_SET[name.purpose]
        actor = team if name.attacker is None else f"{name.attacker:03d}"
        is_extra = team == PSEUDONYMISED and self.charter.rules.pseudonymised_team
        # Traces of the pseudonymised team are the judge's own, and lie among the others in one folder only.
        judges_own = is_extra and name.attacker is None and self.judge == self.submissions
        if actor not in self.teams and not judges_own:
            return "unknown-team", f"{actor} is no team of this contest"
        if team not in self.teams and not is_extra:
            return "unknown-target", f"{team} is no target of this contest"
        if actor == team and name.attacker is not None:
            return "own", "a team does not attack itself"
        if number > (PSEUDONYMISED_DATA_SET if is_extra else self.charter.rules.data_sets):
            return "unknown-data-set", f"there is no data set {number} of {team}"
        return self._late(name, path)

    def _late(self, name: PwsName, path: Path) -> tuple[str, str] | None:
        schedule = self.charter.schedule
        if self.arrivals is None or schedule is None or name.team == 0 == (name.attacker or 0):
            return None
        key = self._key(path)
        if key not in self.arrivals:
            return "no-arrival", f"{ARRIVALS} does not say when it came"
        at = self.arrivals[key].astimezone(UTC)
        answer = phase_at(schedule, at)
        gate = answer.obfuscated if name.kind == "anotraces" else answer.attacks
        if gate is Gate.OPEN:
            return None
        end = schedule.anonymization_end if name.kind == "anotraces" else schedule.attack_end
        begin = schedule.anonymization_begin if name.kind == "anotraces" else schedule.attack_begin
        if gate is Gate.LATE:
            return "late", f"came {at.isoformat()}; the phase ended {end.isoformat()}"
        return "early", f"came {at.isoformat()}; the phase began {begin.isoformat()}"

    def _answers(self) -> dict[tuple[str, PwsName], Path]:
        found = {}
        for path in sorted((self.judge / ANSWERS).glob("*/e*.csv")):
            name, attack = PwsName.parse(path), unquote(path.parent.name)
            if attack in self.charter.rules.sample_attacks:
                found[attack, name] = path
        return found


def _by_name(item: tuple[PwsName, list[Path]]) -> str:
    return str(item[0])


def _judges_files(judge: Path) -> dict[PwsName, Path]:
    found: dict[PwsName, Path] = {}
    for path in sorted(judge.glob("*.csv*")):
        try:
            name = PwsName.parse(path)
        except ParameterError:
            continue
        if name.kind not in HANDED_IN[1:]:
            if name in found and name.kind not in HANDED_IN:
                raise FileError.whole(path, f"lies beside {found[name].name}: which one counts?", "twice")
            found[name] = path
    return found


def _require_originals(judge: Path, own: Mapping[PwsName, Path], charter: Charter) -> None:
    for team in charter.numbers:
        for purpose, number in _DATA_SET.items():
            for kind in ("orgtraces", "reftraces"):
                name = PwsName(kind=kind, team=int(team), purpose=purpose)
                if number <= charter.rules.data_sets and name not in own:
                    problem = f"is not there, and the contest has {charter.teams} teams"
                    raise FileError.whole(judge / str(name), problem, "missing")


def _usual(own: Mapping[PwsName, Path], submissions: Path) -> tuple[Charter, tuple[str, ...]]:
    """Return the usual rules for the data that lies there."""
    defended = {name.team for name in own if name.kind == "orgtraces" and name.team > 0}
    if not defended:
        raise DataError(f"{submissions}: holds no orgtraces_teamNNN_… of any team")
    numbers = sorted(defended | _attackers(submissions))
    sets = 2 if any(name.purpose == "TRP" for name in own if name.kind == "orgtraces") else 1
    extra = any(name.team == 0 for name in own)
    rules = replace(Rules(), data_sets=sets, sample_teams=0, pseudonymised_team=extra)
    return Charter(teams=numbers[-1], rules=rules), tuple(f"{number:03d}" for number in numbers)


def _attackers(submissions: Path) -> set[int]:
    """Return who hands in attacks, whether they defend anything or not."""
    found = set()
    for path in submissions.rglob("e*_team*"):
        with suppress(ParameterError):
            found.add(PwsName.parse(path).attacker or 0)
    return found - {0}
