"""Uniqueness: how many known points single a person out, or find a person in a release.

The attacker knows k points and names the released trace that makes them most likely under the noise of the
release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import GpsAttack, GpsObfuscator, catalogue
from tracearena.checks import require_number, require_whole
from tracearena.dataframes import Result
from tracearena.engine import SeedLike, child_seed, run_blocks, seed_sequence, stream
from tracearena.errors import DataError
from tracearena.metrics.applications.paired import IdTable, match_points, with_true_ids
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import find_positions, unique_values
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, distance_m, metres_per_degree

MOST_POINTS = 5
_ORIGINAL, _RELEASED, _MECHANISM = range(3)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Uniqueness(Result):
    """Shares of users who are unique or linked by 1 to 5 known points.

    Attributes
    ----------
    unique_in_original
        Share of draws of a user's original cells and windows that nobody else has in the original. This is a
        property of the data, without any release or attacker.
    unique_in_release
        The same within the release.
    linked
        Share of draws of a user's original points for which an attacker who knows them, and has the
        release, names the right released trace. If n traces explain the points equally well, and the
        right one is among them, the draw counts 1/n.
    chance
        Success rate of naming a random released user.
    users
        Number of users of the original with points; the attack was tried on all of them.
    not_released
        Users among them who have no released point; they count as not linked.
    candidates
        Users with released points. The attacker chooses one of them.
    strangers
        Candidates whose ids the original does not have.
    noise
        The attacker's model of the noise.
    draws, side_m, window_s
        Settings of the measurement.
    """

    unique_in_original: dict[int, float]
    unique_in_release: dict[int, float]
    linked: dict[int, float]
    chance: float
    users: int
    not_released: int
    candidates: int
    strangers: int
    noise: ReleaseNoise
    draws: int
    side_m: float
    window_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("unique_in_original", "unique_in_release", "linked"):
            values[name] = {str(k): share for k, share in values[name].items()}
        return values | {"noise": self.noise.to_dict()}


class Precision(NamedTuple):
    """Precision of the points that the attacker knows.

    Attributes
    ----------
    side_m
        Side of the cells of a world-wide grid, in metres.
    window_s
        Length of the time windows, in seconds.
    """

    side_m: float = 250.0
    window_s: float = 3600.0


class _Codes(NamedTuple):
    """The (cell, window) pairs of both traces, numbered together, and what each of them is."""

    of_original: Ints
    of_released: Ints
    window: Ints
    y: Floats
    longitude: Floats
    width: Floats

    def __len__(self) -> int:
        return len(self.window)


@dataclass(frozen=True)
class _Index:
    """Who was where and when: users of each code, codes of each user, both sorted."""

    code_offsets: Ints
    visitors: Ints
    user_offsets: Ints
    codes: Ints

    def codes_of(self, user: int) -> Ints:
        return self.codes[self.user_offsets[user] : self.user_offsets[user + 1]]


def uniqueness(
    original: GpsTraces,
    released: GpsTraces,
    *,
    precision: Precision = Precision(),  # noqa: B008
    draws: int = 100,
    mechanism: GpsObfuscator | None = None,
    id_table: IdTable | None = None,
    seed: SeedLike = None,
) -> Uniqueness:
    """Draw known points of every user, count who else was there, and find the user in the release.

    A maximum-likelihood attack. The attacker knows k points of a person, each as a cell and a time window,
    computes their likelihood under every released trace and the noise of the release, and names the best.

    Parameters
    ----------
    precision
        How precisely a point is known.
    draws
        Draws for each user. A draw is an order of the user's cells and windows, of which the first k are
        known; k + 1 known points include the first k. If a user has fewer than k, all are known.
    mechanism
        The defence the release was made with, if the attacker knows it; otherwise the size of its noise is
        measured between the two files.
    id_table
        Pseudonym → user, where the release has other ids than the original.

    Notes
    -----
    A known cell and window c of user v has the probability max_p share(lag) · K(c, p) / n_v over the
    released points p of v, where K is the chance that the noise brought p from inside the cell, lag the
    time between p and the window, and n_v the number of cells and windows that v filled in the release.
    Added to it is the probability that nothing of c was released, times how probable c is for anybody:
    a user without a point near is unlikely, not impossible. Every user counts the same; 100 draws of
    each of 100 users have a standard error of at most 0.005.

    References
    ----------
    Y.-A. de Montjoye et al., "Unique in the crowd", Scientific Reports 3, 1376 (2013).
    """
    require_number("side_m", precision.side_m, above=0, at_most=1_000_000)
    require_number("window_s", precision.window_s, at_least=0.001, at_most=1e9)
    require_whole("draws", draws, at_least=1, at_most=1_000_000)
    if not len(original):
        raise DataError("the original traces have no points")
    if not len(released):
        raise DataError("the released traces have no points")
    released = with_true_ids(original, released, id_table)
    root = seed_sequence(seed)
    codes = _number_codes(original, released, precision)
    before = _build_index(original.user_index, codes.of_original, original.n_users, len(codes))
    after = _build_index(released.user_index, codes.of_released, released.n_users, len(codes))
    noise = measure_release_noise(
        original,
        released,
        window_s=precision.window_s,
        mechanism=mechanism,
        seed=child_seed(root, _MECHANISM),
    )
    attacker = _LinkAttacker(noise, noise.denoise(released), after, precision)
    own = find_positions(original.user_ids, released.user_ids)
    own[(own >= 0) & ~attacker.has_points[own]] = -1
    tried = np.diff(original.offsets) > 0
    return Uniqueness(
        unique_in_original=_measure_unique_share(before, draws, root, _ORIGINAL),
        unique_in_release=_measure_unique_share(after, draws, root, _RELEASED),
        linked=_measure_link_share(before, codes, attacker, own, draws, root),
        chance=1 / attacker.candidates,
        users=int(tried.sum()),
        not_released=int((tried & (own < 0)).sum()),
        candidates=attacker.candidates,
        strangers=attacker.candidates - int((own >= 0).sum()),
        noise=noise,
        draws=draws,
        side_m=precision.side_m,
        window_s=precision.window_s,
    )


def _number_codes(original: GpsTraces, released: GpsTraces, precision: Precision) -> _Codes:
    """Number the (cell, window) pairs of both traces together."""
    side_m, window_s = precision
    latitude = np.concatenate([original.latitude, released.latitude])
    longitude = np.concatenate([original.longitude, released.longitude])
    time_ms = np.concatenate([original.time_ms, released.time_ms])
    row = np.floor(latitude * MIDDLE_DEGREE_M / side_m).astype(np.int64)
    width = np.maximum(metres_per_degree((row + 0.5) * side_m / MIDDLE_DEGREE_M)[1], 1.0)
    column = np.floor(longitude * width / side_m).astype(np.int64)
    columns = np.int64(360 * MIDDLE_DEGREE_M // side_m + 3)
    cells = np.unique(row * columns + column, return_inverse=True)[1]
    window = time_ms // round(window_s * 1000)
    since = window - window.min()
    _, first, code = np.unique(cells * (since.max() + 1) + since, return_index=True, return_inverse=True)
    return _Codes(
        of_original=code[: len(original)].astype(np.int64),
        of_released=code[len(original) :].astype(np.int64),
        window=window[first],
        y=((row[first] + 0.5) * side_m).astype(np.float64),
        longitude=(column[first] + 0.5) * side_m / width[first],
        width=width[first],
    )


def _build_index(user: NDArray[np.int32], code: Ints, n_users: int, n_codes: int) -> _Index:
    pairs = unique_values(user.astype(np.int64) * max(n_codes, 1) + code)
    users, codes = np.divmod(pairs, max(n_codes, 1))
    by_code = np.lexsort((users, codes))
    return _Index(
        code_offsets=np.searchsorted(codes[by_code], np.arange(n_codes + 1)),
        visitors=users[by_code],
        user_offsets=np.searchsorted(users, np.arange(n_users + 1)),
        codes=codes,
    )


def _measure_unique_share(
    index: _Index, draws: int, root: np.random.SeedSequence, part: int
) -> dict[int, float]:
    """Return the mean share of singling draws for 1 to 5 points, over users with points."""
    from tracearena.arena._kernels import count_singling_draws

    def count(user: int, uniform: Floats) -> Any:
        return count_singling_draws(index.codes_of(user), uniform, index.code_offsets, index.visitors, user)

    return _average_draws(index, count, draws, root, part)


class _LinkAttacker:
    """The release as the attacker searches it: points by window, then from south to north."""

    def __init__(self, noise: ReleaseNoise, believed: GpsTraces, index: _Index, precision: Precision) -> None:
        side_m, window_s = precision
        self.window_ms = round(window_s * 1000)
        filled = np.diff(index.user_offsets)
        self.has_points = filled > 0
        self.candidates = int(self.has_points.sum())
        weight = np.where(self.has_points, 1 / np.maximum(filled, 1), 0.0)
        window, y = believed.time_ms // self.window_ms, believed.latitude * MIDDLE_DEGREE_M
        order = np.lexsort((y, window))
        windows, starts = np.unique(window[order], return_index=True)
        x = believed.longitude * MIDDLE_DEGREE_M
        cells = len(unique_values(np.floor(y / side_m) * 2.0**31 + np.floor(x / side_m)))
        self.search = (
            self.window_ms,
            windows,
            np.append(starts, len(order)).astype(np.int64),
            y[order],
            believed.longitude[order],
            believed.time_ms[order],
            believed.user_index[order].astype(np.int64),
            weight,
            *noise.tables(side_m),
            noise.miss,
            1 / (len(windows) * cells),
            self.candidates,
        )


def _measure_link_share(
    before: _Index,
    codes: _Codes,
    attacker: _LinkAttacker,
    own: Ints,
    draws: int,
    root: np.random.SeedSequence,
) -> dict[int, float]:
    """Return the mean shares linked, over users with points in the original."""
    from tracearena.arena._kernels import add_link_credit

    def count(user: int, uniform: Floats) -> Floats:
        items, credit = before.codes_of(user), np.zeros(MOST_POINTS)
        add_link_credit(
            codes.window[items], codes.y[items], codes.longitude[items], codes.width[items],
            *attacker.search, int(own[user]), uniform, credit,
        )  # fmt: skip
        return credit

    return _average_draws(before, count, draws, root, _ORIGINAL, report=True)


def _average_draws(
    index: _Index,
    count: Callable[[int, Floats], Any],
    draws: int,
    root: np.random.SeedSequence,
    part: int,
    report: bool = False,
) -> dict[int, float]:
    """Return the share of draws of 1 to 5 points that count, in the mean over users with points."""
    users = np.flatnonzero(np.diff(index.user_offsets) > 0)

    def work(block: int, first: int, stop: int) -> Floats:
        user = int(users[first])
        return np.asarray(count(user, stream(root, part, user).random((draws, MOST_POINTS))) / draws)

    shares = run_blocks(work, [(at, at + 1) for at in range(len(users))], report=report)
    return {k: float(np.mean([each[k - 1] for each in shares])) for k in range(1, MOST_POINTS + 1)}


# The noise of a release: how far each point was moved, in space and in time.

DENOISERS = ("Smooth(9)", "Smooth(27)", "Interpolate", "Interpolate+Smooth(9)")
"""Attacks that may bring released points nearer to the truth before anybody is looked for."""

_LAGS = (0.0, 0.25, 1.0, 3.0)
_SMALLEST_ERROR_M = 1.0
_FARTHEST = 8.0
_KNOTS = 16
_MOST_PAIRS = 200_000


@dataclass(frozen=True)
class ReleaseNoise(Result):
    """Distances in space and time between released and original points.

    Attributes
    ----------
    shape
        ``laplace``: planar Laplace noise, or a mixture of several sizes of it; ``square``: anywhere in a
        square around the released point.
    mean_error_m
        Mean distance between the two, after the denoiser.
    lag_s
        Upper ends of ranges of the time between the known window and the released point; the first is 0.
    share
        Share of points whose released counterpart lies in each range.
    mixture
        For each range pairs of a share and a mean distance (laplace) or side (square) in metres.
    miss
        Share of points without any counterpart in these ranges, at least 0.001.
    denoiser
        Attack that is run on the release first, empty for none.
    """

    shape: Literal["laplace", "square"]
    mean_error_m: float
    lag_s: tuple[float, ...]
    share: tuple[float, ...]
    mixture: tuple[tuple[tuple[float, float], ...], ...]
    miss: float
    denoiser: str

    def denoise(self, released: GpsTraces) -> GpsTraces:
        """Return the release after the denoiser."""
        return _recover_points(self.denoiser, released)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the details of the mixture."""
        return {
            "shape": self.shape,
            "mean_error_m": self.mean_error_m,
            "in_window": self.share[0],
            "nothing_near": self.miss,
            "denoiser": self.denoiser,
        }

    def tables(self, side_m: float) -> NoiseTables:
        """Tabulate the chance that the true point lies in a known cell."""
        table = _square_table if self.shape == "square" else _laplace_table
        made = [table(side_m, size) for parts in self.mixture for _, size in parts]
        reach = np.array([len(values) for values, _ in made], np.int64)
        values = np.zeros((len(made), reach.max(), reach.max()))
        for at, (one, _) in enumerate(made):
            values[at, : len(one), : len(one)] = one
        shares = [
            share * part for share, parts in zip(self.share, self.mixture, strict=True) for part, _ in parts
        ]
        return NoiseTables(
            lag_ms=(np.array(self.lag_s) * 1000).astype(np.int64),
            first=np.cumsum([0, *(len(parts) for parts in self.mixture)]).astype(np.int64),
            share=np.array(shares),
            values=values,
            per_step=np.array([1 / step for _, step in made]),
            reach=reach,
        )


