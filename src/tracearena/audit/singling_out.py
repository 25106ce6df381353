"""Singling out: how many points distinguish a person from all others, by precision of the points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.audit.data import AuditData, AuditRelease, Floats, Ints
from tracearena.audit.observations import Sightings, find_key_spots
from tracearena.audit.settings import Proportion, Record, Settings
from tracearena.engine import child_seed, generator, run_blocks, stream
from tracearena.traces._arrays import mark_run_starts, unique_values
from tracearena.traces.geodesy import cell_keys

POINTS = 6
"""Known points of a person, at most."""
HEADLINE = 4
"""Known points that stand for what a neighbour or a colleague knows (de Montjoye et al. 2013)."""
SIDES_M = (250.0, 1000.0, 4000.0, 16000.0)
WINDOWS_S = (3600, 6 * 3600, 86_400, 7 * 86_400)
GROUPS = (1, 2, 5, 10)
"""Sizes at which classes of groups begin."""

_NOISE_FLOOR = 0.01
_EXACT_KM = 1e-4
_MIXING = np.uint64(0x9E3779B97F4A7C15)
_DRAWN, _PEOPLE = 0, 1


@dataclass(frozen=True)
class Coarseness(Record):
    """Who is unique by 1, 2, … points known to one side and window.

    Attributes
    ----------
    unique
        Share of draws that nobody else in the file matches, by the number of points.
    """

    side_m: float
    window_s: int
    unique: dict[int, Proportion]


@dataclass(frozen=True)
class NightGroups(Record):
    """People who share their night-time place with others.

    Attributes
    ----------
    people
        Who has a night-time place.
    alone
        Share who are the only one there.
    sizes
        People in groups of 1, of 2 to 4, of 5 to 9, and of 10 or more, by the first of these numbers.
    side_m
        People within one cell of this side are a group; 0 for the file's places.
    """

    people: int
    alone: Proportion | None
    sizes: dict[int, int]
    side_m: float


@dataclass(frozen=True, eq=False)
class PeopleFound:
    """Whom the attackers found, person by person; no part of a page or of JSON.

    Attributes
    ----------
    user_ids
        Ids of the people of the original for whom it was tried.
    shares
        People × points: the share of draws of 1, 2, … known points by which each is named.
    """

    user_ids: NDArray[Any]
    shares: Floats


@dataclass(frozen=True)
class SinglingOut(Record):
    """What a few known points tell.

    Attributes
    ----------
    found
        Share of people whose released trace is named by somebody who knows 1, 2, … true sightings, each to
        the place and the instant of the file.
    coarseness
        Uniqueness within what is released, from fine to coarse.
    night
        Groups at night-time places, at several sides.
    candidates
        Among how many people they are looked for.
    people_found
        Whom the attacker of `found` finds, person by person.
    """

    found: dict[int, Proportion]
    coarseness: tuple[Coarseness, ...]
    night: tuple[NightGroups, ...]
    candidates: int
    people_found: PeopleFound = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; nobody is named in them."""
        values = super().to_dict()
        del values["people_found"]
        return values

    @property
    def headline(self) -> Proportion | None:
        """Who is found by four points; None if there are fewer than two people to tell apart."""
        return self.found.get(HEADLINE) if self.candidates > 1 else None


def single_out(
    material: AuditData, published: AuditRelease, settings: Settings, root: np.random.SeedSequence
) -> SinglingOut:
    """Measure all of it."""
    sightings = Sightings.of(published)
    present = np.bincount(sightings.user, minlength=sightings.n_users) > 0
    candidates = int(present.sum())
    people = sample_people(present, settings.people, root, _PEOPLE)
    coarseness = []
    for side in SIDES_M:
        cells = sightings.cells(side)
        for window in WINDOWS_S:
            seen = _build_code_table(sightings, sightings.codes(cells, window), people)
            unique = _measure_uniqueness(seen, people, candidates, settings, root)
            coarseness.append(Coarseness(side, window, unique))
    home, _ = find_key_spots(material, published)
    known = home.has_position
    night = [] if published.points is not None else [_group_by_cell(home.place[known], 0.0)]
    for side in SIDES_M[:3]:
        night.append(_group_by_cell(cell_keys(home.latitude[known], home.longitude[known], side), side))
    found, people_found = _run_sighting_attacks(material, published, candidates, settings, root)
    return SinglingOut(
        found=found,
        coarseness=tuple(coarseness),
        night=tuple(night),
        candidates=candidates,
        people_found=people_found,
    )


