"""Moments, teams, pictures and amounts, written in one way on every page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import mark_safe

from tracearena.contest.data import PURPOSES
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
def utc(at: datetime) -> str:
    """Write a moment in UTC where no element can stand, as in an option; the script rewrites it too."""
    return html.format_utc(at)


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


@register.simple_tag(takes_context=True)
def data_set_name(context: Any, number: int) -> str:
    """Return what a data set of this contest is called: by its challenge where teams defend two."""
    name: str = context["contest"].rules.name_data_set(number)
    return name


@register.simple_tag
def data_set_code(number: int) -> str:
    """Return the short name of a challenge, which the names of files have too."""
    return PURPOSES[number - 1]


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
def visible_lines(text: str) -> str:
    """Return a text of several lines that others have given with every character of it visible."""
    return "\n".join(replace_invisible(line) if line.strip() else "" for line in text.splitlines())


@register.filter
def point_words(word: str) -> str:
    """Say which begin or end of the schedule it is."""
    return errors.translate_point(word)


@register.filter
def logged_name(actor: str, people: dict[str, str]) -> str:
    """Return who did something by the audit log, with the name that the person has now.

    >>> logged_name("person 3", {"person 3": "Ann"}), logged_name("judge", {})
    ('person 3 (Ann)', 'judge')
    """
    return replace_invisible(f"{actor} ({people[actor]})" if actor in people else actor)


@register.filter
def get(values: dict[str, Any], name: str) -> Any:
    """Return the entry of a table whose key cannot be written in a template."""
    return values[name]


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
