"""Talking to a contest's server: JSON, one shape of errors, patience with a bad line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from tracearena import __version__
from tracearena.errors import ParameterError, TracearenaError

_TRIES = 6
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 8.0
_TRY_AGAIN = (429, 502, 503, 504)
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ServerRefused(TracearenaError):
    """The server says no.

    Attributes
    ----------
    code
        A fixed word, for programs.
    status
        The status of HTTP.
    details
        What belongs to it.
    """

    def __init__(self, code: str, message: str, status: int, details: dict[str, Any] | None = None) -> None:
        self.code, self.status, self.details = code, status, details or {}
        super().__init__(message)


class Unreachable(TracearenaError):
    """The server does not answer, however often it is asked."""


class Client:
    """One team's connection to one contest.

    Parameters
    ----------
    url
        Where the contest is: https, or http on this machine.
    token
        The team's token; without one only what everybody may see.
    transport
        How requests travel, for tests.
    """

    def __init__(
        self, url: str, token: str | None = None, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.url = checked_url(url)
        headers = {"User-Agent": f"tracearena/{__version__}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1/", headers=headers, timeout=_TIMEOUT, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the answer to a question."""
        return self.patiently(lambda: self._http.get(path, params=query)).json()

    def post(self, path: str, content: Callable[[], Iterator[bytes]], headers: dict[str, str]) -> Any:
        """Send bytes, again from their beginning if the line breaks, and return the answer.

        This is safe because the same Idempotency-Key gives the same receipt.
        """
        return self.patiently(lambda: self._http.post(path, content=content(), headers=headers)).json()

    @contextmanager
    def stream(self, path: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """Open an answer that is read bit by bit; what is wrong with it is raised."""
        with self._http.stream("GET", path, headers=headers) as answer:
            if answer.is_error:
                answer.read()
                raise refusal(answer)
            yield answer

    def patiently(self, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer, with growing pauses; a refusal is an answer."""
        pause, problem = _FIRST_PAUSE_S, ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            try:
                answer = ask()
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
                continue
            if not isinstance(answer, httpx.Response) or answer.is_success:
                return answer
            if answer.status_code not in _TRY_AGAIN:
                raise refusal(answer)
            problem = f"it answers {answer.status_code}"
        raise Unreachable(f"{self.url} cannot be reached: {problem}")


def refusal(answer: httpx.Response) -> ServerRefused:
    """Return what the server says, in its one shape of errors or in any other."""
    try:
        said = answer.json()["error"]
        return ServerRefused(
            str(said["code"]), str(said["message"]), answer.status_code, dict(said.get("details") or {})
        )
    except (ValueError, KeyError, TypeError):
        message = f"the server answers {answer.status_code} {answer.reason_phrase}"
        return ServerRefused(
            "no-contest", f"{message}; is there a contest at this address?", answer.status_code
        )


def checked_url(url: str) -> str:
    """Return the address of a contest without a slash at its end; a token must not travel in clear.

    >>> checked_url("https://contest.example.org/")
    'https://contest.example.org'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"{url!r} is no address of a contest, such as https://contest.example.org")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ParameterError(f"{url}: the token would travel in clear; use https")
    return url.rstrip("/")
