"""What holds for every answer: headers that keep browsers safe, proxies that are trusted by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings

from tracearena.server.serving import is_loopback

Answer = Callable[[Any], Any]

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_HSTS = "max-age=31536000"
_FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO")
_OF_PROXIES = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class Headers:
    """Puts the security headers on every answer, errors included; nothing is stored but static files."""

    def __init__(self, get_response: Answer) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        response = self._get_response(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        if settings.CONTEST_ADDRESS.secure:
            response.headers["Strict-Transport-Security"] = _HSTS
        response.headers.setdefault("Cache-Control", "no-store")
        if request.method == "HEAD":
            _empty(response)
        return response


class Proxies:
    """Believes what a request says of its way here only if a trusted proxy brings it.

    A request is from this machine if it comes from loopback and no proxy has brought it.
    """

    def __init__(self, get_response: Answer) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        trusted = settings.CONTEST_ADDRESS.trusted_proxies
        is_brought = any(name in request.META for name in (*_FORWARDED, *_OF_PROXIES))
        request.is_from_this_machine = is_loopback(request.META["REMOTE_ADDR"]) and not is_brought
        said = {name: request.META.pop(name, "") for name in _FORWARDED}
        if request.META.get("REMOTE_ADDR") in trusted:
            request.META["REMOTE_ADDR"] = _client(said["HTTP_X_FORWARDED_FOR"], request, trusted)
            if said["HTTP_X_FORWARDED_PROTO"].strip().lower() == "https":
                request.environ["wsgi.url_scheme"] = "https"
        return self._get_response(request)


def _empty(response: Any) -> None:
    """Take the body out of an answer to HEAD; its length stays in the headers."""
    if response.streaming:
        response.streaming_content = []
    else:
        response.content = b""


def _client(chain: str, request: Any, trusted: Any) -> str:
    """Return the last address that no trusted proxy has: whatever stands before it may be invented."""
    hops = [hop.strip() for hop in chain.split(",") if hop.strip()]
    return next((hop for hop in reversed(hops) if hop not in trusted), request.META["REMOTE_ADDR"])
