"""Every text in English and Japanese: catalogues that are whole, and pages without a word of the other."""

from __future__ import annotations

import ast
import gettext
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server import catalogues, hands
from tests.server.conftest import DAY, SCHEDULE, Held
from tests.server.reading import SAME, english_words, texts
from tests.server.routes import filled, pages
from tests.server.test_public_pages import played
from tests.server.visitors import browser, joined, organiser, program

JAPANESE = {"Accept-Language": "ja,en;q=0.5"}
_PLACES = re.compile(r"%?%\(\w+\)[.\w]*?[sdf]|%%s|\{\w+\}")
_TAGS = re.compile(r"<[^>]+>")
_IS_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture
def database() -> None:
    """SQLite: what a page says does not depend on the database."""


@pytest.mark.parametrize("language", list(catalogues.PLURALS))
def test_a_catalogue_has_every_text_that_the_source_marks_and_no_other(language: str) -> None:
    """`make messages` brings both together."""
    header, *entries = catalogues.read(language)
    assert header.forms == ("",)
    assert [one.forms for one in entries] == sorted(catalogues.marked())
    assert not [one.forms for one in entries if one.fuzzy or not all(one.said)]


def test_the_english_catalogue_says_what_the_source_says() -> None:
    """Word for word."""
    assert all(one.said == one.forms for one in catalogues.read("en")[1:])


def test_a_translation_keeps_the_values_and_the_markup_of_its_text() -> None:
    """No placeholder and no link is lost, and none is invented."""
    for one in catalogues.read("ja")[1:]:
        for pattern in (_PLACES, _TAGS):
            wanted = sorted(pattern.findall(one.forms[-1]))
            assert sorted(pattern.findall(one.said[0])) == wanted, one.forms


def test_what_is_translated_to_japanese_is_japanese() -> None:
    """But for what is called the same, and mere order of values."""
    for one in catalogues.read("ja")[1:]:
        rest = _TAGS.sub("", _PLACES.sub("", one.said[0]))
        assert _IS_JAPANESE.search(rest) or not set(re.findall(r"[A-Za-z]{2,}", rest)) - SAME, one


def test_no_refusal_has_words_that_nobody_can_translate() -> None:
    """Its message is never a text as it stands: it came from a catalogue."""
    for path in (catalogues.SOURCE / "server").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
                assert not isinstance(node.args[2], (ast.Constant, ast.JoinedStr)), (path, node.lineno)


