"""What the judge publishes: data sets under pseudonyms, ID tables with the results, lists of receipts.

At the end of the anonymization phase every valid data set gets its pseudonyms, once and for all. What is
drawn is on the disk, sealed, before anything else is; everything that follows from it can be written again
and again with the same bytes. So whenever the judge is killed, the next one ends with the same table and the
same commitment.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from django.db import transaction

from tracearena.contest import id_table_text
from tracearena.contest.commitments import (
    LISTS,
    ListedReceipt,
    format_live_users,
    format_receipt_list,
    public_signing_key,
    receipt_commitment,
    release_one,
    sign,
    signature_path,
)
from tracearena.contest.data import COMMITMENTS, SALTS, live_file_name
from tracearena.contest.file_judge import apply_id_table
from tracearena.errors import DataError
from tracearena.files import csv_text, replacing
from tracearena.io import pwscup
from tracearena.server import clock, results, submissions
from tracearena.server.accounts import LINK_PURPOSE
from tracearena.server.judge.scoring import JudgeFiles, ReleaseSecret, build_file_name, check_again
from tracearena.server.models import Contest, DataSet, Job, Link, State, Submission, UploadKind
from tracearena.server.store import queue
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.crypto import derive_secret_key, unseal, wrap
from tracearena.traces import ObfuscatedTraces


def can_publish(contest: Contest) -> bool:
    """Whether the phase is closed and every upload of it has been looked at."""
    return contest.anonymization_closed_at is not None and not submissions.find_unchecked().exists()


def publish_data_set(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Release a data set if it is valid; close it if not."""
    contest = Contest.get_current()
    data_set = DataSet.objects.select_related("team", "counts").get(pk=taken.about["data_set"])
    if not can_publish(contest):
        queue.withdraw_job(taken)
    elif data_set.closed_at is not None:
        with queue.finish_job(taken):
            return
    elif data_set.is_valid(contest.rules):
        _release_data_set(taken, data_set, bench)
    else:
        with queue.finish_job(taken):
            DataSet.objects.filter(pk=data_set.pk).update(closed_at=clock.now())
            log_act("judge", "data set closed", data_set=str(data_set), utility=data_set.utility)
            results.invalidate_board()


def read_obfuscated_traces(data_set: DataSet, bench: JudgeFiles) -> ObfuscatedTraces:
    """Return the obfuscated traces that count; those of the pseudonymised team are its originals."""
    original = bench.read_original(data_set)
    if data_set.counts is None:
        return ObfuscatedTraces.from_traces(original)
    return check_again(data_set.counts, bench).to_obfuscated(original)


def _release_data_set(taken: queue.JobLease, data_set: DataSet, bench: JudgeFiles) -> None:
    obfuscated = read_obfuscated_traces(data_set, bench)
    secret = _load_or_draw_secret(data_set, obfuscated, bench)
    _write_public_traces(data_set, obfuscated, secret, bench)
    with queue.finish_job(taken):
        # The writer of the list of commitments holds this row: no other list comes between.
        Contest.objects.select_for_update().get(pk=1)
        now = clock.now()
        # What was released counts, even if another upload was scored meanwhile.
        DataSet.objects.filter(pk=data_set.pk).update(
            closed_at=now,
            released_at=now,
            commitment=secret.commitment.digest,
            counts=data_set.counts,
            utility=data_set.utility,
        )
        if data_set.counts is not None:
            Submission.objects.filter(pk=data_set.counts.pk).update(state=State.PUBLISHED)
        log_act("judge", "data set released", data_set=str(data_set), commitment=secret.commitment.digest)
        results.invalidate_board()
        # The list before the row: a list that is ahead is caught up with by the same table.
        released = DataSet.objects.filter(released_at__isnull=False).select_related("team")
        rows = sorted([build_file_name("ptable", one), one.commitment] for one in released)
        with replacing(bench.folder.everybody / COMMITMENTS) as file:
            file.write(csv_text(["file", "sha256"], rows).encode())


def _load_or_draw_secret(data_set: DataSet, obfuscated: ObfuscatedTraces, bench: JudgeFiles) -> ReleaseSecret:
    """Return what is drawn for a data set: what lies there, or what is drawn now if nothing does."""
    path = bench.secret_path(data_set)
    upload = "" if data_set.counts is None else data_set.counts.sha256
    if not path.exists():
        release, live, commitment = release_one(obfuscated, Contest.get_current().rules)
        secret = ReleaseSecret(release.id_table, live, commitment, upload)
        write_once(path, bench.seal(secret.to_bytes()))
    found = bench.read_secret(data_set)
    if found.upload != upload:
        raise DataError(f"pseudonyms of {data_set} were drawn for another upload; they are not drawn again")
    return found


