"""Awards: ties look like ties, and equal teams share a step."""

from __future__ import annotations

import pytest
from tests.pages.svg.gallery import SVG, board, numbers, of_class, tree

from tracearena.contest import Award, Standing, make_awards
from tracearena.contest.report_data import estimate_margin
from tracearena.pages.contest_data import TeamStyle, assign_team_styles, estimate_award_margin
from tracearena.pages.svg import margins_picture, podium_picture

LOOKS = {name: TeamStyle("#0072B2", "circle") for name in "abcdefgh"}


def award(*values: float, name: str = "best-anonymization") -> Award:
    places = [Standing(1 + sum(other > value for other in values), team, value)
              for team, value in zip("abcdefgh", values, strict=False)]  # fmt: skip
    return Award(name, "Best anonymization", tuple(places))


def test_bands_are_twice_the_margin_wide_around_the_score() -> None:
    luck = estimate_margin(500)
    picture = margins_picture(award(0.5, 0.4), luck, LOOKS)
    (tie,) = of_class(picture, "tie-band")
    bands = [(float(one.attrib["x"]), float(one.attrib["width"])) for one in of_class(picture, "margin")]
    assert float(tie.attrib["width"]) == pytest.approx(bands[0][1], abs=0.02)
    unit = bands[0][1] / (2 * luck)
    assert bands[0][0] - bands[1][0] == pytest.approx(0.1 * unit, abs=0.05)
    assert f"± {luck:.3f}" in picture.caption


@pytest.mark.parametrize(("second", "tied"), [(0.49, True), (0.481, True), (0.479, False)])
def test_whoever_luck_may_have_kept_from_winning_is_named(second: float, tied: bool) -> None:
    caption = margins_picture(award(0.5, second), 0.01, LOOKS).caption
    assert ("Tied within this margin: b." in caption) == tied
    assert ("no other team is close enough" in caption) != tied


def test_sums_of_attackers_are_bars_with_the_luck_of_all_their_targets() -> None:
    shown = board()
    best = make_awards(shown)[-1]
    luck = estimate_award_margin(shown, best)
    assert luck == pytest.approx(estimate_margin(shown.rules.users) * len(shown.targets()) ** 0.5)
    picture = margins_picture(best, luck, assign_team_styles(shown.roster))
    assert len(of_class(picture, "margin")) == len(best.places)
    assert f"± {luck:.3f}" in picture.caption
    bars = [one for one in of_class(picture, "mark") if one.tag == f"{SVG}rect"]
    widths = [float(one.attrib["width"]) for one in bars]
    values = [place.value for place in best.places]
    assert [width / widths[-1] for width in widths] == pytest.approx(
        [v / values[-1] for v in values], abs=1e-3
    )
    assert "left is better" in "".join(tree(picture).itertext())
    assert f"{values[0]:.3f}" in picture.caption


def test_the_table_is_the_award() -> None:
    best = make_awards(board())[0]
    rows = margins_picture(best, 0.01, assign_team_styles(board().roster)).table_rows
    assert rows == tuple((place.place, place.team, place.value) for place in best.places)


def test_equal_teams_stand_on_one_step() -> None:
    picture = podium_picture(award(0.5, 0.5, 0.4), LOOKS)
    steps = {int(one.attrib["data-place"]): one for one in of_class(picture, "step")}
    assert set(steps) == {1, 3}
    names = [one[0].text for one in steps[1].iter(f"{SVG}text") if len(one)]
    assert sorted(names) == ["a", "b"]
    assert picture.caption == "Best anonymization: 1. a and b (0.500), 3. c (0.400)."


def test_many_equal_teams_are_counted() -> None:
    picture = podium_picture(award(*[0.5] * 7), LOOKS)
    assert "and 4 more" in "".join(tree(picture).itertext())
    assert len(picture.table_rows) == 7


def test_the_first_step_is_the_highest() -> None:
    picture = podium_picture(award(0.5, 0.4, 0.3), LOOKS)
    heights = {int(step.attrib["data-place"]): float(step.find(f"{SVG}rect").attrib["height"])
               for step in of_class(picture, "step")}  # fmt: skip
    assert heights[1] > heights[2] > heights[3]
    assert numbers(picture.caption) == [1, 0.5, 2, 0.4, 3, 0.3]


def test_an_award_that_nobody_earned_has_pictures() -> None:
    nobody = award()
    for picture in (margins_picture(nobody, 0.01, {}), podium_picture(nobody, {})):
        assert picture.caption == "Best anonymization: no winner."
        assert picture.table_rows == ()


def test_every_step_of_a_podium_shows_its_score() -> None:
    """The third too, which is the lowest."""
    drawn = podium_picture(award(0.5, 0.4, 0.3), LOOKS).svg
    assert all(f">{score}<" in drawn for score in ("0.500", "0.400", "0.300"))


def test_a_long_name_stands_whole_on_its_step() -> None:
    name = "017 Waseda Information Security Lab"
    only = Award("best-anonymization", "Best anonymization", (Standing(1, name, 0.5),))
    (step,) = of_class(podium_picture(only, {name: LOOKS["a"]}), "step")
    lines = [one.text or one[0].tail for one in step.iter(f"{SVG}text") if "strong" in one.attrib["class"]]
    assert " ".join(line or "" for line in lines[1:]) == name


def test_a_long_name_stands_whole_next_to_its_bar() -> None:
    """In as many lines as it needs, and its bar is as long as others of the same value."""
    name = "017 Waseda Information Security Lab"
    places = (Standing(1, name, 0.5), Standing(1, "b", 0.5))
    for kind in ("best-anonymization", "best-trace-inference"):
        drawn = margins_picture(Award(kind, "Best", places), 0.01, {name: LOOKS["a"], "b": LOOKS["b"]})
        texts = [one for one in tree(drawn).iter(f"{SVG}text") if len(one) and one[0].text == name]
        assert " ".join(one[0].tail or "" for one in texts) == name
        levels = [float(one.attrib["y"]) for one in texts]
        assert len(levels) == 2
        assert levels[1] - levels[0] == 18


def test_the_title_of_an_axis_next_to_long_names_ends_inside_the_picture() -> None:
    long = {"a": "a" * 40, "b": "b"}
    picture = margins_picture(
        Award("best-anonymization", "Best", tuple(Standing(1, name, 0.5) for name in long.values())),
        0.01,
        dict.fromkeys(long.values(), LOOKS["a"]),
    )
    (title,) = [
        one for one in tree(picture).iter(f"{SVG}text") if "right is better" in "".join(one.itertext())
    ]
    assert title.attrib["text-anchor"] == "end"
    assert float(title.attrib["x"]) <= float(tree(picture).attrib["viewBox"].split()[2])
