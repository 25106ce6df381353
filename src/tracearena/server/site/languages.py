"""Pages in the language of who reads them; what programs read stays English."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.cache import patch_vary_headers

from tracearena.server.errors import API
from tracearena.server.settings import ENGLISH, LANGUAGES

KEPT_S = 365 * 24 * 3600
"""How long a browser remembers which language was chosen."""
_DEPENDS_ON = ("Accept-Language", "Cookie")


class Languages:
    """Answers in the language that was chosen by the form at the foot, or else in one the browser asks for.

    The API answers in English, whatever its caller speaks.
    """

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        if request.path.startswith((API, settings.STATIC_URL)):
            with translation.override(ENGLISH):
                return self._get_response(request)
        # A thread serves many: what it speaks ends with the request.
        with translation.override(translation.get_language_from_request(request)):
            response = self._get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        patch_vary_headers(response, _DEPENDS_ON)
        return response


def choose(response: Any, language: str) -> Any:
    """Let the browser remember a language; one that there is no catalogue of changes nothing."""
    if language in dict(LANGUAGES):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            language,
            max_age=KEPT_S,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response
