"""The server as Django sees it."""

from __future__ import annotations

from django.apps import AppConfig


class ServerConfig(AppConfig):
    """One application: the contest."""

    name = "tracearena.server"
    label = "contest"
    default_auto_field = "django.db.models.BigAutoField"
