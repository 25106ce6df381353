"""Where one can go from every page, and where one is."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils.translation import gettext as _


class Entry(NamedTuple):
    """A link: its words, its address, and what `aria-current` says of it, nothing if one is elsewhere."""

    label: str
    address: str
    current: str


def everywhere(path: str, *, published: bool) -> list[Entry]:
    """Return the pages that are for everybody."""
    places = [
        (_("Home"), "/"),
        (_("Rules"), "/rules"),
        (_("Results") if published else _("Board"), "/board"),
        (_("Archive"), "/archive"),
    ]
    return [_entry(label, address, path) for label, address in places]


def own(member: Any, path: str) -> list[Entry]:
    """Return the pages of a member's own part of the site; none for visitors."""
    if member is None:
        return []
    places = _organisers() if member.is_organiser else _teams(member.team)
    return [_entry(label, address, path) for label, address in places]


def _teams(team: Any) -> list[tuple[str, str]]:
    return [
        (_("Team %(number)s") % {"number": team.number}, "/team"),
        (_("Data"), "/team/data"),
        (_("Targets"), "/team/targets"),
        (_("Submissions"), "/team/submissions"),
        (_("Tokens"), "/team/tokens"),
        (_("Members"), "/team/members"),
    ]


def _organisers() -> list[tuple[str, str]]:
    return [
        (_("Control room"), "/organiser"),
        (_("Phases"), "/organiser/phases"),
        (_("Dry run"), "/organiser/dry-run"),
        (_("Teams"), "/organiser/teams"),
        (_("People"), "/organiser/people"),
        (_("Submissions"), "/organiser/submissions"),
        (_("Re-scoring"), "/organiser/rescoring"),
        (_("Ceremony"), "/organiser/ceremony"),
        (_("Publish"), "/organiser/publish"),
        (_("Export"), "/organiser/export"),
        (_("Log"), "/organiser/log"),
    ]


def _entry(label: str, address: str, path: str) -> Entry:
    """Mark the page that is shown, and the place that a page further down belongs to.

    >>> _entry("Submissions", "/team/submissions", "/team/submissions/7").current
    'true'
    """
    further = address.count("/") > 1 and path.startswith(f"{address}/")
    return Entry(label, address, "page" if path == address else "true" if further else "")
