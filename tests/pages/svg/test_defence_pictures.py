"""What defences do to scores and events: lines of cheating, bands of what is possible, distances, one day."""

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import Element

import pytest
from tests.pages.svg.gallery import CHEATING, SAMPLES, SVG, displacements, of_class, one_day, tree

from tracearena.arena.sweep import Band
from tracearena.pages.contest_data import TeamStyle
from tracearena.pages.html import BLUE, VERMILION
from tracearena.pages.svg import Picture, afterwards_picture, cheating_picture, displacement_picture

STYLES = {"a": TeamStyle(BLUE, "circle"), "b": TeamStyle(VERMILION, "square")}


def titles(picture: Picture) -> list[str]:
    """What is shown while something is pointed at."""
    return [one.text or "" for one in tree(picture).iter(f"{SVG}title")][1:]


def test_cheating_has_a_line_for_each_score_with_every_share() -> None:
    picture = cheating_picture(CHEATING, SAMPLES[:1])
    lines = list(tree(picture).iter(f"{SVG}polyline"))
    assert [len(line.get("points", "").split()) for line in lines] == [3, 3, 3]
    assert "people not identified, 50% swapped: 0.600" in titles(picture)
    assert picture.table_rows[1] == (0.5, 0.6, 0.06, 0.8)
    # More people swapped: further right; more names hidden: further up.
    points = [tuple(map(float, point.split(","))) for point in lines[0].get("points", "").split()]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)


def test_a_score_that_nobody_measured_has_no_marker() -> None:
    unmeasured = replace(CHEATING[1], utility=None)
    picture = cheating_picture([CHEATING[0], unmeasured, CHEATING[2]], SAMPLES[:1])
    assert not [title for title in titles(picture) if title.startswith("usefulness, 50%")]
    assert picture.table_rows[1][-1] is None


def test_bands_reach_from_the_estimate_to_the_ceiling() -> None:
    rows = [replace(SAMPLES[0], band=Band(0.02, 0.2)), replace(SAMPLES[1], band=None)]
    picture = afterwards_picture(rows, ["A-T"])
    (band,) = of_class(picture, "band")
    left, width = float(band.attrib["x"]), float(band.attrib["width"])
    assert "No: from 0.020 (estimate) to 0.200" in titles(picture)
    mark = next(one for one in of_class(picture, "mark") if one.get("cx"))
    # s_T,min of 0.05 lies a sixth of the way along the band.
    assert float(mark.attrib["cx"]) == pytest.approx(left + width * (0.05 - 0.02) / 0.18, abs=0.1)


def test_a_figure_above_what_is_possible_is_said_to_come_of_weak_attacks() -> None:
    rows = [replace(SAMPLES[1], band=Band(0.1, 0.3))]
    assert "is higher than that of habits alone" in afterwards_picture(rows, ["A-T"]).caption
    fair = [replace(SAMPLES[1], band=Band(0.1, 0.7))]
    assert "would seem" not in afterwards_picture(fair, ["A-T"]).caption


def test_without_attacks_on_whereabouts_there_is_nothing_to_compare() -> None:
    picture = afterwards_picture(SAMPLES, ["A-R"])
    assert picture.caption == "No attack of the contest inferred whereabouts."
    assert of_class(picture, "hollow") == []


def bar_widths(picture: Picture, team: str) -> list[float]:
    bars = [one for one in of_class(picture, "mark") if (one[0].text or "").startswith(f"{team}, ")]
    return [float(bar.attrib["width"]) for bar in bars]


def test_bars_are_as_long_as_shares_of_events() -> None:
    moved = displacements("ab")
    picture = displacement_picture(moved, 2.0, STYLES)
    for team, one in moved.items():
        shares = one.shares.tolist()
        assert sum(shares) == pytest.approx(1)
        widths = bar_widths(picture, team)
        assert len(widths) == len(shares) == len(picture.table_rows)
        full = max(widths) / max(shares)
        assert widths == pytest.approx([full * share for share in shares], abs=0.02)
    assert "b released 100% of all events at their original place" in picture.caption


@pytest.mark.parametrize("limit_km", [1.0, 2.0])
def test_the_limit_stands_where_events_become_worthless(limit_km: float) -> None:
    picture = displacement_picture(displacements("a"), limit_km, STYLES)
    (line,) = of_class(picture, "limit")
    bars = of_class(picture, "mark")
    below = [bar for bar in bars if float(bar.attrib["y"]) > float(line.attrib["y1"])]
    assert f", {limit_km:g}–{limit_km + 0.5:g} km: " in (below[0][0].text or "")
    assert f"utility 0 from {limit_km:g} km" in [one.text for one in tree(picture).iter(f"{SVG}text")]


def moments(picture: Picture, attribute: str) -> dict[int, list[Element]]:
    found: dict[int, list[Element]] = {}
    for one in tree(picture).iter(f"{SVG}g"):
        if attribute in one.attrib:
            found.setdefault(int(one.attrib[attribute]), []).append(one)
    return found


@pytest.mark.parametrize("now", [0, 7, 19])
def test_a_day_is_seen_up_to_now(now: int) -> None:
    picture = one_day(STYLES["a"], now=now)
    since, at = moments(picture, "data-since"), moments(picture, "data-at")
    assert list(since) == list(at) == list(range(20))
    for event in range(20):
        seen = {one.attrib["visibility"] for one in since[event]}
        assert seen == {"visible" if event <= now else "hidden"}
        present = {one.attrib["visibility"] for one in at[event]}
        assert present == {"visible" if event == now else "hidden"}
    assert [row[0] for row in picture.table_rows] == [at[event][0].attrib["data-time"] for event in range(20)]


def test_a_day_shows_what_was_hidden_and_what_became_a_set() -> None:
    picture = one_day(STYLES["a"], "MRLH(1,1,0.5)")
    fates = [row[2] for row in picture.table_rows]
    gone, sets = fates.count("*"), sum(" " in fate for fate in fates)
    assert gone > 0
    assert sets > 0
    crosses = [one for one in tree(picture).iter(f"{SVG}path") if one.get("class") == "line"]
    assert len(crosses) == gone
    assert f"0 were moved, {sets} became a set of places and {gone} were deleted." in picture.caption
