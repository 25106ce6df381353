"""The archive of a contest that is over, packed so that anybody can judge the contest again.

The organiser asks for it; the judge makes it, since the web process can open nothing that is sealed.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from tracearena.contest import Refusal, Role, make_awards, write_results
from tracearena.contest.archive import AUDIT_LOG, RESULTS, WRITE_UPS, write_archive
from tracearena.contest.commitments import RECEIPTS, RECEIPTS_HEADER, format_live_users
from tracearena.contest.contest_file import NAME, format_contest_file
from tracearena.contest.data import (
    EVERYBODY,
    JUDGE,
    REGIONS,
    SALTS,
    SUBMISSIONS,
    TIMES,
    live_file_name,
    official_file_name,
)
from tracearena.contest.differences import refusal_label
from tracearena.contest.file_judge import ANSWER_KINDS
from tracearena.contest.submissions import ARRIVALS, HEADER, answer_path
from tracearena.errors import DataError, FileError
from tracearena.files import write_csv
from tracearena.io import pwscup
from tracearena.server import clock, own_results, results
from tracearena.server.judge.scoring import JudgeFiles, find_attack_kinds
from tracearena.server.models import Contest, DataSet, Job, State, Submission, Team, UploadKind
from tracearena.server.operations.backup import write_backup
from tracearena.server.store import downloads, queue
from tracearena.server.store.audit_log import list_public_entries, log_act
from tracearena.server.store.folder import Folder
from tracearena.server.submissions import OFFICIAL_KINDS
from tracearena.traces import ObfuscatedTraces

_UPLOAD_FILE_KINDS = {UploadKind.OBFUSCATED: "anotraces", **OFFICIAL_KINDS}
_VALID_STATES = (State.CHECKED, State.SCORED, State.PUBLISHED)
EXPORT_KIND = "export"
_LONGEST_EXPORT_NAME = 40
_MOST_EXPORTS = 1_000


def export_contest(
    bench: JudgeFiles,
    path: str | PathLike[str],
    *,
    include_originals: bool = False,
    actor: str = "command line",
) -> dict[str, Any]:
    """Write everything that can be given away to one archive, and return its manifest.

    The original traces go with it where the people are virtual users of the embedded city; those of an
    organiser's own people only if that is asked for. The audit log says which `actor` made it.

    Raises
    ------
    DataError
        Before the results are published, and while the judge has work to do.
    """
    if Path(path).exists():
        raise FileError.whole(path, "already exists; choose another name", "exists")
    contest = Contest.get_current()
    require_exportable(contest)
    originals = include_originals or contest.people == "virtual"
    with tempfile.TemporaryDirectory(prefix=".export-", dir=Path(path).absolute().parent) as place:
        _ExportFolder(bench, contest, Path(place)).write(originals=originals)
        manifest = write_archive(place, path, originals=originals, signing_key=bench.signing_key)
    log_act(actor, "contest exported", originals=originals, files=len(manifest["sha256"]))
    return manifest


def require_exportable(contest: Contest) -> None:
    """Refuse to export what is not published, not finished, or not what the scores say."""
    if not results.is_published(contest, clock.now()):
        raise DataError(_("the results are not published yet; an export would reveal them"))
    # The judge makes an archive as one of its jobs.
    waiting = queue.find_open_jobs().exclude(kind=EXPORT_KIND).count()
    if waiting:
        words = _("the judge has %(waiting)s jobs left; export when all are done (`contest status`)")
        raise DataError(words % {"waiting": waiting})
    final = results.find_final_snapshot()
    if final is None or results.read_snapshot(final) != results.build_result(results.build_current_board()):
        raise DataError(_("the published results do not match the scores; `contest rescore` finds out why"))


class _ExportFolder:
    """The folder of a contest, as `tracearena.contest.data` lays it out, made of a server's."""

    def __init__(self, bench: JudgeFiles, contest: Contest, place: Path) -> None:
        self.bench, self.contest, self.place = bench, contest, place
        for name in (JUDGE, EVERYBODY, SUBMISSIONS, RESULTS):
            (place / name).mkdir()
        self.judge, self.submissions = place / JUDGE, place / SUBMISSIONS

    def write(self, *, originals: bool) -> None:
        """Write everything."""
        self._write_public_files()
        for data_set in DataSet.objects.select_related("team", "counts"):
            team, number = int(data_set.team.number), data_set.number
            kinds = ["reftraces"] if originals or data_set.released_at is not None else []
            for kind in [*kinds, *(["orgtraces"] if originals else [])]:
                name = str(official_file_name(kind, team, number))
                (self.judge / name).write_bytes(self.bench.unseal(self.bench.folder.for_judge(name)))
            if data_set.released_at is not None:
                self._write_release(data_set)
        # The sample teams' traces, which everybody has.
        for sample in Team.objects.filter(role=Role.SAMPLE):
            for path in (self.place / EVERYBODY).glob(f"*traces_team{sample.number}_*.csv"):
                (self.judge / path.name).write_bytes(path.read_bytes())
        self._write_submissions()
        # Every receipt, with what opens its line in the published lists.
        rows = [
            (one.pk, one.team.number, one.received_at.isoformat(), one.sha256, one.salt, one.state)
            for one in Submission.objects.select_related("team").order_by("pk")
        ]
        write_csv(self.submissions / RECEIPTS, RECEIPTS_HEADER, rows)
        board = results.build_current_board()
        write_results(self.place / RESULTS, board, make_awards(board), list(_list_refusals()))
        written = json.dumps(own_results.list_write_ups(), indent=1, ensure_ascii=False)
        (self.place / RESULTS / WRITE_UPS).write_text(written + "\n", encoding="utf-8")
        log_text = json.dumps(list_public_entries(), indent=1, ensure_ascii=False)
        (self.place / RESULTS / AUDIT_LOG).write_text(log_text + "\n", encoding="utf-8")

    def _write_public_files(self) -> None:
        everybody = self.bench.folder.everybody
        for path in everybody.iterdir():
            if path.is_file() and not path.name.startswith("."):
                (self.place / EVERYBODY / path.name).write_bytes(path.read_bytes())
        # The contest as it was held: with the schedule and the names that it had in the end.
        text = format_contest_file(downloads.build_contest_file(self.contest).for_everybody)
        for folder in (self.place, self.place / EVERYBODY):
            (folder / NAME).write_text(text, encoding="utf-8")
        for name in (REGIONS, TIMES, SALTS):
            (self.judge / name).write_bytes((everybody / name).read_bytes())

    def _write_release(self, data_set: DataSet) -> None:
        """Write what was released, who is who, and the judge's own attacks."""
        team, number = int(data_set.team.number), data_set.number
        secret = self.bench.read_secret(data_set)
        public = str(official_file_name("pubtraces", team, number))
        (self.judge / public).write_bytes((self.bench.folder.everybody / public).read_bytes())
        pwscup.write_id_table(secret.table, self.judge / str(official_file_name("ptable", team, number)))
        if secret.live is not None:
            (self.judge / live_file_name(team, number)).write_text(format_live_users(secret.live))
        released = self.judge / str(official_file_name("anotraces", team, number))
        if data_set.counts is None:
            pwscup.write_obfuscated(
                ObfuscatedTraces.from_traces(self.bench.read_original(data_set)), released
            )
        else:
            released.write_bytes(self.bench.read_upload(data_set.counts))
        for attack, kind in find_attack_kinds(self.contest.rules.sample_attacks).items():
            name = official_file_name(ANSWER_KINDS[kind], team, number, attacker=0)
            path = answer_path(self.judge, attack, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.bench.unseal(self.bench.answer_path(attack, data_set, ANSWER_KINDS[kind])))

    def _write_submissions(self) -> None:
        """Write every file that the checker took, each in a folder of its receipt, and when it came."""
        arrivals = []
        valid = Submission.objects.filter(state__in=_VALID_STATES)
        for one in valid.select_related("team", "data_set__team"):
            attacker = None if one.kind == UploadKind.OBFUSCATED else int(one.team.number)
            kind, target = _UPLOAD_FILE_KINDS[UploadKind(one.kind)], int(one.data_set.team.number)
            official = official_file_name(kind, target, one.data_set.number, attacker=attacker)
            path = self.submissions / f"team{one.team.number}" / f"{one.pk:06d}" / str(official)
            path.parent.mkdir(parents=True)
            path.write_bytes(self.bench.read_upload(one))
            name = path.relative_to(self.submissions).as_posix()
            arrivals.append((name, one.received_at.isoformat(), one.pk))
        write_csv(self.submissions / ARRIVALS, HEADER, sorted(arrivals))


