"""What obfuscated or anonymized traces release: how much of it, and at which time of day."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.intake.report import Report
from tracearena.pages.maps import place_map
from tracearena.pages.page import Page
from tracearena.pages.style import BLUE, GREY, ORANGE, SKY
from tracearena.pages.summary import moment
from tracearena.traces import ObfuscatedTraces, Traces

_COLOURS = {"released": BLUE, "kept": BLUE, "moved": SKY, "sets": ORANGE, "deleted": GREY}
_WORDS = {
    "released": "released at one place",
    "kept": "released where they happened",
    "moved": "moved to another place",
    "sets": "released as one of several places",
    "deleted": "deleted",
}


@dataclass(frozen=True, kw_only=True)
class ReleaseSummary:
    """How many events are released at one place, as a set of places, or not at all.

    Attributes
    ----------
    released
        Events with one place; None where the original tells which of them are kept and which moved.
    kept, moved
        Events at their original place, and at another; None without the original.
    sets, deleted
        Events with several places, and with none.
    places_of_a_set
        Median and largest number of places of a set; None where there is none.
    true_in_set
        Sets that hold the original place; None without the original.
    by_time
        The same counts for every time of day.
    """

    users: int
    events: int
    first: str
    last: str
    days: int
    places: int
    released: int | None
    kept: int | None
    moved: int | None
    sets: int
    deleted: int
    places_of_a_set: dict[str, float] | None
    true_in_set: int | None
    by_time: dict[str, dict[str, int]]
    report: Report

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {name: value for name, value in vars(self).items() if name != "report"}
        return {"file": self.report.path, "format": self.report.format, "rows": self.report.rows} | own

    @property
    def counts(self) -> dict[str, int]:
        """What became of the events, without what is not known."""
        known = {name: getattr(self, name) for name in _WORDS}
        return {name: count for name, count in known.items() if count is not None}


def summarise_release(
    released: ObfuscatedTraces, report: Report, original: Traces | None = None
) -> ReleaseSummary:
    """Count what is released; with the original (the same events), what of it is true."""
    fates = _fates(released, original)
    first, last = (int(released.instants.min()), int(released.instants.max())) if len(released) else (0, 0)
    clock = released.clock
    sizes = released.sets.sizes[released.set_index[released.is_set]]
    counts = {name: int(mask.sum()) for name, mask in fates.items()}
    return ReleaseSummary(
        users=released.n_users,
        events=released.n_events,
        first=moment(released.clock, first),
        last=moment(released.clock, last),
        days=int(clock.day_of(last) - clock.day_of(first)) + 1,
        places=len(np.unique(released.pairs().place)),
        released=counts.get("released"),
        kept=counts.get("kept"),
        moved=counts.get("moved"),
        sets=counts["sets"],
        deleted=counts["deleted"],
        places_of_a_set={"median": float(np.median(sizes)), "most": int(sizes.max())} if len(sizes) else None,
        true_in_set=None if original is None else _true_sets(released, original),
        by_time=_by_time(released, fates),
        report=report,
    )


def release_page(released: ObfuscatedTraces, report: Report, original: Traces | None = None) -> Page:
    """Assemble the page for a release."""
    summary = summarise_release(released, report, original)
    counts = summary.counts
    said = ", ".join(f"{count:,} {_WORDS[name]}" for name, count in counts.items())
    lead = f"{summary.users:,} users and {summary.events:,} events, read as {report.format}: {said}."
    page = Page(Path(report.path).name, lead=lead)
    page.cards({"users": summary.users, "events": summary.events, "places": summary.places} | counts)
    page.heading("What is released when")
    page.figure(_stacked(summary), _message(summary), table=_table(summary), name="release-by-time")
    page.heading("Where")
    _, place, weight = released.pairs()
    amounts = np.bincount(place, weights=weight, minlength=len(released.places))
    page.figure(
        place_map(released.places, amounts, what="events"),
        "Events by the places released for them; one of a set counts in equal parts for each.",
    )
    return page


def _fates(released: ObfuscatedTraces, original: Traces | None) -> dict[str, NDArray[np.bool_]]:
    """Return which events were released how; every event has one fate."""
    one, rest = released.is_single, {"sets": released.is_set, "deleted": released.is_deleted}
    if original is None:
        return {"released": one} | rest
    true = one & (released.codes == original.place_index)
    return {"kept": true, "moved": one & ~true} | rest


def _true_sets(released: ObfuscatedTraces, original: Traces) -> int:
    event, place, _ = released.pairs()
    found = (place == original.place_index[event]) & released.is_set[event]
    return len(np.unique(event[found]))


def _by_time(released: ObfuscatedTraces, fates: dict[str, NDArray[np.bool_]]) -> dict[str, dict[str, int]]:
    clock = released.clock
    time = clock.time_of_day(released.instants)
    counted = {
        name: np.bincount(time[mask], minlength=clock.instants_per_day) for name, mask in fates.items()
    }
    return {
        clock.label(at): {name: int(counts[at]) for name, counts in counted.items()}
        for at in range(clock.instants_per_day)
    }


def _stacked(summary: ReleaseSummary) -> dict[str, Any]:
    labels = list(summary.by_time)
    bars = [
        {
            "type": "bar", "name": name, "x": labels, "y": [row[name] for row in summary.by_time.values()],
            "marker": {"color": _COLOURS[name]}, "hovertemplate": "%{x}: %{y:,} " + name + "<extra></extra>",
        }
        for name in summary.counts
    ]  # fmt: skip
    layout = {
        "height": 340,
        "barmode": "stack",
        "bargap": 0.15,
        "legend": {"orientation": "h"},
        "xaxis": {"title": {"text": "time of day"}, "type": "category"},
        "yaxis": {"title": {"text": "events"}},
    }
    return {"data": bars, "layout": layout}


def _message(summary: ReleaseSummary) -> str:
    gone = summary.deleted / max(summary.events, 1)
    several = summary.sets / max(summary.events, 1)
    return f"{gone:.1%} of all events are deleted, and {several:.1%} are released as one of several places."


def _table(summary: ReleaseSummary) -> tuple[list[str], list[list[Any]]]:
    rows = [[label, *row.values()] for label, row in summary.by_time.items()]
    return ["time of day", *summary.counts], rows
