"""Hooks of MkDocs."""

from __future__ import annotations

from typing import Any


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leave measurements out of the search: they are a lab book next to the manual."""
    if page.file.src_uri.startswith("measurements/"):
        page.meta["search"] = {"exclude": True}
    return markdown
