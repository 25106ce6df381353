"""Inference: homes, workplaces, visits to sensitive places and whereabouts that the release gives away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.categories import categories_of
from tracearena.audit.linkability import Halves
from tracearena.audit.material import Material, Published
from tracearena.audit.settings import Settings
from tracearena.audit.shares import Ranked, Record, Share
from tracearena.audit.sightings import Spots, point_spots, usual_spots
from tracearena.audit.whereabouts import Whereabouts, whereabouts
from tracearena.audit.zone_homes import Circle, guessed_homes
from tracearena.traces import ObfuscatedTraces
from tracearena.traces._arrays import different
from tracearena.traces.geodesy import distance_m, earth_centred


@dataclass(frozen=True)
class KeyPlace(Record):
    """Whether the home, or the workplace, of people is told.

    Attributes
    ----------
    found
        Share of people for whom the place where the release has most of their nights (working hours) lies
        within `within_m` of the one of the earlier days. Chance gives everybody another person's place.
    error_m
        Median distance between the two, over those who have both.
    """

    found: Share | None
    error_m: float | None
    within_m: float


@dataclass(frozen=True)
class SensitiveVisits(Record):
    """Visits to one kind of sensitive places.

    Attributes
    ----------
    category
        A key of `words.CATEGORIES`.
    places
        Places of the kind.
    learned
        Share of its visitors whose visit is learned: the strongest attack finds their trace, and it shows
        the place. Chance takes any trace for theirs.
    """

    category: str
    places: int
    learned: Share | None


@dataclass(frozen=True)
class Inference(Record):
    """What the release gives away of people's lives.

    Attributes
    ----------
    home, work
        Whether the places of nights and of working hours are told.
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
    def measured(self) -> list[tuple[str, Share | None]]:
        """Everything that is a share of people, by its key of `words.MEASURES`."""
        places = [("home", self.home.found), ("work", self.work.found)]
        if self.behind_zones is not None:
            places.append(("zones", self.behind_zones.found))
        return [*places, *((one.category, one.learned) for one in self.sensitive)]


def infer(
    material: Material,
    published: Published,
    cut: Halves,
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
    home, work, behind = places_told(material, published, cut, settings, circle)
    return Inference(
        home=home,
        work=work,
        behind_zones=behind,
        sensitive=() if ranked is None else _sensitive(material, cut, ranked),
        whereabouts=None if ranked is None else whereabouts(material, cut, ranked, root),
    )


def places_told(
    material: Material, published: Published, cut: Halves, settings: Settings, circle: Circle | None = None
) -> tuple[KeyPlace, KeyPlace, KeyPlace | None]:
    """Say whether homes and workplaces are told, and homes behind privacy zones if there are any."""
    points, trace_of = None if cut.points is None else cut.points[:2], np.argsort(cut.owner)
    behind = None
    if points is None:
        before, after = usual_spots(ObfuscatedTraces.unchanged(cut.known)), usual_spots(cut.seen)
    else:
        before, after = (point_spots(one, material.zone) for one in points)
        if circle is not None and published.points is not None:
            # Zones stay where they are, so that trips of all days tell of them.
            every_day = published.points.take_users(published.at[cut.users])
            guessed = guessed_homes(every_day, circle, settings.within_m, material.zone)
            behind = _compared(before[0], guessed, settings.within_m)
    home, work = (
        _compared(truth, told.take(trace_of), settings.within_m)
        for truth, told in zip(before, after, strict=True)
    )
    return home, work, behind


def _compared(truth: Spots, told: Spots, within_m: float) -> KeyPlace:
    known = truth.known
    both = known & told.known
    distance = np.full(len(known), np.inf)
    distance[both] = distance_m(
        truth.latitude[both], truth.longitude[both], told.latitude[both], told.longitude[both]
    )
    near = distance <= within_m
    chance = _of_another(truth, told, near, within_m)
    return KeyPlace(
        found=Share.of(near[known], chance),
        error_m=float(np.median(distance[both])) if both.any() else None,
        within_m=within_m,
    )


def _of_another(truth: Spots, told: Spots, near: NDArray[np.bool_], within_m: float) -> float:
    """Return the share of pairs of a person and another's released place that lie together."""
    from scipy.spatial import KDTree

    mine = earth_centred(truth.latitude[truth.known], truth.longitude[truth.known])
    theirs = earth_centred(told.latitude[told.known], told.longitude[told.known])
    if len(mine) < 2 or not len(theirs):
        return 0.0
    together = int(KDTree(mine).query_ball_point(theirs, within_m, return_length=True).sum())
    return float((together - int(near.sum())) / (len(mine) * (len(mine) - 1)))


def _sensitive(material: Material, cut: Halves, ranked: Ranked) -> tuple[SensitiveVisits, ...]:
    """Count, by category, visitors whose visit is learned from the trace linked to them."""
    places = material.exact.places
    truth = material.cut.later(material.exact).take_users(cut.users)
    right = np.zeros(len(cut.users), bool)
    right[cut.owner] = ranked[:, 0] == cut.owner
    event, shown, _ = cut.seen.pairs()
    trace_of = np.empty(len(cut.users), np.int64)
    trace_of[cut.owner] = np.arange(len(cut.owner))
    width = max(len(places), 1)
    told = different(cut.seen.user_index[event].astype(np.int64) * width + shown)
    found = []
    for category, chosen in categories_of(places).items():
        visits = chosen[truth.place_index]
        keys = different(truth.user_index[visits].astype(np.int64) * width + truth.place_index[visits])
        person, place = np.divmod(keys, width)
        is_told = np.isin(trace_of[person] * width + place, told)
        visitors = different(person)
        learned = np.isin(visitors, person[is_told & right[person]])
        showing = np.bincount(told % width, minlength=width)
        chance = float((showing[place] / max(len(cut.users), 1)).mean()) if len(place) else 0.0
        found.append(SensitiveVisits(category, int(chosen.sum()), Share.of(learned, chance)))
    return tuple(found)
