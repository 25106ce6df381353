"""When a phase is closed, the judge publishes a signed list of its receipts."""

from __future__ import annotations

from tracearena.contest.commitments import (
    LISTS,
    ListedReceipt,
    list_text,
    public_signing_key,
    receipt_commitment,
    sign,
    signature_file,
)
from tracearena.files import replacing
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Contest, Submission, UploadKind
from tracearena.server.store import jobs
from tracearena.server.store.audit_log import log


def publish_key(bench: Bench) -> None:
    """Let everybody see by which key the lists of this contest are signed."""
    key = public_signing_key(bench.signing_key)
    Contest.objects.filter(pk=1).exclude(signing_key=key).update(signing_key=key)


def publish(taken: jobs.Taken, bench: Bench) -> None:
    """Write the list of a phase and its signature where everybody finds them.

    What is written follows from the database alone: files that came after the phase was closed are not in it.
    """
    phase = taken.about["phase"]
    closed_at = getattr(Contest.now_held(), f"{phase}_closed_at")
    uploads = Submission.objects.filter(received_at__lt=closed_at).order_by("pk")
    obfuscated = uploads.filter(kind=UploadKind.OBFUSCATED)
    chosen = obfuscated if phase == "anonymization" else uploads.exclude(kind=UploadKind.OBFUSCATED)
    content = list_text(map(listed, chosen)).encode()
    path = bench.folder.everybody / LISTS[phase]
    # The signature first: a list that is there is signed.
    for file, text in (
        (signature_file(path), sign(bench.signing_key, path.name, content).encode()),
        (path, content),
    ):
        with replacing(file) as out:
            out.write(text)
    with jobs.finishing(taken):
        log("judge", "receipts published", phase=phase, receipts=len(chosen))


def listed(upload: Submission) -> ListedReceipt:
    """Return the line of an upload."""
    commitment = receipt_commitment(upload.sha256, upload.salt)
    return ListedReceipt(upload.pk, upload.received_at.isoformat(), commitment)
