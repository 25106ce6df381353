"""Inference: homes, workplaces, visits to sensitive places and whereabouts that the release gives away."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.arena.experiments import zone_circle
from tracearena.arena.privacy_bounds import Interval, UserLosses
from tracearena.attacks.privacy_zones import homes_behind_zones
from tracearena.audit.data import AuditData, AuditRelease, Ints, choose_places
from tracearena.audit.linkability import LinkageTask
from tracearena.audit.observations import Spots, find_point_spots, find_usual_spots
from tracearena.audit.settings import Proportion, Ranked, Record, Settings
from tracearena.engine import child_seed, generator
from tracearena.obfuscation import TrimEnds, Zones
from tracearena.traces import GpsTraces, ObfuscatedTraces, Places, Traces
from tracearena.traces._arrays import mark_run_starts, unique_values
from tracearena.traces.geodesy import distance_m, earth_centred


@dataclass(frozen=True)
class KeyPlace(Record):
    """Whether the home, or the workplace, of people is found.

    Attributes
    ----------
    found
        Share of people for whom the place where the release has most of their nights (working hours) lies
        within `within_m` of the one of the earlier days. Chance gives everybody another person's place.
    error_m
        Median distance between the two, over those who have both.
    """

    found: Proportion | None
    error_m: float | None
    within_m: float


@dataclass(frozen=True)
class SensitiveVisits(Record):
    """Visits to one kind of sensitive places.

    Attributes
    ----------
    category
        A key of `texts.CATEGORIES`.
    places
        Places of the kind.
    learned
        Share of its visitors whose visit is learned: the strongest attack finds their trace, and it shows
        the place. Chance takes any trace for theirs.
    """

    category: str
    places: int
    learned: Proportion | None


@dataclass(frozen=True)
class Inference(Record):
    """What the release gives away of people's lives.

    Attributes
    ----------
    home, work
        Whether the places of nights and of working hours are found.
    behind_zones
        The home again, as the attack finds it that looks where trips stop; None without privacy zones.
    sensitive
        Visits to sensitive places, kind by kind.
    whereabouts
        Where people are on a normal day.
    """

    home: KeyPlace
    work: KeyPlace
    behind_zones: KeyPlace | None
    sensitive: tuple[SensitiveVisits, ...]
    whereabouts: Whereabouts | None

    @property
    def share_items(self) -> list[tuple[str, Proportion | None]]:
        """Everything that is a share of people, by its key of `texts.MEASURES`."""
        places = [("home", self.home.found), ("work", self.work.found)]
        if self.behind_zones is not None:
            places.append(("zones", self.behind_zones.found))
        return [*places, *((one.category, one.learned) for one in self.sensitive)]


def infer(
    material: AuditData,
    published: AuditRelease,
    cut: LinkageTask,
    ranked: Ranked | None,
    settings: Settings,
    root: np.random.SeedSequence,
    circle: Circle | None = None,
) -> Inference:
    """Measure all of it for the people of the halves.

    Parameters
    ----------
    ranked
        Whom the strongest attack takes each trace for.
    circle
        The privacy zones of the release, if it has any.
    """
    home, work, behind = infer_key_places(material, published, cut, settings, circle)
    return Inference(
        home=home,
        work=work,
        behind_zones=behind,
        sensitive=() if ranked is None else _infer_sensitive_visits(material, cut, ranked),
        whereabouts=None if ranked is None else infer_whereabouts(material, cut, ranked, root),
    )


def infer_key_places(
    material: AuditData,
    published: AuditRelease,
    cut: LinkageTask,
    settings: Settings,
    circle: Circle | None = None,
) -> tuple[KeyPlace, KeyPlace, KeyPlace | None]:
    """Return whether homes and workplaces are found, and homes behind privacy zones if there are any."""
    points, trace_of = None if cut.points is None else cut.points[:2], np.argsort(cut.owner)
    behind = None
    if points is None:
        before, after = find_usual_spots(ObfuscatedTraces.from_traces(cut.known)), find_usual_spots(cut.seen)
    else:
        before, after = (find_point_spots(one, material.zone) for one in points)
        if circle is not None and published.points is not None:
            # Zones stay where they are, so that trips of all days tell of them.
            every_day = published.points.take_users(published.at[cut.users])
            guessed = guess_homes(every_day, circle, settings.within_m, material.zone)
            behind = _compare_spots(before[0], guessed, settings.within_m)
    home, work = (
        _compare_spots(truth, told.take(trace_of), settings.within_m)
        for truth, told in zip(before, after, strict=True)
    )
    return home, work, behind


def _compare_spots(truth: Spots, told: Spots, within_m: float) -> KeyPlace:
    from scipy.spatial import KDTree

    known = truth.has_position
    both = known & told.has_position
    distance = np.full(len(known), np.inf)
    distance[both] = distance_m(
        truth.latitude[both], truth.longitude[both], told.latitude[both], told.longitude[both]
    )
    near = distance <= within_m
    mine, theirs = (
        earth_centred(one.latitude[one.has_position], one.longitude[one.has_position])
        for one in (truth, told)
    )
    chance = 0.0
    if len(mine) >= 2 and len(theirs):
        # The share of pairs of a person and another's released place that lie together.
        together = int(KDTree(mine).query_ball_point(theirs, within_m, return_length=True).sum())
        chance = float((together - int(near.sum())) / (len(mine) * (len(mine) - 1)))
    return KeyPlace(
        found=Proportion.of(near[known], chance),
        error_m=float(np.median(distance[both])) if both.any() else None,
        within_m=within_m,
    )


def _infer_sensitive_visits(
    material: AuditData, cut: LinkageTask, ranked: Ranked
) -> tuple[SensitiveVisits, ...]:
    """Count, by category, visitors whose visit is learned from the trace linked to them."""
    places = material.exact.places
    truth = material.cut.later(material.exact).take_users(cut.users)
    right = np.zeros(len(cut.users), bool)
    right[cut.owner] = ranked[:, 0] == cut.owner
    event, shown, _ = cut.seen.pairs()
    trace_of = np.empty(len(cut.users), np.int64)
    trace_of[cut.owner] = np.arange(len(cut.owner))
    width = max(len(places), 1)
    told = unique_values(cut.seen.user_index[event].astype(np.int64) * width + shown)
    found = []
    for category, chosen in find_categories(places).items():
        visits = chosen[truth.place_index]
        keys = unique_values(truth.user_index[visits].astype(np.int64) * width + truth.place_index[visits])
        person, place = np.divmod(keys, width)
        is_told = np.isin(trace_of[person] * width + place, told)
        visitors = unique_values(person)
        learned = np.isin(visitors, person[is_told & right[person]])
        showing = np.bincount(told % width, minlength=width)
        chance = float((showing[place] / max(len(cut.users), 1)).mean()) if len(place) else 0.0
        found.append(SensitiveVisits(category, int(chosen.sum()), Proportion.of(learned, chance)))
    return tuple(found)


# Whereabouts on a normal day, by the trace that is linked to a person and by her usual places alone.

LIMIT_KM = 2.0
"""An answer this far away is worth nothing, as in s_T."""

_DRAW, _INTERVAL = 10, 11


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
        How many people and events were guessed.
    """

    by_release: Interval
    by_habits: Interval
    gain: Interval
    people: int
    events: int


