"""The channel E(y|x): the probability that a mechanism releases observation y at true place x.

y is a single place or a set of places (`ObservationAlphabet`). A `Channel` is derived from a known mechanism,
from a law of distances, or counted on simulated releases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracearena.algorithms.base import Algorithm
from tracearena.attacks.base import Floats, Ints, Ints32
from tracearena.engine import block_ranges
from tracearena.traces import ObfuscatedTraces, Places
from tracearena.traces.geodesy import KM_PER_DEGREE

NOTHING = -1
"""The observation of an event that was deleted."""


@dataclass(frozen=True, eq=False)
class ObservationAlphabet:
    """The observations y of some releases, numbered: one for each place, then one for each set.

    Attributes
    ----------
    n_places
        The first observations, this many, are single places.
    offsets, members
        The places of observation ``s`` are ``members[offsets[s]:offsets[s + 1]]``.
    """

    n_places: int
    offsets: Ints
    members: Ints32

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, releases: Sequence[ObfuscatedTraces]) -> tuple[ObservationAlphabet, list[Ints32]]:
        """Number the observations of releases; return also the observation of each event of each release.

        Sets of the same places are one observation, in whichever order their places stand.

        >>> from tracearena.traces import Clock, Places, PlaceSets, Traces
        >>> original = Traces.from_dense([[0, 1, 0]], Places([0, 1], [0, 0]), Clock(instants_per_day=3))
        >>> release = ObfuscatedTraces.like(original, [-1, -2, -3], PlaceSets.of([[0, 1], [1, 0]]))
        >>> symbols, (of_event,) = ObservationAlphabet.of([release])
        >>> len(symbols), of_event.tolist()
        (3, [-1, 2, 2])
        """
        n_places = len(releases[0].places)
        known: dict[bytes, int] = {}
        sets: list[Ints32] = []
        of_events = []
        for release in releases:
            of_event = release.codes.astype(np.int32)
            used, of_set = np.unique(release.set_index[release.is_set], return_inverse=True)
            numbers = np.empty(len(used), np.int32)
            for number, index in enumerate(used):
                members = np.unique(release.sets[index])
                key = members.tobytes()
                if key not in known:
                    # A set of one place is the same observation as the place.
                    known[key] = n_places + len(sets) if len(members) > 1 else int(members[0])
                    if len(members) > 1:
                        sets.append(members)
                numbers[number] = known[key]
            of_event[release.is_set] = numbers[of_set]
            of_events.append(of_event)
        singles = np.arange(n_places, dtype=np.int32)
        sizes = np.concatenate([np.ones(n_places, np.int64), [len(one) for one in sets]]).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return cls(n_places, offsets, np.concatenate([singles, *sets]).astype(np.int32)), of_events


FLOOR = 1e-9
"""Every observation is possible at every place, so that no attacker is ever certain of something wrong."""
LEAST = 1e-5
"""Smaller probabilities of a place are left to the floor."""
SHARPNESS = 1.5
"""Power by which noise is believed to be narrower where traces are matched."""
UNSEEN = 0.05
"""Share of what a mechanism does that counting it on the reference may have missed."""


_MOST_CELLS = 40_000
_NET_POINTS = 4_000_000


@dataclass(frozen=True, eq=False)
class Channel:
    """E(y|x) by observation y, up to a factor of y that no attack depends on.

    Attributes
    ----------
    offsets, places, values
        Observation ``y`` is released at ``places[offsets[y]:offsets[y + 1]]`` with these probabilities.
    floor
        Added to the probability of ``y`` at every place.
    """

    offsets: Ints
    places: Ints32
    values: Floats
    floor: Floats

    def by_place(self, n_places: int) -> tuple[Ints, Ints32, Floats]:
        """Return the same without the floor by place: offsets, symbols and probabilities."""
        symbols = np.repeat(np.arange(len(self.floor), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.places, kind="stable")
        offsets = np.searchsorted(self.places[order], np.arange(n_places + 1))
        return offsets.astype(np.int64), symbols[order], self.values[order]

    def sharpen(self, n_places: int) -> Channel:
        """Return a channel of narrower noise, with the same total at each place.

        An attacker who assumes less planar Laplace noise than there is told virtual users apart better; the
        power was chosen on one tuning team. Places with one observation, and sets, do not change.
        """
        values = self.values.copy()
        single = np.repeat(np.arange(len(self.floor)) < n_places, np.diff(self.offsets))
        place, sharp = self.places[single], values[single] ** SHARPNESS
        before = np.bincount(place, values[single], n_places)
        after = np.bincount(place, sharp, n_places)
        values[single] = sharp * (before / np.where(after > 0, after, 1.0))[place]
        return replace(self, values=values)


def derive_channel(mechanism: Algorithm, symbols: ObservationAlphabet, places: Places) -> Channel | None:
    """Return the channel of a mechanism in closed form; None where it has to be counted (`count_channel`)."""
    from tracearena.obfuscation import (
        MRLH,
        Cheating,
        GeoInd,
        NoObfuscation,
        PlanarLaplace,
        RandomizedResponse,
    )

    if isinstance(mechanism, (NoObfuscation, MRLH, Cheating)):
        return build_truthful_channel(symbols)
    if isinstance(mechanism, RandomizedResponse):
        weight = math.exp(-mechanism.epsilon)
        keep = 1 / ((len(places) - 1) * weight + 1)
        plain = build_truthful_channel(symbols)
        return Channel(
            plain.offsets,
            plain.places,
            plain.values * keep * (1 - weight),
            np.full(len(symbols), keep * weight + FLOOR),
        )
    if isinstance(mechanism, PlanarLaplace):
        return _build_laplace_channel(mechanism.epsilon, symbols, places)
    if isinstance(mechanism, GeoInd):
        return _build_laplace_channel(2000 / mechanism.expected_noise_m, symbols, places)
    return None


def has_closed_form(mechanism: Algorithm) -> bool:
    """Whether a mechanism of coordinates is one whose work on places can be written down."""
    from tracearena.obfuscation import GeoInd

    return isinstance(mechanism, GeoInd)


def build_truthful_channel(symbols: ObservationAlphabet) -> Channel:
    """Return the channel of a mechanism that always names the true place, alone or among others."""
    return Channel(
        symbols.offsets, symbols.members, np.ones(len(symbols.members)), np.full(len(symbols), FLOOR)
    )


def build_distance_channel(
    symbols: ObservationAlphabet, places: Places, edges_km: Floats, density: Floats
) -> Channel:
    """Return a channel that depends on the distance from the true place alone.

    Parameters
    ----------
    edges_km, density
        ``density[k]`` is the probability of a single place at a distance of up to ``edges_km[k]``;
        the last one is that of any place farther away.
    """
    from scipy.spatial import KDTree

    tree = KDTree(places.points_km)
    near = tree.sparse_distance_matrix(tree, float(edges_km[-1]), output_type="coo_matrix")
    rows = np.concatenate([near.row, np.arange(len(places))])
    columns = np.concatenate([near.col, np.arange(len(places))])
    distance = np.concatenate([near.data, np.zeros(len(places))])
    pairs = np.unique(rows.astype(np.int64) * len(places) + columns, return_index=True)[1]
    value = density[np.searchsorted(edges_km, distance[pairs] - 1e-9)]
    return _join_place_sets(
        symbols, places, rows[pairs], columns[pairs], value, min(density[-1], 1 / len(places))
    )


def _join_place_sets(
    symbols: ObservationAlphabet, places: Places, symbol: Ints, place: Ints, value: Floats, floor: float
) -> Channel:
    """Put the probabilities of single places before the sets, which are taken as truthful.

    At each place they sum to 1.
    """
    value = np.maximum(value - floor, 0.0)
    total = np.bincount(place, value, len(places))[place]
    value = value / np.where(total > 0, total, 1.0) * max(1 - floor * len(places), 0.0)
    kept = value > LEAST * value.max(initial=0.0)
    symbol, place, value = symbol[kept], place[kept], value[kept]
    order = np.lexsort((place, symbol))
    starts = np.searchsorted(symbol[order], np.arange(len(places) + 1))
    sets = symbols.offsets[len(places) :] - symbols.offsets[len(places)]
    members = symbols.members[symbols.offsets[len(places)] :]
    floors = np.full(len(symbols), FLOOR)
    floors[: len(places)] = max(floor, FLOOR)
    return Channel(
        np.concatenate([starts, starts[-1] + sets[1:]]).astype(np.int64),
        np.concatenate([place[order], members]).astype(np.int32),
        np.concatenate([value[order], np.ones(len(members))]),
        floors,
    )


def _build_laplace_channel(epsilon: float, symbols: ObservationAlphabet, places: Places) -> Channel:
    """Return planar Laplace noise of ε per km, which ends in the cell or at the nearest place.

    Off a grid the noise is laid out on a net of points, each of which ends at its nearest place.
    """
    grid, n = places.grid, len(places)
    if grid is None:
        from tracearena.obfuscation.planar_laplace import add_noise_to_places

        count = int(np.clip(_NET_POINTS // n, 64, 2500))
        east, north = _laplace_sample_points(epsilon, count)
        true = np.repeat(np.arange(n, dtype=np.int32), count)
        answered = add_noise_to_places(places, true, np.tile(east, n), np.tile(north, n))
        keys, counts = np.unique(answered.astype(np.int64) * n + true, return_counts=True)
        return _join_place_sets(symbols, places, keys // n, keys % n, counts / count, FLOOR)
    shift_y, shift_x, kernel = _compute_laplace_shifts(epsilon, places)
    parts = []
    for first, stop in block_ranges(n, max(_NET_POINTS // len(kernel), 1)):
        cell = np.arange(first, stop)[:, None]
        # What ends outside is answered with the nearest cell of the border.
        row = np.clip(cell // grid.columns + shift_y, 0, grid.rows - 1)
        column = np.clip(cell % grid.columns + shift_x, 0, grid.columns - 1)
        keys, inverse = np.unique(((row * grid.columns + column) * n + cell).ravel(), return_inverse=True)
        summed = np.bincount(inverse, np.tile(kernel, stop - first), len(keys))
        parts.append((keys, summed))
    key, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _join_place_sets(symbols, places, key // n, key % n, value, FLOOR)


def _compute_laplace_shifts(epsilon: float, places: Places) -> tuple[Ints, Ints, Floats]:
    """Return by how many rows and columns noise moves an event, and how likely each shift is.

    The probability of a cell is the density's mean over a fine net of its points; noise that is wide
    compared with the cells is laid out on points of equal probability.
    """
    grid = places.grid
    assert grid is not None
    shrink = math.cos(math.radians((grid.south + grid.north) / 2))
    north, east = places.km_per_degree or (KM_PER_DEGREE, KM_PER_DEGREE * max(shrink, 1e-9))
    height, width = grid.cell_height * north, grid.cell_width * east
    up, right = math.ceil(12 / (epsilon * height)), math.ceil(12 / (epsilon * width))
    if (2 * up + 1) * (2 * right + 1) <= _MOST_CELLS:
        fine = math.ceil(min(max(4 * epsilon * max(height, width), 12), 96))
        net = (np.arange(fine) + 0.5) / fine - 0.5
        dy = (np.arange(-up, up + 1)[:, None] + net).reshape(-1, 1, fine, 1) * height
        dx = (np.arange(-right, right + 1)[:, None] + net).reshape(1, -1, 1, fine) * width
        mass = np.exp(-epsilon * np.hypot(dy, dx)).mean(axis=(2, 3)).ravel()
        shift_y, shift_x = np.divmod(np.arange(len(mass)), 2 * right + 1) - np.array([[up], [right]])
    else:
        moved_east, moved_north = _laplace_sample_points(epsilon, _NET_POINTS // 4)
        shift_y, shift_x = np.rint(moved_north / height), np.rint(moved_east / width)
        mass = np.ones(len(shift_y))
    # A shift by more than the whole grid ends at the border, as one by the whole grid does.
    shift_y = np.clip(shift_y, 1 - grid.rows, grid.rows - 1).astype(np.int64)
    shift_x = np.clip(shift_x, 1 - grid.columns, grid.columns - 1).astype(np.int64)
    wide = 2 * grid.columns
    keys, inverse = np.unique(shift_y * wide + shift_x + grid.columns, return_inverse=True)
    kernel = np.bincount(inverse, mass, len(keys))
    return keys // wide, keys % wide - grid.columns, np.asarray(kernel / kernel.sum())


def _laplace_sample_points(epsilon: float, count: int) -> tuple[Floats, Floats]:
    """Return points of planar Laplace noise, km to the east and north, each as probable as the others."""
    from scipy.special import gammaincinv

    number = np.arange(count)
    radius = gammaincinv(2.0, (number + 0.5) / count) / epsilon
    angle = number * np.pi * (3 - math.sqrt(5))
    return radius * np.cos(angle), radius * np.sin(angle)


def count_channel(symbols: ObservationAlphabet, n_places: int, true: Ints32, answered: Ints32) -> Channel:
    """Count a channel on pairs of a true place and the observation that a mechanism released there.

    One truthful observation is added for each place; a set that the mechanism did not release is taken as
    truthful.
    """
    kept = answered != NOTHING
    true, answered = true[kept], answered[kept]
    own = np.repeat(np.arange(len(symbols)), np.diff(symbols.offsets))
    single = own < n_places
    symbol = np.concatenate([answered, own[single]]).astype(np.int64)
    keys = symbol * n_places + np.concatenate([true, symbols.members[single]])
    distinct, count = np.unique(keys, return_counts=True)
    symbol, place = np.divmod(distinct, n_places)
    total = np.bincount(true, minlength=n_places) + 1.0
    value = (1 - UNSEEN) * count / total[place]
    new = ~single & ~np.isin(own, answered)
    symbol, place = np.concatenate([symbol, own[new]]), np.concatenate([place, symbols.members[new]])
    value = np.concatenate([value, np.ones(int(new.sum()))])
    order = np.lexsort((place, symbol))
    offsets = np.searchsorted(symbol[order], np.arange(len(symbols) + 1))
    floor = np.full(len(symbols), UNSEEN / max(len(symbols), 1) + FLOOR)
    return Channel(offsets.astype(np.int64), place[order].astype(np.int32), value[order], floor)
