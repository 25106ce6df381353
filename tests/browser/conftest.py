"""A browser for tests of scripts, and a contest that is served for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import (
    held,
    holding,
    in_sqlite,
    password_kib,
    prepared,
    quick_connections,
    quick_passwords,
    quick_writes,
    sqlite_template,
)

__all__ = [
    "held", "holding", "in_sqlite", "password_kib", "prepared", "quick_connections",
    "quick_passwords", "quick_writes", "sqlite_template",
]  # fmt: skip

CHROMIUM = Path("/usr/bin/chromium")
_PATIENCE_MS = 120_000
"""A busy machine may stand still for half a minute, which is no fault of a page."""
_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_TELL_OF_THE_POLICY = """
addEventListener("securitypolicyviolation", one => {
    console.error(`the policy refused ${one.violatedDirective}: ${one.blockedURI}`);
});
"""


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite: what a browser sees does not depend on the database."""
    # Playwright's own loop makes Django take this thread for one that must not wait for a database.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Chromium, ended with this folder: while it runs, Django takes this thread for one that must not wait.

    Tests are skipped, with a sentence that helps, where it or Playwright is missing.
    """
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: `apt install chromium`")
    playwright = pytest.importorskip("playwright.sync_api", reason="`pip install playwright` is missing")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=_OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def page_of(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages with the cookies of Django's client; whatever their console says is an error.

    So is a request to another site, and whatever the policy refuses. But for the status that a test
    provokes (`refused`): browsers note each answer of that kind. And but for a server that is not there:
    the tests end it while pages are open, which go on asking how things stand.
    """
    said: list[str] = []
    opened = []

    def page_of(url: str, client: Any = None, *, refused: int = 0, **options: Any) -> Any:
        known = (f"the server responded with a status of {refused} ", "net::ERR_CONNECTION_REFUSED")
        context = chromium.new_context(base_url=url, **options)
        context.set_default_timeout(_PATIENCE_MS)
        opened.append(context)
        context.add_init_script(_TELL_OF_THE_POLICY)
        if client is not None:
            cookies = [{"name": name, "value": one.value, "url": url} for name, one in client.cookies.items()]
            context.add_cookies(cookies)
        page = context.new_page()
        page.on(
            "console",
            lambda one: any(words in one.text for words in known) or said.append(f"{one.type}: {one.text}"),
        )
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda box: said.append(f"dialog: {box.message}") or box.dismiss())
        page.on("request", lambda asked: asked.url.startswith(url) or said.append(f"foreign: {asked.url}"))
        return page

    yield page_of
    for context in opened:
        context.close()
    assert not said
