"""The files of a contest's folder: which of them count by their names, and why others do not.

Only the contest file and the list of arrivals are opened here; `tracearena.contest.file_judge` reads the
other files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tracearena import __version__
from tracearena.contest import contest_file
from tracearena.contest.board import PSEUDONYMISED_DATA_SET, Target
from tracearena.contest.commitments import RECEIPTS
from tracearena.contest.contest_file import PSEUDONYMISED, ContestFile, read_contest_file
from tracearena.contest.data import (
    COMMITMENTS,
    DATA_SETS,
    HANDED_IN,
    JUDGE,
    MANIFEST,
    REGIONS,
    SALTS,
    SUBMISSIONS,
    TIMES,
)
from tracearena.contest.phases import Gate, phase_at
from tracearena.contest.rules import Rules
from tracearena.engine import Checkpoint
from tracearena.errors import DataError, Fault, FileError, ParameterError
from tracearena.files import digest_file, digest_values, read_bytes
from tracearena.io.pwscup import PwsName

ANSWERS = "answers"


@dataclass(frozen=True)
class ContestFolder:
    """The files of a contest, sorted by what their names say.

    Attributes
    ----------
    folder, judge, submissions
        The folder of the contest, and in it the folders of the judge and of the submissions.
    charter, rules_file
        Name, rules and schedule, and their file; without a ``contest.toml`` the default rules.
    teams
        Numbers of the teams.
    versions
        All files that may count, by name; several with the same name are in the order of their arrival.
    answers
        The judge's own attacks, by attack and file name.
    refused
        What does not count.
    has_arrivals
        Whether there is a list of arrival times; without it no file is late.
    """

    folder: Path
    judge: Path
    submissions: Path
    charter: ContestFile
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
    def has_contest_file(self) -> bool:
        """Whether the contest has a file of its own."""
        return self.rules_file is not None

    @property
    def pseudonym_team(self) -> str | None:
        """The number of the pseudonymised team, if its traces are there."""
        kinds = ("orgtraces", "pubtraces")
        there = any(PwsName(kind=kind, team=0, purpose="IDP") in self.versions for kind in kinds)
        return PSEUDONYMISED if there and self.rules.pseudonymised_team else None

    def targets(self) -> list[Target]:
        """Return all possible data sets, that of the pseudonymised team last."""
        numbers = range(1, self.rules.data_sets + 1)
        found = [(team, number) for team in self.teams for number in numbers]
        if not self.has_contest_file:
            found = [target for target in found if self.path("orgtraces", target) is not None]
        extra = [] if self.pseudonym_team is None else [(self.pseudonym_team, PSEUDONYMISED_DATA_SET)]
        return found + extra

    def path(self, kind: str, target: Target) -> Path | None:
        """Return the last file of a kind for a data set, if there is one."""
        return next(reversed(self.submission_files(kind, target)), None)

    def submission_files(self, kind: str, target: Target) -> tuple[Path, ...]:
        """Return all files of a kind for a data set, in the order of their arrival."""
        purpose = next(name for name, number in DATA_SETS.items() if number == target[1])
        return self.versions.get(PwsName(kind=kind, team=int(target[0]), purpose=purpose), ())

    def display_path(self, path: Path) -> str:
        """Return a path relative to the folder of the contest, for messages."""
        return format_path(path, self.folder)


def read_submissions(folder: Path, rules: Path | None = None, *, originals: bool = True) -> ContestFolder:
    """Read the folder of a contest.

    Parameters
    ----------
    folder
        As made by `write_contest_data`, or one folder with all files.
    rules
        The contest file, if it is in another folder.
    originals
        Whether the original traces of all teams are required.
    """
    if not folder.is_dir():
        raise FileError.whole(folder, "this folder does not exist", "no-folder")
    judge = folder / JUDGE if (folder / JUDGE).is_dir() else folder
    submissions = folder / SUBMISSIONS if (folder / SUBMISSIONS).is_dir() else folder
    own_rules = folder / contest_file.NAME
    found = rules or (own_rules if own_rules.is_file() else None)
    own: dict[PwsName, Path] = {}
    for path in sorted(judge.glob("*.csv*")):
        try:
            name = PwsName.parse(path)
        except ParameterError:
            continue
        if name in own and name.kind not in HANDED_IN:
            raise FileError.whole(
                path, f"and {own[name].name} both exist: remove the one that does not count", "twice"
            )
        if name.kind not in HANDED_IN[1:]:
            own[name] = path
    if found is None:
        charter, teams = _assume_contest_file(own, submissions)
    else:
        charter = read_contest_file(found)
        teams = charter.numbers
        if originals:
            for team in charter.numbers:
                for purpose, number in DATA_SETS.items():
                    for kind in ("orgtraces", "reftraces"):
                        name = PwsName(kind=kind, team=int(team), purpose=purpose)
                        if number <= charter.rules.data_sets and name not in own:
                            problem = f"is not there, and the contest has {charter.teams} teams"
                            raise FileError.whole(judge / str(name), problem, "missing")
    arrivals = read_arrivals(submissions / ARRIVALS)
    sorting = SubmissionSorter(folder, judge, submissions, charter, teams, arrivals)
    versions = sorting.select_files(own)
    refused = tuple(sorting.refused)
    answers = {}
    for path in sorted((judge / ANSWERS).glob("*/e*.csv")):
        name, attack = PwsName.parse(path), unquote(path.parent.name)
        if attack in charter.rules.sample_attacks:
            answers[attack, name] = path
    has_arrivals = arrivals is not None
    return ContestFolder(
        folder, judge, submissions, charter, found, teams, versions, answers, refused, has_arrivals
    )


def answer_path(judge: Path, attack: str, name: PwsName) -> Path:
    """Return where the answer of one of the judge's own attacks lies."""
    return judge / ANSWERS / quote(attack, safe="()=,-_:") / str(name)


