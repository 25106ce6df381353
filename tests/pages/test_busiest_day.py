"""A description names a busiest weekday only where one is busier than another."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from tests.command_line import tracearena


def captions(tmp_path: Path, more: int) -> list[str]:
    """Describe one event a day for two weeks, and so many more on the first day."""
    days = [date(2026, 1, 5) + timedelta(days=n) for n in range(14)]
    rows = [
        (user, f"{day}T{8 + user:02}:00:00Z")
        for n, day in enumerate(days)
        for user in range(1 + (more if n == 0 else 0))
    ]
    text = "user_id,time,place,lat,lng\n" + "".join(f"{u},{t},1,35.0,139.0\n" for u, t in rows)
    (tmp_path / "events.csv").write_text(text)
    done = tracearena("describe", tmp_path / "events.csv", "--html", tmp_path / "page.html")
    assert done.status == 0, done.err
    return re.findall(r"<figcaption>(.*?)</figcaption>", (tmp_path / "page.html").read_text(), re.S)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (0, "All weekdays have the same number of events."),
        (2, "Monday has the most events (25.0% of all), Tuesday the fewest (12.5%)."),
    ],
)
def test_the_caption_follows_the_counts(tmp_path: Path, more: int, said: str) -> None:
    assert said in captions(tmp_path, more)
