"""Texts of an audit that stand elsewhere too than on its page: on a terminal, in JSON, in pictures.

Names in braces are filled in by `str.format`. The sentences of the page are in ``templates/audit.html``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracearena.audit.settings import AuditChoice, Proportion, Settings

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

COLOURS = {
    "green": "within the limit",
    "amber": "not proven",
    "red": "above the limit",
    "grey": "not measured",
}

MEASURES = {
    "found": "of people are found by somebody who saw them four times",
    "linked": "of people are found again under new names by somebody who knows other days of theirs",
    "home": "of homes are told to within {within:.0f} m",
    "work": "of workplaces are told to within {within:.0f} m",
    "zones": "of homes behind privacy zones are found to within {within:.0f} m, from where trips stop",
    "copies": "of synthetic people are nearer to a real person than real people are to each other",
    "reidentified": "of synthetic traces lead back to the person they were made from",
    "membership": "better than guessing who was in the data",
    "marked": "of visitors of places marked as sensitive are found together with their visit",
    "health": "of visitors of places of health are found together with their visit",
    "worship": "of visitors of places of worship are found together with their visit",
    "justice": "of visitors of police, courts and prisons are found together with their visit",
    "politics": "of visitors of political places are found together with their visit",
    "intimate": "of visitors of intimate places are found together with their visit",
    "addiction": "of visitors of places of gambling, drinking and drugs are found together with their visit",
    "children": "of visitors of places of small children are found together with their visit",
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
    "amber": "The interval reaches over the limit of {limit:.0%}.",
    "red": "The lower end of the interval is above the limit of {limit:.0%}.",
    "grey": "Nothing could be measured: {why}",
}
AT_LEAST = (
    "Attackers who know what made the release were not tried and may find more; --mechanism (mechanism=) "
    "names it."
)
OVER_GUESSING = "{value:.1%} more than guessing ({low:.1%} to {high:.1%})."
WHY_GREY = {
    "singling_out": "the file has nobody to look for.",
    "linkability": "too few people are on record on both sides of the cut.",
    "inference": "nobody has a place of nights or of working hours on both sides of the cut.",
}

VERDICTS = {
    "red": "Do not publish this file as it is: people in it can be recognised.",
    "amber": "Not proven: a risk may be above its limit. Publish this file only to people who are bound not "
    "to look for anybody.",
    "green": "Every risk that was measured is within its limit.",
    "grey": "This audit could not answer every question.",
}
MET = (
    "{defence} keeps the limits: {risk} of {people:,} people who were not used for choosing are found again "
    "(target {target:.1%})."
)
NOT_MET = "No release was written: none of {tried} defences keeps the limits. {least}"
LEAST = "The least risk reached is {risk} found again, by {defence}{also}."
ALSO = ", which is not proven to keep the limit of {what}"
LIMITED = {"singling_out": "singling out", "inference": "inference"}
TOO_FEW = "{people:,} people in the test half cannot prove a risk below {least:.1%}."
NOBODY_KNOWN = (
    "no released user has an id of the original: if they are pseudonyms, name the table of who is who with "
    "--id-table (in Python id_table=); if nobody in the release is a real person, say --synthetic "
    "(synthetic=True)"
)

TOLD = "attackers are told what made the release"

TITLE = "How risky is {name}?"
TITLE_RELEASED = "How safe is {release} as a release of {name}?"
KEPT = (
    "Over all six tasks {kept:.0%} is kept at the resolution of the release, {whole:.0%} against the "
    "original file."
)
ON_CELLS = "{defence} puts events at cells of {side}, not at the file's own places."
OTHER_TIMES = "{defence} changes times: what is released is not when people were there."
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
    "group": "people at the same night-time place",
    "strongest": "strongest attack",
    "at_least": "at least",
    "whole": "kept of the original file",
}


# Sentences that depend on what was measured.


def format_percent(value: float) -> str:
    """Write a share: ``9.4%``, ``100%``."""
    return f"{value:.1%}" if value < 0.995 else f"{value:.0%}"


def format_risk(risk: Proportion, at_least: bool) -> str:
    """Write the risk of a defence: with its interval, or that it is at least this much."""
    if at_least:
        return f"at least {format_percent(risk.value)}"
    return f"{format_percent(risk.value)} ({format_percent(risk.low)} to {format_percent(risk.high)})"


def format_share(share: Proportion) -> str:
    """Write a share with its interval and chance."""
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%}; guessing {share.chance:.2%})"


def format_length(metres: float) -> str:
    """Write a length: ``250 m``, ``4 km``; 0 are the file's places."""
    if metres == 0:
        return "the file's places"
    return f"{metres:g} m" if metres < 1000 else f"{metres / 1000:g} km"


