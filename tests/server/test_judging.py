"""The judge holds a whole contest: check, utility, publication, sample attacks, scores, result."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import USERS, Held

from tracearena.contest import verify
from tracearena.contest.handout import COMMITMENTS, SALTS
from tracearena.formats import pwscup
from tracearena.server import boards, clock
from tracearena.server.models import Contest, DataSet, Job, Score, State, Submission


def test_a_whole_contest_in_sealed_mode(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file comes to its final state, and the awards follow from the scores."""
    hands.without_children(monkeypatch)
    held.anonymization()
    good = hands.defend(held, "001", tmp_path)
    hands.defend(held, "002", tmp_path, "RR(0.1)")
    bad = hands.hand_in(held, "003", "obfuscated", b"reg_id\n0\n")
    assert hands.judged(held) == 3
    bad.refresh_from_db()
    assert (bad.state, bad.verdict["code"]) == (State.REFUSED, bad.verdict["faults"][0]["code"])
    assert Submission.objects.get(pk=good.pk).utility == 1.0
    assert not DataSet.objects.filter(released_at__isnull=False).exists()

    held.attack()
    hands.judged(held)
    released = DataSet.objects.filter(released_at__isnull=False).values_list("team__number", flat=True)
    assert list(released) == ["000", "001"]
    good.refresh_from_db()
    assert good.state == State.PUBLISHED
    everybody = held.folder.everybody
    assert (everybody / "pubtraces_team001_data01_IDP.csv").is_file()
    assert (everybody / "reftraces_team000_data01_IDP.csv").is_file()
    assert not list(everybody.glob("ptable*"))
    attack = hands.attack_table(held, "002", "001", tmp_path, right=5)
    hands.attack_traces(held, "003", "001", tmp_path)
    hands.judged(held)
    attack.refresh_from_db()
    assert attack.state == State.CHECKED
    assert set(Score.objects.values_list("kind", flat=True)) == {"utility"}
    assert boards.shown(Contest.now_held(), clock.now())["snapshot"] is None

    held.results()
    hands.judged(held)
    attack.refresh_from_db()
    assert attack.state == State.SCORED
    assert Score.objects.get(key=f"final/{attack.pk}").value == pytest.approx(1 - 5 / USERS)
    shown = boards.shown(Contest.now_held(), clock.now())["snapshot"]
    row = next(row for row in shown["board"] if row["team"] == "001")
    assert row["s_T_min"] == 0.0
    by_name = {award["name"]: award["winners"] for award in shown["awards"]}
    assert by_name["best-trace-inference"] == ["003"]
    assert by_name["best-reidentification"] == ["002"]
    _open_and_true(held)
    assert not Job.objects.exclude(state="done").exists()


def _open_and_true(held: Held) -> None:
    """The opened tables are those of the published hashes."""
    everybody = held.folder.everybody
    digests, salts = (
        dict(line.split(",") for line in (everybody / name).read_text().splitlines()[1:])
        for name in (COMMITMENTS, SALTS)
    )
    assert sorted(digests) == ["ptable_team000_data01_IDP.csv", "ptable_team001_data01_IDP.csv"]
    for name, digest in digests.items():
        assert verify(digest, pwscup.read_id_table(everybody / name), salts[name])
