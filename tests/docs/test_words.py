"""Words that make a reader stumble appear in no page, help text, message or docstring.

The help of the commands is on the page ``docs/reference/commands.md`` and in the strings of the source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT

SOURCE = ROOT / "src" / "tracearena"
TEXTS = [*PAGES, ROOT / "CHANGELOG.md"]
TEMPLATES = sorted(path for path in SOURCE.rglob("templates/**/*") if path.is_file())
MODULES = sorted(SOURCE.rglob("*.py"))

_COUNTED = (
    "answer|byte|candidate|cell|chart|class|column|count|day|defence|draw|event|feature|file|folder|hit|instant|line|"
    "marker|message|number|object|part|person|place|point|row|step|table|task|trace|trip|upload|user|visit|worker"
)
_GROUPS = (
    "algorithm|attack|cell|class|column|command|defence|event|file|group|instant|line|machine|page|paper|part|"
    "person|place|point|portion|pseudonym|release|row|slot|source|target|team|trace|trip|user|window|worker|zone"
)
_NUMBERS = (
    r"\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|twenty|hundred|thousand|million|dozen|few|fewer|"
    "many|more|most|some|several"
)
_GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*)"
_NOT_A_CLAUSE = r"(?!\s+(?:still\s+)?(?:has|had|keeps|may|can)\b)"
"""How many uploads a team still has: the noun is the subject of a clause."""
_TIMES = "second|minute|hour|day|week|month|year"
WORDS = {
    "again": r"(?<![-\w])anew\b",
    "anyone who, or who": r"\bwhoever\b",
    "does not hold": r"\bholds\s+not\b",
    "this many, or as many": r"\bso\s+many\b",
    "recently": r"\bof\s+late\b",
    "next to": r"\bbeside\b",
    "recommended": r"\bwould\s+be\s+well\b",
    "resumes, or continues": r"\b(?:go|goes|going|went)\s+on\s+with\b",
    "knows, given, or learned ('told apart' may stay)": r"(?<![-\w])(?:un)?told\b(?!\s+apart)",
    "'one … per …'": rf"\b(?:an?|one){_GAP}(?:{_COUNTED}){_GAP}an?{_GAP}(?:{_GROUPS}|{_TIMES})\b",
    "'… per …'": rf"\b(?:{_NUMBERS}){_GAP}(?:{_COUNTED})s{_GAP}an?{_GAP}(?:{_GROUPS})\b{_NOT_A_CLAUSE}",
}
"""What to write instead, and the pattern that must not occur."""


def find_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each such word and what to write instead."""
    for instead, pattern in WORDS.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            words = " ".join(found[0].split())
            yield text.count("\n", 0, found.start()) + 1, f"{words!r}: write {instead}"


def find_in(path: Path) -> list[str]:
    """Return the hits in a text, or in the strings of a module, as lines that an editor can jump to."""
    text = path.read_text(encoding="utf-8")
    strings = _strings(text) if path.suffix == ".py" else [(1, text)]
    return [
        f"{path.relative_to(ROOT)}:{start + line - 1}: {hit}"
        for start, string in strings
        for line, hit in sorted(find_words(string))
    ]


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module that have more than one word, docstrings included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize(
    "text",
    [
        "It is drawn anew.",
        "Whoever guesses it",
        "so many users as",
        "the file beside\nit",
        "and goes on\nwith it",
        "Untold, it looks for circles",
        "attackers who are told the defence",
        "a row a defence",
        "an event a user",
        "one line\na team",
        "two traces a user",
        "one trace a day",
    ],
)
def test_the_list_finds_a_word(text: str) -> None:
    assert list(find_words(text))


@pytest.mark.parametrize(
    "text",
    [
        "People can be told apart",
        "besides",
        "one row per user",
        "three answers a day",
        "days a person was out",
    ],
)
def test_the_list_lets_plain_english_pass(text: str) -> None:
    assert list(find_words(text)) == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_none_of_these_words(path: Path) -> None:
    assert find_in(path) == []


@pytest.mark.parametrize("paths", [TEMPLATES, MODULES], ids=["templates", "modules"])
def test_what_the_program_says_has_none_of_these_words(paths: list[Path]) -> None:
    assert len(paths) > 20
    assert [hit for path in paths for hit in find_in(path)] == []
