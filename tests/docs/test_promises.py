"""The page of promises names tests that are there, and leaves no numbered one out."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.docs.pages import DOCS, ROOT

PAGE = (DOCS / "reference" / "contest-promises.md").read_text(encoding="utf-8")
WANTED = {1, 2, 4, 6, 7, 9, *range(11, 39), 40}


@cache
def _tests() -> dict[str, ast.FunctionDef]:
    """Return every test function by its name."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests").rglob("test_*.py"))
    ]
    found = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {node.name: node for node in found if node.name.startswith("test_")}


def _numbers_of(test: ast.FunctionDef) -> set[int]:
    """Return the numbers with which the docstring of a test begins: "T5, T10: ...", or "T7."."""
    begin = re.match(r"T\d+(, T\d+)*(?=[.:])", ast.get_docstring(test) or "")
    return set(map(int, re.findall(r"\d+", begin[0]))) if begin else set()


def test_every_test_that_a_promise_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 100
    assert sorted(named - _tests().keys()) == []


def test_every_number_has_tests_and_every_numbered_test_a_promise() -> None:
    rows = dict(re.findall(r"^\| T(\d+) \| (.*)$", PAGE, re.M))
    assert set(map(int, rows)) == WANTED
    assert [number for number, row in rows.items() if "`test_" not in row] == []
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    numbered = [(_numbers_of(test), name in named) for name, test in _tests().items()]
    promised = set().union(*(numbers for numbers, is_named in numbered if is_named))
    assert set().union(*(numbers for numbers, _ in numbered)) - promised == set()


def test_bold_are_those_of_the_long_suite_alone() -> None:
    bold = set(re.findall(r"\*\*`(test_\w+)`\*\*", PAGE))
    plain = set(re.findall(r"(?<!\*)`(test_\w+)`(?!\*)", PAGE))
    is_long = {
        name
        for name, test in _tests().items()
        if any("pytest.mark.long" in ast.unparse(mark) for mark in test.decorator_list)
    }
    assert bold <= is_long
    assert sorted(plain & is_long) == []
