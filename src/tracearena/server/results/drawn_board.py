"""A frozen board as pages show it: rows, awards and pictures under the names of the parties.

Everything is made of the stored snapshot alone, so a page shows what was frozen and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from tracearena.contest import AttackKind, Award, Board, BoardRow, Role, Rules, Standing
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
from tracearena.server.models import Snapshot
from tracearena.server.people import parties
from tracearena.server.results import boards
from tracearena.server.store import snapshots

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
    return _drawn(snapshots.to_bytes(shown["snapshot"]), _fixed(shown["names"]), rules, get_language())


def drawn_snapshot(snapshot: Snapshot, rules: Rules) -> DrawnBoard:
    """Draw a snapshot, whoever may see it: that is for the caller to know."""
    return _drawn(bytes(snapshot.content), _fixed(boards.names()), rules, get_language())


def drawn_result(
    values: dict[str, Any], names: list[dict[str, Any]], rules: Rules, numbers: str
) -> DrawnBoard:
    """Draw the result of another contest; `numbers` is where its numbers are."""
    return replace(_drawn(snapshots.to_bytes(values), _fixed(names), rules, get_language()), numbers=numbers)


def closed_matrices(drawn_board: DrawnBoard) -> list[Picture]:
    """Return both matrices with every cell closed, for a ceremony that opens them."""
    return [matrix_picture(drawn_board.board, kind, closed=True) for kind in AttackKind]


@lru_cache(maxsize=8)
def _drawn(content: bytes, names: _Names, rules: Rules, language: str) -> DrawnBoard:
    """Draw a snapshot once in each language: it never changes, and many look at it."""
    values, given = snapshots.parsed(content), [dict(one) for one in names]
    called = parties.labels(given)
    board = _board(values, rules, given).renamed(_present(called, given))
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


def _board(values: dict[str, Any], rules: Rules, names: list[dict[str, Any]]) -> Board:
    rows = tuple(BoardRow(**{**row, "role": Role(row["role"])}) for row in values["board"])
    attacks = {
        (one["attacker"], one["target"], one["data_set"], AttackKind(one["kind"])): one["score"]
        for one in values["attacks"]
    }
    scored = _scored(rules, final="awards" in values)
    return Board(scored, parties.roster(names, rules), rows, MappingProxyType(attacks))


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