def _assume_contest_file(
    own: Mapping[PwsName, Path], submissions: Path
) -> tuple[ContestFile, tuple[str, ...]]:
    """Return the usual rules for the data that lies there, and everybody who defends or attacks."""
    defended = {name.team for name in own if name.kind == "orgtraces" and name.team > 0}
    if not defended:
        raise DataError.about(submissions, "holds no orgtraces_teamNNN_… of any team")
    teams = set(defended)
    for path in submissions.rglob("e*_team*"):
        with suppress(ParameterError):
            teams.add(PwsName.parse(path).attacker or 0)
    numbers = sorted(teams - {0})
    sets = 2 if any(name.purpose == "TRP" for name in own if name.kind == "orgtraces") else 1
    extra = any(name.team == 0 for name in own)
    rules = replace(Rules(), data_sets=sets, sample_teams=0, pseudonymised_team=extra)
    return ContestFile(teams=numbers[-1], rules=rules), tuple(f"{number:03d}" for number in numbers)


# The judge's list of when files arrived.

ARRIVALS = "received.csv"
HEADER = ("file", "received", "receipt")
_RECEIPT = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


@dataclass(frozen=True, order=True)
class Arrival:
    """When a file came; of two the one with the larger receipt came last, or the one that came later.

    Attributes
    ----------
    receipt
        The number of its receipt, from a server; 0 where nobody numbered the files.
    at
        The time by the judge's clock.
    """

    receipt: int
    at: datetime


def read_arrivals(path: Path) -> dict[str, Arrival] | None:
    """Read when files came (``file,received`` and, from a server, ``receipt``), if somebody wrote it down."""
    if not path.is_file():
        return None
    text = read_bytes(path).decode("utf-8-sig", "replace")
    lines = list(csv.reader(io.StringIO(text, newline="")))
    header = lines[0] if lines else []
    if header not in (list(HEADER), list(HEADER[:2])):
        raise FileError.whole(
            path, "the header is not file,received or file,received,receipt", "wrong-header"
        )
    found: dict[str, Arrival] = {}
    for row, cells in enumerate(lines[1:], 1):
        arrival = None
        if len(cells) == len(header):
            receipt = cells[2] if len(cells) == 3 else "0"
            with suppress(ValueError):
                at = datetime.fromisoformat(cells[1])
                if at.tzinfo is not None and (len(cells) == 2 or _RECEIPT.fullmatch(receipt)):
                    arrival = Arrival(int(receipt), at)
        if arrival is None or cells[0] in found:
            problem = "it must be a file, once, and a time with its zone, such as 2026-05-15T08:59:00+09:00"
            problem += ", then the number of its receipt" if len(header) == len(HEADER) else ""
            raise FileError(path, [Fault(row, None, ",".join(cells), problem, "not-a-time")])
        found[cells[0]] = arrival
    return found


# The cache of scores.

SCORE_CACHE = "scores.jsonl"


