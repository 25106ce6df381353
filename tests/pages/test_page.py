"""A page is one file: nothing from elsewhere, nothing a file's text could break."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tracearena.pages import Page, place_map
from tracearena.traces import Grid, Places

BARS = {"data": [{"type": "bar", "x": [0, 1], "y": [3, 9]}], "layout": {"height": 300}}


def figures(html: str) -> list[dict]:
    found = re.findall(r'<script type="application/json" id="[^"]*">(.*?)</script>', html, re.S)
    return [json.loads(text) for text in found]


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    page = Page("Title")
    page.figure(BARS, "A message.", table=(["a"], [[1]]))
    markup = re.sub(r"<script>.*?</script>", "", page.html(), flags=re.S)
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', markup)
    assert "Plotly" in page.html()


def test_a_page_without_figures_carries_no_plotly() -> None:
    page = Page("Title")
    page.table(["name", "count"], [["a", 1]])
    assert len(page.html()) < 20_000


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", '"><img src=x>', "a & b"])
def test_text_of_a_file_cannot_become_markup(text: str) -> None:
    page = Page(text, lead=text)
    page.heading(text)
    page.text(text)
    page.cards({text: text})
    figure = {"data": [{"type": "bar", "x": [text], "y": [1]}], "layout": {}}
    page.figure(figure, text, table=([text], [[text]]), name=text)
    markup = re.sub(r"<script.*?</script>", "", page.html(), flags=re.S)
    assert text not in markup
    assert figures(page.html())[0]["data"][0]["x"] == [text]


def test_headings_make_the_contents() -> None:
    page = Page("Title")
    page.heading("Where people are")
    page.heading("When")
    assert page.html().count('href="#where-people-are"') == 1


def test_numbers_of_a_figure_can_be_saved() -> None:
    import base64

    page = Page("Title")
    page.figure(BARS, "A message.", table=(["hour", "events"], [[0, 3], [1, 9]]), name="hours")
    packed = re.search(r'download="hours.csv" href="data:text/csv;base64,([^"]*)"', page.html())
    assert packed is not None
    assert base64.b64decode(packed[1]).decode() == "hour,events\n0,3\n1,9\n"


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    page = Page("Title")
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
    page = Page("Title")
    page.figure(place_map(places, [0, 10, 1]), "Two places.")
    (figure,) = figures(page.html())
    assert figure["data"][0]["customdata"] == [1.0, 10.0]
    assert figure["data"][1]["name"] == "sensitive places"
