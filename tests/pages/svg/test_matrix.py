"""The matrix shows the board, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.pages.svg.gallery import PLAIN, SVG, Picture, board, numbers, of_class, tree

from tracearena.contest import (
    AttackKind,
    AttackRecord,
    Board,
    Roster,
    Rules,
    UtilityRecord,
    attack_sums,
    make_board,
)
from tracearena.pages.contest_data import build_attack_table
from tracearena.pages.svg import matrix_picture
from tracearena.pages.svg.canvas import choose_ink, viridis

KIND = AttackKind.TRACE_INFERENCE


@pytest.fixture(scope="module")
def shown() -> Board:
    return board()


@pytest.fixture(scope="module")
def picture(shown: Board) -> Picture:
    return matrix_picture(shown, KIND)


def one_row(*scores: float | None, users: int = 2000) -> Picture:
    """A contest in which all others attack team t."""
    attackers = [f"a{number}" for number in range(len(scores))]
    attacks = [
        AttackRecord(attacker=who, target="t", kind=KIND, score=score)
        for who, score in zip(attackers, scores, strict=True)
        if score is not None
    ]
    roster = Roster(teams=["t", *attackers])
    utilities = [UtilityRecord(team="t", utility=0.8)]
    return matrix_picture(make_board(Rules(users=users), roster, utilities, attacks), KIND)


def test_every_cell_is_an_attack_of_the_board(shown: Board, picture: Picture) -> None:
    table = build_attack_table(shown, KIND)
    cells = of_class(picture, "cell")
    assert len(cells) == len(table.cells()) == 10 * 12 - 9
    for cell in cells:
        row, column = int(cell.attrib["data-row"]), int(cell.attrib["data-column"])
        score = shown.attacks.get((table.attackers[column], table.rows[row].team, 1, KIND))
        words = cell.find(f"{SVG}text")
        if score is None:
            assert words is None
            assert "missing" in cell.attrib["class"]
            assert cell.find(f"{SVG}rect").attrib["fill"].startswith("url(#")
        else:
            assert words.text == f"{score:.2f}"
            assert float(cell.attrib["data-score"]) == pytest.approx(score, abs=1e-5)


def test_no_team_attacks_itself(shown: Board, picture: Picture) -> None:
    table = build_attack_table(shown, KIND)
    at = {
        (int(cell.attrib["data-row"]), int(cell.attrib["data-column"])) for cell in of_class(picture, "cell")
    }
    assert all(table.rows[row].team != table.attackers[column] for row, column in at)


def test_the_strongest_attack_of_each_row_is_framed(shown: Board, picture: Picture) -> None:
    framed = of_class(picture, "strongest")
    least = {int(words.attrib["data-row"]): float(words.text) for words in of_class(picture, "least")}
    rows = build_attack_table(shown, KIND).rows
    assert {int(cell.attrib["data-row"]) for cell in framed} == set(range(len(rows)))
    for cell in framed:
        assert float(cell.attrib["data-score"]) == pytest.approx(
            least[int(cell.attrib["data-row"])], abs=6e-4
        )
    assert least == {number: pytest.approx(row.s_T_min, abs=6e-4) for number, row in enumerate(rows)}


def test_the_sums_stand_at_the_foot(shown: Board, picture: Picture) -> None:
    written = [words.text for words in of_class(picture, "sum")]
    sums = attack_sums(shown, KIND)
    assert written[: len(PLAIN)] == [f"{sums[team]:.2f}" for team in PLAIN]
    assert set(written[len(PLAIN) :]) == {"–"}


def test_an_attack_far_below_its_row_is_flagged_and_no_other(shown: Board, picture: Picture) -> None:
    table = build_attack_table(shown, KIND)
    flagged = of_class(picture, "far")
    assert len(flagged) == 1
    assert table.attackers[int(flagged[0].attrib["data-column"])] == "a"
    assert table.targets[int(flagged[0].attrib["data-row"])] == "b"
    assert "1 attack is flagged" in picture.caption


def test_little_luck_is_no_reason_for_a_flag() -> None:
    assert len(of_class(one_row(0.30, 0.30, 0.30, 0.30, 0.27), "far")) == 1
    assert len(of_class(one_row(0.30, 0.30, 0.30, 0.30, 0.285), "far")) == 0
    assert len(of_class(one_row(0.30, 0.30, 0.30, 0.30, 0.27, users=100), "far")) == 0
    assert len(of_class(one_row(0.9, 0.9, 0.1), "far")) == 0


def test_equal_attacks_are_both_framed() -> None:
    assert len(of_class(one_row(0.4, 0.4, 0.5), "strongest")) == 2


def test_a_ceremony_opens_every_cell_once_and_the_minimum_falls(picture: Picture) -> None:
    cells = sorted(of_class(picture, "cell"), key=lambda cell: int(cell.attrib["data-order"]))
    assert [int(cell.attrib["data-order"]) for cell in cells] == list(range(1, len(cells) + 1))
    rows = [int(cell.attrib["data-row"]) for cell in cells]
    assert rows == sorted(rows, reverse=True)
    for row in set(rows):
        scores = [float(c.attrib.get("data-score", 1)) for c in cells if int(c.attrib["data-row"]) == row]
        assert scores == sorted(scores, reverse=True)


def test_a_closed_matrix_marks_everything_that_a_ceremony_opens(shown: Board) -> None:
    closed = matrix_picture(shown, KIND, closed=True)
    for name in ("cell", "least", "sum"):
        assert all("closed" in one.attrib["class"] for one in of_class(closed, name))
    assert not of_class(matrix_picture(shown, KIND), "closed")


def test_the_table_is_the_board(shown: Board, picture: Picture) -> None:
    table = build_attack_table(shown, KIND)
    *rows, foot = picture.table_rows
    assert [row[1:-1] for row in rows] == [tuple(row) for row in table.scores]
    assert foot[1:-1] == table.sums


def test_the_caption_counts_attackers_and_targets(shown: Board, picture: Picture) -> None:
    table = build_attack_table(shown, KIND)
    framed = {column for row, column in table.cells() if table.is_least(row, column)}
    told = picture.caption.partition("counts as 1. ")[2]
    assert numbers(told)[:3] == [len(framed), len(table.attackers), len(table.targets)]
    assert "because invalid: j." in picture.caption


def test_two_data_sets_have_their_own_rows() -> None:
    shown = board(data_sets=2)
    both = {row[0] for row in matrix_picture(shown, AttackKind.REIDENTIFICATION).table_rows}
    assert both >= {"a / IDP", "a / TRP"}
    first, second = (matrix_picture(shown, AttackKind.REIDENTIFICATION, number) for number in (1, 2))
    assert {row[0] for row in (*first.table_rows, *second.table_rows)} == both
    assert not {row[0] for row in first.table_rows[:-1]} & {row[0] for row in second.table_rows[:-1]}


def test_long_names_of_teams_are_written_out_and_keep_their_challenge() -> None:
    """Next to rows and above columns; where a name is shortened, the challenge still stands behind it."""
    long, longest = "003 The Lighthouse Keepers of Kyoto", "W" * 60
    shown = board(data_sets=2).with_names({"a": long, "b": longest})
    drawn = list(tree(matrix_picture(shown, AttackKind.REIDENTIFICATION, 1)).itertext())
    assert drawn.count(long) >= 2
    rows = [row[0] for row in matrix_picture(shown, AttackKind.REIDENTIFICATION).table_rows[:-1]]
    assert all(name.endswith((" / IDP", " / TRP")) for name in rows)
    assert any(name.startswith("WWW") and "… / " in name for name in rows)


def test_a_contest_without_a_valid_data_set_has_an_empty_matrix() -> None:
    picture = matrix_picture(make_board(Rules(), Roster(teams="ab"), [], []), KIND)
    assert picture.caption == "There is no valid data set to attack yet."
    assert not of_class(picture, "cell")
    assert tree(picture).attrib["role"] == "img"


def luminance(colour: str) -> float:
    """Of WCAG 2."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("percent", range(101))
def test_every_number_can_be_read_on_its_colour(percent: int) -> None:
    score = percent / 100
    ink = {"on-bright": 0.0, "on-dark": 1.0}[choose_ink(score)]
    low, high = sorted((ink, luminance(viridis(score))))
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_colours_are_those_of_the_maps() -> None:
    from plotly.colors import sample_colorscale, unlabel_rgb

    for share in np.linspace(0, 1, 50):
        ours = [int(viridis(share)[i : i + 2], 16) for i in (1, 3, 5)]
        assert ours == pytest.approx(unlabel_rgb(sample_colorscale("Viridis", [share])[0]), abs=1)
