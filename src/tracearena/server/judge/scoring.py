"""How the judge checks and scores: uploads, its own sample attacks, the live board and the final result.

An upload is checked as soon as it is in, and obfuscated traces get their utility then. Attacks are scored
when the attack phase is over: the last answer of every attacker counts, and the result is frozen. Scores can
be computed again next to those that count; they are compared first, then applied or cancelled.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import numpy as np
from django.db import transaction
from django.utils.translation import gettext
from numpy.typing import NDArray

from tracearena.arena.ensemble import make_attacks
from tracearena.contest import AttackKind, Commitment, id_table_text
from tracearena.contest.commitments import live_day, select_final_users
from tracearena.contest.data import official_file_name
from tracearena.contest.file_judge import ANSWER_KINDS, score_table, score_traces
from tracearena.contest.release import SEED, write_answer
from tracearena.errors import DataError, ParameterError
from tracearena.files import replacing
from tracearena.files.io import InMemoryFile
from tracearena.io import pwscup
from tracearena.server import clock, errors, results, submissions
from tracearena.server.models import (
    Contest,
    DataSet,
    Job,
    JobState,
    Rescoring,
    RescoringState,
    Score,
    State,
    Submission,
    UploadKind,
)
from tracearena.server.operations.create import open_private_folder
from tracearena.server.sandbox.messages import Frame, Kind, UploadArrays, Verdict
from tracearena.server.sandbox.parent import ChildDied, check_upload, run_attacks, score_upload
from tracearena.server.store import queue
from tracearena.server.store.audit_log import log_act
from tracearena.server.store.crypto import derive_public_key, derive_signing_key, seal, unseal
from tracearena.server.store.folder import Folder, read_grid
from tracearena.traces import IdTable, Traces

COSTLY_LIMITS = ("memory", "cpu", "wall-clock", "threads")
"""Limits that a file makes a child reach; any other end of a child is a failure of the judge."""
RESULT_JOB_KINDS = ("check", "publish", "sample", "score", "sample score")
"""Kinds of jobs without which there is no result."""
_RESCORABLE_KINDS = (queue.UTILITY, queue.FINAL, queue.SAMPLE)
_MOST_CHECK_TRIES = 2
_CACHE_SIZE = 6

_log = logging.getLogger(__name__)


def check_submission(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Check an upload; obfuscated traces are scored at once, attacks wait."""
    submission = _load_submission(taken)
    if submission.state != State.RECEIVED:
        with queue.finish_job(taken):
            return
    found = check_in_sandbox(submission, bench)
    if isinstance(found, Verdict):
        said = found.to_store()
        with queue.finish_job(taken):
            _finish_submission(
                submission, State.REFUSED, verdict=said, reason=said["reason"].partition("\n")[0]
            )
    elif submission.kind == UploadKind.OBFUSCATED:
        utility = score_arrays(found, submission, bench)
        with queue.finish_job(taken):
            _finish_submission(submission, State.SCORED, utility=utility)
            queue.write_score(f"{queue.UTILITY}/{submission.pk}", utility, submission=submission)
            queue.update_utility(submission.data_set)
            results.invalidate_board()
    else:
        with queue.finish_job(taken):
            Submission.objects.filter(pk=submission.pk).update(state=State.CHECKED)
            enqueue_live_score(submission)


def _load_submission(taken: queue.JobLease) -> Submission:
    return Submission.objects.select_related("team", "data_set__team").get(pk=taken.about["submission"])


def _finish_submission(submission: Submission, state: str, **more: Any) -> None:
    Submission.objects.filter(pk=submission.pk).update(state=state, finished_at=clock.now(), **more)


def check_in_sandbox(submission: Submission, bench: JudgeFiles) -> UploadArrays | Verdict:
    """Run the one checker on an upload; a file that no child survives, twice, is refused as too costly."""
    rules = Contest.get_current().rules
    content, frame = bench.read_upload(submission), bench.build_frame(submission)
    kind, reason = cast(Kind, submission.kind), ""
    for _ in range(_MOST_CHECK_TRIES):
        try:
            return check_upload(content, frame, kind, rules, file_name=submission.file_name)
        except ChildDied as death:
            if death.reason not in COSTLY_LIMITS:
                raise
            _log.warning("upload %d: the child that read it ended: %s", submission.pk, death.reason)
            reason = death.reason
    return Verdict.too_costly(submission.file_name, reason)


