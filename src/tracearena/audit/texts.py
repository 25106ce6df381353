"""Every text of an audit: sentences, names in pictures and tables, and functions that fill in numbers.

Names in braces are filled in by `str.format`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracearena.audit.settings import AuditChoice, Proportion, Settings

if TYPE_CHECKING:
    from tracearena.audit.data import Cut, GridCells
    from tracearena.audit.inference import Circle
    from tracearena.audit.synthetic import Synthetic
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
WHAT_TO_DO = {
    "red": "Let tracearena look for a defence that keeps the limits: {protect}. Where none does, publish "
    "counts or synthetic traces, or do not publish.",
    "amber": "Compare defences on this file: {protect}. More people make intervals narrower.",
    "green": "Check that it is still useful (below), keep the original and the table of who is who to "
    "yourself, and audit again when a stronger attack is known.",
    "grey": "Give the audit more people, or more days of each.",
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
MET_TODO = (
    "Check that the release is still useful (below), and keep the original and the table of who is who to "
    "yourself."
)
NOT_MET_TODO = (
    "Publish counts or synthetic traces instead, allow more (--target-risk, --limit), or do not publish."
)
PROTECT = "tracearena protect {name} safer.csv{reading} --target-risk {target:.0%} --out protected"

NOBODY_KNOWN = (
    "no released user has an id of the original: if they are pseudonyms, name the table of who is who with "
    "--id-table (in Python id_table=); if nobody in the release is a real person, say --synthetic "
    "(synthetic=True)"
)

TOLD = "attackers are told what made the release"

TITLE = "How risky is {name}?"
TITLE_RELEASED = "How safe is {release} as a release of {name}?"
LEAD = "{people:,} people, {events:,} {kind} on {days:,} days with data; audited by tracearena {version}."
INCOMPLETE = (
    "This audit was stopped before its end. What is here was measured as described; what is missing was not."
)
QUICK = "A quick audit: attacks were tried for {people:,} people, so that intervals are wide."

SINGLED = {
    "heading": "1. Singling out",
    "lead": "Somebody saw a person a few times: a neighbour, a shop, a photo with a date. How few sightings "
    "tell which trace is hers?",
    "found": "Who knows the place and the time of {k} sightings names the right trace for {value:.1%} of "
    "people (guessing: {chance:.2%}).",
    "curves": "How many people are unique by a few points, at the finest coarseness and at coarser ones: "
    "{message}",
    "falls": "four points stop singling out half of the people at {side} and {window}.",
    "stays": "four points single out more than half of the people even at {side} and {window}.",
    "never": "four points single out less than half of the people even at {side} and {window}.",
    "heat": "Share of people who are unique by four points, by the size of a place and the length of a time "
    "window.",
    "night": "{value:.1%} of people with a night-time place are alone there{where}; {few:,} share it with "
    "fewer than {smallest} others.",
    "how": "For up to {people:,} people, {draws} draws each: k of her sightings are taken at random, at the "
    "file's own places and instants. Released traces are scored by how near they are at those instants; "
    "equals share. Uniqueness counts the draws that nobody else in the same file matches, in cells of a "
    "world-wide grid and windows of time, as in de Montjoye et al. (2013). They found that four points of "
    "an hour and an antenna single out 95 % of 1.5 million people.",
}
LINKED = {
    "heading": "2. Linkability",
    "lead": "Somebody knows other days of the same people under their names. The names are taken off the "
    "later days: who is who?",
    "attacks": "{strongest} finds {at_least}{value:.1%} of {people:,} people again (between {low:.1%} and "
    "{high:.1%}); guessing finds {chance:.2%}.",
    "at_least": "at least ",
    "evidence": "What each kind of evidence finds alone, when the linker looks at nothing else.",
    "sure": "Of the matches that the linker believes in with a posterior of at least {least}, {value:.0%} "
    "are right ({low:.0%} to {high:.0%}).",
    "home_and_work": "From the places of nights and working hours alone, {value:.1%} are found.",
    "days": "How much the attacker must know: at least {least:.1%} of people are found from {first} of "
    "their own days, at least {most:.1%} from {last} (by {attack}, which is quick and not the strongest).",
    "how": "The file is cut in two by time ({cut}). The earlier part is known; the later part is shuffled "
    "and numbered again. The linker, which looks at everything that is left, and every other "
    "re-identification attack of the catalogue then say who is who, for {people:,} people at once; "
    "{left_out:,} others are not on record on both sides. The crowd is those people and no larger, which "
    "errs on the side of caution for a larger file. Intervals are those of Clopper and Pearson (95 %).",
}
INFERRED = {
    "heading": "3. Inference",
    "lead": "What does the release tell about somebody's life, even to who does not know her name?",
    "home": "The place of most nights is within {within:.0f} m of the true one for {value:.1%} of people; "
    "another person's would be for {chance:.2%}.",
    "work": "The place of most working hours is, for {value:.1%} (another person's: {chance:.2%}).",
    "zones": "The release has privacy zones. From where trips of all days stop, the home is found to within "
    "{within:.0f} m for {value:.1%} of people (another person's: {chance:.2%}).",
    "whereabouts": "On a normal day the linked trace leaves {release:.2f} of what there is to hide (s_T: 0 "
    "is the true place, 1 is 2 km away or more); habits alone, without the release, leave {habits:.2f}. The "
    "release adds {gain:.2f} (between {low:.2f} and {high:.2f}).",
    "sensitive": "Visits to sensitive places that are learned with the name of the visitor.",
    "none": "The file names no sensitive places, so that nothing can be said about visits to them.",
    "how": "Homes and workplaces are those of the days before the cut (nights from 20 to 8 o'clock, or the "
    "first and the last hour where a day has no night; working hours from 10 to 17 o'clock on weekdays). "
    "The attacker takes the same of what is released after it. A visit is learned where the strongest "
    "attack above finds the person and her trace shows the place. A normal day is each person's middle day "
    "after the cut.",
}
SYNTHETIC = {
    "heading": "Synthetic traces and the people behind them",
    "copies": "{value:.1%} of synthetic people are copies: nearer to a real person than 95 % of real people "
    "are to another (guessing: 5 %).",
    "nearest": "A synthetic person is {made:.2f} from the nearest real one in the median, a real person "
    "{real:.2f} from the nearest other (0 is the same places, 1 nothing in common).",
    "reidentified": "{value:.1%} of synthetic traces lead back to the person they were made from (guessing: "
    "{chance:.2%}).",
    "membership": "The linker scores somebody who was in the data above somebody who was not in {auc:.1%} "
    "of cases (guessing: 50 %): an advantage of {value:.1%} ({low:.1%} to {high:.1%}).",
    "no_membership": "Whether somebody was in the data at all was not tested: it needs people who were not "
    "(--others).",
}
USEFUL = {
    "heading": "What the data is good for",
    "lead": "The same six tasks of planners, with the original and with the release. 1 is as good as the "
    "original.",
    "alone": "Two random halves of the people, one against the other, show how much a task varies by "
    "chance: a release need not be nearer than that.",
    "chance": "How alike two random halves of the people are in each task; 1 is the same.",
    "kept": "Over all six tasks {kept:.0%} is kept at the resolution of the release, {whole:.0%} against "
    "the original file.",
    "how": "Counts by place and hour and flows: what two distributions have in common (1 minus the total "
    "variation). Trip lengths and radius of gyration: 1 minus the largest gap of the cumulative "
    "distributions. Time at home: 1 minus the mean gap over the hours. Hotspots: what the busiest tenth of "
    "the released places serves, over what the true busiest tenth would. Of a set of places one is drawn; "
    "deleted events are gone.",
}
TASKS = {
    "counts": ("counts by place and hour", "pairs of a place and an hour with events"),
    "flows": ("flows between places", "moves"),
    "trips": ("trip lengths", "km, median"),
    "gyration": ("radius of gyration", "km, median"),
    "home": ("time at home", "share of events at the most visited place"),
    "hotspots": ("hotspots", "share of events in the busiest tenth of places"),
}
PROTECTED = {
    "heading": "What protects it",
    "lead": "Defences, the most useful first, each against the strongest attacks. The target: at most "
    "{target:.1%} of people found again, by the upper end of the 95 % interval, on people who were not used "
    "for choosing.",
    "picture": "What each defence leaves of the six tasks, and the people whom the strongest attack still "
    "finds. Triangles are at least this many, because some attacks already exceed the target and the others "
    "were not run. The lower right is good; the dotted line is the target.",
    "cells": "{defence} puts events at cells of {side}, not at the file's own places.",
    "times": "{defence} changes times: what is released is not when people were there.",
    "how": "The people are divided at random into {choosing:,} for choosing and {proving:,} for the proof. "
    "Attacks that are quick come first; where they alone find more than the target, the others are spared "
    "and the risk is given as “at least”. Defences less useful than one that keeps the limits are not "
    "attacked. Defences that hand true traces to others are not tried. The proof is an audit of the "
    "released file itself, on the people who were not used for choosing; at most {proofs} defences are put "
    "to it.",
    "command": "The command that makes it again, with other randomness:",
    "virtual": "People who never lived: {people:,} virtual people drawn from a model of those used for "
    "choosing ({synthesizer}) keep {kept:.0%} of the six tasks. Nobody can be found again among them: none "
    "of them is a person; what they may betray is asked otherwise.",
    "virtual_command": "The command that makes such a file:",
}
CHANNELS = {
    "heading": "What gives people away apart from places",
    "none": "Neither times nor details of the file tell people apart.",
}
CHANGED = {
    "heading": "What the release changed",
    "caption": "What attacks find in the file as it is, under pseudonyms, and in the release.",
}
CROWD = {
    "heading": "Where people are",
    "caption": "{places:,} places with at least {smallest} people; {hidden:,} with fewer are not drawn.",
    "none": "No place has {smallest} people, so that there is no map.",
}
WEEKS = {
    "heading": "Three people's weeks",
    "lead": "As an attacker sees them, drawn because --show-people was asked for. These people should have "
    "agreed to it, and this page is not for everybody.",
    "caption": "The {who} person: one sighting leads to her with a chance of {exposure:.0%}; {places:,} "
    "places in her first week.",
}
CHOSEN = {
    "heading": "How it was measured",
    "lead": "What was chosen for this file, and why; options of the command change it.",
}
LIMITS_HEADING = "Limits"
LIMITS = (
    "“No attack found it” is not “nobody can”. A high number is a fact; a low one is only the absence of a "
    "success so far.",
    "An attacker may know more than other days of the same file: streets, timetables, photos, other files.",
    "Numbers are shares of people. One unusual person may be at much higher risk than the share says.",
    "The strongest of several attacks is chosen by its success on these people, which favours the attacker "
    "a little.",
    "The attacker knows days that are not in the release. Somebody who knows days that are, to the place "
    "and the minute, is the one of the question about singling out.",
    "Whoever downloads a file has it for ever, and can wait for a better attack.",
    "This page is no legal advice. It answers, with measurements, the three questions of Opinion 05/2014 of "
    "the Article 29 Working Party.",
)
GLOSSARY_HEADING = "Glossary"
GLOSSARY = {
    "pseudonym": "A number in the place of a name. It takes away nothing else.",
    "trace": "Where one person was, one time after the other.",
    "singling out": "Telling one person's records from all others.",
    "linkability": "Telling that two sets of records are the same person's.",
    "inference": "Learning something about a person that was not meant to be told.",
    "guessing, chance": "What somebody achieves who does not look at the data.",
    "95 % interval": "Where the true share lies in 95 of 100 such measurements. Few people make it wide.",
    "reference": "Days of people that the attacker knows under their names.",
    "top 5, top 10": "The right person is among the attack's five, or ten, likeliest.",
    "s_T": "What an attacker misses of people's whereabouts: 0 is nothing, 1 is everything.",
    "radius of gyration": "How far a person ranges around the middle of her places.",
    "synthetic traces": "Traces of people who do not exist, drawn from a model of those who do.",
}
TABLE = {
    **{
        name: name
        for name in (
            *("attack", "found", "guessing", "people", "places", "learned", "visitors"),
            *("task", "kept", "unit", "what", "value", "defence", "low"),
            *("high", "limits", "evidence", "error", "measure"),
        )
    },
    "interval": "95 % interval",
    "category": "kind of place",
    "halves": "half against half",
    "before": "original",
    "after": "release",
    "reason": "why",
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


def fill_sentence(sentence: str, share: Proportion, **others: Any) -> str:
    """Put a share, and whatever else it names, into a sentence."""
    return sentence.format(**{**share.to_dict(), **others})


def describe_synthetic(found: Synthetic) -> list[str]:
    """Say what synthetic people betray of real ones."""
    said, told = SYNTHETIC, []
    if found.copies is not None:
        told.append(fill_sentence(said["copies"], found.copies))
    if found.nearest is not None and found.nearest_real is not None:
        told.append(said["nearest"].format(made=found.nearest, real=found.nearest_real))
    if found.reidentified is not None:
        told.append(fill_sentence(said["reidentified"], found.reidentified))
    if found.membership is None:
        told.append(said["no_membership"])
    else:
        told.append(fill_sentence(said["membership"], found.membership, auc=found.auc))
    return told


# Short names in pictures and tables.

HOW = "How we measured this"
INTERVAL = "95 % interval {low:.1%} to {high:.1%}, {people:,} people tried; guessing gives {chance:.2%}."
NOT_ATTACKED = "not attacked: a more useful one keeps the limits"
IN_CELLS = " in cells of {side}"
MEDIAN_ERROR = "median error, m"
SEED, DIGEST, RELEASE_DIGEST = "seed", "SHA-256 of the file", "SHA-256 of the release"

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
