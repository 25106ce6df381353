"""What is shown of the scores: boards as pure functions of the stored rows, frozen ones as stored bytes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Board,
    Role,
    Roster,
    UtilityRecord,
    make_awards,
    make_board,
    phase_at,
    summary,
)
from tracearena.contest.commitments import rounded
from tracearena.server import clock
from tracearena.server.models import Contest, DataSet, Rescoring, Score, Snapshot, Team
from tracearena.server.store import scores, snapshots

FINAL = "final"
_LIVE, _STANDING = "live ", "standing"


def stored_board() -> Board:
    """Return the board of the scores that count, made from their rows."""
    return _board(list(scores.counting(scores.FINAL, scores.SAMPLE)))


def live_board(until: datetime) -> Board:
    """Return the live board of the answers that were scored until a moment."""
    return _board(list(scores.counting(scores.LIVE).filter(made_at__lte=until)))


def staged_result(rescoring: Rescoring) -> dict[str, Any]:
    """Return the result as it will be once the scores of a re-scoring count."""
    new = dict(rescoring.scores.values_list("key", "value"))
    return result_of(_board(list(scores.counting(scores.FINAL, scores.SAMPLE)), new))


def result_that_holds() -> dict[str, Any]:
    """Return the result that was frozen last, or what the scores give where none was."""
    final = final_snapshot()
    return result_of(stored_board()) if final is None else snapshots.content_of(final)


def result_of(board: Board) -> dict[str, Any]:
    """Return a board and all that follows from it as plain values."""
    return summary(board, make_awards(board))


def standing() -> bytes:
    """Return the board as it stands, for the organiser, from the stored copy where that is up to date.

    Reader and writer meet at the row of the copy, so what is stored is never older than the scores.
    """
    with transaction.atomic():
        _standing()
        copy = Snapshot.objects.select_for_update().get(name=_STANDING)
        if not copy.sha256:
            snapshots.fill(copy, result_of(stored_board()))
        return bytes(copy.content)


def forget() -> None:
    """Forget the copy of the board, inside the transaction that changes a score."""
    _standing()
    Snapshot.objects.filter(name=_STANDING).update(content=b"", sha256="", made_at=clock.now())


def freeze_live(at: datetime) -> Snapshot:
    """Freeze the live board of a refresh; its scores are rounded."""
    rules = Contest.now_held().rules
    board = live_board(at).to_dict()
    for row in board["rows"]:
        for name in ("utility", "s_R_min", "s_T_min"):
            row[name] = None if row[name] is None else rounded(row[name], rules)
    for attack in board["attacks"]:
        attack["score"] = rounded(attack["score"], rules)
    content = {"refreshed_at": at.isoformat(), "board": board["rows"], "attacks": board["attacks"]}
    return snapshots.freeze(live_name(at), content)


def live_name(at: datetime) -> str:
    """Return the name of the live board of a refresh."""
    return f"{_LIVE}{at.isoformat()}"


def live_snapshot(now: datetime) -> Snapshot | None:
    """Return the live board that is shown at a moment: that of the last refresh."""
    # Compared here: databases sort texts by the customs of their country.
    names = Snapshot.objects.filter(name__startswith=_LIVE).values_list("name", flat=True)
    last = max((name for name in names if name <= live_name(now)), default=None)
    return None if last is None else Snapshot.objects.get(name=last)


def freeze_final() -> Snapshot:
    """Freeze the result; one that comes after an applied re-scoring stands beside those before."""
    made = Snapshot.objects.filter(name__startswith=FINAL).count()
    name = FINAL if made == 0 else f"{FINAL} {made + 1}"
    return snapshots.freeze(name, result_of(stored_board()))


def final_snapshot() -> Snapshot | None:
    """Return the result that holds: the last one that was frozen."""
    return Snapshot.objects.filter(name__startswith=FINAL).order_by("-pk").first()


def shown(contest: Contest, now: datetime) -> dict[str, Any]:
    """Return exactly what a visitor may see at a moment, for page and API alike.

    Returns
    -------
    dict
        ``phase``, ``mode``, ``names`` of all parties, and ``snapshot``: the final result once it is
        published, before that the last live board, None where there is neither.
    """
    phase, mode = phase_at(contest.schedule, now).phase, contest.rules.mode
    snapshot = final_snapshot() if is_published(contest, now) else None
    if snapshot is None and mode == "live":
        snapshot = live_snapshot(now)
    content = None if snapshot is None else snapshots.content_of(snapshot)
    return {"phase": phase, "mode": mode, "names": names(), "snapshot": content}


def names() -> list[dict[str, str]]:
    """Return number, name and role of all parties."""
    return [{"team": team.number, "name": team.name, "role": team.role} for team in Team.objects.all()]


def is_published(contest: Contest, now: datetime) -> bool:
    """Whether the final result may be seen."""
    return contest.published_at is not None and contest.published_at <= now


def _board(attacks: list[Score], new: Mapping[str, float] | None = None) -> Board:
    """Return the board of these attacks; new scores, by their keys, replace those that count."""
    contest, utilities = Contest.now_held(), _utility_scores()
    for score in (*attacks, *utilities):
        score.value = (new or {}).get(score.key, score.value)
    return make_board(contest.rules, _roster(contest), map(_utility, utilities), map(_attack, attacks))


def _roster(contest: Contest) -> Roster:
    extra = next(iter(_numbers(Role.PSEUDONYMISED)), None)
    return Roster(teams=_numbers(Role.TEAM), pseudonymised=extra, samples=contest.rules.sample_attacks)


def _numbers(role: Role) -> tuple[str, ...]:
    return tuple(Team.objects.filter(role=role).values_list("number", flat=True))


def _utility_scores() -> list[Score]:
    """Return the utilities that count; once a data set is closed that is the upload it was closed with."""
    closed = dict(DataSet.objects.filter(closed_at__isnull=False).values_list("pk", "counts_id"))
    return [
        score
        for score in scores.counting(scores.UTILITY)
        if closed.get(score.data_set_id, score.submission_id) == score.submission_id
    ]


def _utility(score: Score) -> UtilityRecord:
    return UtilityRecord(
        team=score.data_set.team.number,
        utility=score.value,
        data_set=score.data_set.number,
        receipt=score.submission_id or 0,
    )


def _attack(score: Score) -> AttackRecord:
    attacker = score.sample if score.submission is None else score.submission.team.number
    return AttackRecord(
        attacker=attacker,
        target=score.data_set.team.number,
        kind=AttackKind(score.kind),
        score=score.value,
        data_set=score.data_set.number,
        receipt=score.submission_id or 0,
    )


def _standing() -> None:
    given = {"made_at": clock.now(), "content": b"", "sha256": ""}
    Snapshot.objects.get_or_create(name=_STANDING, defaults=given)
