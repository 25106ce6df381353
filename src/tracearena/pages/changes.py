"""What a defence did to traces, in the numbers of pictures: crowds, losses, distances, one person's day."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.metrics.contest_scores import event_losses
from tracearena.traces import Box, ObfuscatedTraces, Places, Traces

Floats = NDArray[np.float64]

BIN_KM = 0.5
"""Width of a bar of a histogram of distances."""
_NOON_S = 12 * 3600
_SAME_KM = 1e-6
_FAR_KM = 1e6
_DAY_KM = 4.0


class Crowds(NamedTuple):
    """People by place at the time next to noon, all days together: the truth, and what was released.

    One of k places that were released for an event counts 1/k in each.
    """

    time: str
    before: Floats
    after: Floats

    @property
    def off(self) -> float:
        """Share of the crowd that would have to move to make both maps equal."""
        return 0.5 * float(np.abs(_shares(self.before) - _shares(self.after)).sum())

    def share_at(self, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """Return which share of the crowd is at the chosen places, before and after."""
        before, after = (float(_shares(people)[chosen].sum()) for people in (self.before, self.after))
        return before, after


def _shares(people: Floats) -> Floats:
    return people / max(float(people.sum()), 1.0)


def crowds_at_noon(original: Traces, obfuscated: ObfuscatedTraces) -> Crowds:
    """Count people by place at the time next to noon."""
    clock, instants = original.clock, original.instants
    nearest = instants[np.argmin(np.abs(clock.second_of_day(instants) - _NOON_S))]
    noon = clock.second_of_day(instants) == clock.second_of_day(nearest)
    before, after = original.keep(noon), obfuscated.keep(noon)
    _, place, weight = after.pairs()
    m = len(before.places)
    return Crowds(
        clock.label(int(nearest)),
        np.bincount(before.place_index, minlength=m).astype(float),
        np.bincount(place, weights=weight, minlength=m).astype(float),
    )


class Losses(NamedTuple):
    """Usefulness lost by place: how many events are truly there, and the sum of their losses."""

    events: NDArray[np.int64]
    lost: Floats

    @property
    def share(self) -> Floats:
        """Share lost at each place, NaN where nobody is."""
        with np.errstate(invalid="ignore"):
            return np.where(self.events > 0, self.lost / self.events, np.nan)

    @property
    def total(self) -> float:
        """Share lost in the whole city."""
        return float(self.lost.sum() / max(int(self.events.sum()), 1))

    @property
    def at_busiest(self) -> float:
        """Share lost at the busiest twentieth of the places."""
        busiest = np.argsort(-self.events, kind="stable")[: max(len(self.events) // 20, 1)]
        return float(self.lost[busiest].sum() / max(int(self.events[busiest].sum()), 1))


def losses_by_place(original: Traces, obfuscated: ObfuscatedTraces, limit_km: float) -> Losses:
    """Add up the losses of events (0 released as they are, 1 deleted or too far off) by true place."""
    losses = event_losses(original, obfuscated, limit_km=limit_km)
    m = len(original.places)
    return Losses(
        np.bincount(original.place_index, minlength=m),
        np.bincount(original.place_index, weights=losses, minlength=m).astype(float),
    )


class Displacements(NamedTuple):
    """Shares of all events by how far they were moved; a set of places by its mean distance.

    Attributes
    ----------
    labels
        Of the bars: the same place, half kilometres one after the other, everything beyond.
    single, sets
        Share of events with one released place, and with several, of each bar.
    hidden
        Share of events that were deleted.
    useless
        Share of events whose released places are at the limit or beyond.
    """

    labels: tuple[str, ...]
    single: Floats
    sets: Floats
    hidden: float
    useless: float

    @property
    def released(self) -> Floats:
        """Single places and sets together."""
        return self.single + self.sets


def displacements(original: Traces, obfuscated: ObfuscatedTraces, limit_km: float) -> Displacements:
    """Measure how far events were moved, up to 1 km beyond the limit from which on a place is useless."""
    edges = np.arange(0, limit_km + 1 + BIN_KM, BIN_KM)
    far = event_losses(original, obfuscated, limit_km=_FAR_KM) * _FAR_KM
    between = (f"{low:g}–{low + BIN_KM:g} km" for low in edges[:-1])
    return Displacements(
        ("same place", *between, f"over {edges[-1]:g} km"),
        _shares_of(far[obfuscated.is_single], edges, original.n_events),
        _shares_of(far[obfuscated.is_set], edges, original.n_events),
        int(obfuscated.is_deleted.sum()) / max(original.n_events, 1),
        int((far[~obfuscated.is_deleted] >= limit_km - _SAME_KM).sum()) / max(original.n_events, 1),
    )


def _shares_of(far: Floats, edges: Floats, events: int) -> Floats:
    moved = far[far > _SAME_KM]
    counts = np.histogram(moved, np.concatenate([edges, [np.inf]]))[0]
    return np.array([len(far) - len(moved), *counts]) / max(events, 1)


def liveliest_day(original: Traces) -> tuple[int, int]:
    """Return the index of a user and the day with the most different places that fits a readable map."""
    per_day = original.clock.instants_per_day
    table = original.dense()
    missing = -table.shape[1] % per_day
    days = np.pad(table, ((0, 0), (0, missing)), constant_values=-1).reshape(original.n_users, -1, per_day)
    # Where there is no event, any other place of the day stands in: it adds none.
    days = np.where(days < 0, days.max(axis=2, keepdims=True), days)
    different = 1 + (np.diff(np.sort(days, axis=2), axis=2) > 0).sum(axis=2)
    extent = np.ptp(original.places.points_km[days, :2], axis=2).max(axis=2)
    fits = (extent <= _DAY_KM) & (days.max(axis=2) >= 0)
    user, day = divmod(int(np.argmax(np.where(fits, different, 0))), days.shape[1])
    return user, int(original.clock.day_of(original.span[0])) + day


def box_around(places: Places, cells: Any) -> Box:
    """Return the box that holds some places, as cells of their grid where they have one."""
    grid = places.grid
    half = (grid.cell_height / 2, grid.cell_width / 2) if grid is not None else (0.002, 0.002)
    return Box.of(Places(places.latitude[cells], places.longitude[cells])).expanded(*half)


def day_box(original: Traces, obfuscated: ObfuscatedTraces) -> Box:
    """Return what a map of a person's day shows: all true and all released places, and a rim."""
    box = box_around(original.places, np.concatenate([obfuscated.pairs().place, original.place_index]))
    return box.expanded(0.12 * max(box.north - box.south, box.east - box.west))
