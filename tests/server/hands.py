"""What teams do in a test, without the web: uploads with their rows and jobs, as the web puts them in."""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.server.conftest import Held as Contest

from tracearena.algorithms import catalogue
from tracearena.contest import Rules
from tracearena.contest.data import official_file_name
from tracearena.files.io import InMemoryFile as InMemory
from tracearena.io import pwscup
from tracearena.server import clock, submissions
from tracearena.server.judge import scoring
from tracearena.server.models import DataSet, State, Submission, Team, UploadKind
from tracearena.server.processes.judge_process import run_all_jobs
from tracearena.server.sandbox import attack_child, child, messages
from tracearena.server.sandbox.messages import Frame, read_message, truth_from_parts, truth_to_parts, unpack
from tracearena.server.store import queue
from tracearena.server.store.crypto import seal, unseal
from tracearena.server.store.folder import read_grid
from tracearena.traces import IdTable, ObfuscatedTraces, Traces


def judged(held: Contest) -> int:
    """Let the judge do all that is due."""
    return run_all_jobs(held.folder, held.judge_private_key)


def original(held: Contest, team: str, number: int = 1, kind: str = "orgtraces") -> Traces:
    """Return what a team defends, as the judge reads it."""
    name = str(official_file_name(kind, int(team), number))
    content = unseal(held.judge_private_key, held.folder.for_judge(name).read_bytes())
    return pwscup.read_traces(InMemory(name, content), *read_grid(held.folder))


def obfuscated(held: Contest, team: str, tmp_path: Path, defence: str = "No", number: int = 1) -> bytes:
    """Return the file of a team that defends itself."""
    path = tmp_path / "obfuscated.csv"
    made = catalogue.create(defence, "obfuscator").transform(original(held, team, number), seed=int(team))
    pwscup.write_obfuscated(made, path)
    return path.read_bytes()


def inferred_table(held: Contest, target: str, tmp_path: Path, *, right: int, number: int = 1) -> bytes:
    """Return an inferred ID table that is right about so many users, and wrong about all others."""
    from tracearena.server.judge.scoring import JudgeFiles

    data_set = DataSet.objects.select_related("team").get(team__number=target, number=number)
    table = JudgeFiles(held.folder, held.judge_private_key).read_secret(data_set).table
    guess = np.where(np.arange(len(table)) < right, table.user_ids, np.roll(table.user_ids, 1))
    path = tmp_path / "table.csv"
    pwscup.write_inferred_table(IdTable(table.pseudonyms, guess), path)
    return path.read_bytes()


def inferred_traces(held: Contest, target: str, tmp_path: Path, *, number: int = 1) -> bytes:
    """Return the truth as inferred traces."""
    path = tmp_path / "traces.csv"
    pwscup.write_inferred_traces(original(held, target, number), path)
    return path.read_bytes()


def hand_in(
    held: Contest,
    team: str,
    kind: str,
    content: bytes,
    *,
    target: str | None = None,
    number: int = 1,
    limit: int = 20,
) -> Submission:
    """Put an upload in, as the web does: sealed, with its row, its quota and its job."""
    public = bytes.fromhex(held.folder.read_secrets().judge_public_key)
    digest = hashlib.sha256(content).hexdigest()
    path = held.folder.upload(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(seal(public, content))
    by = Team.objects.get(number=team)
    data_set = DataSet.objects.get(team__number=target or team, number=number)
    what = submissions.name_quota(kind, data_set)
    assert submissions.take_quota(by, what, limit)
    submission = Submission.objects.create(
        team=by,
        kind=kind,
        data_set=data_set,
        file_name="upload.csv",
        sha256=digest,
        size=len(content),
        received_at=clock.now(),
        idempotency_key=secrets.token_hex(8),
        quota=what,
        state=State.RECEIVED,
    )
    queue.enqueue("check", f"check/{submission.pk}", {"submission": submission.pk}, team=by)
    return submission


def defend(held: Contest, team: str, tmp_path: Path, defence: str = "No") -> Submission:
    """Let a team hand in obfuscated traces."""
    return hand_in(held, team, UploadKind.OBFUSCATED, obfuscated(held, team, tmp_path, defence))


def attack_table(held: Contest, team: str, target: str, tmp_path: Path, *, right: int) -> Submission:
    """Let a team hand in an inferred ID table."""
    content = inferred_table(held, target, tmp_path, right=right)
    return hand_in(held, team, UploadKind.INFERRED_TABLE, content, target=target)


def attack_traces(held: Contest, team: str, target: str, tmp_path: Path) -> Submission:
    """Let a team hand in the truth as inferred traces."""
    content = inferred_traces(held, target, tmp_path)
    return hand_in(held, team, UploadKind.INFERRED_TRACES, content, target=target)


def without_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run checker and scorer in this process: the same functions, without the time that children take."""

    def check(
        data: bytes, frame: Frame, kind: str, rules: Rules, *, file_name: str
    ) -> messages.UploadArrays | messages.Verdict:
        limits = rules.largest_file_mb * 2**20, rules.largest_listed_ids
        return child.check_file(InMemory(file_name, data), frame, kind, *limits)

    def score(found: messages.UploadArrays, truth: Any, rules: Rules, among: Any = None) -> float:
        values, arrays = truth_to_parts(truth)
        if among is not None:
            arrays = arrays | {"among": np.asarray(among)}
        return child.compute_score(found, values, arrays, rules)

    def attack(
        names: Sequence[str], reference: Traces, released: ObfuscatedTraces, **settings: Any
    ) -> list[Traces | IdTable]:
        request = attack_child.pack_attack_request(reference, released, names=names, **settings)
        answer = io.BytesIO(attack_child._run_attack(io.BytesIO(request)))
        return [truth_from_parts(*unpack(read_message(answer))) for _ in names]

    monkeypatch.setattr(scoring, "run_attacks", attack)
    monkeypatch.setattr(scoring, "check_upload", check)
    monkeypatch.setattr(scoring, "score_upload", score)
