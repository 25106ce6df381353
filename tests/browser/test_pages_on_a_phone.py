"""Pages of commands on a phone: no plot is cut, no name lies on another, and a slider moves its picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.browser.looking import WIDE, faults
from tests.contest.residents import Residents

from tracearena.audit import charts, texts
from tracearena.audit.usefulness import Task, Usefulness
from tracearena.contest import simulate_contest
from tracearena.pages.contest import contest_report
from tracearena.pages.html import load_templates

pytestmark = pytest.mark.slow

CUT = """() => [...document.querySelectorAll(".plot")].filter(
  plot => plot.querySelector("svg").getBoundingClientRect().right
    > plot.parentElement.getBoundingClientRect().right + 1
).map(plot => plot.id)"""
LABELS = """() => [...document.querySelectorAll(".textpoint text")].map(label => {
  const box = label.getBoundingClientRect();
  return [box.left, box.right, box.top, box.bottom];
})"""
TITLES = """() => [...document.querySelectorAll(".xtitle")].every(title => {
  const box = title.getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth;
})"""

PAGE = """{% extends "pages/templates/page.html" %}
{% from "pages/templates/parts.html" import figure with context %}
{% block main %}
{% for name, drawn in figures.items() %}
{% call figure(drawn, name, none, 320) %}A message.{% endcall %}
{% endfor %}
{% endblock %}
"""


def write_page(path: Path, **figures: dict[str, Any]) -> None:
    path.write_text(load_templates().from_string(PAGE).render(title="Plots", figures=figures))


def crowded() -> dict[str, Any]:
    """Points with long names that lie close together."""
    names = [f"ClusterAveraging(0.{n},blur_km=0.5)" for n in range(5)]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [0.3 + n / 100 for n in range(5)],
                "y": [0.05 + n / 200 for n in range(5)],
                "text": names,
                "textposition": "top center",
                "textfont": {"size": 10},
            }
        ],
        "layout": {
            "height": 380,
            "xaxis": {"title": {"text": "what a release keeps of the six tasks (1 is all)"}, "range": [0, 1]},
            "yaxis": {"range": [0, 1]},
        },
    }


@pytest.mark.parametrize("width", [390, 1280])
def test_plots_fit_and_names_lie_apart(tmp_path: Path, page_of: Callable[..., Any], width: int) -> None:
    kept = Usefulness(tuple(Task(name, 0.5, 0.9, 1.0, 1.0) for name in texts.TASKS), 0.5)
    write_page(tmp_path / "page.html", points=crowded(), tasks=charts.draw_tasks(kept)[0])
    opened = page_of("file://", viewport={"width": width, "height": 900})
    opened.goto(f"file://{tmp_path}/page.html")
    opened.wait_for_selector(".textpoint text")
    opened.wait_for_timeout(500)
    assert opened.evaluate(CUT) == []
    assert opened.evaluate(TITLES)
    boxes = opened.evaluate(LABELS)
    assert len(boxes) == 5
    for at, (left, right, top, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width
        for other in boxes[:at]:
            assert right < other[0] or left > other[1] or bottom < other[2] or top > other[3]


def test_a_page_that_becomes_narrow_is_drawn_again(tmp_path: Path, page_of: Callable[..., Any]) -> None:
    write_page(tmp_path / "page.html", points=crowded())
    opened = page_of("file://", viewport={"width": 1280, "height": 900})
    opened.goto(f"file://{tmp_path}/page.html")
    opened.wait_for_selector(".textpoint text")
    opened.set_viewport_size({"width": 390, "height": 900})
    opened.wait_for_timeout(800)
    assert opened.evaluate(CUT) == []
    assert opened.evaluate(TITLES)


def test_a_slider_moves_through_the_day(tmp_path: Path, page_of: Callable[..., Any]) -> None:
    held = simulate_contest(teams=2, users=30, days=4, maker=Residents(), seed=5)
    contest_report(held.to_report_data("tracearena demo")).write(tmp_path / "report.html")
    opened = page_of("file://", viewport={"width": 390, "height": 900})
    opened.goto(f"file://{tmp_path}/report.html")
    slider = opened.locator("figure input").first
    shown = "([name, figure]) => [...figure.querySelectorAll(`[${name}]`)]"
    shown += ".filter(part => getComputedStyle(part).visibility === 'visible')"
    shown += ".map(part => Number(part.getAttribute(name)))"
    figure = opened.locator("figure:has(input)").first.element_handle()
    for now, time in ((0, "08:00"), (19, "17:30"), (4, "10:00")):
        slider.fill(str(now))
        assert opened.locator("figure output").first.inner_text() == time
        assert set(opened.evaluate(shown, ["data-at", figure])) == {now}
        assert set(opened.evaluate(shown, ["data-since", figure])) == set(range(now + 1))


def test_the_report_of_a_contest_has_no_fault_and_shows_its_scores(
    tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """axe-core 0 findings, light and dark, wide and narrow; on a phone the scores are on the screen."""
    held = simulate_contest(teams=3, users=30, days=4, maker=Residents(), seed=5)
    contest_report(held.to_report_data("tracearena demo")).write(tmp_path / "report.html")
    opened = page_of("file://", viewport=WIDE)
    opened.goto(f"file://{tmp_path}/report.html")
    assert [one for one in faults(opened) if "bytes" not in one] == []
    opened.set_viewport_size({"width": 390, "height": 844})
    right = "cells => Math.max(...cells.map(cell => cell.getBoundingClientRect().right))"
    scores = opened.locator(".board td:nth-child(5)")
    assert scores.count() == len(held.board.rows)
    assert scores.evaluate_all(right) <= 390
    assert opened.locator("#the-rules + details").get_attribute("open") is None
