"""Fixed words of the database and of the schedule, as pages say them."""

from __future__ import annotations

from django.utils.translation import gettext

from tracearena.i18n import marked

_STATES = {
    "received": marked("received"),
    "checked": marked("checked"),
    "scored": marked("scored"),
    "published": marked("published"),
    "late": marked("late"),
    "refused": marked("refused"),
    "judge error": marked("judge error"),
    "waiting": marked("waiting"),
    "running": marked("running"),
    "done": marked("done"),
    "failed": marked("failed"),
    "compared": marked("compared"),
    "applied": marked("applied"),
    "cancelled": marked("cancelled"),
}
_KINDS = {
    "obfuscated": marked("Obfuscated traces"),
    "inferred-table": marked("Inferred ID table"),
    "inferred-traces": marked("Inferred traces"),
}
_ROLES = {"pseudonymised": marked("pseudonymised"), "sample": marked("sample")}
_POINTS = {
    "registration_begin": marked("registration begin"),
    "registration_end": marked("registration end"),
    "anonymization_begin": marked("anonymization begin"),
    "anonymization_end": marked("anonymization end"),
    "attack_begin": marked("attack begin"),
    "attack_end": marked("attack end"),
    "results_begin": marked("results begin"),
}


def state(word: str) -> str:
    """Say how far an upload, a job or a re-scoring has come."""
    return gettext(_STATES[word])


def kind(word: str) -> str:
    """Say what an upload is."""
    return gettext(_KINDS[word])


def role(word: str) -> str:
    """Say what a party is that is no team."""
    return gettext(_ROLES[word])


def point(word: str) -> str:
    """Say which begin or end of the schedule it is."""
    return gettext(_POINTS[word])