def score_submission(submission: Submission, bench: JudgeFiles, *, on_live_users: bool = False) -> float:
    """Return the score of an upload whose format is right: its utility, or the privacy that it leaves.

    Parameters
    ----------
    on_live_users
        Whether an attack is scored on the users of the live board rather than on those who decide.
    """
    return score_arrays(check_again(submission, bench), submission, bench, on_live_users=on_live_users)


def check_again(submission: Submission, bench: JudgeFiles) -> UploadArrays:
    """Return the arrays of an upload that the checker took before."""
    found = check_in_sandbox(submission, bench)
    if isinstance(found, Verdict):
        raise DataError(f"upload {submission.pk} was accepted and is refused now: {found.code}")
    return found


def score_arrays(
    found: UploadArrays, submission: Submission, bench: JudgeFiles, *, on_live_users: bool = False
) -> float:
    """Return the score of the arrays of an upload."""
    rules, data_set = Contest.get_current().rules, submission.data_set
    if submission.kind == UploadKind.OBFUSCATED:
        return score_upload(found, bench.read_original(data_set), rules)
    secret = bench.read_secret(data_set)
    is_table = submission.kind == UploadKind.INFERRED_TABLE
    truth: Traces | IdTable = secret.table if is_table else bench.read_original(data_set)
    return score_upload(found, truth, rules, _select_users(secret, on_live_users))


def score_sealed_answer(
    attack: str, kind: AttackKind, data_set: DataSet, bench: JudgeFiles, *, on_live_users: bool = False
) -> float:
    """Return the privacy that one of the judge's own attacks leaves, from its sealed answer."""
    rules, secret = Contest.get_current().rules, bench.read_secret(data_set)
    path = bench.answer_path(attack, data_set, ANSWER_KINDS[kind])
    answer, among = InMemoryFile(path.name, bench.unseal(path)), _select_users(secret, on_live_users)
    if kind is AttackKind.REIDENTIFICATION:
        return score_table(answer, secret.table, bench.read_reference(data_set).user_ids, rules, among)
    return score_traces(answer, bench.read_original(data_set), rules, among)


def _select_users(secret: ReleaseSecret, on_live_users: bool) -> Any:
    return secret.live if on_live_users else secret.final_users


# What only the judge can open.


@dataclass(frozen=True, eq=False)
class ReleaseSecret:
    """What was drawn for one data set when it was released.

    Attributes
    ----------
    table
        Who is who.
    live
        The users of the live board; None where there is none.
    commitment
        Hash and salt that fix both.
    upload
        SHA-256 of the obfuscated traces that were released; empty for the pseudonymised team.
    """

    table: IdTable
    live: NDArray[Any] | None
    commitment: Commitment
    upload: str

    @property
    def final_users(self) -> NDArray[Any] | None:
        """The users who decide the final scores; None for all."""
        return None if self.live is None else select_final_users(self.table.user_ids, self.live)

    def to_bytes(self) -> bytes:
        """Return the secret as it is sealed."""
        said = {
            "table": id_table_text(self.table),
            "live": None if self.live is None else self.live.tolist(),
            "digest": self.commitment.digest,
            "salt": self.commitment.salt,
            "upload": self.upload,
        }
        return json.dumps(said).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> ReleaseSecret:
        """Return what `to_bytes` wrote."""
        said = json.loads(content)
        table = pwscup.read_id_table(InMemoryFile("ptable", said["table"].encode()))
        live = None if said["live"] is None else np.array(said["live"])
        return cls(table, live, Commitment(said["digest"], said["salt"]), said["upload"])


