"""How few points single a person out, and how few find a person in a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.arena.release_noise import Mechanism, ReleaseNoise, measure_release_noise
from tracearena.checks import require_number, require_whole
from tracearena.engine import SeedLike, child_seed, run_blocks, seed_sequence, stream
from tracearena.errors import DataError, ParameterError
from tracearena.metrics.applications.paired import IdTable, with_true_ids
from tracearena.results import Result
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import different, positions
from tracearena.traces.geodesy import MIDDLE_DEGREE_M, metres_per_degree

MOST_POINTS = 5
_ORIGINAL, _RELEASED, _MECHANISM = range(3)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Uniqueness(Result):
    """What 1 to 5 points tell about a person, averaged over users.

    Attributes
    ----------
    unique_in_original
        Share of draws of a user's original cells and windows that nobody else has in the original. A
        property of the data: no release and no attacker comes into it.
    unique_in_release
        The same within the release.
    linked
        Share of draws of a user's original points for which an attacker who knows them, and has the
        release, names the right released trace. If n traces explain the points equally well, and the
        right one is among them, the draw counts 1/n.
    chance
        What naming any released user at random gives.
    users
        Users of the original who have points. It was tried for all of them.
    not_released
        Users among them who have no released point; they count as not linked.
    candidates
        Users with released points. The attacker chooses one of them.
    strangers
        Candidates whose ids the original does not have.
    noise
        What the attacker believes the release did to each point.
    draws, side_m, window_s
        How it was measured.
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
        shares = {
            name: {str(k): value for k, value in getattr(self, name).items()}
            for name in ("unique_in_original", "unique_in_release", "linked")
        }
        numbers = {
            name: getattr(self, name)
            for name in ("chance", "users", "not_released", "candidates", "strangers")
        }
        measured = {name: getattr(self, name) for name in ("draws", "side_m", "window_s")}
        return shares | numbers | {"noise": self.noise.to_dict()} | measured


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
    side_m: float = 250.0,
    window_s: float = 3600.0,
    draws: int = 100,
    mechanism: Mechanism | None = None,
    expected_noise_m: float | None = None,
    id_table: IdTable | None = None,
    seed: SeedLike = None,
) -> Uniqueness:
    """Draw points of every user, ask who else was there, and look for the user in the release.

    The attacker knows k points of a person, each as a cell and a window of time. She scores every
    released user by the likelihood of what she knows under the noise of the release, and names the best.

    Parameters
    ----------
    side_m, window_s
        A point is known to this precision: the cell of a world-wide grid and the window of time.
    draws
        Draws for each user. A draw is an order of the user's cells and windows, of which the first k are
        known; whoever knows more points also knows the ones before. A user with fewer than k shows all.
    mechanism
        The defence the release was made with, if the attacker knows it; otherwise the size of its noise is
        measured between the two files.
    expected_noise_m
        Short for planar Laplace noise of this expected size as `mechanism`.
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
    require_number("side_m", side_m, above=0, at_most=1_000_000)
    require_number("window_s", window_s, at_least=0.001, at_most=1e9)
    require_whole("draws", draws, at_least=1, at_most=1_000_000)
    if expected_noise_m is not None:
        if mechanism is not None:
            raise ParameterError("give either mechanism or expected_noise_m")
        mechanism = catalogue.create(f"GeoInd({float(expected_noise_m)!r}m)", "gps-obfuscator")
    if not len(original):
        raise DataError("the original traces have no points")
    if not len(released):
        raise DataError("the released traces have no points")
    released = with_true_ids(original, released, id_table)
    root = seed_sequence(seed)
    codes = _codes(original, released, side_m, window_s)
    before = _index(original.user_index, codes.of_original, original.n_users, len(codes))
    after = _index(released.user_index, codes.of_released, released.n_users, len(codes))
    noise = measure_release_noise(
        original, released, window_s=window_s, mechanism=mechanism, seed=child_seed(root, _MECHANISM)
    )
    attacker = _Attacker(noise, noise.denoised(released), after, side_m, window_s)
    own = positions(original.user_ids, released.user_ids)
    own[(own >= 0) & ~attacker.has_points[own]] = -1
    tried = np.diff(original.offsets) > 0
    return Uniqueness(
        unique_in_original=_unique(before, draws, root, _ORIGINAL),
        unique_in_release=_unique(after, draws, root, _RELEASED),
        linked=_linked(before, codes, attacker, own, draws, root),
        chance=1 / attacker.candidates,
        users=int(tried.sum()),
        not_released=int((tried & (own < 0)).sum()),
        candidates=attacker.candidates,
        strangers=attacker.candidates - int((own >= 0).sum()),
        noise=noise,
        draws=draws,
        side_m=side_m,
        window_s=window_s,
    )


def _codes(original: GpsTraces, released: GpsTraces, side_m: float, window_s: float) -> _Codes:
    """Number the (cell, window) pairs of both traces together."""
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
    pairs, first, code = np.unique(cells * (since.max() + 1) + since, return_index=True, return_inverse=True)
    del pairs
    return _Codes(
        of_original=code[: len(original)].astype(np.int64),
        of_released=code[len(original) :].astype(np.int64),
        window=window[first],
        y=((row[first] + 0.5) * side_m).astype(np.float64),
        longitude=(column[first] + 0.5) * side_m / width[first],
        width=width[first],
    )


def _index(user: NDArray[np.int32], code: Ints, n_users: int, n_codes: int) -> _Index:
    pairs = different(user.astype(np.int64) * max(n_codes, 1) + code)
    users, codes = np.divmod(pairs, max(n_codes, 1))
    by_code = np.lexsort((users, codes))
    return _Index(
        code_offsets=np.searchsorted(codes[by_code], np.arange(n_codes + 1)),
        visitors=users[by_code],
        user_offsets=np.searchsorted(users, np.arange(n_users + 1)),
        codes=codes,
    )


def _unique(index: _Index, draws: int, root: np.random.SeedSequence, part: int) -> dict[int, float]:
    """Return the mean share of singling draws for 1 to 5 points, over users with points."""
    from tracearena.arena._kernels import singled_out

    users = np.flatnonzero(np.diff(index.user_offsets) > 0)

    def work(block: int, first: int, stop: int) -> Floats:
        user = int(users[first])
        uniform = stream(root, part, user).random((draws, MOST_POINTS))
        hits = singled_out(index.codes_of(user), uniform, index.code_offsets, index.visitors, user)
        return np.asarray(hits / draws)

    return _means(run_blocks(work, [(at, at + 1) for at in range(len(users))]))


class _Attacker:
    """The release as the attacker searches it: points by window, then from south to north."""

    def __init__(
        self, noise: ReleaseNoise, believed: GpsTraces, index: _Index, side_m: float, window_s: float
    ) -> None:
        self.window_ms = round(window_s * 1000)
        filled = np.diff(index.user_offsets)
        self.has_points = filled > 0
        self.candidates = int(self.has_points.sum())
        weight = np.where(self.has_points, 1 / np.maximum(filled, 1), 0.0)
        window, y = believed.time_ms // self.window_ms, believed.latitude * MIDDLE_DEGREE_M
        order = np.lexsort((y, window))
        windows, starts = np.unique(window[order], return_index=True)
        x = believed.longitude * MIDDLE_DEGREE_M
        cells = len(different(np.floor(y / side_m) * 2.0**31 + np.floor(x / side_m)))
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


def _linked(
    before: _Index, codes: _Codes, attacker: _Attacker, own: Ints, draws: int, root: np.random.SeedSequence
) -> dict[int, float]:
    """Return the mean shares linked, over users with points in the original."""
    from tracearena.arena._kernels import linked_draws

    users = np.flatnonzero(np.diff(before.user_offsets) > 0)

    def work(block: int, first: int, stop: int) -> Floats:
        user = int(users[first])
        items = before.codes_of(user)
        uniform = stream(root, _ORIGINAL, user).random((draws, MOST_POINTS))
        credit = np.zeros(MOST_POINTS)
        linked_draws(
            codes.window[items], codes.y[items], codes.longitude[items], codes.width[items],
            *attacker.search, int(own[user]), uniform, credit,
        )  # fmt: skip
        return credit / draws

    return _means(run_blocks(work, [(at, at + 1) for at in range(len(users))], report=True))


def _means(shares: list[Floats]) -> dict[int, float]:
    return {k: float(np.mean([each[k - 1] for each in shares])) for k in range(1, MOST_POINTS + 1)}