def infer_whereabouts(
    material: AuditData, cut: LinkageTask, ranked: Ranked, root: np.random.SeedSequence
) -> Whereabouts | None:
    """Guess, for every true event of a normal day, where it was."""
    # A normal day is each person's middle day of those with events.
    traces = material.cut.later(material.coarse).take_users(cut.users)
    day = traces.clock.day_of(traces.instants)
    number = np.cumsum(mark_run_starts(day, traces.user_index))
    occupied = np.flatnonzero(np.diff(traces.offsets) > 0)
    middle = np.full(traces.n_users, -1, np.int64)
    first, last = number[traces.offsets[:-1][occupied]], number[traces.offsets[1:][occupied] - 1]
    middle[occupied] = (first + last) // 2
    truth = traces.keep(number == middle[traces.user_index])
    if not len(truth):
        return None
    usual = guess_usual_places(cut.known_coarse, truth)
    told = _guess_from_links(cut, ranked, truth, child_seed(root, _DRAW))
    # What an answer misses of each person, every event for 1 at 2 km or more.
    losses, events = {}, np.ones(truth.n_events)
    for name, answer in (("by_habits", usual), ("by_release", np.where(told >= 0, told, usual))):
        missed = np.minimum(truth.places.distance_km(truth.place_index, answer) / LIMIT_KM, 1)
        sums = (np.bincount(truth.user_index, one, truth.n_users) for one in (missed, events))
        losses[name] = UserLosses(*(one.astype(np.float64) for one in sums))
    seed = child_seed(root, _INTERVAL)
    return Whereabouts(
        **{name: one.interval(seed) for name, one in losses.items()},
        gain=losses["by_habits"].interval(seed, beside=losses["by_release"]),
        people=int((np.diff(truth.offsets) > 0).sum()),
        events=truth.n_events,
    )