def format_seconds(seconds: float) -> str:
    """Write a time: ``6 h``, ``1 day``, ``1 week``."""
    if seconds >= 7 * 86_400:
        return "1 week" if seconds == 7 * 86_400 else f"{seconds / 86_400 / 7:g} weeks"
    if seconds >= 86_400:
        return "1 day" if seconds == 86_400 else f"{seconds / 86_400:g} days"
    return f"{seconds / 3600:g} h"


def build_cut_choice(cut: Cut, traces: Traces) -> AuditChoice:
    """Say where the file is cut in two, and why."""
    tried, several = int(cut.both.sum()), traces.n_users
    if not cut.by_days:
        where, reason = "within its one day", "the file has one day only"
    elif cut.is_common:
        where, reason = (
            f"at {cut.label}",
            f"{tried:,} of {several:,} people are on record before and after it",
        )
    else:
        where = "each person's own days in the middle"
        reason = "people are on record at different times, so that no date has most of them on both sides"
    return AuditChoice("cut in two", where, reason)


PEOPLE_TRIED = "people tried"


def build_proof_choice(people: int) -> AuditChoice:
    """Say on how many people a release is proved."""
    reason = (
        "those on both sides of the cut who were not used for choosing; some have nothing released after it"
    )
    return AuditChoice(PEOPLE_TRIED, f"{people:,}", reason)


def build_people_choice(there: int, settings: Settings) -> AuditChoice:
    """Say for how many people attacks are tried."""
    if there <= settings.people:
        return AuditChoice(PEOPLE_TRIED, f"{there:,}", "everybody who is on record on both sides of the cut")
    reason = f"a random sample of {there:,}, enough for intervals of about {1 / settings.people**0.5:.0%}"
    return AuditChoice(PEOPLE_TRIED, f"{settings.people:,}", f"{reason}; --people takes more")


def build_cells_choice(cells: GridCells, settings: Settings) -> AuditChoice:
    """Say at which cells GPS points are put."""
    reason = f"{settings.cell_m:g} m are a few street blocks; --cell changes it"
    return AuditChoice("cells of GPS points", _format_cells(cells), reason)


def _format_cells(cells: GridCells) -> str:
    more = f", the most visited; {cells.dropped:,} others count to the nearest" if cells.dropped else ""
    return f"{len(cells.keys):,} cells of {format_length(cells.side_m)}{more}"


def build_interval_choice(settings: Settings) -> AuditChoice:
    """Say how far instants are apart."""
    reason = "the point nearest in time is taken; trips are longer; --every changes it"
    return AuditChoice("instants of GPS points", f"every {settings.interval_min:g} min", reason)


def build_coarse_choice(places: int, cells: GridCells) -> AuditChoice:
    """Say at which cells the attacks work that weigh all evidence."""
    return AuditChoice(
        "cells for heavy attacks",
        _format_cells(cells),
        f"{places:,} places are too many for attacks that weigh all evidence; the quick ones use the "
        "file's places",
    )


def build_circle_choice(circle: Circle) -> AuditChoice:
    """Say which zones the attacker looks for."""
    shift = f", their middles up to {circle.shift_m:,.0f} m away" if circle.shift_m else ""
    reason = (
        "so far from homes is the nearest released point, in the median; --mechanism says what made it"
        if circle.measured
        else "the defence is known"
    )
    return AuditChoice("privacy zones", f"circles of {circle.radius_m:,.0f} m around homes{shift}", reason)


# Short names in pictures and tables.

NOT_ATTACKED = "not attacked: a more useful one keeps the limits"
AXES = {
    "points": "known points of a person",
    "share": "share of people",
    "found": "share of people found",
    "found_safe": "share of people found (0 is safe)",
    "share_safe": "share of people (0 is safe)",
    "days": "days that the attacker knows",
    "kept": "kept (1 is as the original)",
    "kept_all": "kept of the six tasks (1 is all)",
    "again": "people found again",
}
LINES = {
    "found": "found by the file's places and instants",
    "unique": "unique: {side}, {window}",
    "right": "right",
    "among": "among {top}",
    "days": "found",
    "halves": "half against half, by chance",
    "release": "release against original",
    "before": "file as it is",
    "after": "release",
    "at_least": "at least this many are found",
    "fails": "a limit is not kept",
    "holds": "limits kept when choosing",
    "proved": "proved",
}
GROUPS = {1: "alone", 2: "2 to 4 people", 5: "5 to 9 people", 10: "10 or more"}
"""People at the same night-time place, by the first of each class."""
CHANGES = {
    "one": "found by 1 sighting",
    "several": "found by {k} sightings",
    "again": "found again",
    "two_places": "found by home and work",
    "home": "home told",
    "work": "workplace told",
    "zones": "home found behind zones",
}
