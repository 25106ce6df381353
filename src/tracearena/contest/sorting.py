"""What teams handed in, sorted by name and arrival: what may count, and what cannot whatever is in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tracearena.contest import charter as charters
from tracearena.contest.arrivals import ARRIVALS, Arrival
from tracearena.contest.board import PSEUDONYMISED_DATA_SET
from tracearena.contest.charter import PSEUDONYMISED, Charter
from tracearena.contest.handout import COMMITMENTS, DATA_SETS, HANDED_IN, MANIFEST, REGIONS, SALTS, TIMES
from tracearena.contest.ledger import LEDGER
from tracearena.contest.phases import Gate, phase_at
from tracearena.contest.receipts import RECEIPTS
from tracearena.contest.refusal import Refusal, visible
from tracearena.errors import FileError, ParameterError
from tracearena.files import read_bytes
from tracearena.formats.pwscup import PwsName

_FRAME = {charters.NAME, REGIONS, TIMES, MANIFEST, SALTS, COMMITMENTS, ARRIVALS, RECEIPTS, LEDGER}
_LIVE = re.compile(r"live_team[0-9]{3}_data0[12]_(IDP|TRP)\.csv", re.ASCII)
_NEVER = Arrival(0, datetime.min.replace(tzinfo=UTC))
_WRONG_NAME = (
    "is no name of a file that teams hand in, such as anotraces_team001_data01_IDP.csv, "
    "etable_team001-002_data01_IDP.csv or etraces_team001-002_data02_TRP.csv"
)


class Sorting:
    """One pass through the folder: what counts, and what does not."""

    def __init__(
        self,
        folder: Path,
        judge: Path,
        submissions: Path,
        charter: Charter,
        teams: tuple[str, ...],
        arrivals: Mapping[str, Arrival] | None,
    ) -> None:
        self.folder, self.judge, self.submissions = folder, judge, submissions
        self.charter, self.teams, self.arrivals = charter, teams, arrivals
        self.refused: list[Refusal] = []

    def counting(self, own: Mapping[PwsName, Path]) -> dict[PwsName, tuple[Path, ...]]:
        """Return all files that may count: the judge's own, and what was handed in."""
        handed_in = self._handed_in()
        files = {name: (path,) for name, path in own.items() if name.kind not in HANDED_IN}
        if self.judge != self.submissions:
            released = {name: (path,) for name, path in own.items() if name.kind == "anotraces"}
            for name in sorted(released.keys() & handed_in.keys(), key=str):
                contents = {_content(path) for path in handed_in[name]}
                if _content(released[name][0]) not in contents:
                    problem = "another file was released before it came"
                    self._refuse(handed_in[name][-1], "after-release", problem)
            handed_in |= released
        return files | handed_in

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

    def _arrival(self, path: Path) -> Arrival | None:
        return (self.arrivals or {}).get(self._key(path))

    def _submitted(self) -> Iterator[Path]:
        flat = self.judge == self.submissions
        for path in sorted(self.submissions.glob("*") if flat else self.submissions.rglob("*")):
            if path.name.startswith(".") or path.is_dir() or path.name in _FRAME:
                continue
            if flat and _LIVE.fullmatch(path.name):
                continue
            if path.is_symlink() or not path.is_file():
                self._refuse(path, "not-a-file", "is a link or a device, and no file")
            else:
                yield path

    def _wrong(self, name: PwsName, path: Path) -> tuple[str, str] | None:
        """Return why a file cannot count whatever is in it."""
        team, number = f"{name.team:03d}", DATA_SETS[name.purpose]
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
        schedule = self.charter.schedule_of(f"{name.attacker or name.team:03d}")
        if self.arrivals is None or schedule is None or name.team == 0 == (name.attacker or 0):
            return None
        key = self._key(path)
        if key not in self.arrivals:
            return "no-arrival", f"{ARRIVALS} does not say when it came"
        at = self.arrivals[key].at.astimezone(UTC)
        answer = phase_at(schedule, at)
        gate = answer.obfuscated if name.kind == "anotraces" else answer.attacks
        if gate is Gate.OPEN:
            return None
        end = schedule.anonymization_end if name.kind == "anotraces" else schedule.attack_end
        begin = schedule.anonymization_begin if name.kind == "anotraces" else schedule.attack_begin
        if gate is Gate.LATE:
            return "late", f"came {at.isoformat()}; the phase ended {end.isoformat()}"
        return "early", f"came {at.isoformat()}; the phase began {begin.isoformat()}"


def _by_name(item: tuple[PwsName, list[Path]]) -> str:
    return str(item[0])


def _content(path: Path) -> bytes | None:
    """Return what is in a file, unpacked; None if it cannot be unpacked, which equals no release."""
    try:
        return read_bytes(path)
    except FileError:
        return None
