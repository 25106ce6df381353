"""What a reader of a page sees or hears, and which of it is English."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_FORMATS = (
    "API ASCII CSV Ed English GB HTML ID JSON JavaScript KB MB Markdown MiB Parquet Python SHA UTC ZIP gz "
    "gzip km pandas"
)
_COMMANDS = "Content Idempotency Key Length etable etraces reg_id backup contest new serve teams tracearena"
SAME = frozenset(f"{_FORMATS} {_COMMANDS} VisitProb".split())
"""Names of formats and of commands: they are called so in Japanese too."""
# Names of files, hashes, symbols of the papers, and places that scripts fill.
_NO_WORDS = re.compile(r"[\w-]+\.(csv|json|toml|txt)(\.sig)?\b|\b[0-9a-f]{64}\b|s_[URT](,min)?|%\(\w+\)s")
_APART = ("code", "pre", "kbd", "bdi", "style", "script")
_VOID = ("meta", "link", "input", "br", "hr", "img")
_SPOKEN = ("aria-label", "title", "alt", "placeholder", "data-copy", "data-copied")


def english_words(text: str) -> list[str]:
    """Return the English words in a text."""
    words = re.findall(r"[A-Za-z][A-Za-z_]+", _NO_WORDS.sub("", text))
    return [word for word in words if word not in SAME]


def texts(page: str) -> list[str]:
    """Return all texts of a page, but for names, code and what is marked as English."""
    reader = _Reader()
    reader.feed(page)
    return reader.texts


class _Reader(HTMLParser):
    """Collects texts, and the words of attributes that are shown, read aloud or written by scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        foreign = self._note(tag, dict(attrs))
        if tag not in _VOID:
            self._open.append((tag, foreign))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._is_apart():
            self.texts.append(" ".join(data.split()))

    def _note(self, tag: str, given: dict[str, str | None]) -> bool:
        """Take the words of attributes; return whether what stands in the element is no text of ours."""
        foreign = given.get("lang") == "en" or tag in _APART
        # The whole name of a team is the title of its badge.
        if not foreign and not self._is_apart() and given.get("class") != "team":
            words = [value for name, value in given.items() if value and _is_text(name, value)]
            self.texts += words
        return foreign

    def _is_apart(self) -> bool:
        return any(foreign for _, foreign in self._open)


def _is_text(name: str, value: str) -> bool:
    return name in _SPOKEN or (name.startswith("data-") and " " in value)
