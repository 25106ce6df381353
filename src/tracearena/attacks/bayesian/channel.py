"""The channel E(y|x): the probability that a mechanism releases observation y at true place x.

y is a single place or a set of places (`ObservationAlphabet`). A `Channel` is derived from a known mechanism,
from a law of distances, or counted on simulated releases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracearena.algorithms import validation
from tracearena.algorithms.base import Algorithm, Obfuscator
from tracearena.attacks.base import Floats, Ints, Ints32, Mask
from tracearena.engine import SeedLike, block_ranges, child_seed, generator, run_blocks, seed_sequence
from tracearena.traces import ObfuscatedTraces, Places, PlaceSets, Traces
from tracearena.traces.geodesy import KM_PER_DEGREE


@dataclass(frozen=True)
class ChannelSettings:
    """Constants of channels and simulated releases."""

    floor: float = 1e-9
    """Probability of every observation at every place, so that nothing is ruled out. Chosen by hand, not
    tuned."""
    least_probability: float = 1e-5
    """Places below this share of the largest probability are left to the floor. Chosen by hand, not tuned."""
    sharpness: float = 1.5
    """Power that narrows the noise where traces are matched. Tuned on one tuning team of virtual users
    (docs/measurements/winners.md)."""
    unseen_share: float = 0.05
    """Share of a counted channel for what the simulated runs missed. Chosen by hand, not tuned."""
    runs: int = 3
    """Runs of a mechanism of whole traces. Three were measured on 400 users of a tuning team
    (docs/measurements/winners.md)."""
    max_kernel_cells: int = 40_000
    """Wider Laplace noise is laid out on sample points instead of cells. Chosen by hand, not tuned."""
    max_net_points: int = 4_000_000
    """Sample points of Laplace noise held at a time. Chosen by hand, not tuned."""


SETTINGS = ChannelSettings()


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
        >>> alphabet, (of_event,) = ObservationAlphabet.of([release])
        >>> len(alphabet), of_event.tolist()
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
        """Return the same without the floor by place: offsets, observations and probabilities."""
        observations = np.repeat(np.arange(len(self.floor), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.places, kind="stable")
        offsets = np.searchsorted(self.places[order], np.arange(n_places + 1))
        return offsets.astype(np.int64), observations[order], self.values[order]

    def sharpen(self, n_places: int) -> Channel:
        """Return a channel of narrower noise, with the same total at each place.

        An attacker who assumes less planar Laplace noise than there is identified virtual users better; the
        power was chosen on one tuning team. Places with one observation, and sets, do not change.
        """
        values = self.values.copy()
        single = np.repeat(np.arange(len(self.floor)) < n_places, np.diff(self.offsets))
        place, sharp = self.places[single], values[single] ** SETTINGS.sharpness
        before = np.bincount(place, values[single], n_places)
        after = np.bincount(place, sharp, n_places)
        values[single] = sharp * (before / np.where(after > 0, after, 1.0))[place]
        return replace(self, values=values)


def derive_channel(mechanism: Algorithm, alphabet: ObservationAlphabet, places: Places) -> Channel | None:
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
        return build_truthful_channel(alphabet)
    if isinstance(mechanism, RandomizedResponse):
        weight = math.exp(-mechanism.epsilon)
        keep = 1 / ((len(places) - 1) * weight + 1)
        plain = build_truthful_channel(alphabet)
        return Channel(
            plain.offsets,
            plain.places,
            plain.values * keep * (1 - weight),
            np.full(len(alphabet), keep * weight + SETTINGS.floor),
        )
    if isinstance(mechanism, PlanarLaplace):
        return _build_laplace_channel(mechanism.epsilon, alphabet, places)
    if isinstance(mechanism, GeoInd):
        return _build_laplace_channel(2000 / mechanism.expected_noise_m, alphabet, places)
    return None


def is_gps_with_channel(mechanism: Algorithm) -> bool:
    """Whether a mechanism works on GPS points and has a channel between places (`derive_channel`)."""
    from tracearena.obfuscation import GeoInd

    return isinstance(mechanism, GeoInd)


def build_truthful_channel(alphabet: ObservationAlphabet) -> Channel:
    """Return the channel of a mechanism that always names the true place, alone or among others."""
    return Channel(
        alphabet.offsets,
        alphabet.members,
        np.ones(len(alphabet.members)),
        np.full(len(alphabet), SETTINGS.floor),
    )


def build_distance_channel(
    alphabet: ObservationAlphabet, places: Places, edges_km: Floats, density: Floats
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
        alphabet, places, rows[pairs], columns[pairs], value, min(density[-1], 1 / len(places))
    )


def _join_place_sets(
    alphabet: ObservationAlphabet, places: Places, observation: Ints, place: Ints, value: Floats, floor: float
) -> Channel:
    """Put the probabilities of single places before the sets, which are taken as truthful.

    At each place they sum to 1.
    """
    value = np.maximum(value - floor, 0.0)
    total = np.bincount(place, value, len(places))[place]
    value = value / np.where(total > 0, total, 1.0) * max(1 - floor * len(places), 0.0)
    kept = value > SETTINGS.least_probability * value.max(initial=0.0)
    observation, place, value = observation[kept], place[kept], value[kept]
    order = np.lexsort((place, observation))
    starts = np.searchsorted(observation[order], np.arange(len(places) + 1))
    sets = alphabet.offsets[len(places) :] - alphabet.offsets[len(places)]
    members = alphabet.members[alphabet.offsets[len(places)] :]
    floors = np.full(len(alphabet), SETTINGS.floor)
    floors[: len(places)] = max(floor, SETTINGS.floor)
    return Channel(
        np.concatenate([starts, starts[-1] + sets[1:]]).astype(np.int64),
        np.concatenate([place[order], members]).astype(np.int32),
        np.concatenate([value[order], np.ones(len(members))]),
        floors,
    )


def _build_laplace_channel(epsilon: float, alphabet: ObservationAlphabet, places: Places) -> Channel:
    """Return planar Laplace noise of ε per km, which ends in the cell or at the nearest place.

    Off a grid the noise is laid out on a net of points, each of which ends at its nearest place.
    """
    grid, n = places.grid, len(places)
    if grid is None:
        from tracearena.obfuscation.planar_laplace import add_noise_to_places

        count = int(np.clip(SETTINGS.max_net_points // n, 64, 2500))
        east, north = _laplace_sample_points(epsilon, count)
        true = np.repeat(np.arange(n, dtype=np.int32), count)
        answered = add_noise_to_places(places, true, np.tile(east, n), np.tile(north, n))
        keys, counts = np.unique(answered.astype(np.int64) * n + true, return_counts=True)
        return _join_place_sets(alphabet, places, keys // n, keys % n, counts / count, SETTINGS.floor)
    shift_y, shift_x, kernel = _compute_laplace_shifts(epsilon, places)
    parts = []
    for first, stop in block_ranges(n, max(SETTINGS.max_net_points // len(kernel), 1)):
        cell = np.arange(first, stop)[:, None]
        # What ends outside is answered with the nearest cell of the border.
        row = np.clip(cell // grid.columns + shift_y, 0, grid.rows - 1)
        column = np.clip(cell % grid.columns + shift_x, 0, grid.columns - 1)
        keys, inverse = np.unique(((row * grid.columns + column) * n + cell).ravel(), return_inverse=True)
        summed = np.bincount(inverse, np.tile(kernel, stop - first), len(keys))
        parts.append((keys, summed))
    key, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _join_place_sets(alphabet, places, key // n, key % n, value, SETTINGS.floor)


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
    if (2 * up + 1) * (2 * right + 1) <= SETTINGS.max_kernel_cells:
        fine = math.ceil(min(max(4 * epsilon * max(height, width), 12), 96))
        net = (np.arange(fine) + 0.5) / fine - 0.5
        dy = (np.arange(-up, up + 1)[:, None] + net).reshape(-1, 1, fine, 1) * height
        dx = (np.arange(-right, right + 1)[:, None] + net).reshape(1, -1, 1, fine) * width
        mass = np.exp(-epsilon * np.hypot(dy, dx)).mean(axis=(2, 3)).ravel()
        shift_y, shift_x = np.divmod(np.arange(len(mass)), 2 * right + 1) - np.array([[up], [right]])
    else:
        moved_east, moved_north = _laplace_sample_points(epsilon, SETTINGS.max_net_points // 4)
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


def count_channel(alphabet: ObservationAlphabet, n_places: int, true: Ints32, answered: Ints32) -> Channel:
    """Count a channel on pairs of a true place and the observation that a mechanism released there.

    One truthful observation is added for each place; a set that the mechanism did not release is taken as
    truthful.
    """
    kept = answered != NOTHING
    true, answered = true[kept], answered[kept]
    own = np.repeat(np.arange(len(alphabet)), np.diff(alphabet.offsets))
    single = own < n_places
    observation = np.concatenate([answered, own[single]]).astype(np.int64)
    keys = observation * n_places + np.concatenate([true, alphabet.members[single]])
    distinct, count = np.unique(keys, return_counts=True)
    observation, place = np.divmod(distinct, n_places)
    total = np.bincount(true, minlength=n_places) + 1.0
    value = (1 - SETTINGS.unseen_share) * count / total[place]
    new = ~single & ~np.isin(own, answered)
    observation, place = (
        np.concatenate([observation, own[new]]),
        np.concatenate([place, alphabet.members[new]]),
    )
    value = np.concatenate([value, np.ones(int(new.sum()))])
    order = np.lexsort((place, observation))
    offsets = np.searchsorted(observation[order], np.arange(len(alphabet) + 1))
    floor = np.full(len(alphabet), SETTINGS.unseen_share / max(len(alphabet), 1) + SETTINGS.floor)
    return Channel(offsets.astype(np.int64), place[order].astype(np.int32), value[order], floor)


# The mechanism on the reference: simulated releases.


@dataclass(frozen=True, eq=False)
class SimulatedRelease:
    """A release, and the same mechanism's release of the reference.

    Attributes
    ----------
    observations
        The observations of both.
    released
        The observation of each anonymized event.
    runs
        The observation of each reference event, once for each run of the mechanism.
    channel
        The channel.
    by_event
        Whether each event is treated independently, so that the channel is all there is to know.
    """

    alphabet: ObservationAlphabet
    released: Ints32
    runs: tuple[Ints32, ...]
    channel: Channel
    by_event: bool = True

    def take_events(self, seen: Mask, known: Mask) -> SimulatedRelease:
        """Return the observations of some anonymized and of some reference events."""
        return replace(self, released=self.released[seen], runs=tuple(one[known] for one in self.runs))


def simulate_mechanism(
    mechanism: Algorithm,
    reference: Traces,
    anonymized: ObfuscatedTraces,
    seed: SeedLike,
    runs: int = SETTINGS.runs,
) -> SimulatedRelease:
    """Simulate a known mechanism on the reference: derive its channel, or run it and count.

    Parameters
    ----------
    runs
        Number of runs of a mechanism that treats traces as a whole: it may draw something else for a
        user each time, such as whom she imitates.
    """
    if not isinstance(mechanism, Obfuscator):
        alphabet, (observed,) = ObservationAlphabet.of([anonymized])
        channel = derive_channel(mechanism, alphabet, reference.places)
        assert channel is not None
        return SimulatedRelease(
            alphabet, observed, (draw_observations(reference, channel, observed, seed),), channel
        )
    first_release = mechanism.transform(reference, seed=seed)
    alphabet, (observed, run_once) = ObservationAlphabet.of([anonymized, first_release])
    channel = derive_channel(mechanism, alphabet, reference.places)
    if channel is not None:
        return SimulatedRelease(alphabet, observed, (run_once,), channel)
    root = seed_sequence(seed)

    def run(number: int, first: int, stop: int) -> ObfuscatedTraces:
        return mechanism.transform(reference, seed=child_seed(root, stop))

    # Side by side: much of what defences of whole traces do keeps one thread busy. A class from elsewhere
    # may keep a state, which two threads must not share.
    ranges = block_ranges(runs - 1, 1)
    if validation.is_foreign(mechanism):
        again = [run(number, *one) for number, one in enumerate(ranges)]
    else:
        again = run_blocks(run, ranges)
    alphabet, (observed, *all_runs) = ObservationAlphabet.of([anonymized, first_release, *again])
    true = np.tile(reference.place_index, len(all_runs))
    channel = count_channel(alphabet, len(reference.places), true, np.concatenate(all_runs))
    return SimulatedRelease(alphabet, observed, tuple(all_runs), channel, by_event=False)


def draw_observations(reference: Traces, channel: Channel, observed: Ints32, seed: SeedLike) -> Ints32:
    """Draw an observation for each reference event, and delete as large a share as the release does."""
    rng, m, n = generator(seed), len(reference.places), reference.n_events
    offsets, observations, values, anywhere = _estimate_observation_rates(channel, observed, m)
    summed = np.concatenate([[0.0], np.cumsum(values)])
    start, end = offsets[reference.place_index], offsets[reference.place_index + 1]
    listed = summed[end] - summed[start]
    wanted = rng.random(n) * (listed + anywhere[reference.place_index])
    chosen = np.searchsorted(summed, summed[start] + wanted, side="right") - 1
    own = np.append(observations, NOTHING)[np.clip(chosen, start, np.maximum(end - 1, start))]
    answer = np.where(wanted < listed, own, rng.integers(0, m, n))
    deleted = float((observed == NOTHING).mean()) if len(observed) else 0.0
    return np.where(rng.random(n) < deleted, NOTHING, answer).astype(np.int32)


def _estimate_observation_rates(
    channel: Channel, observed: Ints32, n_places: int
) -> tuple[Ints, Ints32, Floats, Floats]:
    """Return how often each observation occurs at each place, by place, and how often any place does.

    A channel leaves open how often sets occur: as often as in the release, where they contain a place.
    """
    offsets, observations, values = channel.by_place(n_places)
    place = np.repeat(np.arange(n_places), np.diff(offsets))
    often = np.bincount(observed[observed != NOTHING], minlength=len(channel.floor))
    is_set = observations >= n_places
    share = often[n_places:].sum() / max(often.sum(), 1)
    values = np.where(
        is_set, values * (often / np.maximum(np.diff(channel.offsets), 1))[observations], values
    )
    of_sets, of_places = (np.bincount(place, values * one, n_places) for one in (is_set, ~is_set))
    floor = float(channel.floor[:n_places].sum())
    single = np.where(of_sets > 0, 1 - share, 1.0) / (of_places + floor)
    scale = np.where(is_set, (share / np.where(of_sets > 0, of_sets, 1.0))[place], single[place])
    return offsets, observations, values * scale, floor * single


def build_release(traces: Traces, observations: Ints32, known: ObservationAlphabet) -> ObfuscatedTraces:
    """Return the release with these observations."""
    single = observations < known.n_places
    codes = np.where(single, observations, -2 - (observations - known.n_places))
    first = known.offsets[known.n_places]
    sets = PlaceSets(known.offsets[known.n_places :] - first, known.members[first:])
    return ObfuscatedTraces.like(traces, codes, sets)