def guess_usual_places(known: Traces, asked: Traces) -> Ints:
    """Return where each person usually was at the hour of each asked event.

    Without an event at that hour, where she was most often; without any, where all were most often.
    """
    everywhere = np.bincount(known.place_index, minlength=max(len(known.places), 1))
    hours = [
        one.user_index.astype(np.int64) * 24 + one.clock.second_of_day(one.instants) // 3600
        for one in (known, asked)
    ]
    by_hour = _find_most_frequent(hours[0], known.place_index, known.n_users * 24)
    by_user = _find_most_frequent(known.user_index.astype(np.int64), known.place_index, known.n_users)
    answer = by_hour[hours[1]]
    answer = np.where(answer >= 0, answer, by_user[asked.user_index])
    return np.asarray(np.where(answer >= 0, answer, int(everywhere.argmax())), np.int64)


def _find_most_frequent(key: Ints, place: NDArray[np.int32], n_keys: int) -> Ints:
    width = int(place.max(initial=0)) + 1
    cells, counts = np.unique(key * width + place, return_counts=True)
    owner, where = np.divmod(cells, width)
    order = np.lexsort((-where, counts, owner))
    found = np.full(n_keys, -1, np.int64)
    found[owner[order]] = where[order]
    return found


def _guess_from_links(cut: LinkageTask, ranked: Ranked, truth: Traces, seed: np.random.SeedSequence) -> Ints:
    """Return what the trace that is taken for each person's says at each true event; -1 for nothing."""
    seen = cut.seen_coarse
    trace_of = np.full(len(cut.users), -1, np.int64)
    answer = ranked[::-1, 0]
    trace_of[answer[answer >= 0]] = np.arange(len(ranked))[::-1][answer >= 0]
    place = choose_places(seen, generator(seed))
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


# Sensitive places, by their category or because the file marks them.

MARKED = "marked"
"""Places that the file itself marks as sensitive."""

PATTERNS = {
    "health": r"hospital|clinic|doctor|dentist|medical|pharmac|health|therap|psychi|rehab|maternity",
    "worship": r"church|mosque|synagogue|temple|shrine|cathedral|chapel|worship|spiritual|religio|monastery",
    "justice": r"prison|jail|court ?house|police|probation",
    "politics": r"political|campaign office|trade union|union hall|embassy|consulate",
    "intimate": r"strip club|sex|adult|gay bar|love hotel|escort",
    "addiction": r"casino|betting|liquor|alcoholics|cannabis|dispensary",
    "children": r"kindergarten|nursery|day ?care|elementary school|primary school|playground",
}
"""Words in a category, which may be a path such as ``food/Café``, by kind."""


