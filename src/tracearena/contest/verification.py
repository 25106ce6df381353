"""Verification of an archive: the contest is judged again, from the first file to the last award."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tracearena.contest import contest_file
from tracearena.contest.archive import (
    AUDIT_LOG,
    BOARD,
    PRELIMINARY,
    RESULTS,
    Archive,
    find_broken_log_entry,
    read_archive,
    read_audit_log,
    read_json,
)
from tracearena.contest.board import AttackKind, Target
from tracearena.contest.commitments import Commitment, verify
from tracearena.contest.contest_file import PSEUDONYMISED
from tracearena.contest.data import (
    EVERYBODY,
    JUDGE,
    MANIFEST,
    SUBMISSIONS,
    official_file_name,
    read_commitments,
)
from tracearena.contest.differences import (
    REFUSED,
    Completeness,
    Discrepancy,
    compare_tables,
    compare_values,
    read_small_table,
)
from tracearena.contest.file_judge import FileJudge, GroundTruth, is_release, read_obfuscated
from tracearena.contest.report_data import read_totals, write_results
from tracearena.contest.submissions import ContestFolder, read_submissions
from tracearena.errors import DataError, FileError, ParameterError, TracearenaError
from tracearena.files import digest_file, read_bytes
from tracearena.io.pwscup import PwsName
from tracearena.traces import Traces

_AGAIN = ".again"
_AUDIT_LOG = f"{RESULTS}/{AUDIT_LOG}"
_ResultScores: TypeAlias = tuple[dict[Target, float], dict[tuple[str, Target], float]]


@dataclass(frozen=True)
class Verification:
    """The result of judging an archive again.

    Attributes
    ----------
    name
        The contest.
    checked
        Numbers of files, commitments, releases, utilities and attacks that were compared.
    assumed
        Scores that could not be computed again, because the archive has no original traces.
    findings
        All differences; empty if there are none.
    signed_by
        The public key of the signature; None without a signature. Compare it with the key on the rules page
        of the contest, because anybody can make a key.
    """

    name: str
    checked: dict[str, int]
    assumed: tuple[str, ...]
    findings: tuple[Discrepancy, ...]
    signed_by: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether there are no differences."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return the verification as plain values for JSON."""
        return {
            "name": self.name,
            "right": self.is_right,
            "checked": dict(self.checked),
            "not_made_again": list(self.assumed),
            "signed_by": self.signed_by,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def verify_archive(path: str | PathLike[str], *, key: str | None = None) -> Verification:
    """Judge an archive from scratch, and compare everything with its content.

    These checks are made: every file has the hash in the manifest; every ID table (with the users of a live
    board) matches its commitment; every release is the upload under its ID table; utilities, s_R, s_T, board
    and awards equal the results to 10⁻¹². All submitted files are listed; all receipts of a contest on a
    server are in the published signed lists, and were judged or refused; the audit log has no gap. A file
    that is not an archive is an error; every other problem is a finding.

    Parameters
    ----------
    path
        The archive.
    key
        The public key from the rules page of the contest (64 hexadecimal digits). Without it, anybody may
        have signed the archive.
    """
    if key is not None and not re.fullmatch("[0-9a-f]{64}", key):
        raise ParameterError.of("key", key, "64 hexadecimal digits in lower case")
    with read_archive(path) as archive:
        return _ArchiveCheck(archive, Completeness(archive, key)).run()


@dataclass
class _ArchiveCheck:
    """The check of one archive."""

    archive: Archive
    uploads: Completeness
    findings: list[Discrepancy] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    signed_by: str | None = None

    @property
    def folder(self) -> Path:
        return self.archive.folder

    def run(self) -> Verification:
        """Look at everything, as far as one can get."""
        digests, files = self.archive.digests, self.archive.files()
        for name in sorted(digests.keys() | set(files)):
            found = digest_file(self.folder / name) if name in files else "no such file"
            self._compare("hash", name, digests.get(name, f"a line in {MANIFEST}"), found)
        self.checked["files"] = len(files)
        # Everybody had the very files that the judge had.
        for path in sorted((self.folder / EVERYBODY).glob("*")):
            own = (self.folder if path.name == contest_file.NAME else self.folder / JUDGE) / path.name
            if own.is_file():
                where = path.relative_to(self.folder).as_posix()
                self._compare("copy", where, digest_file(own), digest_file(path))
        with self._record_errors(SUBMISSIONS):
            self.signed_by = self.uploads.find_signer()
            self.findings += self.uploads.find_unlisted_files()
            if self.uploads.has_receipts:
                self.findings += self.uploads.find_bad_signatures()
                self.findings += self.uploads.find_wrong_receipts()
                self.checked["receipts"] = len(self.uploads.receipts)
                with self._record_errors(_AUDIT_LOG):
                    entries = read_audit_log(self.folder / _AUDIT_LOG)
                    broken = find_broken_log_entry(entries)
                    if broken is not None:
                        where = f"{_AUDIT_LOG}, entry {broken + 1}"
                        expected = "an entry that follows from the one before"
                        self._report("audit log", where, expected, "another")
                    self.checked["log entries"] = len(entries)
        with self._record_errors(contest_file.NAME):
            intake = read_submissions(self.folder, self.folder / contest_file.NAME, originals=False)
            # Scores that need missing originals are those of the results.
            scores: _ResultScores = {}, {}
            with self._record_errors(f"{RESULTS}/{BOARD}"):
                scores = _read_result_scores(self.folder / RESULTS / BOARD)
            desk = BlindJudge(intake, *scores)
            truths = [GroundTruth(desk, target) for target in intake.targets()]
            released = [truth for truth in truths if truth.is_released]
            self._check_commitments(released)
            self._check_releases(desk, truths)
            with self._record_errors(RESULTS):
                self._check_results(desk, released)
            self.assumed = tuple(desk.list_assumed_scores())
        named = self.archive.manifest.get("name")
        findings = tuple(dict.fromkeys(self.findings))
        return Verification(str(named), self.checked, self.assumed, findings, self.signed_by)

    def _check_commitments(self, released: Iterable[GroundTruth]) -> None:
        made: dict[str, Commitment] = {}
        with self._record_errors(EVERYBODY):
            made = read_commitments(self.folder)
        opened = set()
        for truth in released:
            name = _format_table_name(truth.target)
            opened.add(name)
            if name not in made:
                self._report("commitment", f"{JUDGE}/{name}", "a hash published before the attacks", "none")
                continue
            with self._record_errors(f"{JUDGE}/{name}"):
                known = made[name]
                if not verify(known.digest, truth.id_table, known.salt, truth.live):
                    self._report(
                        "commitment", f"{JUDGE}/{name}", f"the table of {known.digest}", "another table"
                    )
        for name in sorted(made.keys() - opened):
            self._report("commitment", f"{JUDGE}/{name}", "the table of a published hash", "no table")
        self.checked["commitments"] = len(made)

    def _check_releases(self, desk: BlindJudge, truths: Sequence[GroundTruth]) -> None:
        """What was released is what the team handed in; what is valid was released, and nothing else."""
        count = 0
        for truth in (truth for truth in truths if truth.is_released):
            path = truth.file("pubtraces")
            public = f"{JUDGE}/{path.name}"
            if not (self.folder / EVERYBODY / path.name).is_file():
                self._report("release", public, f"the same file in {EVERYBODY}", "none")
            with self._record_errors(public):
                upload = desk.intake.path("anotraces", truth.target)
                if upload is None:
                    self._report("release", public, "the upload that was released", "none")
                else:
                    if not desk.is_release(truth, upload):
                        expected = f"{upload.name} under the ID table"
                        self._report("release", public, expected, "other traces")
                    if truth.target[0] != PSEUDONYMISED:
                        content = read_bytes(upload)
                        files = desk.intake.submissions.rglob(f"{upload.name.removesuffix('.gz')}*")
                        if all(read_bytes(file) != content for file in files if file.is_file()):
                            where = f"{JUDGE}/{upload.name}"
                            self._report("upload", where, "a file that the team handed in", "another file")
                count += 1
        self.checked["releases"] = count
        for truth in truths:
            name = f"{JUDGE}/{official_file_name('pubtraces', int(truth.target[0]), truth.target[1])}"
            with self._record_errors(name):
                valid = desk.rules.is_valid(desk.select_submission(truth).utility)
                words = {True: "a release", False: "no release"}
                self._compare("release", name, words[valid], words[truth.is_released])

    def _check_results(self, desk: BlindJudge, released: Iterable[GroundTruth]) -> None:
        judged = desk.judge()
        totals = self.folder / PRELIMINARY
        preliminary = read_totals(totals) if totals.is_file() else None
        board, awards = judged.board(), judged.awards(preliminary)
        self.checked["utilities"] = len(judged.utilities) - len(desk.assumed_utilities)
        self.checked["attacks"] = len(judged.attacks) - len(desk.assumed_inferences)
        (self.folder / _AGAIN).mkdir()
        for path in write_results(self.folder / _AGAIN, board, awards, judged.refused, preliminary):
            name = f"{RESULTS}/{path.name}"
            if path.name == REFUSED:
                with self._record_errors(name):
                    self.findings += self.uploads.find_wrong_refusals(read_small_table(path)[1:])
            if path.name in (REFUSED, BOARD):
                continue
            with self._record_errors(name):
                found = read_bytes(self.folder / name).decode("utf-8", "replace")
                self.findings += compare_tables("score", name, path.read_text("utf-8"), found)
        with self._record_errors(f"{RESULTS}/{BOARD}"):
            found_board = read_json(self.folder / RESULTS / BOARD)
            expected = read_json(self.folder / _AGAIN / BOARD)
            # The judge's own table has uploads too that are not in the archive: it is compared by itself.
            expected["refused"] = [row[:2] for row in self.uploads.refusal_rows]
            if isinstance(found_board, dict):
                refused = found_board.get("refused")
                if isinstance(refused, list) and all(isinstance(one, dict) for one in refused):
                    refused = [[one.get("file"), one.get("code")] for one in refused]
                found_board["refused"] = refused
            self.findings += compare_values("score", f"{RESULTS}/{BOARD}", expected, found_board)
        manifest = self.archive.manifest
        winners = {award.name: list(award.winners) for award in awards}
        self.findings += compare_values("award", f"{MANIFEST}, awards", winners, manifest.get("awards"))
        tables = sorted(_format_table_name(truth.target) for truth in released)
        self.findings += compare_values("release", f"{MANIFEST}, released", tables, manifest.get("released"))

    def _compare(self, what: str, where: str, expected: str, found: str) -> None:
        if expected != found:
            self._report(what, where, expected, found)

    def _report(self, what: str, where: str, expected: str, found: str) -> None:
        self.findings.append(Discrepancy(what, where, expected, found))

    @contextmanager
    def _record_errors(self, where: str) -> Iterator[None]:
        """Turn what cannot be read or does not fit into a finding, and continue after the block."""
        try:
            yield
        except FileNotFoundError as error:
            missing = FileNotFoundError(error.errno, error.strerror, self._name_inside(error.filename))
            self._report("unreadable", where, "what the judge can read", str(missing))
        except TracearenaError as error:
            shown = error if error.path is None else error.with_path(self._name_inside(error.path))
            file = shown.path if isinstance(shown, FileError) else where
            self._report("unreadable", file, "what the judge can read", str(shown))

    def _name_inside(self, path: str) -> str:
        """Return how a file is called inside the archive."""
        return str(path).removeprefix(f"{self.folder}/")


def _read_result_scores(path: Path) -> _ResultScores:
    """Return the utilities and the scores of trace inference that the results say."""
    board = read_json(path)
    try:
        utilities = {(row["team"], row["data_set"]): row["utility"] for row in board["board"]}
        inferences = {
            (row["attacker"], (row["target"], row["data_set"])): row["score"]
            for row in board["attacks"]
            if row["kind"] == AttackKind.TRACE_INFERENCE
        }
    except (KeyError, TypeError):
        raise FileError.whole(path, "is not a board", "not-a-board") from None
    if not all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1)
        for value in (*utilities.values(), *inferences.values())
    ):
        raise FileError.whole(path, "has scores that are not valid", "not-a-board")
    return utilities, inferences