def write_once(path: Path, content: bytes) -> None:
    """Put a file in its place unless there is one; of two who try one wins, and its file is both's."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_public_traces(
    data_set: DataSet, obfuscated: ObfuscatedTraces, secret: ReleaseSecret, bench: JudgeFiles
) -> None:
    """Put reference traces and released traces where everybody finds them."""
    everybody = bench.folder.everybody
    reference = build_file_name("reftraces", data_set)
    with replacing(everybody / reference) as file:
        file.write(bench.unseal(bench.folder.for_judge(reference)))
    public = apply_id_table(obfuscated, secret.table)
    pwscup.write_anonymized(public, everybody / build_file_name("pubtraces", data_set))


def reveal_tables(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Put every ID table, the users of the live board and the salts where everybody finds them."""
    everybody, salts = bench.folder.everybody, []
    for data_set in DataSet.objects.filter(released_at__isnull=False).select_related("team"):
        secret, name = bench.read_secret(data_set), build_file_name("ptable", data_set)
        with replacing(everybody / name) as file:
            file.write(id_table_text(secret.table).encode())
        if secret.live is not None:
            with replacing(everybody / live_file_name(int(data_set.team.number), data_set.number)) as file:
                file.write(format_live_users(secret.live).encode())
        salts.append([name, secret.commitment.salt])
    with replacing(everybody / SALTS) as file:
        file.write(csv_text(["file", "salt"], sorted(salts)).encode())
    with queue.finish_job(taken):
        log_act("judge", "ID tables opened", tables=len(salts))


def rewrap_team_key(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Wrap a team's private key by the secret of a link, which comes sealed to the judge.

    The job speaks of the link by its number and holds its secret as hexadecimal digits, sealed; the
    secret is taken out of the job when it is done.
    """
    link = Link.objects.select_related("team").get(pk=taken.about["link"])
    if link.team is None or link.team.escrow is None or link.expires_at <= clock.now():
        with queue.finish_job(taken):
            return
    secret = unseal(bench.private_key, bytes.fromhex(taken.about["sealed"])).decode()
    private = unseal(bench.private_key, bytes(link.team.escrow))
    with queue.finish_job(taken):
        Link.objects.filter(pk=link.pk).update(
            wrapped_key=wrap(private, derive_secret_key(secret), LINK_PURPOSE)
        )
        Job.objects.filter(pk=taken.pk).update(about={"link": link.pk})


def close_ended_phases(contest: Contest) -> None:
    """Close every phase that is over and not closed yet; an upload that comes later is late."""
    for phase in ("anonymization", "attack"):
        if _is_due_to_close(contest, phase):
            _close_phase(phase)


def _close_phase(phase: str) -> None:
    with transaction.atomic():
        # The contest's row first, as everybody takes it who takes data sets after it. An upload holds the row
        # of its data set until it is in: who has all these rows has seen every upload before.
        contest = Contest.objects.select_for_update().get(pk=1)
        list(DataSet.objects.select_for_update().order_by("pk"))
        # The organiser may have put the end off meanwhile, or the contest's time back.
        clock.clear_time_cache()
        if _is_due_to_close(contest, phase):
            now = clock.now()
            Contest.objects.filter(pk=1).update(**{f"{phase}_closed_at": now, "seen_at": now})
            queue.enqueue("receipts", f"receipts/{phase}", {"phase": phase})
            log_act("judge", "phase closed", phase=phase)
    clock.clear_time_cache()


def _is_due_to_close(contest: Contest, phase: str) -> bool:
    is_closed = getattr(contest, f"{phase}_closed_at") is not None
    return not is_closed and clock.is_over(contest.find_latest(f"{phase}_end"))


def publish_signing_key(bench: JudgeFiles) -> None:
    """Let everybody see by which key the lists of this contest are signed."""
    key = public_signing_key(bench.signing_key)
    Contest.objects.filter(pk=1).exclude(signing_key=key).update(signing_key=key)


def publish_receipt_list(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Write the list of a phase and its signature where everybody finds them.

    What is written follows from the database alone: files that came after the phase was closed are not in it.
    """
    phase = taken.about["phase"]
    closed_at = getattr(Contest.get_current(), f"{phase}_closed_at")
    uploads = Submission.objects.filter(received_at__lt=closed_at).order_by("pk")
    obfuscated = uploads.filter(kind=UploadKind.OBFUSCATED)
    chosen = obfuscated if phase == "anonymization" else uploads.exclude(kind=UploadKind.OBFUSCATED)
    content = format_receipt_list(map(build_receipt_line, chosen)).encode()
    path = bench.folder.everybody / LISTS[phase]
    # The signature first: a list that is there is signed.
    for file, text in (
        (signature_path(path), sign(bench.signing_key, path.name, content).encode()),
        (path, content),
    ):
        with replacing(file) as out:
            out.write(text)
    with queue.finish_job(taken):
        log_act("judge", "receipts published", phase=phase, receipts=len(chosen))


def build_receipt_line(upload: Submission) -> ListedReceipt:
    """Return the line of an upload."""
    commitment = receipt_commitment(upload.sha256, upload.salt)
    return ListedReceipt(upload.pk, upload.received_at.isoformat(), commitment)
