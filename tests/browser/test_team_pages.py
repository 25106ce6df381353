"""A team's pages in a browser: what their scripts do, by keyboard alone where a keyboard is enough."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server import hands
from tests.server.conftest import SCHEDULE, Held
from tests.server.visitors import Site, joined, served

pytestmark = pytest.mark.slow

WIDTHS = (320, 390, 1280)
PAGES = (
    "/team",
    "/team/data",
    "/team/targets",
    "/team/submissions",
    "/team/traces/1",
    "/team/self-test",
    "/team/tokens",
    "/team/members",
    "/team/uploads/obfuscated/1",
)


@pytest.fixture
def site(held: Held, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The contest in its anonymization phase, served."""
    hands.without_children(monkeypatch)
    held.anonymization()
    with served(held) as site:
        yield site


def _attacks_begin(held: Held, tmp_path: Path) -> None:
    for team in ("002", "003"):
        hands.defend(held, team, tmp_path)
    hands.judged(held)
    held.at(SCHEDULE.anonymization_end)
    hands.judged(held)
    held.attack()


def _tab_to(page: Any, wanted: str) -> None:
    """Press Tab until the element with these words, or of this name, has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(document.activeElement.name || document.activeElement.textContent)") == wanted:
            return
    raise AssertionError(f"{wanted!r} cannot be reached by keyboard")


def test_a_file_is_handed_in_by_keyboard_and_its_state_watched(
    site: Site, held: Held, tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """The bar, the receipt, and the steps that come while the judge works; the page is not loaded again."""
    path = tmp_path / "mine.csv"
    path.write_bytes(hands.obfuscated(held, "001", tmp_path))
    page = page_of(site.url, joined(held, "001"))
    # Choosers are caught from the start: just before the key is pressed may be too late for the browser.
    page.on("filechooser", lambda chooser: None)
    page.goto("/team")
    _tab_to(page, "Hand in obfuscated traces")
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/uploads/obfuscated/1")
    _tab_to(page, "file")
    with page.expect_file_chooser() as asked:
        page.keyboard.press("Space")
    asked.value.set_files(str(path))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Hand in"
    page.keyboard.press("Enter")
    page.wait_for_url("**/team/submissions/*")
    assert page.locator("#state .done").all_text_contents() == ["received: done"]
    page.evaluate("window.same = true")
    hands.judged(held)
    page.wait_for_selector("#state .picture svg")
    assert page.locator("#state .done").count() == 3
    assert page.evaluate("window.same")


def test_pressing_twice_hands_in_once(
    site: Site, held: Held, tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """The key of the form goes with every press, by the script and without it."""
    from tracearena.server.models import Submission

    client = joined(held, "001")
    path = tmp_path / "mine.csv"
    # Two files, because the same file again is the same upload.
    for place, script in enumerate((True, False), start=1):
        path.write_bytes(f"reg_id\n{place}\n".encode())
        page = page_of(site.url, client, java_script_enabled=script)
        page.goto("/team/uploads/obfuscated/1")
        page.set_input_files("#file", str(path))
        page.click("main button", click_count=2)
        page.wait_for_url("**/team/submissions/*")
    assert Submission.objects.count() == 2


def test_a_file_is_dropped_and_one_that_is_empty_is_not_sent(
    site: Site, held: Held, page_of: Callable[..., Any]
) -> None:
    """What can be said before a byte is sent is said then."""
    page = page_of(site.url, joined(held, "001"))
    page.goto("/team/uploads/obfuscated/1")
    for name, content, said in (("empty.csv", "", "empty"), ("good.csv", "reg_id", "")):
        page.evaluate(
            """([name, content]) => {
                const data = new DataTransfer();
                data.items.add(new File([content], name));
                document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data }));
            }""",
            [name, content],
        )
        assert page.evaluate("document.getElementById('file').files[0].name") == name
        assert said in page.inner_text(".said")


def test_a_refusal_is_said_in_the_form(site: Site, held: Held, page_of: Callable[..., Any]) -> None:
    """The sentence of the server stands below the button, and the file stays chosen."""
    from tracearena.server.models import Quota, Team

    team = Team.objects.get(number="001")
    Quota.objects.create(team=team, what="obfuscated 001/1", used=20)
    page = page_of(site.url, joined(held, "001"), refused=409)
    page.goto("/team/uploads/obfuscated/1")
    page.set_input_files("#file", {"name": "a.csv", "mimeType": "text/csv", "buffer": b"reg_id\n"})
    with page.expect_response(lambda answer: answer.status == 409):
        page.click("main form button")
    page.wait_for_selector(".said.refused")
    assert "used up" in page.inner_text(".said")


def test_before_and_after_are_drawn_of_a_file_that_is_sent_nowhere(
    site: Site, held: Held, tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """Moved, deleted and sets at their times, the slider by keyboard, and the shares of all events."""
    lines = hands.obfuscated(held, "001", tmp_path).decode().splitlines()
    kept, places = len(lines) - 1, list(dict.fromkeys(lines[1:]))[:3]
    lines[1:4] = ["*", " ".join(places), next(one for one in places if one != lines[3])]
    page = page_of(site.url, joined(held, "001"))
    page.goto("/team/traces/1")
    assert page.locator("#as-they-are ~ .picture svg").count() == 1
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(f"{asked.method} {asked.url.removeprefix(site.url)}"))
    content = "\n".join(lines).encode()
    page.set_input_files("#viewer-file", {"name": "a.csv", "mimeType": "text/csv", "buffer": content})
    page.wait_for_selector("#viewer-map .deleted")
    assert "deleted" in page.inner_text("#viewer-at")
    page.focus("#viewer-time")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#viewer-map .set-area")
    assert " ".join(places) in page.inner_text("#viewer-at")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#viewer-map .mark")
    assert page.inner_text("#viewer-caption").startswith(
        f"{100 * (kept - 3) / kept:.1f} % of all events keep their place"
    )
    assert sent == ["GET /team/traces/1/events"]


def test_the_viewer_says_what_it_cannot_show(site: Site, held: Held, page_of: Callable[..., Any]) -> None:
    """A wrong header, a missing row, a cell that is none, a Parquet file."""
    page = page_of(site.url, joined(held, "001"))
    page.goto("/team/traces/1")
    rows = 20 * 2 * 20
    for content, said in (
        (b"region\n1\n", "first line"),
        (b"reg_id\n1\n", "rows"),
        (b"reg_id\n" + (rows - 1) * b"1\n" + b"<b>\n", f"Row {rows}"),
        (b"PAR1....", "Parquet"),
    ):
        file = {"name": "a.csv", "mimeType": "text/csv", "buffer": content}
        page.set_input_files("#viewer-file", file)
        page.wait_for_function(
            "said => document.getElementById('viewer-said').textContent.includes(said)", arg=said
        )
        assert page.locator("#viewer-shown").is_hidden()


def test_an_archive_shows_what_became_of_each_file(
    site: Site, held: Held, tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """In the page itself, where the reader's eyes and the focus are."""
    client = joined(held, "001")
    _attacks_begin(held, tmp_path)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "etable_team001-002_data01_IDP.csv", hands.inferred_table(held, "002", tmp_path, right=3)
        )
        archive.writestr("etable_team003-002_data01_IDP.csv", "user_id\n")
    page = page_of(site.url, client)
    page.goto("/team/targets/archive")
    file = {"name": "all.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}
    page.set_input_files("#file", file)
    page.click("main form button")
    page.wait_for_selector("#outcome")
    assert page.evaluate("document.activeElement.id") == "outcome"
    rows = page.locator("#outcome tbody tr").all_inner_texts()
    assert "Receipt" in rows[0]
    assert "team 003 makes this attack, but you are logged in as team 001" in rows[1]


@pytest.mark.long
def test_no_team_page_scrolls_sideways(
    site: Site, held: Held, tmp_path: Path, page_of: Callable[..., Any]
) -> None:
    """On a phone and on a desk, before and in the attack phase."""
    client = joined(held, "001")
    hands.defend(held, "001", tmp_path)
    wider = []
    for begun in (False, True):
        if begun:
            _attacks_begin(held, tmp_path)
        for width in WIDTHS:
            page = page_of(site.url, client, viewport={"width": width, "height": 800})
            for address in PAGES:
                page.goto(address)
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wider.append((address, width, begun))
    assert not wider


def test_a_token_is_copied_by_a_button(site: Site, held: Held, page_of: Callable[..., Any]) -> None:
    """What is shown once is one press away from the clipboard."""
    permissions = ["clipboard-read", "clipboard-write"]
    page = page_of(site.url, joined(held, "001"), permissions=permissions)
    page.goto("/team/tokens")
    page.fill("input[name=label]", "laptop")
    page.click("text=Make a token")
    page.click(".copy")
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text(".shown-once code")