def _format_table_name(target: Target) -> str:
    return str(official_file_name("ptable", int(target[0]), target[1]))


# The judge without original traces: what can be scored again is, other scores are taken from elsewhere.


class BlindJudge(FileJudge):
    """A judge to whom the utilities and s_T of some data sets are known from elsewhere.

    Parameters
    ----------
    intake
        What lies in the folder.
    utilities
        Utility of each data set whose original traces are not there.
    inferences
        s_T of each attack on such a data set, by attacker and target.

    Attributes
    ----------
    assumed_utilities, assumed_inferences
        The scores that were taken from there.
    """

    def __init__(
        self,
        intake: ContestFolder,
        utilities: Mapping[Target, float],
        inferences: Mapping[tuple[str, Target], float],
    ) -> None:
        super().__init__(intake)
        self.utilities, self.inferences = utilities, inferences
        self.assumed_utilities: set[Target] = set()
        self.assumed_inferences: set[tuple[str, Target]] = set()

    def require_agreement(self, truth: GroundTruth) -> None:
        if truth.has_original:
            super().require_agreement(truth)

    def score_utility(self, truth: GroundTruth, path: Path) -> float | None:
        if truth.has_original:
            return super().score_utility(truth, path)
        self.assumed_utilities.add(truth.target)
        return self.utilities.get(truth.target)

    def score_attack(self, truth: GroundTruth, attacker: str, name: PwsName, path: Path) -> float | None:
        if truth.has_original or name.kind == "etable":
            return super().score_attack(truth, attacker, name, path)
        self.assumed_inferences.add((attacker, truth.target))
        return self.inferences.get((attacker, truth.target))

    def list_assumed_scores(self) -> list[str]:
        """Return the scores that were not computed again, in words."""
        return [
            *(f"utility of team {team}, data set {n}" for team, n in sorted(self.assumed_utilities)),
            *(
                f"s_T of {who} on team {team}, data set {n}"
                for who, (team, n) in sorted(self.assumed_inferences)
            ),
        ]

    def is_release(self, truth: GroundTruth, handed_in: Path) -> bool:
        """Whether the released traces are the submitted ones, under the pseudonyms of the ID table."""
        if truth.has_original:
            return super().is_release(truth, handed_in)
        obfuscated = read_obfuscated(handed_in, make_placeholder_traces(truth), self.rules)
        return is_release(obfuscated, truth.public, truth.id_table)


def make_placeholder_traces(truth: GroundTruth) -> Traces:
    """Return traces with the users and instants of the original, at no place in particular.

    They follow from what was released and the ID table, and are enough to read obfuscated traces by.
    """
    public, table = truth.public, truth.id_table
    if not np.array_equal(public.user_ids, table.pseudonyms):
        raise DataError(f"{truth.file('pubtraces').name} has other pseudonyms than the ID table")
    order = np.argsort(table.user_ids)
    named = public.take_users(order).with_user_ids(table.user_ids[order])
    return Traces.like(named.without_timestamps(), np.zeros(named.n_events, np.int32))
