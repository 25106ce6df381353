"""The organiser asks for the archive of a contest that is over; the judge makes it, the web opens nothing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from tracearena.errors import DataError
from tracearena.server.judging.export import export, require_over
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Contest, Job
from tracearena.server.store import jobs
from tracearena.server.store.audit_log import log
from tracearena.server.store.folder import Folder

KIND = "export"
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST = 40
_MOST = 1_000


def ask_for(actor: str, *, for_everybody: bool) -> str:
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
        require_over(contest)
        if is_being_made():
            raise DataError(_("the judge is making an archive already; wait until it is there"))
        folder: Folder = settings.CONTEST_FOLDER
        name = _free_name(folder, contest.name)
        jobs.enqueue(KIND, f"{KIND}/{name}", {"name": name, "for_everybody": for_everybody})
        log(actor, "archive asked for", name=name, for_everybody=for_everybody)
    return name


def is_being_made() -> bool:
    """Whether the judge has an archive to make."""
    return jobs.open_jobs(KIND).exists()


def make(taken: jobs.Taken, bench: Bench) -> None:
    """Make the archive; one that a lost worker left unfinished is made anew."""
    place = bench.folder.archive if taken.about["for_everybody"] else bench.folder.exports
    place.mkdir(exist_ok=True)
    for left in place.glob(".export-*"):
        shutil.rmtree(left, ignore_errors=True)
    path = place / taken.about["name"]
    path.unlink(missing_ok=True)
    export(bench, path, actor="judge")
    with jobs.finishing(taken):
        return


def made(folder: Folder) -> list[Path]:
    """Return the archives that were made for organisers, the last one first."""
    found = folder.exports.glob("*.zip") if folder.exports.is_dir() else iter(())
    return sorted((path for path in found if _is_ours(path)), key=lambda path: -path.stat().st_mtime)


def _is_ours(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.name.startswith(".")


def _free_name(folder: Folder, contest: str) -> str:
    """Return a name that no archive has and no job will make.

    What is no plain letter or digit has no place in it.
    """
    plain = _NOT_IN_A_NAME.sub("-", contest.lower()).strip("-")[:_LONGEST].strip("-") or "contest"
    names = (f"{plain}.zip" if number == 1 else f"{plain}-{number}.zip" for number in range(1, _MOST))
    return next(name for name in names if not _is_taken(folder, name))


def _is_taken(folder: Folder, name: str) -> bool:
    there = any((place / name).exists() for place in (folder.archive, folder.exports))
    return there or Job.objects.filter(key=f"{KIND}/{name}").exists()
