"""Names of others cannot harm what is around them."""

from __future__ import annotations

import unicodedata

from defusedxml.ElementTree import fromstring
from hypothesis import example, given
from hypothesis import strategies as st

from tracearena.pages.contest_data import TeamStyle, format_badge
from tracearena.pages.svg.canvas import (
    Canvas,
    element,
    isolate_name,
    measure_width,
    replace_invisible,
    shorten_name,
    wrap_name,
)

ALLOWED = {"aria-hidden", "class", "cx", "cy", "fill", "height", "r", "title", "viewBox", "width"}
ANYTHING = st.text(alphabet=st.characters(), max_size=60)


@given(ANYTHING)
def test_every_character_of_a_neutral_name_can_be_seen(name: str) -> None:
    for character in replace_invisible(name):
        assert character in "\u200c\u200d " or unicodedata.category(character)[0] not in "CZ"
    assert replace_invisible(name).strip()


@given(ANYTHING)
def test_a_drawing_with_any_name_parses_and_holds_the_name(name: str) -> None:
    canvas = Canvas(10, 10, name="one", title=replace_invisible(name))
    canvas.name(0, 0, name, room=8)
    parsed = fromstring(canvas.markup())
    assert parsed[0].text == replace_invisible(name)
    assert parsed[1][0].text == replace_invisible(name)
    assert parsed[1][0].tail == shorten_name(name, 8)


@given(ANYTHING)
def test_an_attribute_holds_any_name(name: str) -> None:
    assert fromstring(element("g", data_name=replace_invisible(name))).attrib == {
        "data-name": replace_invisible(name)
    }


@given(ANYTHING, st.integers(2, 30))
def test_a_shortened_name_fits(name: str, room: int) -> None:
    wide = [1 + (unicodedata.east_asian_width(one) in "FW") for one in shorten_name(name, room)]
    assert sum(wide) <= room
    assert replace_invisible(name).startswith(shorten_name(name, room).removesuffix("…"))


@given(ANYTHING, st.integers(2, 30), st.integers(1, 5))
@example("Cryptographers", 13, 4)
@example("007 Cryptographers", 13, 4)
def test_a_wrapped_name_fits_and_loses_nothing_before_its_last_line(name: str, room: int, most: int) -> None:
    """Also where a word is one letter too long for a line."""
    lines = wrap_name(name, room, most=most)
    assert 1 <= len(lines) <= most
    assert all(measure_width(line) <= room for line in lines)
    whole, shown = replace_invisible(name).replace(" ", ""), "".join(lines).replace(" ", "")
    assert whole == shown or (shown.endswith("…") and whole.startswith(shown.removesuffix("…")))


@given(ANYTHING)
def test_a_badge_holds_the_name_and_nothing_else(name: str) -> None:
    parsed = fromstring(format_badge(name, TeamStyle("#0072B2", "circle")))
    assert {attribute for one in parsed.iter() for attribute in one.attrib} <= ALLOWED
    assert parsed.find("bdi").text == shorten_name(name, 64)
    assert [one.tag for one in parsed.iter()] == ["span", "svg", "circle", "bdi"]


def test_a_name_from_right_to_left_does_not_turn_the_sentence() -> None:
    assert isolate_name("فريق") == "\u2068فريق\u2069"
    assert isolate_name("a\u202eb") == "a\ufffdb"
    assert isolate_name("Fog Bank") == "Fog Bank"


def test_names_that_differ_in_hidden_characters_look_different() -> None:
    assert replace_invisible("ab") != replace_invisible("a\u200bb")
