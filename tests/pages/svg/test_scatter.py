"""Privacy against privacy, and usefulness against privacy."""

from __future__ import annotations

import pytest
from tests.pages.svg.gallery import PLAIN, SAMPLES, SVG, board, of_class, tree

from tracearena.contest import Roster, Rules, make_board, select_compared_rows
from tracearena.pages.contest_data import assign_team_styles
from tracearena.pages.html import MARKERS
from tracearena.pages.svg import privacy_picture, usefulness_picture
from tracearena.pages.svg.canvas import SHAPES, draw_marker
from tracearena.pages.svg.contest_pictures import AREA

MANY = tuple(f"team {number}" for number in range(50))


def spot(element: object) -> tuple[float, float]:
    """Return where a marker stands, as values of the axes."""
    move = element.get("transform")  # type: ignore[attr-defined]
    x, y = move[10:-1].split() if move else (element.get("cx"), element.get("cy"))  # type: ignore[attr-defined]
    low, high = AREA.across
    return (
        low + (float(x) - AREA.left) / AREA.width * (high - low),
        low + (AREA.bottom - float(y)) / AREA.height * (high - low),
    )


def test_markers_stand_at_the_scores_of_the_board() -> None:
    shown = board()
    marks = of_class(privacy_picture(shown), "mark")
    expected = [(row.s_R_min, row.s_T_min) for row in select_compared_rows(shown)]
    assert [spot(one) for one in marks] == [pytest.approx(pair, abs=0.002) for pair in expected]


def test_no_two_teams_look_alike() -> None:
    shown = board(MANY)
    marks = of_class(privacy_picture(shown), "mark")
    looks = {(one.tag, one.get("points"), one.get("fill"), one.get("class")) for one in marks}
    assert len(looks) == len(marks) == 50
    assert {style.marker for style in assign_team_styles(shown.roster).values()} <= {"circle", *SHAPES}


def test_every_marker_of_the_house_has_a_shape() -> None:
    assert {one.plotly for one in MARKERS} == {"circle", *SHAPES} - {"x"}
    assert len(set(SHAPES.values())) == len(SHAPES)
    assert 'fill="none"' not in draw_marker(0, 0, "x", "var(--ink)")


def test_the_pseudonymised_team_is_a_cross_and_samples_are_grey_dots() -> None:
    picture = privacy_picture(board(), SAMPLES)
    crosses = [one for one in of_class(picture, "mark") if one.get("points") == SHAPES["x"]]
    assert len(crosses) == 1
    assert crosses[0].find(f"{SVG}title").text.startswith("000:")
    dots = of_class(picture, "sample")
    assert [spot(one) for one in dots] == [
        pytest.approx((row.scores.s_R_min, row.scores.s_T_min), abs=0.002) for row in SAMPLES
    ]


def test_the_valid_area_begins_at_the_threshold_and_invalid_teams_are_hollow() -> None:
    shown = board()
    picture = usefulness_picture(shown, SAMPLES)
    (area,) = of_class(picture, "valid-area")
    assert float(area.attrib["x"]) == pytest.approx(AREA.x(shown.rules.utility_threshold), abs=0.01)
    (hollow,) = of_class(picture, "hollow")
    assert hollow.find(f"{SVG}title").text.startswith(f"{PLAIN[-1]}:")
    assert "One team is below 0.7" in picture.caption


def test_axes_run_from_0_to_1_and_say_which_end_is_good() -> None:
    for picture in (privacy_picture(board()), usefulness_picture(board())):
        words = ["".join(one.itertext()) for one in tree(picture).iter(f"{SVG}text")]
        assert words.count("0") == words.count("1") == 2
        assert any("right is better" in one for one in words)
        assert any("up is better" in one for one in words)


def test_the_table_has_teams_and_samples() -> None:
    shown = board()
    rows = usefulness_picture(shown, SAMPLES).table_rows
    assert {row[0] for row in rows} == {*PLAIN, "000", *(row.defence for row in SAMPLES)}
    assert {row[0]: row[1] for row in rows}["a"] == shown.row("a").utility


def test_the_legend_names_every_team_once() -> None:
    legend = usefulness_picture(board(), SAMPLES).legend
    assert [legend.count(f"<bdi>{team}</bdi>") for team in PLAIN] == [1] * len(PLAIN)
    assert "sample defences" in legend


def test_a_contest_without_uploads_has_empty_pictures() -> None:
    empty = make_board(Rules(), Roster(teams="ab"), [], [])
    assert privacy_picture(empty).caption == "No valid data set yet."
    assert usefulness_picture(empty).caption == "Nothing has been handed in yet."
