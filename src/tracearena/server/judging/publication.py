"""The end of the anonymization phase: every valid data set gets its pseudonyms, once and for all.

What is drawn is on the disk, sealed, before anything else is; everything that follows from it can be
written again and again with the same bytes. So whenever the judge is killed, the next one ends with the
same table and the same commitment.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from tracearena.arena.pseudonyms import pseudonymise
from tracearena.contest import Role, commit
from tracearena.contest.commitments import live_users
from tracearena.contest.data import COMMITMENTS
from tracearena.errors import DataError
from tracearena.files import csv_text, replacing
from tracearena.formats import pwscup
from tracearena.server import clock
from tracearena.server.judging.scoring import checked
from tracearena.server.judging.truths import Bench, Secret, file_name
from tracearena.server.models import Contest, DataSet, State, Submission, UploadKind
from tracearena.server.results import boards
from tracearena.server.sandbox.checked import Verdict
from tracearena.server.store import jobs
from tracearena.server.store.audit_log import log
from tracearena.traces import ObfuscatedTraces


def is_due(contest: Contest) -> bool:
    """Whether the phase is closed and every upload of it has been looked at."""
    unseen = Submission.objects.filter(kind=UploadKind.OBFUSCATED, state=State.RECEIVED)
    return contest.anonymization_closed_at is not None and not unseen.exists()


def publish(taken: jobs.Taken, bench: Bench) -> None:
    """Release a data set if it is valid; close it if not."""
    contest = Contest.now_held()
    data_set = DataSet.objects.select_related("team", "counts").get(pk=taken.about["data_set"])
    if not is_due(contest):
        jobs.withdraw(taken)
    elif data_set.closed_at is not None:
        with jobs.finishing(taken):
            return
    elif is_valid(data_set, contest):
        _release(taken, data_set, bench)
    else:
        with jobs.finishing(taken):
            DataSet.objects.filter(pk=data_set.pk).update(closed_at=clock.now())
            log("judge", "data set closed", data_set=str(data_set), utility=data_set.utility)
            boards.forget()


def is_valid(data_set: DataSet, contest: Contest) -> bool:
    """Whether a data set is to be released: what counts is good enough, or nothing was to be obfuscated."""
    if data_set.team.role == Role.PSEUDONYMISED:
        return True
    return data_set.utility is not None and contest.rules.is_valid(data_set.utility)


def handed_in(data_set: DataSet, bench: Bench) -> ObfuscatedTraces:
    """Return the obfuscated traces that count; those of the pseudonymised team are its originals."""
    original = bench.original(data_set)
    if data_set.counts is None:
        return ObfuscatedTraces.unchanged(original)
    found = checked(data_set.counts, bench)
    if isinstance(found, Verdict):
        raise DataError(f"upload {data_set.counts.pk} was accepted and is refused now: {found.code}")
    return found.obfuscated(original)


def _release(taken: jobs.Taken, data_set: DataSet, bench: Bench) -> None:
    obfuscated = handed_in(data_set, bench)
    secret = _secret(data_set, obfuscated, bench)
    _hand_out(data_set, obfuscated, secret, bench)
    with jobs.finishing(taken):
        # Whoever writes the list of commitments holds this row: no other list comes between.
        Contest.objects.select_for_update().get(pk=1)
        now = clock.now()
        # What was released counts, even if another upload was scored meanwhile.
        what = {"counts": data_set.counts, "utility": data_set.utility}
        DataSet.objects.filter(pk=data_set.pk).update(
            closed_at=now, released_at=now, commitment=secret.commitment.digest, **what
        )
        if data_set.counts is not None:
            Submission.objects.filter(pk=data_set.counts.pk).update(state=State.PUBLISHED)
        log("judge", "data set released", data_set=str(data_set), commitment=secret.commitment.digest)
        boards.forget()
        # The list before the row: a list that is ahead is caught up with by the same table.
        _write_commitments(bench.folder.everybody / COMMITMENTS)


def _secret(data_set: DataSet, obfuscated: ObfuscatedTraces, bench: Bench) -> Secret:
    """Return what is drawn for a data set: what lies there, or what is drawn now if nothing does."""
    path = bench.secret_path(data_set)
    upload = "" if data_set.counts is None else data_set.counts.sha256
    if not path.exists():
        table = pseudonymise(obfuscated).id_table
        live = live_users(Contest.now_held().rules, table.user_ids)
        drawn = Secret(table, live, commit(table, live=live), upload)
        put_once(path, bench.sealed(drawn.to_bytes()))
    found = bench.secret(data_set)
    if found.upload != upload:
        raise DataError(f"pseudonyms of {data_set} were drawn for another upload; they are not drawn again")
    return found


def put_once(path: Path, content: bytes) -> None:
    """Put a file in its place unless there is one; of two who try one wins, and its file is both's."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _hand_out(data_set: DataSet, obfuscated: ObfuscatedTraces, secret: Secret, bench: Bench) -> None:
    """Put reference traces and released traces where everybody finds them."""
    everybody = bench.folder.everybody
    reference = file_name("reftraces", data_set)
    with replacing(everybody / reference) as file:
        file.write(bench.opened(bench.folder.for_judge(reference)))
    order = np.searchsorted(obfuscated.user_ids, secret.table.user_ids)
    public = obfuscated.take_users(order).with_user_ids(secret.table.pseudonyms)
    pwscup.write_anonymized(public, everybody / file_name("pubtraces", data_set))


def _write_commitments(path: Path) -> None:
    released = DataSet.objects.filter(released_at__isnull=False).select_related("team")
    rows = sorted([file_name("ptable", one), one.commitment] for one in released)
    with replacing(path) as file:
        file.write(csv_text(["file", "sha256"], rows).encode())