def _list_refusals() -> Iterator[Refusal]:
    """Yield what does not count, and why."""
    for one in Submission.objects.exclude(state__in=_VALID_STATES).select_related("team").order_by("pk"):
        reason = one.reason or "came after the end of the phase"
        verdict = one.verdict or {"code": one.state, "reason": reason}
        yield Refusal(refusal_label(one.team.number, one.pk), str(verdict["code"]), str(verdict["reason"]))


def request_export(actor: str, *, for_everybody: bool) -> str:
    """Let the judge make an archive, and return the name that it will have.

    Parameters
    ----------
    actor
        Who asks, for the audit log.
    for_everybody
        Whether visitors see it among the past contests; otherwise it is for organisers.

    Raises
    ------
    DataError
        Before the results are published, while the judge has other work, and while it makes one already.
    """
    with transaction.atomic():
        contest = Contest.objects.select_for_update().get(pk=1)
        require_exportable(contest)
        if is_export_pending():
            raise DataError(_("the judge is already making an archive; wait until it is ready"))
        folder: Folder = settings.CONTEST_FOLDER
        # A name of plain letters and digits that no archive has and no job will make.
        plain = _spell_plainly(contest.name)
        names = [f"{plain}.zip", *(f"{plain}-{number}.zip" for number in range(2, _MOST_EXPORTS))]
        name = next(
            name
            for name in names
            if not any((place / name).exists() for place in (folder.archive, folder.exports))
            and not Job.objects.filter(key=f"{EXPORT_KIND}/{name}").exists()
        )
        queue.enqueue(EXPORT_KIND, f"{EXPORT_KIND}/{name}", {"name": name, "for_everybody": for_everybody})
        log_act(actor, "archive asked for", name=name, for_everybody=for_everybody)
    return name