def test_no_script_has_sentences_of_its_own() -> None:
    """They stand in the page, in its language."""
    scripts = sorted((catalogues.SOURCE / "server" / "static").glob("*.js"))
    assert scripts
    for path in scripts:
        code = re.sub(r"^ *//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert not re.findall(r"""["'`][A-Za-z]+(?: [a-z]+){2,}""", code), path


@pytest.mark.parametrize("language", list(catalogues.PLURALS))
def test_the_compiled_catalogue_is_that_of_the_translators(language: str) -> None:
    """To the byte; and Python's own reader finds every text in it."""
    entries = catalogues.read(language)
    path = catalogues.LOCALE / language / "LC_MESSAGES" / "django.mo"
    assert path.read_bytes() == catalogues.compiled(entries)
    with path.open("rb") as file:
        read = gettext.GNUTranslations(file)
    for one in entries[1:]:
        if len(one.forms) == 1:
            assert read.gettext(one.forms[0]) == one.said[0]
        else:
            numbers = {count: one.said[min(count != 1, len(one.said) - 1)] for count in (0, 1, 2)}
            assert {n: read.ngettext(*one.forms, n) for n in numbers} == numbers


def test_the_browser_says_which_language_and_the_cookie_of_the_form_wins(held: Held) -> None:
    """What depends on both is said to caches; languages that there are not are English."""
    for asked, got in (
        ("ja", "ja"),
        ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
        ("de", "en"),
        ("", "en"),
        ("*", "en"),
    ):
        answer = browser().get("/rules", headers={"Accept-Language": asked})
        assert f'<html lang="{got}">' in answer.content.decode()
        assert answer.headers["Content-Language"] == got
        assert {"Accept-Language", "Cookie"} <= set(answer.headers["Vary"].split(", "))
    client = browser()
    answer = client.post("/language", {"language": "en", "next": "/rules"}, headers=JAPANESE)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/rules")
    cookie = answer.cookies["language"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert '<html lang="en">' in client.get("/rules", headers=JAPANESE).content.decode()
    client.post("/language", {"language": "xx"})
    assert client.cookies["language"].value == "en"


def test_the_form_of_languages_leads_to_no_other_site_and_takes_no_forged_request(held: Held) -> None:
    """It goes back to the page where it stands."""
    for wanted in ("https://evil.example/", "//evil.example", "javascript:alert(1)", "http:\\\\evil", ""):
        answer = browser().post("/language", {"language": "ja", "next": wanted})
        assert answer.headers["Location"] == "/", wanted
    strict = browser(enforce_csrf_checks=True)
    assert strict.post("/language", {"language": "ja"}).status_code == 403
    page = strict.get("/board?a=1").content.decode()
    form = re.search(r'<form class="languages".*?</form>', page, re.DOTALL)
    assert form is not None
    fields = dict(re.findall(r'name="(\w+)" value="([^"]+)"', form[0].split("<button")[0]))
    answer = strict.post("/language", fields | {"language": "ja"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/board?a=1")
    assert '<html lang="ja">' in strict.get("/").content.decode()
    member = joined(held, "001")
    assert 'name="next" value="/team/tokens"' in member.post("/team/tokens", {"label": "a"}).content.decode()


def test_programs_are_answered_inenglish_words(held: Held) -> None:
    """Whatever their caller's system speaks, also after a page in another language from the same thread."""
    caller = program(held, "001")
    assert "一致しません" in browser().post("/login", {"name": "x"}, headers=JAPANESE).content.decode()
    early = browser().post("/team/uploads/obfuscated/1", headers=JAPANESE)
    assert early.status_code == 302
    for path in ("submissions/99", "nothing"):
        answer = caller.get(path, **JAPANESE)
        assert not _IS_JAPANESE.search(answer.content.decode()), path
        assert "Content-Language" not in answer.headers
    from django.utils.translation import get_language

    assert get_language() == "en"


@pytest.mark.slow
def test_boards_are_kept_apart_by_language_and_their_numbers_are_the_same(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen board is drawn once in each language; what is saved as CSV is for programs."""
    boss = organiser(held)
    played(held, tmp_path, monkeypatch)
    boss.post("/organiser/publish")
    english = {"Accept-Language": "en"}
    for headers, said, other in ((JAPANESE, "匿名加工賞", "Best anonymization"),
                                 (english, "Best anonymization", "匿名加工賞"),
                                 (JAPANESE, "匿名加工賞", "Best anonymization")):  # fmt: skip
        page = browser().get("/board", headers=headers).content.decode()
        assert said in page
        assert other not in page
    for name in ("board", "privacy", "reidentification", "award-best-anonymization"):
        both = [
            browser().get(f"/board/numbers/{name}.csv", headers=one).content for one in (JAPANESE, english)
        ]
        assert both[0] == both[1]
        assert not _IS_JAPANESE.search(both[0].decode())


def test_every_rule_is_said_in_japanese(held: Held) -> None:
    """Whatever the rules are."""
    from django.utils import translation

    from tracearena.contest import Rules

    choices: dict[str, tuple[Any, ...]] = {
        "data_sets": (1, 2), "sample_teams": (0, 2), "pseudonymised_team": (True, False),
        "sample_attacks": ((), ("VisitProb-R",)), "utility_rule": ("paper", "2019"),
        "overall_total": (True,), "winner_takes_attack_awards": (True, False),
        "mode": ("sealed", "live"), "live_decimals": (1, 2), "live_answers_a_day": (1, 3),
    }  # fmt: skip
    for values in itertools.product(*choices.values()):
        rules = Rules(**dict(zip(choices, values, strict=True)))
        with translation.override("ja"):
            told = [text for heading, rest in rules.chapters() for text in (heading, *rest)]
        assert len(told) == len(rules.explain()) + 5
        assert not [text for text in told if english_words(text.replace("VisitProb-R", ""))]


@pytest.mark.slow
def test_no_page_says_an_english_word_to_a_japanese_reader(
    holding: Callable[..., Held], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page in every role and phase, but for what is marked as English, as code or as a name."""
    held = holding(sample_attacks=("VisitProb-R",))
    clients = {"visitor": browser(), "member": joined(held, "001"), "organiser": organiser(held)}
    found: dict[str, str] = {}
    seen: set[int] = set()

    def note(answer: Any, where: str) -> None:
        for text in texts(answer.content.decode()):
            words = english_words(text.removesuffix(" · Test <contest>"))
            if words:
                found.setdefault(text, f"{where}: {words}")

    def look() -> None:
        for role, client in clients.items():
            for address in _addresses():
                answer = client.get(address, headers=JAPANESE)
                seen.add(answer.status_code)
                if answer.headers.get("Content-Type", "").startswith("text/html"):
                    note(answer, f"{role} {address}")

    look()
    held.anonymization()
    hands.hand_in(held, "001", "obfuscated", b"reg_id\nnonsense\n")
    look()
    played(held, tmp_path, monkeypatch, until="attack")
    look()
    held.at(SCHEDULE.attack_end + DAY / 2)
    hands.judged(held)
    clients["organiser"].post("/organiser/rescoring", {"reason": "why not"})
    look()
    held.results()
    hands.judged(held)
    clients["organiser"].post("/organiser/publish")
    look()
    note(clients["organiser"].post("/organiser/ceremony", headers=JAPANESE), "ceremony")
    assert {200, 302, 404, 405, 409} <= seen
    assert not found


def _addresses() -> Iterator[str]:
    values = {
        "number": ("1", "2", "999"), "team": ("002",), "kind": ("inferred-table",), "name": ("nothing",),
        "table": ("board.csv",),
    }  # fmt: skip
    for pattern in pages():
        yield from filled(pattern, values)
    yield from (
        "/organiser/submissions?team=001",
        "/team/traces/1?person=x",
        "/team/uploads/attack/002/1/nonsense",
    )
