"""The page for organisers says what the rules say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracearena.contest import Rules, verify
from tracearena.traces import IdTable

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "contest-rules.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("sentence", [*Rules().explain(), *Rules(mode="live").explain()])
def test_every_sentence_of_the_default_rules_is_on_the_page(sentence: str) -> None:
    assert f"- {sentence}\n" in PAGE


@pytest.mark.parametrize(("rule", "value"), Rules().to_dict().items())
def test_every_default_is_on_the_page(rule: str, value: object) -> None:
    assert f"| `{rule}` | `{value}` |" in PAGE


def test_the_example_of_a_commitment_is_right() -> None:
    salt, digest = re.findall(
        r"\b[0-9a-f]{64}\b", (DOCS / "how-to" / "contest.md").read_text(encoding="utf-8")
    )
    assert verify(digest, IdTable([2001, 2002, 2003], [2, 3, 1]), salt)
