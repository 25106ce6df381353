"""The pages of describe and audit on a phone: no plot is cut, and no name lies on another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracearena.audit import charts, texts
from tracearena.audit.usefulness import Task, Usefulness
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