class ScoreCache:
    """Scores by the content of the files they depend on, each on disk before the next is begun.

    Parameters
    ----------
    path
        The file, for its owner alone: scores are secret until the results open.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._checkpoint = Checkpoint(path, f"scores of tracearena {__version__}")
        self._digests: dict[Path, str] = {}

    def get_or_compute(self, what: str, files: list[Path], settings: Any, find: Callable[[], Any]) -> Any:
        """Return what was found before of the same content, or find it and write it down."""
        known = self.lookup(what, files, settings)
        if known is not None:
            return known
        row = {"what": what, "found": find()}
        self._checkpoint.add(self._key(what, files, settings), row)
        return row["found"]

    def lookup(self, what: str, files: list[Path], settings: Any) -> Any:
        """Return what was found before of the same content, None if nothing was."""
        return self._checkpoint.rows.get(self._key(what, files, settings), {}).get("found")

    def _key(self, what: str, files: list[Path], settings: Any) -> str:
        digests = [self.digest(path) for path in files]
        return digest_values(json.dumps([what, digests, settings]))

    def sort_rows(self) -> None:
        """Put the rows in one order: a run that was stopped finds them in another than one that was not."""
        self._checkpoint.replace_rows(dict(sorted(self._checkpoint.rows.items())))

    def digest(self, path: Path) -> str:
        """Return SHA-256 of a file, computed once."""
        if path not in self._digests:
            self._digests[path] = digest_file(path)
        return self._digests[path]

    def forget(self, path: Path) -> None:
        """Forget the digest of a file that has changed."""
        self._digests.pop(path, None)


# Uploads sorted by name and arrival: which may count, and which cannot whatever is in them.

_FRAME = {contest_file.NAME, REGIONS, TIMES, MANIFEST, SALTS, COMMITMENTS, ARRIVALS, RECEIPTS, SCORE_CACHE}
_LIVE = re.compile(r"live_team[0-9]{3}_data0[12]_(IDP|TRP)\.csv", re.ASCII)
_NEVER = Arrival(0, datetime.min.replace(tzinfo=UTC))
_WRONG_NAME = (
    "is not the name of a file that teams hand in, such as anotraces_team001_data01_IDP.csv, "
    "etable_team001-002_data01_IDP.csv or etraces_team001-002_data02_TRP.csv"
)


class SubmissionSorter:
    """One pass through the folder: what counts, and what does not."""

    def __init__(
        self,
        folder: Path,
        judge: Path,
        submissions: Path,
        charter: ContestFile,
        teams: tuple[str, ...],
        arrivals: Mapping[str, Arrival] | None,
    ) -> None:
        self.folder, self.judge, self.submissions = folder, judge, submissions
        self.charter, self.teams, self.arrivals = charter, teams, arrivals
        self.refused: list[Refusal] = []

    def select_files(self, own: Mapping[PwsName, Path]) -> dict[PwsName, tuple[Path, ...]]:
        """Return all files that may count: the judge's own, and what was handed in."""
        handed_in = self._sort_submissions()
        files = {name: (path,) for name, path in own.items() if name.kind not in HANDED_IN}
        if self.judge != self.submissions:
            released = {name: (path,) for name, path in own.items() if name.kind == "anotraces"}
            for name in sorted(released.keys() & handed_in.keys(), key=str):
                contents = {_read_content(path) for path in handed_in[name]}
                if _read_content(released[name][0]) not in contents:
                    problem = "another file was released before it came"
                    self._refuse(handed_in[name][-1], "after-release", problem)
            handed_in |= released
        return files | handed_in

    def _refuse(self, path: Path, code: str, reason: str) -> None:
        self.refused.append(Refusal(format_path(path, self.folder), code, reason))

    def _sort_submissions(self) -> dict[PwsName, tuple[Path, ...]]:
        named: dict[PwsName, list[Path]] = defaultdict(list)
        flat = self.judge == self.submissions
        for path in sorted(self.submissions.glob("*") if flat else self.submissions.rglob("*")):
            is_own = path.name in _FRAME or (flat and _LIVE.fullmatch(path.name))
            if path.name.startswith(".") or path.is_dir() or is_own:
                continue
            if path.is_symlink() or not path.is_file():
                self._refuse(path, "not-a-file", "is a link or a device, not a file")
                continue
            try:
                name = PwsName.parse(path)
            except ParameterError:
                self._refuse(path, "wrong-name", _WRONG_NAME)
                continue
            if name.kind in HANDED_IN:
                named[name].append(path)
            elif not flat:
                problem = f"a team hands in {', '.join(HANDED_IN)}, and no {name.kind}"
                self._refuse(path, "not-theirs", problem)
        counting = {
            name: self._in_order(name, paths)
            for name, paths in sorted(named.items(), key=lambda item: str(item[0]))
        }
        beyond = self._refuse_beyond_limits(counting)
        kept = {name: tuple(p for p in paths if p not in beyond) for name, paths in counting.items()}
        return {name: paths for name, paths in kept.items() if paths}

    def _refuse_beyond_limits(self, counting: Mapping[PwsName, tuple[Path, ...]]) -> set[Path]:
        """Refuse what came after as many uploads as the rules allow, if it is known when files came."""
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
            why = self._find_problem(name, path)
            if why is None:
                kept.append(path)
            else:
                self._refuse(path, *why)
        times = {path: self._arrival(path) for path in kept}
        known = [at for at in times.values() if at is not None]
        if len(kept) > 1 and len(set(known)) < len(kept):
            for path in kept:
                self._refuse(
                    path,
                    "twice",
                    f"several files with one name count only if {ARRIVALS} says which arrived last",
                )
            return ()
        return tuple(sorted(kept, key=lambda path: times[path] or _NEVER))

    def _key(self, path: Path) -> str:
        return path.relative_to(self.submissions).as_posix()

    def _arrival(self, path: Path) -> Arrival | None:
        return (self.arrivals or {}).get(self._key(path))

    def _find_problem(self, name: PwsName, path: Path) -> tuple[str, str] | None:
        """Return why a file cannot count whatever is in it."""
        team, number = f"{name.team:03d}", DATA_SETS[name.purpose]
        actor = team if name.attacker is None else f"{name.attacker:03d}"
        is_extra = team == PSEUDONYMISED and self.charter.rules.pseudonymised_team
        # Traces of the pseudonymised team are the judge's own, and lie among the others in one folder only.
        judges_own = is_extra and name.attacker is None and self.judge == self.submissions
        if actor not in self.teams and not judges_own:
            return "unknown-team", f"{actor} is not a team of this contest"
        if team not in self.teams and not is_extra:
            return "unknown-target", f"{team} is not a target of this contest"
        if actor == team and name.attacker is not None:
            return "own", "a team does not attack itself"
        if number > (PSEUDONYMISED_DATA_SET if is_extra else self.charter.rules.data_sets):
            return "unknown-data-set", f"there is no data set {number} of {team}"
        schedule = self.charter.schedule_of(f"{name.attacker or name.team:03d}")
        if self.arrivals is None or schedule is None or name.team == 0 == (name.attacker or 0):
            return None
        key = self._key(path)
        if key not in self.arrivals:
            return "no-arrival", f"{ARRIVALS} does not say when it arrived"
        at = self.arrivals[key].at.astimezone(UTC)
        answer = phase_at(schedule, at)
        gate = answer.obfuscated if name.kind == "anotraces" else answer.attacks
        phase = "anonymization" if name.kind == "anotraces" else "attack"
        if gate is Gate.LATE:
            end = getattr(schedule, f"{phase}_end")
            return "late", f"arrived {at.isoformat()}; the phase ended {end.isoformat()}"
        begin = getattr(schedule, f"{phase}_begin")
        early = "early", f"arrived {at.isoformat()}; the phase began {begin.isoformat()}"
        return early if gate is Gate.EARLY else None


def _read_content(path: Path) -> bytes | None:
    """Return what is in a file, unpacked; None if it cannot be unpacked, which equals no release."""
    try:
        return read_bytes(path)
    except FileError:
        return None


@dataclass(frozen=True)
class Refusal:
    """A refused file, with the reason.

    Attributes
    ----------
    file
        Its path inside the contest's folder.
    code
        A fixed word: one of the checker's verdicts, or ``late``, ``early``, ``wrong-name``, ``twice``, …
    reason
        The reason as a sentence, with the row if there is one.
    """

    file: str
    code: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain values for JSON."""
        return asdict(self)


def format_path(path: Path, folder: Path) -> str:
    """Return a path inside a folder as text that disturbs no terminal and fits every file."""
    return escape_unprintable(path.relative_to(folder).as_posix())


def escape_unprintable(text: str) -> str:
    """Return a text with its control characters, and others that do not show, spelt out.

    >>> escape_unprintable("a\\x1bb")
    'a\\\\x1bb'
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
