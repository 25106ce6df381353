"""The judge: checks and scores every submitted file.

`judge` goes through a whole folder; `score_obfuscated`, `score_table` and `score_traces` do the same for
one file. A score is cached by the content of all files that it depends on (`ScoreCache`), so that an
interrupted run is resumed and a second run changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracearena.contest.board import (
    AttackKind,
    AttackRecord,
    Award,
    Board,
    Roster,
    Target,
    UtilityRecord,
    make_awards,
    make_board,
)
from tracearena.contest.commitments import read_live_users, select_final_users
from tracearena.contest.data import DATA_SETS, REGIONS, TIMES, live_file_name
from tracearena.contest.rules import Rules
from tracearena.contest.submissions import SCORE_CACHE, ContestFolder, Refusal, ScoreCache
from tracearena.engine import report
from tracearena.errors import DataError, FileError
from tracearena.io import pwscup
from tracearena.io.pwscup import PwsName
from tracearena.metrics import reidentification_score, trace_inference_score, utility_score
from tracearena.traces import IdTable, ObfuscatedTraces, Places, Traces
from tracearena.traces._arrays import find_positions

ANSWER_KINDS = {AttackKind.REIDENTIFICATION: "etable", AttackKind.TRACE_INFERENCE: "etraces"}
_KINDS = {name: kind for kind, name in ANSWER_KINDS.items()}

_Attack: TypeAlias = tuple[str, PwsName, tuple[Path, ...]]
"""Who attacks, the name of the file, and its versions in the order in which they came."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The result of `judge`.

    Attributes
    ----------
    intake
        The files of the folder.
    rules
        The rules of the contest.
    utilities, attacks
        The records that count.
    refused
        Files that do not count, because of their names or their contents.
    places, sensitive_places
        Number of regions, and of sensitive regions; without sensitive regions their weight has no effect.
    """

    intake: ContestFolder
    rules: Rules
    utilities: tuple[UtilityRecord, ...]
    attacks: tuple[AttackRecord, ...]
    refused: tuple[Refusal, ...]
    places: int
    sensitive_places: int

    def board(self) -> Board:
        """Return the board of the submissions that count."""
        roster = Roster(
            teams=self.intake.teams,
            pseudonymised=self.intake.pseudonym_team,
            samples=sorted({attack for attack, _ in self.intake.answers}),
        )
        return make_board(self.rules, roster, self.utilities, self.attacks)

    def awards(self, preliminary: dict[str, float] | None = None) -> tuple[Award, ...]:
        """Return the awards by that board."""
        return make_awards(self.board(), preliminary)


@dataclass(frozen=True)
class CountingSubmission:
    """What counts of what a team handed in: the file, None if there is none, and its utility."""

    path: Path | None
    utility: float | None


class FileJudge:
    """The judge at work on one folder.

    Parameters
    ----------
    intake
        What lies there.
    rules
        Rules instead of the contest's own, such as another way to rank.
    """

    def __init__(self, intake: ContestFolder, rules: Rules | None = None) -> None:
        self.intake, self.rules = intake, rules or intake.rules
        self.ledger = ScoreCache(intake.judge / SCORE_CACHE)
        self.refused = list(intake.refused)

    @cached_property
    def frame(self) -> list[Path]:
        """The tables of regions and times that are there."""
        found = [self.intake.judge / name for name in (REGIONS, TIMES)]
        return [path for path in found if path.is_file()]

    @cached_property
    def places(self) -> Places:
        """The regions: the contest's own, or those of 2019."""
        own = self.intake.judge / REGIONS
        return pwscup.read_places(own) if own.is_file() else pwscup.contest_regions()

    @cached_property
    def times(self) -> pwscup.ContestTimes | None:
        """What the times mean; None for the contest's default times."""
        own = self.intake.judge / TIMES
        return pwscup.read_times(own) if own.is_file() else None

    def judge(self) -> Judgement:
        """Check and score everything."""
        utilities: list[UtilityRecord] = []
        attacks: list[AttackRecord] = []
        targets = self.intake.targets()
        versions = sorted(self.intake.versions.items(), key=lambda item: str(item[0]))
        answers = sorted(self.intake.answers.items(), key=lambda item: str(item[1]))
        about: dict[Target, list[_Attack]] = {target: [] for target in targets}
        for attacker, name, paths in (
            *((f"{name.attacker:03d}", name, paths) for name, paths in versions if name.kind in _KINDS),
            *((attack, name, (path,)) for (attack, name), path in answers),
        ):
            target = f"{name.team:03d}", DATA_SETS[name.purpose]
            if target not in about:
                problem = f"is about team {target[0]}, but the contest has {len(self.intake.teams)} teams"
                raise FileError.whole(paths[-1], problem, "unknown-target")
            about[target].append((attacker, name, paths))
        for done, target in enumerate(targets):
            report(done, len(targets))
            truth = GroundTruth(self, target)
            self.require_agreement(truth)
            handed_in = self.select_submission(truth)
            if handed_in.utility is not None:
                record = UtilityRecord(team=target[0], utility=handed_in.utility, data_set=target[1])
                utilities.append(record)
            attacks += self._score_attacks(truth, handed_in, about[target])
        report(len(targets), len(targets))
        self.ledger.sort_rows()
        refused = tuple(sorted(self.refused, key=lambda one: (one.file, one.code)))
        counts = len(self.places), int(self.places.sensitive.sum())
        rules = self.rules
        if not self.intake.has_contest_file:
            # Without a file of rules the numbers of people and days are those of the data.
            first = GroundTruth(self, targets[0])
            per_day = first.original.clock.instants_per_day
            rules = replace(
                rules,
                users=first.original.n_users,
                reference_days=max(first.reference.n_instants // per_day, 1),
                original_days=max(first.original.n_instants // per_day, 1),
            )
        return Judgement(self.intake, rules, tuple(utilities), tuple(attacks), refused, *counts)

    def select_submission(self, truth: GroundTruth) -> CountingSubmission:
        """Return what counts of all that a team handed in: the last valid file, or the last one at all."""
        newest_first = reversed(self.intake.submission_files("anotraces", truth.target))
        scored = ((path, self.score_utility(truth, path)) for path in newest_first)
        found = self.rules.select_counting((path, score) for path, score in scored if score is not None)
        if found is not None:
            return CountingSubmission(*found)
        return CountingSubmission(None, 1.0 if truth.target[0] == self.intake.pseudonym_team else None)

    def score_utility(self, truth: GroundTruth, path: Path) -> float | None:
        """Return the utility of a file with obfuscated traces; None if the checker refuses it."""
        settings = [self.rules.utility_rule, self.rules.utility_limit_km, *self._limits()]
        return self._score_file(
            "utility", path, truth.files, settings, lambda: score_obfuscated(path, truth.original, self.rules)
        )

    def _score_attacks(
        self, truth: GroundTruth, handed_in: CountingSubmission, attacks: list[_Attack]
    ) -> Iterator[AttackRecord]:
        valid = self.rules.is_valid(handed_in.utility)
        released = valid and truth.is_released
        if released and handed_in.path is not None and not self.is_release(truth, handed_in.path):
            problem = f"is not {handed_in.path.name} under the pseudonyms of {truth.file('ptable').name}"
            raise FileError.whole(truth.file("pubtraces"), problem, "contradiction")
        for attacker, name, paths in attacks:
            if not released:
                why = "is not valid" if not valid else "is not released"
                team, number = truth.target
                self._refuse(paths[-1], "no-target", f"data set {number} of team {team} {why}")
                continue
            scores = (self.score_attack(truth, attacker, name, path) for path in reversed(paths))
            score = next((score for score in scores if score is not None), None)
            if score is not None:
                yield AttackRecord(
                    attacker=attacker,
                    target=truth.target[0],
                    kind=_KINDS[name.kind],
                    score=score,
                    data_set=truth.target[1],
                )

    def score_attack(self, truth: GroundTruth, attacker: str, name: PwsName, path: Path) -> float | None:
        """Return the privacy that an attack leaves; None if the checker refuses its file."""
        if name.kind == "etable":
            files = [truth.file("ptable"), truth.file("reftraces"), *self.frame, *truth.among_files]
            return self._score_file(
                "reidentification",
                path,
                files,
                self._limits(),
                lambda: score_table(path, truth.id_table, truth.reference.user_ids, self.rules, truth.among),
            )
        settings = [self.rules.sensitive_weight, self.rules.inference_limit_km, *self._limits()]
        return self._score_file(
            "trace-inference",
            path,
            [*truth.files, *truth.among_files],
            settings,
            lambda: score_traces(path, truth.original, self.rules, truth.among),
        )

    def _score_file(
        self, what: str, path: Path, files: list[Path], settings: list[Any], score: Callable[[], float]
    ) -> float | None:
        """Return the score of a file; what the checker refuses is written down, and has none."""

        def find() -> dict[str, Any]:
            try:
                return {"score": score()}
            except FileError as error:
                if error.path != str(path):
                    raise
                shown = error.faults[:3]
                reason, more = "; ".join(map(str, shown)), error.total - len(shown)
                reason += f"; … and {more:,} more" if more > 0 else ""
                return {"code": error.faults[0].code, "reason": reason}

        found = self.ledger.get_or_compute(what, [path, *files], settings, find)
        if "score" in found:
            return float(found["score"])
        self._refuse(path, found["code"], found["reason"])
        return None

    def require_agreement(self, truth: GroundTruth) -> None:
        """Refuse data that is not what the rules speak of."""
        files = [truth.file("orgtraces"), truth.file("reftraces"), *self.frame]

        def measure() -> dict[str, int]:
            per_day = truth.original.clock.instants_per_day
            return {
                "users": truth.original.n_users,
                "reference_users": truth.reference.n_users,
                "reference_days": truth.reference.n_instants // per_day,
                "original_days": truth.original.n_instants // per_day,
            }

        found = self.ledger.get_or_compute("frame", files, None, measure)
        if not self.intake.has_contest_file:
            return
        wanted = {"users": self.rules.users, "reference_users": self.rules.users}
        wanted |= {name: getattr(self.rules, name) for name in ("reference_days", "original_days")}
        for name, value in wanted.items():
            if found[name] != value:
                which = truth.file("orgtraces" if name in ("users", "original_days") else "reftraces")
                what = name.removeprefix("reference_").replace("_", " ")
                problem = f"has {found[name]} {what}, and the rules say {value}: data and rules must agree"
                raise FileError.whole(which, problem, "other-data")

    def is_release(self, truth: GroundTruth, handed_in: Path) -> bool:
        """Whether the released traces are the submitted ones, under the pseudonyms of the ID table."""
        files = [handed_in, truth.file("pubtraces"), truth.file("ptable"), *truth.files]

        def compare() -> bool:
            obfuscated = read_obfuscated(handed_in, truth.original, self.rules)
            return is_release(obfuscated, truth.public, truth.id_table)

        return bool(self.ledger.get_or_compute("release", files, self._limits(), compare))

    def _refuse(self, path: Path, code: str, reason: str) -> None:
        self.refused.append(Refusal(self.intake.display_path(path), code, reason))

    def _limits(self) -> list[Any]:
        return [self.rules.largest_file_mb, self.rules.largest_listed_ids, self.rules.utility_rule == "2019"]


def judge(intake: ContestFolder, rules: Rules | None = None) -> Judgement:
    """Check and score all submissions in the folder of a contest."""
    return FileJudge(intake, rules).judge()


# Checking and scoring one file.

SCORER_VERSION = 1
"""It grows whenever the same files would get another score."""


def read_obfuscated(path: Path, original: Traces, rules: Rules) -> ObfuscatedTraces:
    """Read what a team hands in, within the limits of the rules."""
    return pwscup.read_obfuscated(
        path,
        original,
        allow_repetition=rules.utility_rule == "2019",
        max_bytes=rules.largest_file_mb * 2**20,
        max_listed_ids=rules.largest_listed_ids,
    )


def score_obfuscated(path: Path, original: Traces, rules: Rules) -> float:
    """Check obfuscated traces and return their utility."""
    return compute_utility(original, read_obfuscated(path, original, rules), rules)


def score_table(
    path: str | PathLike[str], id_table: IdTable, users: Any, rules: Rules, among: Any = None
) -> float:
    """Check an inferred ID table and return the privacy that it leaves."""
    limit = rules.largest_file_mb * 2**20
    guess = pwscup.read_inferred_table(path, id_table.pseudonyms, users=users, max_bytes=limit)
    return compute_reidentification(id_table, guess, among)


def score_traces(path: str | PathLike[str], original: Traces, rules: Rules, among: Any = None) -> float:
    """Check inferred traces and return the privacy that they leave."""
    guess = pwscup.read_inferred_traces(path, original, max_bytes=rules.largest_file_mb * 2**20)
    return compute_trace_inference(original, guess, rules, among)


def compute_utility(original: Traces, obfuscated: ObfuscatedTraces, rules: Rules) -> float:
    """Return the utility s_U of obfuscated traces that are checked already."""
    score = utility_score(original, obfuscated, rule=rules.utility_rule, limit_km=rules.utility_limit_km)
    return score.utility


def compute_reidentification(id_table: IdTable, guess: IdTable, among: Any = None) -> float:
    """Return the privacy s_R that an inferred table leaves, over the pseudonyms of the users who count.

    Parameters
    ----------
    id_table, guess
        Who is who, and what the attacker says; both answer the same pseudonyms.
    among
        Ids of the users who count; None for all.

    Examples
    --------
    >>> truth, guess = IdTable([4, 5, 6], [2, 3, 1]), IdTable([4, 5, 6], [2, 2, 1])
    >>> compute_reidentification(truth, guess, among=[2, 3])
    0.5
    """
    score = reidentification_score(id_table, guess)
    if among is not None:
        # Both tables answer the same pseudonyms in the same order, or there would be no score.
        rows = _locate_users(among, id_table.user_ids)
        score = reidentification_score(_select_rows(id_table, rows), _select_rows(guess, rows))
    return score.reidentification


def compute_trace_inference(original: Traces, guess: Traces, rules: Rules, among: Any = None) -> float:
    """Return the privacy s_T that inferred traces leave, over the events of the users who count.

    Parameters
    ----------
    original, guess
        The truth, and a place for each of its events.
    rules
        Weight of sensitive places, and distance from which an inference has failed.
    among
        Ids of the users who count; None for all.
    """
    if among is not None:
        original = original.take_users(_locate_users(among, original.user_ids))
    return trace_inference_score(
        original, guess, sensitive_weight=rules.sensitive_weight, limit_km=rules.inference_limit_km
    ).trace_inference


def _locate_users(among: Any, user_ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return where the users who count stand, ascending; each must be there, and once."""
    wanted = np.asarray(among)
    chosen = find_positions(wanted, user_ids)
    if not len(chosen) or (chosen < 0).any() or len(np.unique(chosen)) < len(chosen):
        raise DataError(f"the {len(wanted):,} users that count must be different users of the data set")
    return np.sort(chosen)


def _select_rows(table: IdTable, rows: NDArray[np.int64]) -> IdTable:
    return IdTable(table.pseudonyms[rows], table.user_ids[rows])


def apply_id_table(obfuscated: ObfuscatedTraces, table: IdTable) -> ObfuscatedTraces:
    """Return obfuscated traces under the pseudonyms of a table."""
    order = np.searchsorted(obfuscated.user_ids, table.user_ids)
    return obfuscated.take_users(order).with_user_ids(table.pseudonyms)


def is_release(obfuscated: ObfuscatedTraces, public: ObfuscatedTraces, table: IdTable) -> bool:
    """Whether released traces are the obfuscated ones under the pseudonyms of a table."""
    if not np.array_equal(public.user_ids, table.pseudonyms):
        return False
    if not np.array_equal(np.sort(table.user_ids), obfuscated.user_ids):
        return False
    named = apply_id_table(obfuscated, table)
    if not named.has_rows_of(public) or not np.array_equal(named.is_set, public.is_set):
        return False
    single = ~named.is_set
    if not np.array_equal(named.codes[single], public.codes[single]):
        return False
    # Every event must list the same places, however the sets are numbered.
    pairs = [traces.pairs() for traces in (named, public)]
    listed = [np.lexsort((pair.place, pair.event)) for pair in pairs]
    return all(
        np.array_equal(getattr(pairs[0], name)[listed[0]], getattr(pairs[1], name)[listed[1]])
        for name in ("event", "place")
    )


# What the judge knows of one data set: the secrets that every score depends on.


class GroundTruth:
    """What the judge knows of one data set, read when it is asked for."""

    def __init__(self, desk: FileJudge, target: Target) -> None:
        self.desk, self.target = desk, target

    def file(self, kind: str) -> Path:
        """Return one of the judge's own files, which must be there."""
        found = self.desk.intake.path(kind, self.target)
        if found is None:
            team, number = self.target
            raise DataError.about(self.desk.intake.judge, f"has no {kind} of team {team}, data set {number}")
        return found

    @property
    def has_original(self) -> bool:
        """Whether the traces of both times are there."""
        paths = [self.desk.intake.path(kind, self.target) for kind in ("orgtraces", "reftraces")]
        return None not in paths

    @property
    def files(self) -> list[Path]:
        """The files that every score of this data set depends on."""
        return [self.file("orgtraces"), *self.desk.frame]

    @cached_property
    def original(self) -> Traces:
        """The traces that were defended."""
        return pwscup.read_traces(self.file("orgtraces"), self.desk.places, self.desk.times)

    @cached_property
    def reference(self) -> Traces:
        """The traces that everybody knows."""
        return pwscup.read_traces(self.file("reftraces"), self.desk.places, self.desk.times)

    @cached_property
    def id_table(self) -> IdTable:
        """Who is who."""
        return pwscup.read_id_table(self.file("ptable"))

    @cached_property
    def live(self) -> NDArray[Any] | None:
        """The users of the live board, if the rules have one: some of the ID table, and not all."""
        path = self.live_file
        if path is None:
            return None
        found = read_live_users(path)
        known = np.isin(found, self.id_table.user_ids)
        if not known.all() or len(found) == len(self.id_table):
            problem = f"its users must be some of {self.file('ptable').name}, and not all"
            raise FileError.whole(path, problem, "unknown-user")
        return found

    @property
    def live_file(self) -> Path | None:
        """The file with the users of the live board; None if the rules have no live board."""
        if self.desk.rules.mode != "live":
            return None
        path = self.desk.intake.judge / live_file_name(int(self.target[0]), self.target[1])
        if not path.is_file():
            raise FileError.whole(path, "is missing; rules with a live board need it", "missing")
        return path

    @property
    def among(self) -> NDArray[Any] | None:
        """The users who decide the final scores; None for all."""
        return None if self.live is None else select_final_users(self.id_table.user_ids, self.live)

    @property
    def among_files(self) -> list[Path]:
        """The files that say who decides."""
        return [] if self.live_file is None else [self.file("ptable"), self.live_file]

    @cached_property
    def public(self) -> ObfuscatedTraces:
        """What was released."""
        repeated = self.desk.rules.utility_rule == "2019"
        return pwscup.read_anonymized(
            self.file("pubtraces"), self.desk.places, self.desk.times, allow_repetition=repeated
        )

    @property
    def is_released(self) -> bool:
        """Whether there are released traces and their ID table."""
        return None not in (
            self.desk.intake.path("ptable", self.target),
            self.desk.intake.path("pubtraces", self.target),
        )
