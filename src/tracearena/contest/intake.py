"""What lies in a contest's folder: which files count by their names, and why others do not.

Nothing is opened here but the contest's file and the list of arrivals; what is inside the files is
`tracearena.contest.desk`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from tracearena.contest import charter as charters
from tracearena.contest.arrivals import ARRIVALS, read_arrivals
from tracearena.contest.board import PSEUDONYMISED_DATA_SET, Target
from tracearena.contest.charter import PSEUDONYMISED, Charter, read_charter
from tracearena.contest.handout import DATA_SETS, HANDED_IN, JUDGE, SUBMISSIONS
from tracearena.contest.refusal import Refusal, visible
from tracearena.contest.rules import Rules
from tracearena.contest.sorting import Sorting
from tracearena.errors import DataError, FileError, ParameterError
from tracearena.formats.pwscup import PwsName

ANSWERS = "answers"


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
        kinds = ("orgtraces", "pubtraces")
        there = any(PwsName(kind=kind, team=0, purpose="IDP") in self.versions for kind in kinds)
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
        purpose = next(name for name, number in DATA_SETS.items() if number == target[1])
        return self.versions.get(PwsName(kind=kind, team=int(target[0]), purpose=purpose), ())

    def shown(self, path: Path) -> str:
        """Return a path as people see it: inside the contest's folder."""
        return visible(path, self.folder)


def read_submissions(folder: Path, rules: Path | None = None, *, originals: bool = True) -> Intake:
    """Look through a contest's folder.

    Parameters
    ----------
    folder
        As `tracearena.contest.handout` lays it out, or one folder with all files in it.
    rules
        The contest's file, if it lies elsewhere.
    originals
        Whether the original traces of every team must be there.
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
        if originals:
            _require_originals(judge, own, charter)
    arrivals = read_arrivals(submissions / ARRIVALS)
    sorting = Sorting(folder, judge, submissions, charter, teams, arrivals)
    versions = sorting.counting(own)
    refused = tuple(sorting.refused)
    answers = _answers(judge, charter.rules)
    has_arrivals = arrivals is not None
    return Intake(folder, judge, submissions, charter, found, teams, versions, answers, refused, has_arrivals)


def answer_path(judge: Path, attack: str, name: PwsName) -> Path:
    """Return where the answer of one of the judge's own attacks lies."""
    return judge / ANSWERS / quote(attack, safe="()=,-_:") / str(name)


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
        for purpose, number in DATA_SETS.items():
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


def _answers(judge: Path, rules: Rules) -> dict[tuple[str, PwsName], Path]:
    """Return the answers of the judge's own attacks that the rules name."""
    found = {}
    for path in sorted((judge / ANSWERS).glob("*/e*.csv")):
        name, attack = PwsName.parse(path), unquote(path.parent.name)
        if attack in rules.sample_attacks:
            found[attack, name] = path
    return found
