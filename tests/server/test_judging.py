"""The judge holds a whole contest: check, utility, publication, sample attacks, scores, result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server import hands
from tests.server.conftest import USERS, Held

from tracearena.contest import verify
from tracearena.contest.data import COMMITMENTS, SALTS
from tracearena.io import pwscup
from tracearena.server import clock, results
from tracearena.server.models import AuditEntry, Contest, DataSet, Job, Score, State, Submission
from tracearena.server.store import queue

ON_ONE = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)


@pytest.mark.slow
def test_a_whole_contest_in_sealed_mode(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file comes to its final state, and the awards follow from the scores."""
    hands.without_children(monkeypatch)
    _hold(held, tmp_path)


@pytest.mark.slow
@ON_ONE
def test_a_whole_contest_by_children(held: Held, tmp_path: Path) -> None:
    """The same, every file read and scored by processes of their own."""
    _hold(held, tmp_path)


def test_the_last_valid_upload_counts(held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a valid one the last one is shown; a refused one changes nothing; receipts give the order."""
    hands.without_children(monkeypatch)
    held.anonymization()
    own = DataSet.objects.filter(team__number="001")
    poor = hands.defend(held, "001", tmp_path, "RR(0.1)")
    hands.judged(held)
    assert own.get().counts == poor
    good = hands.defend(held, "001", tmp_path, "PL(5,1)")
    hands.defend(held, "001", tmp_path, "RR(0.2)")
    hands.hand_in(held, "001", "obfuscated", b"reg_id\n")
    hands.judged(held)
    assert own.get().counts == good
    assert own.get().utility == Submission.objects.get(pk=good.pk).utility


def test_an_earlier_upload_that_is_checked_later_does_not_count(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receipts give the order, not the judge's work."""
    hands.without_children(monkeypatch)
    held.anonymization()
    first, second = (hands.defend(held, "001", tmp_path, one) for one in ("No", "PL(5,1)"))
    Job.objects.all().delete()
    for submission in (second, first):
        queue.enqueue("check", f"check/{submission.pk}", {"submission": submission.pk})
    hands.judged(held)
    assert set(Submission.objects.values_list("state", flat=True)) == {State.SCORED}
    assert DataSet.objects.get(team__number="001").counts == second


@pytest.mark.slow
def test_two_data_sets_a_team(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is defended, released and attacked for itself; the pseudonymised team has one."""
    hands.without_children(monkeypatch)
    held = holding(data_sets=2, teams=2, sample_attacks=("VisitProb-T",))
    held.anonymization()
    for number in (1, 2):
        content = hands.obfuscated(held, "001", tmp_path, number=number)
        hands.hand_in(held, "001", "obfuscated", content, number=number)
    hands.judged(held)
    held.attack()
    hands.judged(held)
    names = {path.name for path in held.folder.everybody.glob("pubtraces*")}
    wanted = ("000_data01_IDP", "001_data01_IDP", "001_data02_TRP")
    assert names == {f"pubtraces_team{one}.csv" for one in wanted}
    traces = hands.inferred_traces(held, "001", tmp_path, number=2)
    hands.hand_in(held, "002", "inferred-traces", traces, target="001", number=2)
    hands.judged(held)
    held.results()
    hands.judged(held)
    by_team = {
        key[1:3]: score for key, score in results.build_current_board().attacks.items() if key[0] == "002"
    }
    assert by_team == {("001", 2): 0.0}
    assert results.build_current_board().row("001", 2).s_T_min == 0.0


def _hold(held: Held, tmp_path: Path) -> None:
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
    assert results.collect_public_board(Contest.get_current(), clock.now())["snapshot"] is None

    held.results()
    hands.judged(held)
    attack.refresh_from_db()
    assert attack.state == State.SCORED
    assert Score.objects.get(key=f"final/{attack.pk}").value == pytest.approx(1 - 5 / USERS)
    shown = results.collect_public_board(Contest.get_current(), clock.now())["snapshot"]
    row = next(row for row in shown["board"] if row["team"] == "001")
    assert row["s_T_min"] == 0.0
    by_name = {award["name"]: award["winners"] for award in shown["awards"]}
    assert by_name["best-trace-inference"] == ["003"]
    assert by_name["best-reidentification"] == ["002"]
    _open_and_true(held)
    assert not Job.objects.exclude(state="done").exists()
    told = list(AuditEntry.objects.filter(actor="judge").values_list("act", flat=True))
    assert told[-3:] == ["result frozen", "results published", "ID tables opened"]
    assert told.count("data set released") == told.count("data set closed") == 2


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
