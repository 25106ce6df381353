"""One upload, or one answer of the judge's own attacks, by the one checker and the one scorer."""

from __future__ import annotations

import logging
from typing import Any, cast

from tracearena.contest import AttackKind
from tracearena.contest.file_judge import reidentification_of, trace_inference_of
from tracearena.errors import DataError
from tracearena.files.io import Held
from tracearena.formats import pwscup
from tracearena.server.judging.truths import Bench, Secret
from tracearena.server.models import Contest, DataSet, Submission, UploadKind
from tracearena.server.sandbox.checked import Checked, Kind, Verdict
from tracearena.server.sandbox.children import ChildDied, check_upload, score_checked
from tracearena.traces import IdTable, Traces

COSTLY = ("memory", "cpu", "wall-clock", "threads")
"""Limits that a file makes a child reach; any other end of a child is a failure of the judge."""
ANSWERS = {AttackKind.REIDENTIFICATION: "etable", AttackKind.TRACE_INFERENCE: "etraces"}
_TRIES = 2

_log = logging.getLogger(__name__)


def checked(submission: Submission, bench: Bench) -> Checked | Verdict:
    """Run the one checker on an upload; a file that no child survives, twice, is refused as too costly."""
    rules = Contest.now_held().rules
    content, frame, kind = bench.upload(submission), bench.frame(submission), cast(Kind, submission.kind)
    reason = ""
    for _ in range(_TRIES):
        try:
            return check_upload(content, frame, kind, rules, file_name=submission.file_name)
        except ChildDied as death:
            if death.reason not in COSTLY:
                raise
            _log.warning("upload %d: the child that read it ended: %s", submission.pk, death.reason)
            reason = death.reason
    return Verdict.too_costly(submission.file_name, reason)


def score_of(submission: Submission, bench: Bench, *, on_live_users: bool = False) -> float:
    """Return the score of an upload whose format is right: its utility, or the privacy that it leaves.

    Parameters
    ----------
    on_live_users
        Whether an attack is scored on the users of the live board rather than on those who decide.
    """
    found = checked(submission, bench)
    if isinstance(found, Verdict):
        raise DataError(f"upload {submission.pk} was accepted and is refused now: {found.code}")
    return value_of(found, submission, bench, on_live_users=on_live_users)


def value_of(found: Checked, submission: Submission, bench: Bench, *, on_live_users: bool = False) -> float:
    """Return the score of the arrays of an upload."""
    rules, data_set = Contest.now_held().rules, submission.data_set
    if submission.kind == UploadKind.OBFUSCATED:
        return score_checked(found, bench.original(data_set), rules)
    secret = bench.secret(data_set)
    is_table = submission.kind == UploadKind.INFERRED_TABLE
    truth: Traces | IdTable = secret.table if is_table else bench.original(data_set)
    return score_checked(found, truth, rules, _among(secret, on_live_users))


def sample_score(
    attack: str, kind: AttackKind, data_set: DataSet, bench: Bench, *, on_live_users: bool = False
) -> float:
    """Return the privacy that one of the judge's own attacks leaves, from its sealed answer."""
    rules, secret = Contest.now_held().rules, bench.secret(data_set)
    path = bench.answer_path(attack, data_set, ANSWERS[kind])
    answer, among = Held(path.name, bench.opened(path)), _among(secret, on_live_users)
    if kind is AttackKind.REIDENTIFICATION:
        users = bench.reference(data_set).user_ids
        guess = pwscup.read_inferred_table(answer, secret.table.pseudonyms, users=users)
        return reidentification_of(secret.table, guess, among)
    original = bench.original(data_set)
    return trace_inference_of(original, pwscup.read_inferred_traces(answer, original), rules, among)


def _among(secret: Secret, on_live_users: bool) -> Any:
    return secret.live if on_live_users else secret.among
