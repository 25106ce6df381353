"""What is shown of the scores: boards as pure functions of the stored rows, frozen ones as stored bytes."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from django.db import transaction
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Award,
    Board,
    BoardRow,
    Role,
    Roster,
    Rules,
    Standing,
    UtilityRecord,
    make_awards,
    make_board,
    phase_at,
    summary,
)
from tracearena.contest.commitments import LISTS, rounded, signature_file
from tracearena.contest.data import COMMITMENTS, SALTS
from tracearena.contest.report_data import margin
from tracearena.files import csv_text
from tracearena.i18n import said
from tracearena.pages.svg import (
    Picture,
    margins_picture,
    matrix_picture,
    podium_picture,
    privacy_picture,
    usefulness_picture,
)
from tracearena.pages.svg.canvas import DECIMALS, neutral
from tracearena.pages.team_styles import TeamStyle, team_styles
from tracearena.server import clock, teams
from tracearena.server.models import Contest, DataSet, Rescoring, Score, Snapshot, Team
from tracearena.server.store import queue
from tracearena.server.store.folder import Folder

FINAL = "final"
_LIVE, _STANDING = "live ", "standing"


def stored_board() -> Board:
    """Return the board of the scores that count, made from their rows."""
    return _build_score_board(list(queue.counting(queue.FINAL, queue.SAMPLE)))


def live_board(until: datetime) -> Board:
    """Return the live board of the answers that were scored until a moment."""
    return _build_score_board(list(queue.counting(queue.LIVE).filter(made_at__lte=until)))


def staged_result(rescoring: Rescoring) -> dict[str, Any]:
    """Return the result as it will be once the scores of a re-scoring count."""
    new = dict(rescoring.scores.values_list("key", "value"))
    return result_of(_build_score_board(list(queue.counting(queue.FINAL, queue.SAMPLE)), new))


def result_that_holds() -> dict[str, Any]:
    """Return the result that was frozen last, or what the scores give where none was."""
    final = final_snapshot()
    return result_of(stored_board()) if final is None else content_of(final)


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
            update_snapshot(copy, result_of(stored_board()))
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
    return freeze(live_name(at), content)


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
    return freeze(name, result_of(stored_board()))


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
    content = None if snapshot is None else content_of(snapshot)
    return {"phase": phase, "mode": mode, "names": names(), "snapshot": content}


def names() -> list[dict[str, str]]:
    """Return number, name and role of all parties."""
    return [{"team": team.number, "name": team.name, "role": team.role} for team in Team.objects.all()]


def is_published(contest: Contest, now: datetime) -> bool:
    """Whether the final result may be seen."""
    return contest.published_at is not None and contest.published_at <= now


def _build_score_board(attacks: list[Score], new: Mapping[str, float] | None = None) -> Board:
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
        for score in queue.counting(queue.UTILITY)
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


# The judge's promises as everybody can check them: hashes first, tables and salts when the results
# open.


@dataclass(frozen=True)
class Promise:
    """The ID table of one data set.

    Attributes
    ----------
    table, live
        The names of its file and of that with the users of the live board; empty before they are opened,
        and where there is no such board.
    digest
        The published hash.
    salt
        What opens it; empty before the results.
    """

    table: str
    digest: str
    live: str = ""
    salt: str = ""

    @property
    def command(self) -> str:
        """What prints the hash in a shell, if the promise was kept."""
        return f"(echo {self.salt}; cat {' '.join(filter(None, (self.table, self.live)))}) | sha256sum"


def promises(folder: Folder, *, opened: bool) -> list[Promise]:
    """Return what was promised, and what opens it if that may be shown."""
    everybody = folder.everybody
    salts = _column(everybody / SALTS, "salt") if opened else {}
    return [
        Promise(table, digest, _live(everybody, table) if opened else "", salts.get(table, ""))
        for table, digest in sorted(_column(everybody / COMMITMENTS, "sha256").items())
    ]


def files(folder: Folder) -> list[str]:
    """Return the files that open the promises, and the two lists."""
    found = promises(folder, opened=True)
    kept = [name for one in found if one.salt for name in (one.table, one.live) if name]
    return [COMMITMENTS, SALTS, *kept] if kept else []


def receipt_lists(folder: Folder) -> list[str]:
    """Return the signed lists of receipts that are published, each with its signature."""
    lists = [folder.everybody / name for name in LISTS.values()]
    return [path.name for one in lists if one.is_file() for path in (one, signature_file(one))]


def _live(everybody: Path, table: str) -> str:
    name = "live" + table.removeprefix("ptable")
    return name if (everybody / name).is_file() else ""


def _column(path: Path, column: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row[column] for row in csv.DictReader(file)}


# A frozen board as pages show it: rows, awards and pictures under the names of the parties.


_Names: TypeAlias = tuple[tuple[tuple[str, Any], ...], ...]
NUMBERS = "/board/numbers/"
"""Where the numbers behind a picture are."""
COLUMNS = ("team", "role", "data_set", "utility", "valid", "s_R_min", "s_T_min")


@dataclass(frozen=True, eq=False)
class DrawnBoard:
    """A board with what is drawn of it.

    Attributes
    ----------
    board, awards
        The result; a live board has no awards.
    styles
        Colour and marker by label.
    pictures
        By the names under which their numbers can be saved.
    numbers
        Where the numbers are.
    decimals
        How many a score is written with: those that a live board has, else three.
    """

    board: Board
    awards: tuple[Award, ...]
    styles: dict[str, TeamStyle]
    pictures: Mapping[str, Picture]
    numbers: str = NUMBERS
    decimals: int = DECIMALS

    @property
    def podiums(self) -> list[tuple[Award, Picture, Picture]]:
        """Every award with the drawings of its podium and its margins."""
        return [
            (award, self.pictures[f"podium-{award.name}"], self.pictures[f"award-{award.name}"])
            for award in self.awards
        ]

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The pictures as a page has them, each with a link to save its numbers; made once."""
        return {
            name.replace("-", "_"): mark_safe(picture.markup(f"{self.numbers}{name}.csv"))
            for name, picture in self.pictures.items()
        }

    @property
    def award_figures(self) -> list[tuple[Award, Any, Any]]:
        """Every award with podium and margins as a page has them."""
        made, names = self.figures, [award.name.replace("-", "_") for award in self.awards]
        drawn = [(made[f"podium_{name}"], made[f"award_{name}"]) for name in names]
        return [(award, *both) for award, both in zip(self.awards, drawn, strict=True)]

    def csv(self, name: str) -> str | None:
        """Return what can be saved under a name, None if there is no such thing."""
        if name == "board":
            return csv_text(list(COLUMNS), map(_cells, self.board.rows))
        picture = self.pictures.get(name)
        return None if picture is None else picture.csv()