@dataclass(frozen=True, eq=False)
class JudgeFiles:
    """The files of the judge: the contest's folder, and the key that decrypts its sealed files."""

    folder: Folder
    private_key: bytes = field(repr=False)
    _kept: dict[str, Traces] = field(default_factory=dict, repr=False)

    @property
    def public_key(self) -> bytes:
        """The public key to which the judge's own secrets are sealed."""
        return derive_public_key(self.private_key)

    @property
    def signing_key(self) -> bytes:
        """By which the judge signs what it publishes."""
        return derive_signing_key(self.private_key)

    def seal(self, content: bytes) -> bytes:
        """Return bytes that only the judge can read."""
        return seal(self.public_key, content)

    def unseal(self, path: Path) -> bytes:
        """Return the decrypted content of a sealed file."""
        return unseal(self.private_key, path.read_bytes())

    def read_original(self, data_set: DataSet) -> Traces:
        """Return the traces that are defended."""
        return self._load_traces("orgtraces", data_set)

    def read_reference(self, data_set: DataSet) -> Traces:
        """Return the traces that every attacker knows."""
        return self._load_traces("reftraces", data_set)

    def read_secret(self, data_set: DataSet) -> ReleaseSecret:
        """Return what was drawn at the release."""
        return ReleaseSecret.from_bytes(self.unseal(self.secret_path(data_set)))

    def secret_path(self, data_set: DataSet) -> Path:
        """Return where it lies, sealed."""
        return self.folder.for_judge(build_file_name("ptable", data_set))

    def answer_path(self, attack: str, data_set: DataSet, kind: str) -> Path:
        """Return where the answer of one of the judge's own attacks lies, sealed."""
        name = official_file_name(kind, int(data_set.team.number), data_set.number, attacker=0)
        return self.folder.for_judge(f"{quote(attack, safe='()=,-_')}_{name}")

    def read_upload(self, submission: Submission) -> bytes:
        """Return the very bytes that were handed in; others, whatever their name, are an error."""
        content = self.unseal(self.folder.upload(submission.sha256))
        if hashlib.sha256(content).hexdigest() != submission.sha256 or len(content) != submission.size:
            raise DataError(f"the file of upload {submission.pk} is not the one that was received")
        return content

    def build_frame(self, submission: Submission) -> Frame:
        """Return what an upload is held against; there is nothing secret in it."""
        original = self.read_original(submission.data_set)
        if submission.kind != UploadKind.INFERRED_TABLE:
            return Frame.of(original)
        users = self.read_reference(submission.data_set).user_ids
        pseudonyms = self.read_secret(submission.data_set).table.pseudonyms
        return Frame.of(original, users=users, pseudonyms=np.sort(pseudonyms))

    def _load_traces(self, kind: str, data_set: DataSet) -> Traces:
        """Return traces of the judge; the last few are kept, since many uploads are about the same ones."""
        name = build_file_name(kind, data_set)
        if name not in self._kept:
            while len(self._kept) >= _CACHE_SIZE:
                del self._kept[next(iter(self._kept))]
            content = self.unseal(self.folder.for_judge(name))
            self._kept[name] = pwscup.read_traces(InMemoryFile(name, content), *read_grid(self.folder))
        return self._kept[name]


def build_file_name(kind: str, data_set: DataSet) -> str:
    """Return the official name of a file about a data set."""
    return str(official_file_name(kind, int(data_set.team.number), data_set.number))


# The final result.


def find_counting_attacks() -> Iterator[Submission]:
    """Yield the attacks that count: the last one of each attacker, target, data set and kind."""
    looked_at = Submission.objects.filter(
        kind__in=submissions.ATTACK_UPLOADS, state__in=(State.CHECKED, State.SCORED)
    )
    last: dict[tuple[int, int, str], Submission] = {}
    for submission in looked_at.select_related("team").order_by("pk"):
        last[submission.team_id, submission.data_set_id, submission.kind] = submission
    yield from last.values()


