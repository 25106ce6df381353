"""What is shown of the scores: boards, snapshots, the judge's commitments, and pictures of a result.

A board is a pure function of the stored scores. A snapshot is a board that was frozen as bytes, and stays
as it is regardless of what happens later.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
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
    Rules,
    Standing,
    UtilityRecord,
    make_awards,
    make_board,
    phase_at,
    summary,
)
from tracearena.contest.commitments import LISTS, round_score, signature_path
from tracearena.contest.data import COMMITMENTS, SALTS
from tracearena.files import csv_text, digest_values
from tracearena.i18n import translate
from tracearena.pages.contest_data import TeamStyle, assign_team_styles, estimate_award_margin
from tracearena.pages.svg import (
    Picture,
    margins_picture,
    matrix_picture,
    podium_picture,
    privacy_picture,
    usefulness_picture,
)
from tracearena.pages.svg.canvas import DECIMALS, replace_invisible
from tracearena.server import clock, teams
from tracearena.server.models import Contest, Rescoring, Score, Snapshot, Team
from tracearena.server.store import queue
from tracearena.server.store.folder import Folder

FINAL = "final"
_LIVE, _BOARD_CACHE = "live ", "standing"
_Names: TypeAlias = tuple[tuple[tuple[str, Any], ...], ...]
NUMBERS = "/board/numbers/"
"""Where the numbers behind a picture are."""
COLUMNS = ("team", "role", "data_set", "utility", "valid", "s_R_min", "s_T_min")


def build_current_board() -> Board:
    """Return the board of the scores that count, made from their rows."""
    return _build_score_board(list(queue.find_counting_scores(queue.FINAL, queue.SAMPLE)))


def build_live_board(until: datetime) -> Board:
    """Return the live board of the answers that were scored until a moment."""
    return _build_score_board(list(queue.find_counting_scores(queue.LIVE).filter(made_at__lte=until)))


def preview_result(rescoring: Rescoring) -> dict[str, Any]:
    """Return the result as it will be once the scores of a re-scoring count."""
    new = dict(rescoring.scores.values_list("key", "value"))
    return build_result(_build_score_board(list(queue.find_counting_scores(queue.FINAL, queue.SAMPLE)), new))


def read_current_result() -> dict[str, Any]:
    """Return the result that was frozen last, or what the scores give where none was."""
    final = find_final_snapshot()
    return build_result(build_current_board()) if final is None else read_snapshot(final)


def build_result(board: Board) -> dict[str, Any]:
    """Return a board and all that follows from it as plain values."""
    return summary(board, make_awards(board))


def read_organiser_board() -> bytes:
    """Return the board as it stands, for the organiser, from the stored copy where that is up to date.

    Reader and writer meet at the row of the copy, so what is stored is never older than the scores.
    """
    with transaction.atomic():
        _ensure_board_cache()
        copy = Snapshot.objects.select_for_update().get(name=_BOARD_CACHE)
        if not copy.sha256:
            update_snapshot(copy, build_result(build_current_board()))
        return bytes(copy.content)


def invalidate_board() -> None:
    """Forget the copy of the board, inside the transaction that changes a score."""
    _ensure_board_cache()
    Snapshot.objects.filter(name=_BOARD_CACHE).update(content=b"", sha256="", made_at=clock.now())


def freeze_live_board(at: datetime) -> Snapshot:
    """Freeze the live board of a refresh; its scores are rounded."""
    rules = Contest.get_current().rules
    board = build_live_board(at).to_dict()
    for row in board["rows"]:
        for name in ("utility", "s_R_min", "s_T_min"):
            row[name] = None if row[name] is None else round_score(row[name], rules)
    for attack in board["attacks"]:
        attack["score"] = round_score(attack["score"], rules)
    content = {"refreshed_at": at.isoformat(), "board": board["rows"], "attacks": board["attacks"]}
    return freeze_snapshot(name_live_snapshot(at), content)


def name_live_snapshot(at: datetime) -> str:
    """Return the name of the live board of a refresh."""
    return f"{_LIVE}{at.isoformat()}"


def find_live_snapshot(now: datetime) -> Snapshot | None:
    """Return the live board that is shown at a moment: that of the last refresh."""
    # Compared here: databases sort texts by the customs of their country.
    names = Snapshot.objects.filter(name__startswith=_LIVE).values_list("name", flat=True)
    last = max((name for name in names if name <= name_live_snapshot(now)), default=None)
    return None if last is None else Snapshot.objects.get(name=last)


def freeze_final_board() -> Snapshot:
    """Freeze the result; one that comes after an applied re-scoring is stored next to the earlier ones."""
    made = Snapshot.objects.filter(name__startswith=FINAL).count()
    name = FINAL if made == 0 else f"{FINAL} {made + 1}"
    return freeze_snapshot(name, build_result(build_current_board()))


def find_final_snapshot() -> Snapshot | None:
    """Return the result that holds: the last one that was frozen."""
    return Snapshot.objects.filter(name__startswith=FINAL).order_by("-pk").first()


def collect_public_board(contest: Contest, now: datetime) -> dict[str, Any]:
    """Return exactly what a visitor may see at a moment, for page and API alike.

    Returns
    -------
    dict
        ``phase``, ``mode``, ``names`` of all parties, and ``snapshot``: the final result once it is
        published, before that the last live board, None where there is neither.
    """
    phase, mode = phase_at(contest.schedule, now).phase, contest.rules.mode
    snapshot = find_final_snapshot() if is_published(contest, now) else None
    if snapshot is None and mode == "live":
        snapshot = find_live_snapshot(now)
    content = None if snapshot is None else read_snapshot(snapshot)
    return {"phase": phase, "mode": mode, "names": list_party_names(), "snapshot": content}


def list_party_names() -> list[dict[str, str]]:
    """Return number, name and role of all parties."""
    return [{"team": team.number, "name": team.name, "role": team.role} for team in Team.objects.all()]


def is_published(contest: Contest, now: datetime) -> bool:
    """Whether the final result may be seen."""
    return contest.published_at is not None and contest.published_at <= now


def _build_score_board(attacks: list[Score], new: Mapping[str, float] | None = None) -> Board:
    """Return the board of these attacks; new scores, by their keys, replace those that count."""
    rules = Contest.get_current().rules
    utilities = list(queue.find_counting_utilities())
    for score in (*attacks, *utilities):
        score.value = (new or {}).get(score.key, score.value)
    utility_records = [
        UtilityRecord(
            team=score.data_set.team.number,
            utility=score.value,
            data_set=score.data_set.number,
            receipt=score.submission_id or 0,
        )
        for score in utilities
    ]
    attack_records = [
        AttackRecord(
            attacker=score.sample if score.submission is None else score.submission.team.number,
            target=score.data_set.team.number,
            kind=AttackKind(score.kind),
            score=score.value,
            data_set=score.data_set.number,
            receipt=score.submission_id or 0,
        )
        for score in attacks
    ]
    return make_board(rules, teams.build_roster(list_party_names(), rules), utility_records, attack_records)


def _ensure_board_cache() -> None:
    given = {"made_at": clock.now(), "content": b"", "sha256": ""}
    Snapshot.objects.get_or_create(name=_BOARD_CACHE, defaults=given)


# The judge's commitments as everybody can check them: hashes first, tables and salts with the results.


@dataclass(frozen=True)
class TableCommitment:
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


def read_table_commitments(folder: Folder, *, opened: bool) -> list[TableCommitment]:
    """Return what was promised, and what opens it if that may be shown."""
    everybody = folder.everybody
    salts = _read_column(everybody / SALTS, "salt") if opened else {}

    def live_file(table: str) -> str:
        name = "live" + table.removeprefix("ptable")
        return name if (everybody / name).is_file() else ""

    return [
        TableCommitment(table, digest, live_file(table) if opened else "", salts.get(table, ""))
        for table, digest in sorted(_read_column(everybody / COMMITMENTS, "sha256").items())
    ]


def list_commitment_files(folder: Folder) -> list[str]:
    """Return the files that open the promises, and the two lists."""
    found = read_table_commitments(folder, opened=True)
    kept = [name for one in found if one.salt for name in (one.table, one.live) if name]
    return [COMMITMENTS, SALTS, *kept] if kept else []


def find_receipt_lists(folder: Folder) -> list[str]:
    """Return the signed lists of receipts that are published, each with its signature."""
    lists = [folder.everybody / name for name in LISTS.values()]
    return [path.name for one in lists if one.is_file() for path in (one, signature_path(one))]


def _read_column(path: Path, column: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["file"]: row[column] for row in csv.DictReader(file)}


# A frozen board as pages show it: rows, awards and pictures.


@dataclass(frozen=True, eq=False)
class BoardDrawing:
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

    def list_figures(self, name: str) -> list[tuple[str, Any]]:
        """Return a picture as a page has it, or one for each challenge with its name."""
        underscored = name.replace("-", "_")
        return [
            (heading, self.figures[underscored + end.replace("-", "_")])
            for _, heading, end in _list_challenges(self.board.rules)
        ]

    @property
    def tables(self) -> list[tuple[str, list[BoardRow]]]:
        """The rows of the board, for each challenge."""
        return [
            (heading, [row for row in self.board.rows if number in (None, row.data_set)])
            for number, heading, _ in _list_challenges(self.board.rules)
        ]

    @property
    def costs(self) -> list[tuple[str, Any]]:
        """What privacy costs, for each challenge."""
        return self.list_figures("usefulness")

    @property
    def matrices(self) -> list[tuple[AttackKind, list[tuple[str, Any]]]]:
        """Every attack, by kind and challenge."""
        return [(kind, self.list_figures(kind.value)) for kind in AttackKind]

    def csv(self, name: str) -> str | None:
        """Return the table of a name as CSV, or None if there is none."""
        if name == "board":
            rows = (row.to_dict() | {"team": replace_invisible(row.team)} for row in self.board.rows)
            return csv_text(list(COLUMNS), ([row[column] for column in COLUMNS] for row in rows))
        picture = self.pictures.get(name)
        return None if picture is None else picture.csv()


def draw_public_board(shown: dict[str, Any], rules: Rules) -> BoardDrawing | None:
    """Draw what `collect_public_board` returns; None while there is no snapshot."""
    if shown["snapshot"] is None:
        return None
    return _draw(encode_snapshot(shown["snapshot"]), shown["names"], rules)


def draw_snapshot(snapshot: Snapshot, rules: Rules) -> BoardDrawing:
    """Draw a snapshot; the caller knows who may see it."""
    return _draw(bytes(snapshot.content), list_party_names(), rules)


def draw_result(
    values: dict[str, Any], names: list[dict[str, Any]], rules: Rules, numbers: str
) -> BoardDrawing:
    """Draw the result of another contest; `numbers` is where its numbers are."""
    return replace(_draw(encode_snapshot(values), names, rules), numbers=numbers)


def draw_closed_matrices(drawn_board: BoardDrawing) -> list[tuple[AttackKind, str, Picture]]:
    """Return every matrix with kind and challenge and every cell closed, for a ceremony that opens them."""
    board = drawn_board.board
    return [
        (kind, name, matrix_picture(board, kind, number, closed=True))
        for kind in AttackKind
        for number, name, _ in _list_challenges(board.rules)
    ]


def _list_challenges(rules: Rules) -> list[tuple[int | None, str, str]]:
    """Return number, name and the end of file names of every data set; no number and name if there is one."""
    if rules.data_sets == 1:
        return [(None, "", "")]
    return [(number, rules.name_data_set(number), f"-{number}") for number in (1, 2)]


def _draw(content: bytes, names: Sequence[Mapping[str, Any]], rules: Rules) -> BoardDrawing:
    hashable = tuple(tuple(sorted(one.items())) for one in names)
    return _draw_once(content, hashable, rules, get_language())


@lru_cache(maxsize=8)
def _draw_once(content: bytes, names: _Names, rules: Rules, language: str) -> BoardDrawing:
    """Draw a snapshot once in each language: it never changes, and many look at it."""
    values, given = parse_snapshot(content), [dict(one) for one in names]
    called = teams.label_parties(given)
    rows = tuple(BoardRow(**{**row, "role": Role(row["role"])}) for row in values["board"])
    attacks = {
        (one["attacker"], one["target"], one["data_set"], AttackKind(one["kind"])): one["score"]
        for one in values["attacks"]
    }
    is_final, decimals, scored = "awards" in values, DECIMALS, rules
    if rules.mode == "live":
        # The scores rest on fewer people, who are more at the mercy of luck.
        share = 1 - rules.live_share if is_final else rules.live_share
        scored = replace(rules, users=max(1, round(rules.users * share)))
        decimals = DECIMALS if is_final else rules.live_decimals
    labels = {one["team"]: called[one["team"]] for one in given if one["role"] != Role.SAMPLE}
    board = Board(scored, teams.build_roster(given, rules), rows, MappingProxyType(attacks)).with_names(
        labels
    )
    awards = tuple(
        Award(
            award["name"],
            translate(award["title"]),
            tuple(Standing(one["place"], called[one["team"]], one["value"]) for one in award["places"]),
        )
        for award in values.get("awards", ())
    )
    styles = assign_team_styles(board.roster)
    pictures = {"privacy": privacy_picture(board, decimals=decimals)}
    for number, _, end in _list_challenges(rules):
        pictures[f"usefulness{end}"] = usefulness_picture(board, (), number, decimals=decimals)
        for kind in AttackKind:
            pictures[f"{kind.value}{end}"] = matrix_picture(board, kind, number, decimals=decimals)
    for award in awards:
        pictures[f"podium-{award.name}"] = podium_picture(award, styles)
        pictures[f"award-{award.name}"] = margins_picture(award, estimate_award_margin(board, award), styles)
    return BoardDrawing(board, awards, styles, MappingProxyType(pictures), decimals=decimals)


# Snapshots: boards as stored bytes.


def encode_snapshot(content: dict[str, Any]) -> bytes:
    """Return plain values as JSON in one way only: the same values are the same bytes."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()


def freeze_snapshot(name: str, content: dict[str, Any]) -> Snapshot:
    """Store a board under a name; one that is there already stays."""
    return Snapshot.objects.get_or_create(name=name, defaults=_build_snapshot_fields(content))[0]


def update_snapshot(copy: Snapshot, content: dict[str, Any]) -> None:
    """Put a board into a copy that is not frozen."""
    for name, value in _build_snapshot_fields(content).items():
        setattr(copy, name, value)
    copy.save()


def read_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Return the stored snapshot as plain values."""
    return parse_snapshot(bytes(snapshot.content))


def parse_snapshot(content: bytes) -> dict[str, Any]:
    """Return what `encode_snapshot` wrote."""
    held: dict[str, Any] = json.loads(content)
    return held


def _build_snapshot_fields(content: dict[str, Any]) -> dict[str, Any]:
    data = encode_snapshot(content)
    return {"made_at": clock.now(), "content": data, "sha256": digest_values(data)}
