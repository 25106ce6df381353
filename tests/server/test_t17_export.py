"""T17: nothing is exported before it is final, and originals of real people only if that is said."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import Held

from tracearena.contest import verify_archive
from tracearena.errors import DataError
from tracearena.server.judging.export import export
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Contest, Job, Submission
from tracearena.server.store import jobs


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
    hands.judged(held)
    held.results()
    hands.judged(held)
    return held


def test_t17_an_export_refuses_while_a_job_is_open(over: Held, tmp_path: Path) -> None:
    """And makes nothing; when all is done it goes."""
    bench, path = Bench(over.folder, over.judge_private_key), tmp_path / "friday.zip"
    jobs.enqueue("rescore", "rescore/1/1")
    with pytest.raises(DataError, match="1 jobs to do"):
        export(bench, path)
    assert not path.exists()
    Job.objects.filter(key="rescore/1/1").delete()
    export(bench, path)
    assert verify_archive(path).is_right


def test_originals_of_real_people_are_exported_only_if_that_is_said(over: Held, tmp_path: Path) -> None:
    """What is left can still be verified, and names the scores that are believed."""
    bench = Bench(over.folder, over.judge_private_key)
    Contest.objects.update(people="real")
    first, last = Submission.objects.filter(team__number="001", kind="obfuscated").order_by("pk")
    assert bench.upload(first) == hands.obfuscated(over, "001", tmp_path), "the originals as they are"
    for name, asked in (("without.zip", False), ("with.zip", True)):
        export(bench, tmp_path / name, include_originals=asked)
        names = zipfile.ZipFile(tmp_path / name).namelist()
        assert ("judge/orgtraces_team001_data01_IDP.csv" in names) is asked
        handed_in = "submissions/team001/{:06d}/anotraces_team001_data01_IDP.csv"
        assert (handed_in.format(first.pk) in names) is asked
        assert handed_in.format(last.pk) in names
        found = verify_archive(tmp_path / name)
        assert found.is_right
        assert (found.told == ()) is asked