class NoiseTables(NamedTuple):
    """A `ReleaseNoise` for loops: table c of range b, for c from ``first[b]`` to ``first[b + 1]``.

    Each is a quarter plane over |east| and |north| of a released point from the centre of the known cell,
    with `per_step` knots a metre and `reach` knots a side.
    """

    lag_ms: Ints
    first: Ints
    share: Floats
    values: Floats
    per_step: Floats
    reach: Ints


def measure_release_noise(
    original: GpsTraces,
    released: GpsTraces,
    *,
    window_s: float,
    mechanism: GpsObfuscator | None = None,
    denoisers: Sequence[str] = DENOISERS,
    seed: SeedLike = None,
) -> ReleaseNoise:
    """Measure the noise between two files, or that of a known mechanism on traces like the original.

    Parameters
    ----------
    original, released
        Traces of the same users; users are matched by id.
    window_s
        Length of the time windows in which lags are counted, in seconds.
    mechanism
        A mechanism that the attacker knows. It is run on the original again with other random numbers than
        the release, so the attacker knows the mechanism but not the noise of this release.
    denoisers
        Attacks to try; the one that moves points closest to the truth is used, if any moves them closer.
    """
    model = released if mechanism is None else mechanism.transform(original, seed=seed)
    pairs = _PointPairs.between(original, model, window_s)
    chosen = ""
    if pairs.error_m > _SMALLEST_ERROR_M:
        for name in denoisers:
            tried = _PointPairs.between(original, _recover_points(name, model), window_s)
            if tried.error_m < 0.98 * pairs.error_m:
                chosen, pairs = name, tried
    side = getattr(mechanism, "side", None) if getattr(mechanism, "name", "") == "Snap" else None
    if side is not None and not chosen:
        return pairs.noise("square", (((1.0, float(side)),),) * len(_LAGS), chosen)
    return pairs.noise("laplace", pairs.mixture(), chosen)