def _spell_plainly(name: str) -> str:
    """Return a name for a file, of plain letters and digits.

    >>> _spell_plainly("Söhne & Co. 2026"), _spell_plainly("金曜日")
    ('sohne-co-2026', 'contest')
    """
    letters = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    plain = re.sub("[^a-z0-9]+", "-", letters).strip("-")
    return plain[:_LONGEST_EXPORT_NAME].strip("-") or "contest"


def is_export_pending() -> bool:
    """Whether the judge has an archive to make."""
    return queue.find_open_jobs(EXPORT_KIND).exists()


def make_export_archive(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Make the archive; one that a lost worker left unfinished is made again."""
    place = bench.folder.archive if taken.about["for_everybody"] else bench.folder.exports
    place.mkdir(exist_ok=True)
    for left in place.glob(".export-*"):
        shutil.rmtree(left, ignore_errors=True)
    path = place / taken.about["name"]
    path.unlink(missing_ok=True)
    export_contest(bench, path, actor="judge")
    with queue.finish_job(taken):
        return


def make_backup(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Write the backup that an organiser asked for; one that a lost worker left is written again."""
    bench.folder.backups.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = bench.folder.backups / taken.about["name"]
    path.unlink(missing_ok=True)
    write_backup(bench.folder, path, actor="judge")
    with queue.finish_job(taken):
        return


def list_exports(folder: Folder) -> list[Path]:
    """Return the archives that were made for organisers, the last one first."""
    found = folder.exports.glob("*.zip") if folder.exports.is_dir() else iter(())
    return sorted(
        (
            path
            for path in found
            if (path.is_file() and not path.is_symlink() and not path.name.startswith("."))
        ),
        key=lambda path: -path.stat().st_mtime,
    )