def sample_people(chosen: NDArray[np.bool_], most: int, root: np.random.SeedSequence, part: int) -> Ints:
    """Return the people chosen, all or a random sample of `most`, in their order."""
    people = np.flatnonzero(chosen)
    if len(people) <= most:
        return people
    return np.sort(generator(child_seed(root, part)).choice(people, most, replace=False))


def _measure_uniqueness(
    seen: Any, people: Ints, candidates: int, settings: Settings, root: np.random.SeedSequence
) -> dict[int, Proportion]:
    """Look, for everybody tried, who else has the same codes."""
    from tracearena.arena._kernels import count_singling_draws

    by_code = seen.tocsc()
    visitors, ends = by_code.indices.astype(np.int64), by_code.indptr.astype(np.int64)

    def work(block: int, first: int, stop: int) -> Floats:
        user = int(people[first])
        uniform = stream(root, _DRAWN, user).random((settings.draws, POINTS))
        codes_of = seen.indices[seen.indptr[user] : seen.indptr[user + 1]].astype(np.int64)
        return np.asarray(count_singling_draws(codes_of, uniform, ends, visitors, user) / settings.draws)

    return _average_people(_try_people(work, len(people)), candidates)


def _try_people(work: Callable[[int, int, int], Floats], people: int) -> Floats:
    """Return people × points: how often each is found by 1, 2, … points."""
    return np.array(run_blocks(work, [(i, i + 1) for i in range(people)])).reshape(-1, POINTS)


def _average_people(found: Floats, candidates: int) -> dict[int, Proportion]:
    """Return the share of people found by 1, 2, … points."""
    shares = {k: Proportion.of(found[:, k - 1], 1 / max(candidates, 1)) for k in range(1, POINTS + 1)}
    return {k: one for k, one in shares.items() if one is not None}


def _build_code_table(sightings: Sightings, codes: Ints, people: Ints) -> Any:
    """Return users × codes, as a sparse table; codes that nobody tried has do not matter."""
    from scipy.sparse import csr_array

    is_tried = np.zeros(sightings.n_users, bool)
    is_tried[people] = True
    wanted = unique_values(codes[is_tried[sightings.user]])
    # Leave out most of the codes that are not wanted, by a table of 20 bits of each.
    bits, wanted_bits = ((one.astype(np.uint64) * _MIXING) >> np.uint64(44) for one in (codes, wanted))
    may_be_wanted = np.zeros(2**20, bool)
    may_be_wanted[wanted_bits] = True
    shared = np.flatnonzero(may_be_wanted[bits])
    at = np.minimum(np.searchsorted(wanted, codes[shared]), max(len(wanted) - 1, 0))
    found = wanted[at] == codes[shared] if len(wanted) else np.zeros(0, bool)
    users = sightings.user[shared[found]]
    starts = np.searchsorted(users, np.arange(sightings.n_users + 1))
    shape = (sightings.n_users, max(len(wanted), 1))
    table = csr_array((np.ones(len(users), bool), at[found], starts), shape)
    table.sum_duplicates()
    return table


def find_by_sightings(
    material: AuditData, published: AuditRelease, settings: Settings, root: np.random.SeedSequence
) -> Proportion | None:
    """Return who is found by somebody who saw them four times."""
    candidates = int((np.diff(published.exact.offsets) > 0).sum())
    return _run_sighting_attacks(material, published, candidates, settings, root)[0].get(HEADLINE)


def _run_sighting_attacks(
    material: AuditData,
    published: AuditRelease,
    candidates: int,
    settings: Settings,
    root: np.random.SeedSequence,
) -> tuple[dict[int, Proportion], PeopleFound]:
    """Look for people by true sightings of them, at the file's own places and instants.

    Several attackers try, and the one who finds the most counts: one looks where people were at those
    instants, the others at the places alone, whenever that was, as coarse as each of a few sides.
    """
    truth, seen = material.exact, published.exact
    event, place, _ = seen.pairs()
    scale = max(estimate_displacement_km(material, published), _EXACT_KM)
    by_time = truth.instants.astype(np.int64), seen.instants[event].astype(np.int64)
    attackers = [SightingWindows(*by_time, seen.user_index[event].astype(np.int64), place, scale)]
    # Several visits of a person to a place count once.
    width = max(len(truth.places), 1)
    user, where = np.divmod(unique_values(seen.user_index[event].astype(np.int64) * width + place), width)
    for side_m in SIDES_M[:3]:
        cells = cell_keys(truth.places.latitude, truth.places.longitude, side_m)
        by_place = SightingWindows(cells[truth.place_index], cells[where], user, where, side_m / 4000)
        attackers.append(by_place)
    people = sample_people(np.diff(truth.offsets) > 0, settings.people, root, _PEOPLE)
    found = [
        _score_sightings(material, published, one, people, candidates, settings, root) for one in attackers
    ]
    shares = [_average_people(one, candidates) for one in found]
    best = {k: max(range(len(shares)), key=lambda one: shares[one][k].value) for k in shares[0]}
    of_best = [found[best.get(k, 0)][:, k - 1] for k in range(1, POINTS + 1)]
    return (
        {k: shares[one][k] for k, one in best.items()},
        PeopleFound(truth.user_ids[people], np.column_stack(of_best)),
    )