def drawn(shown: dict[str, Any], rules: Rules) -> DrawnBoard | None:
    """Draw what `boards.shown` shows; None while there is no snapshot."""
    if shown["snapshot"] is None:
        return None
    return _drawn(to_bytes(shown["snapshot"]), _fixed(shown["names"]), rules, get_language())


def drawn_snapshot(snapshot: Snapshot, rules: Rules) -> DrawnBoard:
    """Draw a snapshot, whoever may see it: that is for the caller to know."""
    return _drawn(bytes(snapshot.content), _fixed(names()), rules, get_language())


def drawn_result(
    values: dict[str, Any], names: list[dict[str, Any]], rules: Rules, numbers: str
) -> DrawnBoard:
    """Draw the result of another contest; `numbers` is where its numbers are."""
    return replace(_drawn(to_bytes(values), _fixed(names), rules, get_language()), numbers=numbers)


def closed_matrices(drawn_board: DrawnBoard) -> list[Picture]:
    """Return both matrices with every cell closed, for a ceremony that opens them."""
    return [matrix_picture(drawn_board.board, kind, closed=True) for kind in AttackKind]


@lru_cache(maxsize=8)
def _drawn(content: bytes, names: _Names, rules: Rules, language: str) -> DrawnBoard:
    """Draw a snapshot once in each language: it never changes, and many look at it."""
    values, given = parsed(content), [dict(one) for one in names]
    called = teams.labels(given)
    board = _parse_board(values, rules, given).renamed(_present(called, given))
    decimals = DECIMALS if "awards" in values or rules.mode != "live" else rules.live_decimals
    awards = tuple(_award(one, called) for one in values.get("awards", ()))
    styles = team_styles(board.roster)
    pictures = _pictures(board, awards, styles, decimals)
    return DrawnBoard(board, awards, styles, MappingProxyType(pictures), decimals=decimals)


