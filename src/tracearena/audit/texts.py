"""Texts of an audit that are used on a terminal, in JSON or in pictures, in addition to its page.

Names in braces are filled in by `str.format`. The sentences of the page are in ``templates/audit.html``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracearena.audit.settings import AuditChoice, Proportion, Settings
from tracearena.i18n import format_length

if TYPE_CHECKING:
    from tracearena.audit.data import Cut, GridCells
    from tracearena.audit.inference import Circle
    from tracearena.traces import Traces


KINDS = {"gps": "GPS points", "regular": "traces at regular times", "check-ins": "check-ins"}

QUESTIONS = {
    "singling_out": "Can a person be singled out?",
    "linkability": "Can a person be found again?",
    "inference": "What can be learned about a person?",
}

RISK_BY_PERSON = (
    "the table names real people and says how easily each is recognised: it is as secret as the original "
    "traces, and a low share is not a promise, because an attack that was not run may recognise the person"
)

COLOURS = {
    "green": "within the limit",
    "amber": "not proven",
    "red": "above the limit",
    "grey": "not measured",
}

MEASURES = {
    "found": "of people are found by an attacker who saw them four times",
    "linked": "of people are recognised by an attacker who knows other days of them",
    "home": "of homes are found to within {within:.0f} m",
    "work": "of workplaces are found to within {within:.0f} m",
    "zones": "of homes behind privacy zones are found to within {within:.0f} m, from the ends of trips",
    "copies": "of synthetic people are closer to a real person than real people are to each other",
    "reidentified": "of synthetic traces identify the person they were made from",
    "membership": "better than guessing at inferring who was in the data",
    "marked": "of visitors of places marked as sensitive are identified with their visit",
    "health": "of visitors of health care are identified with their visit",
    "worship": "of visitors of places of worship are identified with their visit",
    "justice": "of visitors of police, courts and prisons are identified with their visit",
    "politics": "of visitors of political places are identified with their visit",
    "intimate": "of visitors of intimate places are identified with their visit",
    "addiction": "of visitors of places for gambling, drinking and drugs are identified with their visit",
    "children": "of visitors of places for small children are identified with their visit",
}

CATEGORIES = {
    "marked": "marked in the file",
    "health": "health",
    "worship": "worship",
    "justice": "police and justice",
    "politics": "politics",
    "intimate": "intimate",
    "addiction": "gambling, drinking, drugs",
    "children": "small children",
}

KEY_PLACES = {"home": "home", "work": "workplace", "zones": "home behind privacy zones"}

SENTENCES = {
    "green": "The upper end of the interval is at most the limit of {limit:.0%}.",
    "amber": "The interval contains the limit of {limit:.0%}.",
    "red": "The lower end of the interval is above the limit of {limit:.0%}.",
    "grey": "This could not be measured: {why}",
}
AT_LEAST = (
    "Attackers who know the defence were not tried and may find more; name it with --mechanism (mechanism=)."
)
OVER_GUESSING = "This is {value:.1%} more than guessing ({low:.1%} to {high:.1%})."
WHY_GREY = {
    "singling_out": "the file has fewer than two people to tell apart.",
    "linkability": "too few people have data on both sides of the cut.",
    "inference": "no person has a place at night or during working hours on both sides of the cut.",
}

VERDICTS = {
    "red": "Do not publish this file as it is: people in it can be recognised.",
    "amber": "Not proven: a risk may be above its limit. Give this file only to people who are bound by "
    "contract not to identify anybody.",
    "green": "All measured risks are within their limits.",
    "grey": "This audit could not answer every question.",
}
MET = (
    "{defence} keeps the limits: {risk} of {people:,} test people, who were not used to choose it, are "
    "found again (target {target:.1%})."
)
NOT_MET = "No release was written, because none of {tried} defences keeps the limits. {least}"
LEAST = "{defence} has the lowest risk: {risk} found again{also}."
ALSO = ", without proof that it keeps the limit of {what}"
LIMITED = {"singling_out": "singling out", "inference": "inference"}
TOO_FEW = "With {people:,} people in the test half, a risk below {least:.1%} cannot be proven."
NOBODY_KNOWN = (
    "no released user has an id of the original: if the ids are pseudonyms, give the table of true "
    "identities with --id-table (in Python: id_table=); if the release is synthetic, use --synthetic "
    "(synthetic=True)"
)

TOLD = "attackers know the defence"

TITLE = "How risky is {name}?"
TITLE_RELEASED = "How safe is {release} as a release of {name}?"
KEPT = (
    "Over all six tasks the release keeps {kept:.0%} at its own resolution, and "
    "{whole:.0%} compared with the original file."
)
ON_CELLS = "{defence} puts events at cells of {side} instead of the places of the file."
OTHER_TIMES = "{defence} changes times: released times are not the true ones."
TASKS = {
    "counts": ("counts by place and hour", "pairs of a place and an hour with events"),
    "flows": ("flows between places", "moves"),
    "trips": ("trip lengths", "km, median"),
    "gyration": ("radius of gyration", "km, median"),
    "home": ("time at home", "share of events at the most visited place"),
    "hotspots": ("hotspots", "share of events in the busiest tenth of places"),
}
TABLE = {
    **{
        name: name
        for name in (
            *("attack", "found", "guessing", "people", "task", "kept", "unit", "what", "defence"),
            *("low", "high", "limits", "evidence", "error", "measure"),
        )
    },
    "halves": "half against half",
    "before": "original",
    "after": "release",
    "side": "side of a cell",
    "window": "time window",
    "points": "known points",
    "days": "days of reference",
    "group": "people at the same place at night",
    "strongest": "strongest attack",
    "at_least": "at least",
    "whole": "kept of the original file",
}


# Sentences that depend on what was measured.


def format_percent(value: float) -> str:
    """Write a share: ``9.4%``, ``100%``."""
    return f"{value:.1%}" if value < 0.995 else f"{value:.0%}"


def format_risk(risk: Proportion, at_least: bool) -> str:
    """Write the risk of a defence with its interval, or as a lower bound."""
    if at_least:
        return f"at least {format_percent(risk.value)}"
    return f"{format_percent(risk.value)} ({format_percent(risk.low)} to {format_percent(risk.high)})"


def format_share(share: Proportion) -> str:
    """Write a share with its interval and chance."""
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%}; guessing {share.chance:.2%})"


def format_side(metres: float) -> str:
    """Write the side of a cell: ``250 m``, ``4 km``; 0 means the places of the file."""
    return format_length(metres) if metres else "the file's places"


def format_seconds(seconds: float) -> str:
    """Write a time: ``6 h``, ``1 day``, ``1 week``."""
    if seconds >= 7 * 86_400:
        return "1 week" if seconds == 7 * 86_400 else f"{seconds / 86_400 / 7:g} weeks"
    if seconds >= 86_400:
        return "1 day" if seconds == 86_400 else f"{seconds / 86_400:g} days"
    return f"{seconds / 3600:g} h"


def build_cut_choice(cut: Cut, traces: Traces) -> AuditChoice:
    """Return where the file is cut in two, and why."""
    tried, several = int(cut.both.sum()), traces.n_users
    if not cut.by_days:
        where, reason = "within its one day", "the file has one day only"
    elif cut.is_common:
        where, reason = (
            f"at {cut.label}",
            f"{tried:,} of {several:,} people have data before and after it",
        )
    else:
        where = "in the middle of each person's days"
        reason = "people have data at different times, so no date has most of them on both sides"
    return AuditChoice("cut in two", where, reason)


PEOPLE_TRIED = "people tried"


def build_proof_choice(people: int) -> AuditChoice:
    """Return the number of people on whom a release is tested."""
    reason = (
        "people with data on both sides of the cut who were not used for choosing; some have no released "
        "data after it"
    )
    return AuditChoice(PEOPLE_TRIED, f"{people:,}", reason)


def build_people_choice(there: int, settings: Settings) -> AuditChoice:
    """Return the number of people that are attacked."""
    if there <= settings.people:
        return AuditChoice(PEOPLE_TRIED, f"{there:,}", "all people with data on both sides of the cut")
    reason = f"a random sample of {there:,}, which gives intervals of about {1 / settings.people**0.5:.0%}"
    return AuditChoice(PEOPLE_TRIED, f"{settings.people:,}", f"{reason}; use --people for more")


def build_cells_choice(cells: GridCells, settings: Settings) -> AuditChoice:
    """Return the cells that GPS points are put on."""
    reason = f"{settings.cell_m:g} m are a few street blocks; change it with --cell"
    return AuditChoice("cells of GPS points", _format_cells(cells), reason)


def _format_cells(cells: GridCells) -> str:
    more = f", the most visited; {cells.dropped:,} others are joined to the nearest" if cells.dropped else ""
    return f"{len(cells.keys):,} cells of {format_side(cells.side_m)}{more}"


def build_interval_choice(settings: Settings) -> AuditChoice:
    """Return the time between instants."""
    reason = "the point nearest in time is used; most trips are longer; change it with --every"
    return AuditChoice("instants of GPS points", f"every {settings.interval_min:g} min", reason)


def build_coarse_choice(places: int, cells: GridCells) -> AuditChoice:
    """Return the cells used by attacks that use all evidence."""
    return AuditChoice(
        "cells for heavy attacks",
        _format_cells(cells),
        f"{places:,} places are too many for attacks that use all evidence; quick "
        "attacks use the places of the file",
    )


def build_circle_choice(circle: Circle) -> AuditChoice:
    """Return the privacy zones that the attacker looks for."""
    shift = f", with centres up to {circle.shift_m:,.0f} m away" if circle.shift_m else ""
    reason = (
        "the median distance from homes to the nearest released point; name the defence with --mechanism"
        if circle.measured
        else "the defence is known"
    )
    return AuditChoice("privacy zones", f"circles of {circle.radius_m:,.0f} m around homes{shift}", reason)


# Short names in pictures and tables.

NOT_ATTACKED = "not attacked, because a more useful one keeps the limits"
AXES = {
    "points": "known points of a person",
    "share": "share of people",
    "found": "share of people found",
    "found_safe": "share of people found (0 is safe)",
    "share_safe": "share of people (0 is safe)",
    "days": "days that the attacker knows",
    "kept": "kept (1 is as good as the original)",
    "kept_all": "kept of the six tasks (1 is all)",
    "again": "people found again",
}
LINES = {
    "found": "found by places and instants of the file",
    "unique": "unique: {side}, {window}",
    "right": "right",
    "among": "among {top}",
    "days": "found",
    "halves": "half against half (chance)",
    "release": "release against original",
    "before": "original file",
    "after": "release",
    "at_least": "lower bound",
    "fails": "above a limit",
    "holds": "within the limits on the choosing half",
    "proved": "proven",
}
GROUPS = {1: "alone", 2: "2 to 4 people", 5: "5 to 9 people", 10: "10 or more"}
"""People at the same night-time place, by the first of each class."""
CHANGES = {
    "one": "found by 1 sighting",
    "several": "found by {k} sightings",
    "again": "found again",
    "two_places": "found by home and work",
    "home": "home found",
    "work": "workplace found",
    "zones": "home found behind zones",
}
