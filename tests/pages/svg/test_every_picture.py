"""Every picture obeys the policy of a strict page, says something, and has its numbers."""

from __future__ import annotations

import csv
import io
import re

import pytest
from defusedxml.ElementTree import fromstring
from tests.pages.svg.gallery import NASTY, PLAIN, SVG, Picture, pictures, tree

from tracearena.pages.svg import read_stylesheet

NAMES = {"plain": PLAIN, "nasty": NASTY}
KINDS = list(pictures())


@pytest.fixture(scope="module", params=NAMES)
def drawn(request: pytest.FixtureRequest) -> dict[str, Picture]:
    return pictures(NAMES[request.param])


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_has_neither_script_nor_style_nor_anything_from_elsewhere(
    drawn: dict[str, Picture], kind: str
) -> None:
    for one in tree(drawn[kind]).iter():
        assert one.tag.removeprefix(SVG) not in ("script", "style", "foreignObject", "image", "use", "a")
        for attribute, value in one.attrib.items():
            assert attribute != "style"
            assert not attribute.startswith("on")
            assert "href" not in attribute
            assert not re.search(r"url\((?!#)", value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_has_neither_script_nor_style(drawn: dict[str, Picture], kind: str) -> None:
    figure = fromstring(drawn[kind].markup())
    assert figure.tag == "figure"
    for one in figure.iter():
        assert one.tag not in ("script", "style", "img", "iframe")
        assert not {"style", "href", "src"} & set(one.attrib)
        assert not [name for name in one.attrib if name.startswith("on")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawing_scales_and_is_named_for_those_who_cannot_see_it(
    drawn: dict[str, Picture], kind: str
) -> None:
    root = tree(drawn[kind])
    left, top, width, height = (float(part) for part in root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert width > 0
    assert height > 0
    assert root.attrib["role"] == "img"
    ids = {one.get("id"): one for one in root.iter()}
    title, description = (ids[name] for name in root.attrib["aria-labelledby"].split())
    assert title.text
    assert description.text == drawn[kind].caption


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_drawn_outside_of_the_picture(drawn: dict[str, Picture], kind: str) -> None:
    root = tree(drawn[kind])
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    for one in root.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("cx", width),
                           ("y", height), ("y1", height), ("y2", height), ("cy", height)):  # fmt: skip
            assert -0.01 <= float(one.get(name, 0)) <= most + 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_the_caption_is_a_sentence_and_the_table_has_its_rows(drawn: dict[str, Picture], kind: str) -> None:
    picture = drawn[kind]
    assert picture.caption.endswith(".")
    assert picture.table_rows
    assert {len(row) for row in picture.table_rows} == {len(picture.table_header)}
    figure = fromstring(picture.markup())
    assert len(figure.findall(".//details//tbody/tr")) == min(len(picture.table_rows), 200)
    assert "".join(figure.find("figcaption").itertext()) == picture.caption


def test_no_two_pictures_of_a_page_share_an_id(drawn: dict[str, Picture]) -> None:
    ids = [one.get("id") for picture in drawn.values() for one in tree(picture).iter() if one.get("id")]
    assert len(ids) == len(set(ids))
    for kind, picture in drawn.items():
        own = [one.get("id") for one in tree(picture).iter() if one.get("id")]
        assert all(name.startswith(f"{kind}-") for name in own)


def test_a_name_is_seen_as_text_only_and_long_ones_are_cut() -> None:
    for picture in pictures(NASTY).values():
        figure = fromstring(picture.markup())
        for one in figure.iter():
            if one.tag == f"{SVG}text":
                assert len("".join(part for part in one.itertext())) < 21_000
                assert len(one.text or one[0].tail or "") < 80
        hidden = [c for c in "\u200b\u2060\u202e\x00\x07" if c in picture.markup()]
        assert hidden == []
        assert len(picture.caption) < 3_000


def test_the_whole_name_is_shown_while_a_short_one_is_pointed_at() -> None:
    titles = [one.text for one in tree(pictures(NASTY)["matrix-trace-inference"]).iter(f"{SVG}title")]
    assert NASTY[0] in titles
    assert NASTY[2] in titles


def test_no_spreadsheet_takes_a_name_for_a_formula() -> None:
    for picture in pictures(NASTY).values():
        cells = [cell for line in csv.reader(io.StringIO(picture.csv())) for cell in line]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+")) or cell == NASTY[1]]


def test_the_numbers_can_be_saved_where_the_server_has_them() -> None:
    picture = pictures()["privacy"]
    link = fromstring(picture.markup("/board/privacy.csv?a=1&b=2")).find(".//a")
    assert link.attrib["href"] == "/board/privacy.csv?a=1&b=2"
    lines = list(csv.reader(io.StringIO(picture.csv())))
    assert lines[0] == list(picture.table_header)
    assert [float(line[-1]) for line in lines[1:]] == [row[-1] for row in picture.table_rows]


def test_a_notebook_shows_a_picture_with_its_colours() -> None:
    picture = pictures()["privacy"]
    assert picture._repr_html_() == f"<style>{read_stylesheet()}</style>{picture.markup()}"


def test_every_class_of_the_pictures_that_needs_a_rule_has_one() -> None:
    used = {
        name
        for picture in pictures().values()
        for one in tree(picture).iter()
        for name in one.get("class", "").split()
    }
    styled = {"ink", "soft", "panel", "line", "grid", "hatch", "mark", "hollow", "halo", "strong", "number"}
    assert styled <= used
    for name in styled:
        assert re.search(rf"\.{name}\b", read_stylesheet())


def test_the_stylesheet_asks_for_nothing_from_elsewhere() -> None:
    assert not re.search(r"url\(|@import", read_stylesheet())
    assert read_stylesheet().count("{") == read_stylesheet().count("}")


def test_the_same_contest_makes_the_same_pictures() -> None:
    assert pictures() == pictures()