def score_final_attack(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Score an attack on the users who decide."""
    submission = _load_submission(taken)
    value = score_submission(submission, bench)
    with queue.finish_job(taken):
        _finish_submission(submission, State.SCORED)
        queue.write_score(f"{queue.FINAL}/{submission.pk}", value, submission=submission)
        results.invalidate_board()


def find_missing_jobs() -> list[str]:
    """Return the jobs without which there is no result yet: open ones, and those that have failed."""
    wanted = Job.objects.filter(kind__in=RESULT_JOB_KINDS).exclude(state=JobState.DONE)
    # A file on which the judge failed at the check has its final state; it holds nobody up.
    failed_checks = wanted.filter(kind="check", state=JobState.FAILED).values("pk")
    return list(wanted.exclude(pk__in=failed_checks).order_by("pk").values_list("key", flat=True))


def freeze_final_result(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Freeze the result as soon as all scores exist."""
    if find_missing_jobs():
        queue.withdraw_job(taken)
        return
    with queue.finish_job(taken):
        snapshot = results.freeze_final_board()
        log_act("judge", "result frozen", sha256=snapshot.sha256)


def publish_when_due(contest: Contest) -> bool:
    """Publish the frozen result when the results open; True if that is now."""
    is_early = clock.now() < contest.schedule.results_begin
    if is_early or contest.published_at is not None or results.find_final_snapshot() is None:
        return False
    with transaction.atomic():
        due = Contest.objects.filter(pk=contest.pk, published_at__isnull=True)
        is_now = bool(due.update(published_at=clock.now()))
        if is_now:
            log_act("judge", "results published")
    return is_now


# The live board: a few answers per day are scored on the users who are drawn for it.


def enqueue_live_score(submission: Submission) -> None:
    """Let an attack be scored for the live board, if there is one and the day's budget is not used up.

    Inside the caller's transaction; what is left is decided by a conditional update.
    """
    rules = Contest.get_current().rules
    if rules.mode != "live":
        return
    what = name_live_quota(submission)
    if submissions.take_quota(submission.team, what, rules.live_answers_a_day):
        about = {"submission": submission.pk, "quota": what}
        queue.enqueue("live", f"{queue.LIVE}/{submission.pk}", about, team=submission.team)


def name_live_quota(submission: Submission) -> str:
    """Return the name of the limit of scored answers, of one target and the day on which they came."""
    return f"live {submission.data_set} {live_day(submission.received_at).isoformat()}"


def score_live(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Score an answer on the users of the live board."""
    submission = _load_submission(taken)
    value = score_submission(submission, bench, on_live_users=True)
    with queue.finish_job(taken):
        queue.write_score(f"{queue.LIVE}/{submission.pk}", value, submission=submission)


# The judge's own attacks on what was released; they see what every team sees.


def run_sample_attacks(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Run the sample attacks on a data set and seal the answers; a live board gets their scores at once."""
    data_set = _load_data_set(taken)
    rules = Contest.get_current().rules
    kinds = find_attack_kinds(rules.sample_attacks)
    if kinds:
        try:
            public = pwscup.read_anonymized(
                bench.folder.everybody / build_file_name("pubtraces", data_set),
                *read_grid(bench.folder),
                allow_repetition=rules.utility_rule == "2019",
            )
            answers = run_attacks(
                rules.sample_attacks,
                bench.read_reference(data_set),
                public,
                options=rules.scoring.attacker_settings,
                seed=SEED,
                target=(data_set.team.number, data_set.number),
            )
        except ChildDied as death:
            _log.warning("the judge's attacks on %s ended: %s", data_set, death.said)
            raise
        for (name, kind), answer in zip(kinds.items(), answers, strict=True):
            path = bench.answer_path(name, data_set, ANSWER_KINDS[kind])
            with replacing(path, private=True) as file, open_private_folder() as folder:
                write_answer(answer, folder / "answer.csv")
                file.write(bench.seal((folder / "answer.csv").read_bytes()))
    _write_sample_scores(taken, data_set, bench, on_live_users=True)


def score_sample_attacks(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Score the answers of the sample attacks on a data set, when the attack phase is over."""
    _write_sample_scores(taken, _load_data_set(taken), bench, on_live_users=False)


def find_attack_kinds(names: tuple[str, ...]) -> dict[str, AttackKind]:
    """Return what the sample attacks answer, by their names."""
    return {name: AttackKind(one.kind) for name, one in zip(names, make_attacks(names), strict=True)}


def _write_sample_scores(
    taken: queue.JobLease, data_set: DataSet, bench: JudgeFiles, *, on_live_users: bool
) -> None:
    rules = Contest.get_current().rules
    found = {}
    if rules.mode == "live" or not on_live_users:
        for name, kind in find_attack_kinds(rules.sample_attacks).items():
            value = score_sealed_answer(name, kind, data_set, bench, on_live_users=on_live_users)
            key = queue.make_sample_key(name, data_set)
            found[f"{queue.LIVE}/{key}" if on_live_users else key] = (value, (name, kind.value, data_set))
    with queue.finish_job(taken):
        for key, (value, sample) in found.items():
            queue.write_score(key, value, sample=sample)
        results.invalidate_board()


def _load_data_set(taken: queue.JobLease) -> DataSet:
    return DataSet.objects.select_related("team").get(pk=taken.about["data_set"])


# Re-scoring.


@dataclass(frozen=True)
class ScoreDifference:
    """A score, a cell of the board or an award that came out otherwise, or not at all.

    Attributes
    ----------
    key
        What was scored, such as ``final/23``, or a place of the result, such as ``board 001/1 s_R_min``.
    before, after
        What counts, and what is new; None where there is none.
    """

    key: str
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values for JSON."""
        return {"key": self.key, "before": self.before, "after": self.after}


def start_rescoring(actor: str, reason: str) -> Rescoring:
    """Let every score that counts be computed once more; nothing that is shown changes."""
    with transaction.atomic():
        if Rescoring.objects.filter(state__in=(RescoringState.RUNNING, RescoringState.COMPARED)).exists():
            raise ParameterError(gettext("a re-scoring is already in progress: apply or cancel it first"))
        staged = list(queue.find_counting_scores(*_RESCORABLE_KINDS))
        if not staged:
            raise ParameterError(gettext("there is no score yet that could be computed again"))
        rescoring = Rescoring.objects.create(reason=reason, created_at=clock.now())
        for score in staged:
            about = {"score": score.pk, "rescoring": rescoring.pk}
            queue.enqueue("rescore", f"{_build_key_prefix(rescoring)}{score.pk}", about)
        log_act(actor, "re-scoring started", number=rescoring.pk, reason=reason)
    return rescoring


def recompute_score(taken: queue.JobLease, bench: JudgeFiles) -> None:
    """Compute one score again, from the file that was received."""
    rescoring = Rescoring.objects.get(pk=taken.about["rescoring"])
    if rescoring.state != RescoringState.RUNNING:
        with queue.finish_job(taken):
            return
    scores = Score.objects.select_related("submission__team", "submission__data_set__team", "data_set__team")
    old = scores.get(pk=taken.about["score"])
    sample = None
    if old.submission is None:
        value = score_sealed_answer(old.sample, AttackKind(old.kind), old.data_set, bench)
        sample = old.sample, old.kind, old.data_set
    else:
        value = score_submission(old.submission, bench)
    with queue.finish_job(taken):
        queue.write_score(old.key, value, submission=old.submission, sample=sample, rescoring=rescoring)


def compare_when_done(rescoring: Rescoring) -> None:
    """Let a re-scoring wait for a decision when nothing of it is open any more."""
    if not queue.find_open_jobs("rescore").filter(key__startswith=_build_key_prefix(rescoring)).exists():
        running = Rescoring.objects.filter(pk=rescoring.pk, state=RescoringState.RUNNING)
        running.update(state=RescoringState.COMPARED)


def compare_scores(rescoring: Rescoring) -> list[ScoreDifference]:
    """Return which scores came out otherwise, or failed to, in the order of the keys.

    A cancelled re-scoring changed nothing, and there is nothing to compare.
    """
    if rescoring.state == RescoringState.CANCELLED:
        return []
    if rescoring.state == RescoringState.APPLIED:
        kept = rescoring.scores.filter(key__startswith=f"{queue.BEFORE}/")
        before = {score.key.removeprefix(f"{queue.BEFORE}/"): score.value for score in kept}
        counting = queue.find_counting_scores(*_RESCORABLE_KINDS)
        after = {score.key: score.value for score in counting if score.key in before}
    else:
        # Scores made since it was started are not part of it, and stay unchanged.
        names = Job.objects.filter(key__startswith=_build_key_prefix(rescoring)).values_list("key", flat=True)
        staged = queue.find_counting_scores(*_RESCORABLE_KINDS).filter(
            pk__in=[int(name.rpartition("/")[2]) for name in names]
        )
        before = {score.key: score.value for score in staged}
        after = {score.key: score.value for score in rescoring.scores.all()}
    return _compare_values(before, after)


def compare_results(rescoring: Rescoring) -> list[ScoreDifference]:
    """Return what changes, or has changed, in board and awards when a re-scoring is applied."""
    if rescoring.state == RescoringState.APPLIED:
        return [ScoreDifference(**one) for one in rescoring.result_changes]
    if rescoring.state == RescoringState.CANCELLED:
        return []
    return _compare_values(
        _flatten_result(results.read_current_result()), _flatten_result(results.preview_result(rescoring))
    )


def _flatten_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return what people look at in a result, by its place: the cells of the board, and who won what."""
    cells = {
        f"board {row['team']}/{row['data_set']} {column}": row[column]
        for row in result["board"]
        for column in ("utility", "valid", "s_R_min", "s_T_min")
    }
    winners = {f"award {award['name']}": ", ".join(award["winners"]) for award in result["awards"]}
    return cells | winners


def _compare_values(before: dict[str, Any], after: dict[str, Any]) -> list[ScoreDifference]:
    return [
        ScoreDifference(key, before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def apply_rescoring(rescoring: Rescoring, actor: str) -> None:
    """Let the new scores count; those before are kept under the re-scoring, and a new result is frozen."""
    with transaction.atomic():
        # The contest's row first, as everybody takes it who takes data sets after it.
        Contest.objects.select_for_update().get(pk=1)
        changed, result = compare_scores(rescoring), compare_results(rescoring)
        _set_final_state(rescoring, RescoringState.COMPARED, to=RescoringState.APPLIED)
        failed = [one.key for one in changed if one.after is None]
        if failed:
            said = gettext("the re-scoring is incomplete: %(score)s failed; cancel it")
            raise ParameterError(said % {"score": failed[0]})
        rescoring.result_changes = [one.to_dict() for one in result]
        rescoring.save(update_fields=["result_changes"])
        for new in rescoring.scores.all():
            old = Score.objects.get(key=new.key, rescoring__isnull=True)
            Score.objects.filter(pk=old.pk).update(key=f"{queue.BEFORE}/{old.key}", rescoring=rescoring)
            Score.objects.filter(pk=new.pk).update(rescoring=None)
        for data_set in DataSet.objects.all():
            queue.update_utility(data_set)
        results.invalidate_board()
        if results.find_final_snapshot() is not None:
            results.freeze_final_board()
        log_act(actor, "re-scoring applied", number=rescoring.pk, changed=len(changed), result=len(result))


def cancel_rescoring(rescoring: Rescoring, actor: str) -> None:
    """Leave all as it was; the new scores are kept, and never count."""
    with transaction.atomic():
        open_states = (RescoringState.RUNNING, RescoringState.COMPARED)
        _set_final_state(rescoring, *open_states, to=RescoringState.CANCELLED)
        waiting = queue.find_open_jobs("rescore").filter(key__startswith=_build_key_prefix(rescoring))
        waiting.filter(state=JobState.WAITING).update(state=JobState.DONE, finished_at=clock.now())
        log_act(actor, "re-scoring cancelled", number=rescoring.pk)


def _build_key_prefix(rescoring: Rescoring) -> str:
    """Return how the keys of its jobs begin; the number of a score follows."""
    return f"rescore/{rescoring.pk}/"


def _set_final_state(rescoring: Rescoring, *from_: str, to: str) -> None:
    """Bring a re-scoring to its end, once."""
    own = Rescoring.objects.filter(pk=rescoring.pk, state__in=from_)
    if not own.update(state=to, finished_at=clock.now()):
        state = Rescoring.objects.get(pk=rescoring.pk).state
        said = gettext("re-scoring %(number)s is %(state)s and cannot be %(wanted)s now")
        states = {"state": errors.translate_state(state), "wanted": errors.translate_state(to)}
        raise ParameterError(said % {"number": rescoring.pk, **states})
    rescoring.refresh_from_db()
