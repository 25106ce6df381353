"""The form at the foot of every page: which language to read in."""

from __future__ import annotations

from typing import Any

from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from tracearena.server.site import languages
from tracearena.server.site.views.accounts import own_page


@require_POST
def language(request: Any) -> Any:
    """Remember a language, and go back to the page where it was chosen."""
    back = own_page(request.POST.get("next", "")) or "/"
    return languages.choose(redirect(back), request.POST.get("language", ""))