def _fixed(names: list[dict[str, Any]]) -> _Names:
    return tuple(tuple(sorted(one.items())) for one in names)


def _pictures(
    board: Board, awards: tuple[Award, ...], styles: dict[str, TeamStyle], decimals: int
) -> dict[str, Picture]:
    luck = margin(board.rules.users)
    pictures = {
        "privacy": privacy_picture(board, decimals=decimals),
        "usefulness": usefulness_picture(board, decimals=decimals),
    }
    pictures |= {kind.value: matrix_picture(board, kind, decimals=decimals) for kind in AttackKind}
    for award in awards:
        pictures[f"podium-{award.name}"] = podium_picture(award, styles)
        pictures[f"award-{award.name}"] = margins_picture(award, luck, styles)
    return pictures


def _parse_board(values: dict[str, Any], rules: Rules, names: list[dict[str, Any]]) -> Board:
    rows = tuple(BoardRow(**{**row, "role": Role(row["role"])}) for row in values["board"])
    attacks = {
        (one["attacker"], one["target"], one["data_set"], AttackKind(one["kind"])): one["score"]
        for one in values["attacks"]
    }
    scored = _scored(rules, final="awards" in values)
    return Board(scored, teams.roster(names, rules), rows, MappingProxyType(attacks))


def _scored(rules: Rules, *, final: bool) -> Rules:
    """Return the rules with the number of people a score rests on: fewer are more at the mercy of luck."""
    if rules.mode != "live":
        return rules
    share = 1 - rules.live_share if final else rules.live_share
    return replace(rules, users=max(1, round(rules.users * share)))


def _cells(row: BoardRow) -> list[Any]:
    values = row.to_dict() | {"team": neutral(row.team)}
    return [values[column] for column in COLUMNS]


def _present(called: dict[str, str], names: list[dict[str, Any]]) -> dict[str, str]:
    return {one["team"]: called[one["team"]] for one in names if one["role"] != Role.SAMPLE}


def _award(values: dict[str, Any], called: dict[str, str]) -> Award:
    places = (Standing(one["place"], called[one["team"]], one["value"]) for one in values["places"])
    return Award(values["name"], said(values["title"]), tuple(places))


# Boards as stored bytes: what is frozen stays as it is, whatever happens later.


def to_bytes(content: dict[str, Any]) -> bytes:
    """Return plain values as JSON in one way only: the same values are the same bytes."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()


def freeze(name: str, content: dict[str, Any]) -> Snapshot:
    """Store a board under a name; one that is there already stays."""
    return Snapshot.objects.get_or_create(name=name, defaults=_stored(content))[0]


def update_snapshot(copy: Snapshot, content: dict[str, Any]) -> None:
    """Put a board into a copy that is not frozen."""
    for name, value in _stored(content).items():
        setattr(copy, name, value)
    copy.save()


def content_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return what was stored as plain values."""
    return parsed(bytes(snapshot.content))


def parsed(content: bytes) -> dict[str, Any]:
    """Return what `to_bytes` wrote."""
    held: dict[str, Any] = json.loads(content)
    return held


def _stored(content: dict[str, Any]) -> dict[str, Any]:
    data = to_bytes(content)
    return {"made_at": clock.now(), "content": data, "sha256": hashlib.sha256(data).hexdigest()}
