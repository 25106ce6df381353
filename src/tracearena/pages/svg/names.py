"""Names that others have given, in a form that cannot harm what is around them."""

from __future__ import annotations

import unicodedata

_NO_SHAPE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"
_UNKNOWN = "\ufffd"
_WIDE = {"F", "W"}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_ISOLATE, _END = "\u2068", "\u2069"
_MOST_MARKS = 2


def neutral(name: str) -> str:
    """Return a name of which every character can be seen.

    Characters without a shape of their own (zero-width ones, those that turn the direction of writing,
    control characters, what is no character) become a replacement character, spaces of any kind one
    space, and no letter carries more than two marks. What is left still has to be escaped.

    >>> neutral("a\u202eb\u200b\tc") == "a\ufffdb\ufffd c"
    True
    """
    seen: list[str] = []
    marks = 0
    for character in name:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= _MOST_MARKS:
            seen.append(_visible(character))
    return " ".join("".join(seen).split()) or _UNKNOWN


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    hidden = unicodedata.category(character) in _NO_SHAPE and character not in _JOINERS
    return _UNKNOWN if hidden else character


def shortened(name: str, room: int = 16) -> str:
    """Return a neutral name that is at most so many letters wide; a wide letter counts as two.

    >>> shortened("Heavy Weather", 8), shortened("東京都庁舎", 8), shortened("Fog", 8)
    ('Heavy W…', '東京都…', 'Fog')
    """
    whole = neutral(name)
    if _width(whole) <= room:
        return whole
    taken, used = [], 0
    for character in whole:
        used += _width(character)
        if used > room - 1:
            break
        taken.append(character)
    return "".join(taken).rstrip() + "…"


def _width(text: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(character) in _WIDE) for character in text)


def isolated(name: str, room: int = 40) -> str:
    """Return a short neutral name for the middle of a sentence, which keeps its own direction of writing.

    >>> isolated("Fog Bank")
    'Fog Bank'
    """
    short = shortened(name, room)
    turns = any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in short)
    return f"{_ISOLATE}{short}{_END}" if turns else short
