"""The server as Django sees it."""

from __future__ import annotations

from django.apps import AppConfig


class ServerConfig(AppConfig):
    """One application: the contest."""

    name = "tracearena.server"
    label = "contest"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let the sentences of rules and pictures be translated with those of the pages."""
        from django.utils.translation import gettext, ngettext

        from tracearena.i18n import translate_by

        translate_by(gettext, ngettext)
