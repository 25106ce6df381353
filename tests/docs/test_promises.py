"""The page of promises names tests that are there, and leaves no numbered one out."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import DOCS, ROOT

PAGE = (DOCS / "reference" / "contest-promises.md").read_text(encoding="utf-8")
WANTED = {1, 2, 4, 6, 7, 9, *range(11, 39), 40}
_TEST = re.compile(r"^(?P<marks>(?:@.*\n(?:^[ )].*\n)*)*)def (?P<name>test_\w+)", re.M)


def _tests() -> dict[str, str]:
    """Return every test function, and what stands above it."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(Path(ROOT / "tests").rglob("test_*.py"))]
    return {found["name"]: found["marks"] for source in sources for found in _TEST.finditer(source)}


def test_every_test_that_a_promise_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 100
    assert sorted(named - _tests().keys()) == []


def test_every_number_has_tests_and_every_numbered_test_a_promise() -> None:
    rows = dict(re.findall(r"^\| T(\d+) \| (.*)$", PAGE, re.M))
    assert set(map(int, rows)) == WANTED
    assert [number for number, row in rows.items() if "`test_" not in row] == []
    numbered = {number for name in _tests() for number in re.findall(r"_t(\d\d)(?=_)", name)}
    assert {number for number in numbered if f"_t{number}_" not in PAGE} == set()


def test_bold_are_those_of_the_long_suite_alone() -> None:
    bold = set(re.findall(r"\*\*`(test_\w+)`\*\*", PAGE))
    plain = set(re.findall(r"(?<!\*)`(test_\w+)`(?!\*)", PAGE))
    is_long = {name for name, marks in _tests().items() if "pytest.mark.long" in marks}
    assert bold <= is_long
    assert sorted(plain & is_long) == []