class SightingWindows(NamedTuple):
    """What one attacker compares: true events and released ones in the same windows.

    Attributes
    ----------
    known
        The window of each true event: an instant, or a cell.
    window, user, place
        What was released.
    scale_km
        How far released places are from true ones.
    """

    known: Ints
    window: Ints
    user: Ints
    place: NDArray[Any]
    scale_km: float


def _score_sightings(
    material: AuditData,
    published: AuditRelease,
    seen: SightingWindows,
    people: Ints,
    candidates: int,
    settings: Settings,
    root: np.random.SeedSequence,
) -> Floats:
    """Return how often 1, 2, … sightings name each person, by what was released in the same windows."""
    from tracearena.audit._kernels import credit_sightings

    truth, xyz = material.exact, material.exact.places.points_km
    order = np.lexsort((seen.place, seen.window))
    window, place = seen.window[order], seen.place[order]
    spots = np.flatnonzero(mark_run_starts(place, window))
    windows, first_spots = np.unique(window[spots], return_index=True)
    offsets = np.append(first_spots, len(spots)).astype(np.int64)
    release = (windows, offsets, xyz[place[spots]], np.append(spots, len(order)), seen.user[order])
    n_released = published.exact.n_users

    def work(block: int, first: int, stop: int) -> Floats:
        person = int(people[first])
        rows = slice(truth.offsets[person], truth.offsets[person + 1])
        uniform = stream(root, _DRAWN, person).random((settings.draws, POINTS))
        credit = np.zeros(POINTS)
        credit_sightings(
            seen.known[rows], xyz[truth.place_index[rows]], uniform, *release, seen.scale_km, _NOISE_FLOOR,
            candidates, int(published.at[person]), n_released, credit,
        )  # fmt: skip
        return credit / settings.draws

    return _try_people(work, len(people))


def estimate_displacement_km(material: AuditData, published: AuditRelease) -> float:
    """Return how far the release moves people on average, at instants where both say where they are."""
    truth, seen = material.exact, published.exact
    if seen.has_rows_of(truth) and np.array_equal(seen.codes, truth.place_index):
        return 0.0
    event, place, _ = seen.pairs()
    owner = np.full(seen.n_users, -1, np.int64)
    released = published.at >= 0
    owner[published.at[released]] = np.flatnonzero(released)
    first = min(truth.span[0], seen.span[0])
    width = max(truth.span[1], seen.span[1]) - first
    mine = truth.user_index.astype(np.int64) * width + truth.instants - first
    theirs = owner[seen.user_index[event]] * width + seen.instants[event] - first
    theirs[owner[seen.user_index[event]] < 0] = -1
    at = np.minimum(np.searchsorted(mine, theirs), max(len(mine) - 1, 0))
    both = mine[at] == theirs
    if not both.any():
        return 0.0
    return float(truth.places.distance_km(truth.place_index[at[both]], place[both]).mean())


def _group_by_cell(cell: Ints, side_m: float) -> NightGroups:
    _, inverse, counts = np.unique(cell, return_inverse=True, return_counts=True)
    size = counts[inverse]
    classes = np.searchsorted(GROUPS, size, side="right") - 1
    people = np.bincount(classes, minlength=len(GROUPS)) if len(size) else np.zeros(len(GROUPS), int)
    return NightGroups(
        people=len(cell),
        alone=Proportion.of(size == 1, 1 / max(len(cell), 1)),
        sizes={first: int(n) for first, n in zip(GROUPS, people, strict=True)},
        side_m=side_m,
    )
