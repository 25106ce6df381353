"""A page is one file: nothing from elsewhere, nothing a file's text could break."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError

from tracearena.pages import Page, place_map
from tracearena.pages.html import load_templates, render_part
from tracearena.traces import Grid, Places

BARS = {"data": [{"type": "bar", "x": [0, 1], "y": [3, 9]}], "layout": {"height": 300}}
BASE = """{% extends "pages/templates/page.html" %}
{% from "pages/templates/parts.html" import card, figure, table with context %}
"""
FIGURE = """{% block main %}<h2 id="hours">Hours</h2>
{% call figure(drawn, "hours", behind) %}{{ caption }}{% endcall %}{% endblock %}"""


def render(blocks: str, **values: object) -> str:
    """Fill in a page with these blocks."""
    return load_templates().from_string(BASE + blocks).render(**{"title": "Title", **values})


def figures(html: str) -> list[dict]:
    found = re.findall(r'<script type="application/json" id="[^"]*">(.*?)</script>', html, re.S)
    return [json.loads(text) for text in found]


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    page = render(FIGURE, drawn=BARS, caption="A message.", behind=(["a"], [[1]]))
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', markup)
    assert "Plotly" in page
    assert Page("pages/templates/page.html", title="Title").html().startswith("<!DOCTYPE html>")


def test_a_page_without_figures_carries_no_plotly() -> None:
    page = render('{% block main %}{{ table(["name", "count"], [["a", 1]]) }}{% endblock %}')
    assert len(page) < 20_000
    assert "<script" not in page


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", '"><img src=x>', "a & b"])
def test_text_of_a_file_cannot_become_markup(text: str) -> None:
    page = render(
        "{% block lead %}{{ text }}{% endblock %}{% block main %}{{ card(text, text) }}"
        "{% call figure(drawn, text, behind) %}{{ text }}{% endcall %}{% endblock %}",
        title=text,
        text=text,
        drawn={"data": [{"type": "bar", "x": [text], "y": [1]}], "layout": {}},
        behind=([text], [[text]]),
    )
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert text not in markup
    assert figures(page)[0]["data"][0]["x"] == [text]


def test_sections_make_the_contents() -> None:
    two = '<h2 id="where-people-are">Where people are</h2><h2 id="when">When &amp; how</h2>'
    page = render(f"{{% block main %}}{two}<h2>No section</h2>{{% endblock %}}")
    contents = re.search("<nav>(.*?)</nav>", page, re.S)
    assert contents is not None
    assert re.findall('<a href="(.*?)">(.*?)</a>', contents[1]) == [
        ("#where-people-are", "Where people are"),
        ("#when", "When &amp; how"),
    ]
    assert "<nav>" not in render('{% block main %}<h2 id="one">One</h2>{% endblock %}')


def test_numbers_of_a_figure_can_be_saved() -> None:
    page = render(FIGURE, drawn=BARS, caption="A message.", behind=(["hour", "events"], [[0, 3], [1, 9]]))
    packed = re.search(r'download="hours.csv" href="data:text/csv;base64,([^"]*)"', page)
    assert packed is not None
    assert base64.b64decode(packed[1]).decode() == "hour,events\n0,3\n1,9\n"


def test_a_caption_is_one_line() -> None:
    page = render(FIGURE, drawn=BARS, caption="One\n  message.", behind=None)
    assert "<figcaption>One message.</figcaption>" in page
    assert "<details>" not in page


def test_a_long_table_is_cut_and_says_so() -> None:
    page = render(FIGURE, drawn=BARS, caption="Many.", behind=(["n"], [[n] for n in range(1300)]))
    assert page.count("<tr>") == 1 + 200
    assert "… and 1,100 more rows." in page


def test_numbers_stand_on_the_right() -> None:
    markup = render_part("table", ["name", "count"], [["a", 1], ["b", None]])
    assert re.findall("<td(.*?)>(.*?)</td>", markup) == [
        ("", "a"),
        (' class="number"', "1"),
        ("", "b"),
        (' class="number"', "–"),
    ]


def test_a_name_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="drawn"):
        render(FIGURE, caption="", behind=None)


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    page = Page("pages/templates/page.html", title="Title")
    page.write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html()


def test_a_map_keeps_the_shape_of_the_ground() -> None:
    grid = Grid(rows=4, columns=4, south=59.9, west=10.0, north=60.1, east=10.4)
    figure = place_map(Places.of_grid(grid), np.arange(16))
    assert figure["layout"]["yaxis"]["scaleanchor"] == "x"
    assert figure["layout"]["yaxis"]["scaleratio"] == pytest.approx(2.0, abs=1e-9)
    bar = figure["layout"]["shapes"][0]
    assert (bar["x1"] - bar["x0"]) * 111.195 * 0.5 == pytest.approx(2.0)
    assert figure["layout"]["annotations"][0]["text"] == "2 km"


def test_places_without_events_are_left_off_the_map() -> None:
    places = Places([35.0, 35.1, 35.2], [139.0, 139.1, 139.2], sensitive=[False, True, False])
    (figure,) = figures(render(FIGURE, drawn=place_map(places, [0, 10, 1]), caption="Two.", behind=None))
    assert figure["data"][0]["customdata"] == [1.0, 10.0]
    assert figure["data"][1]["name"] == "sensitive places"
