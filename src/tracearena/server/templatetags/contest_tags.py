"""Moments, teams, pictures and amounts, written in one way on every page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from tracearena.pages import html
from tracearena.pages.contest_data import UNKNOWN, TeamStyle
from tracearena.pages.contest_data import format_badge as team_badge
from tracearena.pages.svg import Picture
from tracearena.pages.svg.canvas import replace_invisible
from tracearena.server import errors
from tracearena.server.models import Team
from tracearena.server.teams import label_party

register = template.Library()


@register.simple_tag
def moment(at: datetime | None) -> Any:
    """Write a moment in UTC; the page's script rewrites it in the reader's own time zone."""
    if at is None:
        return "–"
    return format_html('<time datetime="{}">{} UTC</time>', at.isoformat(), html.format_moment(at))


@register.filter
def duration_words(seconds: float | timedelta) -> str:
    """Write a stretch of time in its two largest units.

    >>> duration_words(3700)
    '1 hour 1 minute'
    """
    return html.format_duration(seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds))


@register.simple_tag
def badge(label: str, styles: dict[str, TeamStyle]) -> Any:
    """Draw the marker of a team before its name, which harms nothing around it."""
    return mark_safe(team_badge(label, styles.get(label, UNKNOWN)))


@register.filter
def party_label(team: Team) -> str:
    """Return how a party is called."""
    return label_party(team)


@register.filter
def state_words(word: str) -> str:
    """Say how far an upload, a job or a re-scoring has come."""
    return errors.translate_state(word)


@register.filter
def kind_of_upload(word: str) -> str:
    """Say what an upload is."""
    return errors.translate_kind(word)


@register.filter
def visible_text(name: Any) -> str:
    """Return a name that others have given with every character of it visible."""
    return replace_invisible(str(name))


@register.filter
def audit_detail(value: Any) -> str:
    """Write a detail of the audit log for people.

    >>> audit_detail({"originals": False, "teams": ["001", "002"], "utility": 0.71234}), audit_detail(None)
    ('originals no, teams 001 002, utility 0.7123', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {audit_detail(one)}" for name, one in value.items())
    if isinstance(value, list):
        return " ".join(map(audit_detail, value)) or "none"
    return replace_invisible(f"{value:.4g}" if isinstance(value, float) else str(value))


@register.simple_tag
def picture(drawn: Picture, csv_address: str = "") -> Any:
    """Show a picture with its sentence and its numbers; its maker has escaped every name in it."""
    return mark_safe(drawn.markup(csv_address))


@register.filter
def score(value: float | None, decimals: int = 3) -> str:
    """Write a score with three decimals, or with as many as it has.

    >>> score(0.98765), score(0.99, 2), score(None)
    ('0.988', '0.99', '–')
    """
    return "–" if value is None else f"{value:.{decimals}f}"
