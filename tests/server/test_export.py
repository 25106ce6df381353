"""T17: nothing is exported before it is final, and originals of real people only if that is said."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contest.archived import changed
from tests.contest.test_verification import OF_PYTHON
from tests.server import hands
from tests.server.conftest import Held

from tracearena.contest import verify_archive
from tracearena.errors import DataError
from tracearena.server.judge.export import export_contest
from tracearena.server.judge.scoring import JudgeFiles
from tracearena.server.models import Contest, Job, Submission
from tracearena.server.store import queue
from tracearena.server.store.audit_log import log_act


@pytest.fixture
def over(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    """A contest whose results are published."""
    hands.without_children(monkeypatch)
    held.anonymization()
    for team in ("001", "002"):
        hands.defend(held, team, tmp_path)
    hands.defend(held, "001", tmp_path, "MRLH(1,1,0.1)")
    hands.judged(held)
    held.attack()
    hands.judged(held)
    hands.attack_table(held, "001", "002", tmp_path, right=5)
    hands.hand_in(held, "003", "inferred-table", b"user\n", target="002")
    hands.judged(held)
    held.results()
    hands.judged(held)
    return held


@pytest.mark.slow
def test_an_export_refuses_while_a_job_is_open(over: Held, tmp_path: Path) -> None:
    """T17: And makes nothing; when all is done it goes."""
    bench, path = JudgeFiles(over.folder, over.judge_private_key), tmp_path / "friday.zip"
    queue.enqueue("rescore", "rescore/1/1")
    with pytest.raises(DataError, match="1 jobs left"):
        export_contest(bench, path)
    assert not path.exists()
    Job.objects.filter(key="rescore/1/1").delete()
    export_contest(bench, path)
    assert verify_archive(path).is_right


@pytest.mark.slow
def test_originals_of_real_people_are_exported_only_if_that_is_said(over: Held, tmp_path: Path) -> None:
    """What is left can still be verified, and names the scores that are believed."""
    bench = JudgeFiles(over.folder, over.judge_private_key)
    Contest.objects.update(people="real")
    first, last = Submission.objects.filter(team__number="001", kind="obfuscated").order_by("pk")
    assert bench.read_upload(first) == hands.obfuscated(over, "001", tmp_path), "the originals as they are"
    for name, asked in (("without.zip", False), ("with.zip", True)):
        export_contest(bench, tmp_path / name, include_originals=asked)
        names = zipfile.ZipFile(tmp_path / name).namelist()
        assert ("judge/orgtraces_team001_data01_IDP.csv" in names) is asked
        handed_in = "submissions/team001/{:06d}/anotraces_team001_data01_IDP.csv"
        assert (handed_in.format(first.pk) in names) is asked
        assert handed_in.format(last.pk) in names
        found = verify_archive(tmp_path / name)
        assert found.is_right
        assert (found.assumed == ()) is asked


def _changed(over: Held, tmp_path: Path, change: Callable[[Path], object], **named: Any) -> set[str]:
    """Export, change something in the archive, mend its hashes, and return what is found."""
    export_contest(JudgeFiles(over.folder, over.judge_private_key), tmp_path / "right.zip")
    archive = changed(tmp_path / "right.zip", tmp_path / "changed.zip", change)
    findings = verify_archive(archive, **named).findings
    assert not [str(one) for one in findings if OF_PYTHON.search(str(one))]
    return {f"{one.what}: {one.where}" for one in findings}


@pytest.mark.slow
def test_an_archive_is_signed_and_every_receipt_is_accounted_for(over: Held, tmp_path: Path) -> None:
    """By the key that the rules page shows; another key is a finding."""
    export_contest(JudgeFiles(over.folder, over.judge_private_key), tmp_path / "friday.zip")
    key = Contest.get_current().signing_key
    found = verify_archive(tmp_path / "friday.zip", key=key)
    assert (found.findings, found.signed_by) == ((), key)
    assert found.checked["receipts"] == Submission.objects.count() == 5
    other = {one.what for one in verify_archive(tmp_path / "friday.zip", key=64 * "0").findings}
    assert other == {"signature"}


@pytest.mark.slow
def test_every_edit_of_an_archive_is_a_finding(over: Held, tmp_path: Path) -> None:
    """Also one that changes no score, with hashes that fit."""

    def drop_line(name: str, row: int = -1) -> Callable[[Path], object]:
        def change(folder: Path) -> None:
            lines = (folder / name).read_text().splitlines(keepends=True)
            (folder / name).write_text("".join(line for line in lines if line is not lines[row]))

        return change

    def reword(name: str, old: str, new: str) -> Callable[[Path], object]:
        def change(folder: Path) -> None:
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new, 1))

        return change

    def add_attack(folder: Path) -> None:
        (attack,) = (folder / "submissions").rglob("etable_team001-002_*.csv")
        path = folder / "submissions/team003/000099/etable_team003-002_data01_IDP.csv"
        path.parent.mkdir(parents=True)
        path.write_bytes(attack.read_bytes())

    def spoil_superseded(folder: Path) -> None:
        first = sorted((folder / "submissions/team001").rglob("anotraces_*.csv"))[0]
        first.write_bytes(first.read_bytes()[:-2] + b"*\n")

    attack = Submission.objects.get(state="scored", kind="inferred-table")
    refused = Submission.objects.get(state="refused")
    name = f"team001/{attack.pk:06d}/etable_team001-002_data01_IDP.csv"
    edits: dict[str, tuple[Callable[[Path], object], str]] = {
        "an attack that is not listed": (add_attack, "arrival: submissions/team003/000099/"),
        "an arrival without a file": (
            reword("submissions/received.csv", name, name.replace("001-002", "001-003")),
            f"arrival: submissions/{name}",
        ),
        "no refusals": (
            drop_line("results/refused.csv"),
            f"receipt: submissions/receipts.csv, receipt {refused.pk}",
        ),
        "another reason": (
            reword("results/refused.csv", f"{refused.pk:06d},wrong-header", f"{refused.pk:06d},late"),
            "score: results/board.json, refused, row 1",
        ),
        "another time in the phase": (
            reword("submissions/received.csv", attack.received_at.isoformat(), "2026-05-12T00:00:00+00:00"),
            f"receipt: submissions/received.csv, {name}",
        ),
        "a superseded upload": (spoil_superseded, "receipt: submissions/team001/"),
        "a receipt": (
            drop_line("submissions/receipts.csv", 1),
            "receipt: submissions/receipts.csv, receipt 1",
        ),
        "a published list": (
            drop_line("everybody/receipts_anonymization.csv"),
            "signature: everybody/receipts_anonymization.csv",
        ),
        "not a list": (
            lambda folder: (folder / "everybody/receipts_attack.csv").unlink(),
            "receipt: everybody/receipts_attack.csv",
        ),
        "an act in the log": (
            reword("results/audit_log.json", "result frozen", "result thawed"),
            "audit log: results/audit_log.json, ",
        ),
        "fewer teams": (
            lambda folder: [
                reword(place + "contest.toml", "teams = 3\n", "teams = 1\n")(folder)
                for place in ("", "everybody/")
            ],
            "unreadable: judge/answers/",
        ),
        "the name of the contest": (
            lambda folder: [
                reword(place + "contest.toml", "Test <contest>", "Best <contest>")(folder)
                for place in ("", "everybody/")
            ],
            "signature: manifest.json",
        ),
    }
    for what, (change, wanted) in edits.items():
        for left in ("right.zip", "changed.zip"):
            (tmp_path / left).unlink(missing_ok=True)
        found = _changed(over, tmp_path, change)
        assert any(one.startswith(wanted) for one in found), (what, found)
        assert "signature: manifest.json" in found, "the signature says that something was changed"


@pytest.mark.slow
def test_what_is_nobody_elses_business_is_not_in_the_exported_log(over: Held, tmp_path: Path) -> None:
    """Accounts and backups are left out, and the chain of hashes is still closed."""
    log_act("member of 002", "account made", of="002")
    log_act("organiser", "extra time given", team="002", reason="their network was down")
    log_act("member of 002", "token made", number=1)
    export_contest(JudgeFiles(over.folder, over.judge_private_key), tmp_path / "friday.zip")
    with zipfile.ZipFile(tmp_path / "friday.zip") as archive:
        entries = json.loads(archive.read("results/audit_log.json"))
    assert "member of 002" not in json.dumps(entries)
    assert {"act": "", "details": None}.items() <= entries[-1].items()
    assert entries[-2]["details"] == {"team": "002", "reason": "their network was down"}
    assert "phase closed" in {entry["act"] for entry in entries}
    assert verify_archive(tmp_path / "friday.zip").is_right