def _recover_points(name: str, released: GpsTraces) -> GpsTraces:
    if not name:
        return released
    denoiser: GpsAttack = catalogue.create(name, "gps-attack")
    return denoiser.recover(released)


@dataclass(frozen=True)
class _PointPairs:
    """Original points and the released points nearest in time: how far apart, in which range of lags."""

    distance: Floats
    which: Ints
    window_s: float

    @classmethod
    def between(cls, original: GpsTraces, released: GpsTraces, window_s: float) -> _PointPairs:
        mine, theirs = match_points(original, released)
        if not len(mine):
            raise DataError("no user of the original has released points")
        step = -(-len(mine) // _MOST_PAIRS)
        mine, theirs = mine[::step], theirs[::step]
        window_ms = round(window_s * 1000)
        start = original.time_ms[mine] // window_ms * window_ms
        moment = released.time_ms[theirs]
        lag = np.maximum(np.maximum(start - moment, moment - (start + window_ms - 1)), 0)
        distance = distance_m(
            original.latitude[mine],
            original.longitude[mine],
            released.latitude[theirs],
            released.longitude[theirs],
        )
        return cls(distance, np.searchsorted(np.array(_LAGS) * window_ms, lag), window_s)

    @property
    def error_m(self) -> float:
        return float(self.distance.mean())

    def mixture(self) -> tuple[tuple[tuple[float, float], ...], ...]:
        found: list[tuple[tuple[float, float], ...]] = []
        for at in range(len(_LAGS)):
            own = self.distance[self.which == at]
            # too few to tell: no less uncertain than a shorter lag
            found.append(_fit_mixture(own) if len(own) >= 20 or not found else found[-1])
        return tuple(found)

    def noise(
        self,
        shape: Literal["laplace", "square"],
        mixture: tuple[tuple[tuple[float, float], ...], ...],
        denoiser: str,
    ) -> ReleaseNoise:
        counts = np.bincount(self.which, minlength=len(_LAGS) + 1)
        miss = max(float(counts[-1] / len(self.which)), 0.001)
        used = int(np.flatnonzero(counts[:-1]).max(initial=0)) + 1
        shares = (counts[:used] + 0.5) / (counts[:used] + 0.5).sum() * (1 - miss)
        return ReleaseNoise(
            shape=shape,
            mean_error_m=self.error_m,
            lag_s=tuple(lag * self.window_s for lag in _LAGS[:used]),
            share=tuple(shares.tolist()),
            mixture=mixture[:used],
            miss=miss,
            denoiser=denoiser,
        )


def _fit_mixture(distance: Floats) -> tuple[tuple[float, float], ...]:
    """Fit planar Laplace noise of several sizes to distances: pairs of share and mean distance."""
    if not len(distance):
        return ((1.0, _SMALLEST_ERROR_M),)
    distance = distance[:: -(-len(distance) // 10_000)]
    mean = max(float(distance.mean()), _SMALLEST_ERROR_M)
    sizes = np.unique(np.maximum(mean * 3.0 ** np.arange(-6, 3), _SMALLEST_ERROR_M))
    rate = 2 / sizes
    # the density of distances, floored so that a distance of 0 belongs to the smallest
    r = np.maximum(distance, 0.1)[:, None]
    density = rate**2 * r * np.exp(-rate * r) + 1e-300
    weight = np.full(len(sizes), 1 / len(sizes))
    for _ in range(100):
        owned = density * weight
        weight = (owned / owned.sum(axis=1, keepdims=True)).mean(axis=0)
    weight = np.where(weight >= 0.01, weight, 0)
    weight /= weight.sum()
    return tuple((float(w), float(s)) for w, s in zip(weight, sizes, strict=True) if w > 0)


def _laplace_table(side_m: float, error_m: float) -> tuple[Floats, float]:
    """Integrate planar Laplace noise of mean distance `error_m` over a cell, for a quarter plane."""
    error_m = max(error_m, _SMALLEST_ERROR_M)
    if error_m < side_m / _KNOTS:
        return _sharp_table(side_m, error_m)
    step = max(side_m, error_m) / _KNOTS
    knots = np.arange(int((0.75 * side_m + _FARTHEST * error_m) / step) + 3) * step
    pieces = int(np.clip(np.ceil(3 * side_m / error_m), 8, 48))
    inside = ((np.arange(pieces) + 0.5) / pieces - 0.5) * side_m
    table = np.zeros((len(knots), len(knots)))
    epsilon = 2 / error_m
    for north in inside:
        for east in inside:
            table += np.exp(-epsilon * np.hypot(knots[:, None] - east, knots[None, :] - north))
    table *= epsilon**2 / (2 * np.pi) * (side_m / pieces) ** 2
    return np.minimum(table, 1.0), step


def _sharp_table(side_m: float, error_m: float) -> tuple[Floats, float]:
    """Do the same for noise much smaller than the cell: each side is crossed on its own."""
    step = side_m / _KNOTS / 4
    knots = np.arange(int((0.5 * side_m + _FARTHEST * error_m) / step) + 3) * step
    # Laplace noise along a line with the variance that planar noise has there.
    spread = error_m * np.sqrt(3 / 8)

    def below(x: Any) -> Any:
        tail = 0.5 * np.exp(-np.abs(x) / spread)
        return np.where(x < 0, tail, 1 - tail)

    along: Floats = below(knots + side_m / 2) - below(knots - side_m / 2)
    return along[:, None] * along[None, :], step


def _square_table(side_m: float, square_m: float) -> tuple[Floats, float]:
    """Overlap of a cell with a square around the released point, as a share of the square."""
    step = max(side_m, square_m) / _KNOTS / 4
    knots = np.arange(int((side_m + square_m) / 2 / step) + 3) * step
    low = np.maximum(knots - square_m / 2, -side_m / 2)
    high = np.minimum(knots + square_m / 2, side_m / 2)
    overlap = np.maximum(high - low, 0) / square_m
    return overlap[:, None] * overlap[None, :], step
