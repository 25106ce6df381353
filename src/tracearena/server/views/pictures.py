"""The rules that pictures need of a page: they lie beside them, and are served with the static files."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from tracearena.pages.svg import stylesheet


@require_safe
def pictures_css(request: Any) -> Any:
    """The stylesheet of all pictures."""
    headers = {"Cache-Control": "max-age=60, public"}
    return HttpResponse(stylesheet(), content_type="text/css; charset=utf-8", headers=headers)
