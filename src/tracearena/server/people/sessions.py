"""Logins in the database: what stands there opens nothing, for it is a hash of what the browser has."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends import db
from django.utils import timezone

from tracearena.server.store.keys import digest

_DIGITS = 40
"""As many hexadecimal digits as Django's column holds: 160 bits."""


class SessionStore(db.SessionStore):
    """Django's sessions in the database, under the hash of their key."""

    def exists(self, session_key: str) -> bool:
        """Whether there is a session of this key."""
        return super().exists(_stored(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row of this session."""
        row = super().create_model_instance(data)
        row.session_key = _stored(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Remove a session, by default this one."""
        key = session_key or self.session_key
        if key is not None:
            self.model.objects.filter(session_key=_stored(key)).delete()

    def _get_session_from_db(self) -> Any:
        try:
            return self.model.objects.get(
                session_key=_stored(self.session_key or ""), expire_date__gt=timezone.now()
            )
        except self.model.DoesNotExist:
            self._session_key = None
            return None


def _stored(session_key: str) -> str:
    return digest(session_key)[:_DIGITS]