def find_categories(places: Places) -> dict[str, NDArray[np.bool_]]:
    """Return which places are of each sensitive kind; kinds without places are left out.

    >>> places = Places([0, 1, 2], [0, 0, 0], categories=["building/Hospital/7", "food/Café", "Church"])
    >>> {kind: chosen.tolist() for kind, chosen in find_categories(places).items()}
    {'health': [True, False, False], 'worship': [False, False, True]}
    """
    found = {MARKED: places.sensitive} if places.sensitive.any() else {}
    if places.categories is None:
        return found
    kinds, inverse = np.unique(places.categories.astype(str), return_inverse=True)
    for name, pattern in PATTERNS.items():
        match = np.array([bool(re.search(pattern, kind, re.IGNORECASE)) for kind in kinds.tolist()])
        if match.any():
            found[name] = match[inverse]
    return found


# Homes behind privacy zones: a release without the points near them still shows where trips stop.

_ENOUGH = 0.99
"""Share of the released points that must be the original's own, for a release that only leaves out points."""
_LEAST_M = 50.0
"""Homes with a released point nearer than this are behind no zone."""


class Circle(NamedTuple):
    """What the attacker believes to be hidden around homes.

    Attributes
    ----------
    radius_m, shift_m
        Radius of the zones, and how far their middles may lie from homes.
    measured
        Whether the radius was measured between the two files; otherwise the defence was named.
    """

    radius_m: float
    shift_m: float
    measured: bool


def get_mechanism_circle(mechanism: object) -> Circle | None:
    """Return the circle of a defence by zones or trimmed ends; None for any other."""
    return Circle(*zone_circle(mechanism), False) if isinstance(mechanism, Zones | TrimEnds) else None


def detect_circle(
    original: GpsTraces, released: GpsTraces, at: NDArray[np.int64], homes: Spots
) -> Circle | None:
    """Return circles around homes if a release has no points there, all others being where they were.

    Parameters
    ----------
    at
        Where each user of the original stands in the release, -1 for nowhere.
    homes
        The home of each user of the original.
    """
    if len(released) >= len(original) or not _is_part(original, released, at):
        return None
    xyz, home = earth_centred(released.latitude, released.longitude), earth_centred(*homes[:2])
    nearest = [
        float(np.sqrt(((xyz[own] - home[user]) ** 2).sum(axis=1).min()))
        for user in np.flatnonzero(homes.has_position & (at >= 0))
        if len(own := np.arange(released.offsets[at[user]], released.offsets[at[user] + 1]))
    ]
    if len(nearest) < 3 or np.median(nearest) < _LEAST_M:
        return None
    return Circle(float(np.median(nearest)), 0.0, True)


def guess_homes(released: GpsTraces, circle: Circle, within_m: float, zone: str | None) -> Spots:
    """Return where the attacker thinks that each released person lives."""
    found = homes_behind_zones(
        released, radius_m=circle.radius_m, shift_m=circle.shift_m, within_m=within_m, timezone=zone
    )
    return Spots(found.latitude, found.longitude, np.full(released.n_users, -1, np.int64))


def _is_part(original: GpsTraces, released: GpsTraces, at: NDArray[np.int64]) -> bool:
    """Whether nearly all released points are the original's, at their own times."""
    if not len(released):
        return False
    owner = np.full(released.n_users, -1, np.int64)
    owner[at[at >= 0]] = np.flatnonzero(at >= 0)
    first = min(int(original.time_ms.min()), int(released.time_ms.min()))
    width = max(int(original.time_ms.max()), int(released.time_ms.max())) - first + 1
    mine = original.user_index.astype(np.int64) * width + original.time_ms - first
    theirs = owner[released.user_index] * width + released.time_ms - first
    found = np.minimum(np.searchsorted(mine, theirs), len(mine) - 1)
    apart = distance_m(
        original.latitude[found], original.longitude[found], released.latitude, released.longitude
    )
    return bool(((mine[found] == theirs) & (apart <= 1.0)).mean() >= _ENOUGH)
