"""Sentences in the language of the reader: English, unless translators are set. How numbers are written.

Packages that do not know Django mark the texts of pages with `translate` and `translate_count`, as whole
sentences with placeholders for values. The server sets its translators with `set_translators`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, TypeAlias

OneForm: TypeAlias = Callable[[str], str]
"""Returns a sentence in another language."""
TwoForms: TypeAlias = Callable[[str, str, int], str]
"""Returns the form of a sentence for a number, from its forms for one and for many."""


_translators: tuple[OneForm, TwoForms] = (
    lambda words: words,
    lambda one, many, count: one if count == 1 else many,
)


def set_translators(one_form: OneForm, two_forms: TwoForms) -> None:
    """Set the translators of this process; the language may differ from call to call."""
    global _translators
    _translators = (one_form, two_forms)


def translate(words: str, /, **values: Any) -> str:
    """Return a sentence with its values, in the language of the reader.

    >>> translate("The utility is {utility}.", utility="0.7")
    'The utility is 0.7.'
    """
    return _translators[0](words).format(**values)


def translate_count(one: str, many: str, count: int, /, **values: Any) -> str:
    """Return a sentence about a number of things, which is its value ``count``.

    >>> [translate_count("{count} team", "{count} teams", count) for count in (1, 1200)]
    ['1 team', '1,200 teams']
    """
    return _translators[1](one, many, count).format(count=f"{count:,}", **values)


def join_sentences(sentences: Iterable[str]) -> str:
    """Return sentences as one text; not every language has a space between them.

    >>> join_sentences(["One.", "Two."])
    'One. Two.'
    """
    return reduce(
        lambda text, sentence: translate("{text} {sentence}", text=text, sentence=sentence), sentences
    )


def mark_for_translation(words: str) -> str:
    """Return words as they are, to be translated by `translate` when they are shown.

    >>> mark_for_translation("Overall winner")
    'Overall winner'
    """
    return words


# Values for people.


def format_number(value: float) -> str:
    """Write a number with the four digits that count, thousands apart.

    >>> [format_number(number) for number in (0.0925335, 98765.4, 2.0)]
    ['0.09253', '98,765', '2']
    """
    # From 999.95 on, four significant digits are a whole number.
    return f"{value:,.0f}" if abs(value) >= 999.95 else f"{value:.4g}"


def format_length(metres: float) -> str:
    """Write a length in metres or kilometres.

    >>> format_length(250), format_length(4_000)
    ('250 m', '4 km')
    """
    return f"{metres:g} m" if metres < 1000 else f"{metres / 1000:g} km"
