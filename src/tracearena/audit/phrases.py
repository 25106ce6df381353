"""Sentences of an audit that depend on what was measured; all others are in `words`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracearena.audit import words
from tracearena.audit.settings import Choice, Settings
from tracearena.audit.shares import Share

if TYPE_CHECKING:
    from tracearena.audit.cells import Cells
    from tracearena.audit.cutting import Cut
    from tracearena.audit.synthetic import Synthetic
    from tracearena.audit.zone_homes import Circle
    from tracearena.traces import Traces


def percent(value: float) -> str:
    """Write a share: ``9.4%``, ``100%``."""
    return f"{value:.1%}" if value < 0.995 else f"{value:.0%}"


def risk_words(risk: Share, at_least: bool) -> str:
    """Write the risk of a defence: with its interval, or that it is at least so much."""
    if at_least:
        return f"at least {percent(risk.value)}"
    return f"{percent(risk.value)} ({percent(risk.low)} to {percent(risk.high)})"


def share_words(share: Share) -> str:
    """Write a share with its interval and chance."""
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%}; guessing {share.chance:.2%})"


def length(metres: float) -> str:
    """Write a length: ``250 m``, ``4 km``; 0 are the file's places."""
    if metres == 0:
        return "the file's places"
    return f"{metres:g} m" if metres < 1000 else f"{metres / 1000:g} km"


def duration(seconds: float) -> str:
    """Write a time: ``6 h``, ``1 day``, ``1 week``."""
    if seconds >= 7 * 86_400:
        return "1 week" if seconds == 7 * 86_400 else f"{seconds / 86_400 / 7:g} weeks"
    if seconds >= 86_400:
        return "1 day" if seconds == 86_400 else f"{seconds / 86_400:g} days"
    return f"{seconds / 3600:g} h"


def cut_words(cut: Cut) -> str:
    """Say how time is cut."""
    if not cut.by_days:
        return "within its one day"
    return f"at {cut.label}" if cut.is_common else "each person's own days in the middle"


def cut_choice(cut: Cut, traces: Traces) -> Choice:
    """Say where the file is cut in two, and why."""
    tried, several = int(cut.both.sum()), traces.n_users
    if not cut.by_days:
        reason = "the file has one day only"
    elif cut.is_common:
        reason = f"{tried:,} of {several:,} people are on record before and after it"
    else:
        reason = "people are on record at different times, so that no date has most of them on both sides"
    return Choice("cut in two", cut_words(cut), reason)


PEOPLE_TRIED = "people tried"


def proof_choice(people: int) -> Choice:
    """Say on how many people a release is proved."""
    reason = (
        "those on both sides of the cut who were not used for choosing; some have nothing released after it"
    )
    return Choice(PEOPLE_TRIED, f"{people:,}", reason)


def people_choice(there: int, settings: Settings) -> Choice:
    """Say for how many people attacks are tried."""
    if there <= settings.people:
        return Choice(PEOPLE_TRIED, f"{there:,}", "everybody who is on record on both sides of the cut")
    reason = f"a random sample of {there:,}, enough for intervals of about {1 / settings.people**0.5:.0%}"
    return Choice(PEOPLE_TRIED, f"{settings.people:,}", f"{reason}; --people takes more")


def cells_choice(cells: Cells, settings: Settings) -> Choice:
    """Say at which cells GPS points are put."""
    reason = f"{settings.cell_m:g} m are a few street blocks; --cell changes it"
    return Choice("cells of GPS points", _cells(cells), reason)


def _cells(cells: Cells) -> str:
    more = f", the most visited; {cells.dropped:,} others count to the nearest" if cells.dropped else ""
    return f"{len(cells.keys):,} cells of {length(cells.side_m)}{more}"


def interval_choice(settings: Settings) -> Choice:
    """Say how far instants are apart."""
    minutes = f"every {settings.interval_min:g} min"
    return Choice(
        "instants of GPS points",
        minutes,
        "the point nearest in time is taken; trips are longer; --every changes it",
    )


def coarse_choice(places: int, cells: Cells) -> Choice:
    """Say at which cells the attacks work that weigh all evidence."""
    return Choice(
        "cells for heavy attacks",
        _cells(cells),
        f"{places:,} places are too many for attacks that weigh all evidence; the quick ones use the "
        "file's places",
    )


def circle_choice(circle: Circle) -> Choice:
    """Say which zones the attacker looks for."""
    shift = f", their middles up to {circle.shift_m:,.0f} m away" if circle.shift_m else ""
    reason = (
        "so far from homes is the nearest released point, in the median; --mechanism says what made it"
        if circle.measured
        else "the defence is known"
    )
    return Choice("privacy zones", f"circles of {circle.radius_m:,.0f} m around homes{shift}", reason)


def filled(sentence: str, share: Share, **others: Any) -> str:
    """Put a share, and whatever else it names, into a sentence of `words`."""
    return sentence.format(**{**share.to_dict(), **others})


def synthetic_sentences(found: Synthetic) -> list[str]:
    """Say what synthetic people betray of real ones."""
    said, told = words.SYNTHETIC, []
    if found.copies is not None:
        told.append(filled(said["copies"], found.copies))
    if found.nearest is not None and found.nearest_real is not None:
        told.append(said["nearest"].format(made=found.nearest, real=found.nearest_real))
    if found.reidentified is not None:
        told.append(filled(said["reidentified"], found.reidentified))
    if found.membership is None:
        told.append(said["no_membership"])
    else:
        told.append(filled(said["membership"], found.membership, auc=found.auc))
    return told
