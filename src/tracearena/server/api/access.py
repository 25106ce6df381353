"""Who calls the API: a bearer token, and nothing else; cookies count for nothing here."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI
from ninja.errors import AuthenticationError, AuthorizationError, HttpError, ValidationError
from ninja.security import HttpBearer

from tracearena.server.errors import as_json
from tracearena.server.people import tokens
from tracearena.server.people.tokens import Caller


class Bearer(HttpBearer):
    """A token of a team, in the header ``Authorization: Bearer …``."""

    def authenticate(self, request: Any, token: str) -> Caller | None:
        """Return who comes with a token, None if nobody."""
        return tokens.caller(token)


def anybody(request: Any) -> str:
    """Let everybody in, where a token only says whose answer is wanted."""
    return "anybody"


def give_errors_one_shape(api: NinjaAPI) -> None:
    """Say in the one shape what the framework itself refuses."""

    def unauthorized(request: Any, error: Exception) -> Any:
        answer = as_json("unauthorized", 401, "This needs a token that is good: Authorization: Bearer …")
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    def invalid(request: Any, error: Any) -> Any:
        found = [{"where": list(map(str, one["loc"])), "problem": one["msg"]} for one in error.errors]
        return as_json("invalid", 422, "Something in the address or its values is not allowed.", found=found)

    def other(request: Any, error: Any) -> Any:
        return as_json("error", error.status_code, error.message)

    api.add_exception_handler(AuthenticationError, unauthorized)
    api.add_exception_handler(AuthorizationError, unauthorized)
    api.add_exception_handler(ValidationError, invalid)
    api.add_exception_handler(HttpError, other)
