"""Whereabouts on a normal day: by the trace that is linked to a person, and by habits alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.bounds import Interval, Losses
from tracearena.audit.cells import one_place
from tracearena.audit.linkability import Halves
from tracearena.audit.material import Material
from tracearena.audit.shares import Ranked, Record
from tracearena.engine import child_seed, generator
from tracearena.traces import Traces
from tracearena.traces._arrays import begins

LIMIT_KM = 2.0
"""An answer this far away is worth nothing, as in s_T."""

_DRAW, _INTERVAL = 10, 11

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Whereabouts(Record):
    """Where people are on a normal day: each person's middle day after the cut.

    Attributes
    ----------
    by_release
        s_T that is left by an attacker who takes the trace that the strongest attack links to each person,
        and her habits where it says nothing: 0 is the true place, 1 is 2 km away or more.
    by_habits
        The same by where she usually was at that hour before the cut, the release not read.
    gain
        How much less the first leaves than the second: what the release adds to habits.
    people, events
        Of so many people so many events were guessed.
    """

    by_release: Interval
    by_habits: Interval
    gain: Interval
    people: int
    events: int


def whereabouts(
    material: Material, cut: Halves, ranked: Ranked, root: np.random.SeedSequence
) -> Whereabouts | None:
    """Guess, for every true event of a normal day, where it was."""
    truth = _normal_day(material.cut.later(material.coarse).take_users(cut.users))
    if not len(truth):
        return None
    usual = habits(cut.known_coarse, truth)
    told = _told(cut, ranked, truth, child_seed(root, _DRAW))
    answers = {"by_habits": usual, "by_release": np.where(told >= 0, told, usual)}
    losses = {name: _losses(truth, answer) for name, answer in answers.items()}
    seed = child_seed(root, _INTERVAL)
    return Whereabouts(
        **{name: one.interval(seed) for name, one in losses.items()},
        gain=losses["by_habits"].interval(seed, beside=losses["by_release"]),
        people=int((np.diff(truth.offsets) > 0).sum()),
        events=truth.n_events,
    )


def _normal_day(traces: Traces) -> Traces:
    """Return each person's middle day of those with events."""
    day = traces.clock.day_of(traces.instants)
    number = np.cumsum(begins(day, traces.user_index))
    occupied = np.flatnonzero(np.diff(traces.offsets) > 0)
    middle = np.full(traces.n_users, -1, np.int64)
    first, last = number[traces.offsets[:-1][occupied]], number[traces.offsets[1:][occupied] - 1]
    middle[occupied] = (first + last) // 2
    return traces.keep(number == middle[traces.user_index])


def habits(known: Traces, asked: Traces) -> Ints:
    """Return where each person usually was at the hour of each asked event.

    Without an event at that hour, where she was most often; without any, where all were most often.
    """
    everywhere = np.bincount(known.place_index, minlength=max(len(known.places), 1))
    hours = [
        one.user_index.astype(np.int64) * 24 + one.clock.second_of_day(one.instants) // 3600
        for one in (known, asked)
    ]
    by_hour = _most_frequent(hours[0], known.place_index, known.n_users * 24)
    by_user = _most_frequent(known.user_index.astype(np.int64), known.place_index, known.n_users)
    answer = by_hour[hours[1]]
    answer = np.where(answer >= 0, answer, by_user[asked.user_index])
    return np.asarray(np.where(answer >= 0, answer, int(everywhere.argmax())), np.int64)


def _most_frequent(key: Ints, place: NDArray[np.int32], n_keys: int) -> Ints:
    width = int(place.max(initial=0)) + 1
    cells, counts = np.unique(key * width + place, return_counts=True)
    owner, where = np.divmod(cells, width)
    order = np.lexsort((-where, counts, owner))
    found = np.full(n_keys, -1, np.int64)
    found[owner[order]] = where[order]
    return found


def _told(cut: Halves, ranked: Ranked, truth: Traces, seed: np.random.SeedSequence) -> Ints:
    """Return what the trace that is taken for each person's says at each true event; -1 for nothing."""
    seen = cut.seen_coarse
    trace_of = np.full(len(cut.users), -1, np.int64)
    answer = ranked[::-1, 0]
    trace_of[answer[answer >= 0]] = np.arange(len(ranked))[::-1][answer >= 0]
    place = one_place(seen, generator(seed))
    first = min(seen.span[0], truth.span[0])
    width = max(seen.span[1], truth.span[1]) - first
    said = place >= 0
    keys = seen.user_index[said].astype(np.int64) * width + seen.instants[said] - first
    wanted = trace_of[truth.user_index] * width + truth.instants - first
    wanted[trace_of[truth.user_index] < 0] = -1
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(np.where(keys[at] == wanted, place[said][at], -1))


def _losses(truth: Traces, answer: Ints) -> Losses:
    """Return what an answer misses of each person, every event for 1 at 2 km or more."""
    missed = np.minimum(truth.places.distance_km(truth.place_index, answer) / LIMIT_KM, 1)
    sums = [
        np.bincount(truth.user_index, one, truth.n_users).astype(np.float64)
        for one in (missed, np.ones(truth.n_events))
    ]
    return Losses(sums[0], sums[1])
