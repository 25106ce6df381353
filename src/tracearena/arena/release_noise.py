"""What an attacker believes a release did to each point: how far it went, in space and in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracearena.algorithms import catalogue
from tracearena.engine import SeedLike
from tracearena.errors import DataError
from tracearena.metrics.applications.paired import matched_points
from tracearena.results import Result
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import distance_m

Floats = NDArray[np.float64]

DENOISERS = ("Smooth(9)", "Smooth(27)", "Interpolate", "Interpolate+Smooth(9)")
"""Attacks that may bring released points nearer to the truth before anybody is looked for."""

_LAGS = (0.0, 0.25, 1.0, 3.0)
_LEAST_MISS = 0.001
_SMALLEST_ERROR_M = 1.0
_FARTHEST = 8.0
_KNOTS = 16
_MOST_PAIRS = 200_000
_MOST_FITTED = 10_000
_ENOUGH = 20
_ROUNDS = 100
_LEAST_PART = 0.01
_WORTH_IT = 0.98


class Mechanism(Protocol):
    """A defence of GPS traces (`tracearena.algorithms.GpsObfuscator`)."""

    name: Any

    def transform(self, original: GpsTraces, *, seed: SeedLike = None) -> GpsTraces:
        """Return the traces to release."""


class Denoiser(Protocol):
    """An attack on GPS traces (`tracearena.algorithms.GpsAttack`)."""

    def recover(self, released: GpsTraces) -> GpsTraces:
        """Return where people may have been."""


@dataclass(frozen=True)
class ReleaseNoise(Result):
    """How far, and how late, a released point is from the one it stands for.

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

    def denoised(self, released: GpsTraces) -> GpsTraces:
        """Return the release after the denoiser."""
        return _recovered(self.denoiser, released)

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

    lag_ms: NDArray[np.int64]
    first: NDArray[np.int64]
    share: Floats
    values: Floats
    per_step: Floats
    reach: NDArray[np.int64]


def measure_release_noise(
    original: GpsTraces,
    released: GpsTraces,
    *,
    window_s: float,
    mechanism: Mechanism | None = None,
    denoisers: Sequence[str] = DENOISERS,
    seed: SeedLike = None,
) -> ReleaseNoise:
    """Measure the noise between two files, or that of a known mechanism on traces like the original.

    Parameters
    ----------
    original, released
        Traces of the same users; users are matched by id.
    window_s
        Windows of time by which lags are counted.
    mechanism
        A mechanism known to the attacker: it is run on the original once more, with other random numbers
        than the release, so she knows what everybody may know about it and nothing about this release.
    denoisers
        Attacks to try; the one that brings points nearest to the truth, if any does, is kept.
    """
    model = released if mechanism is None else mechanism.transform(original, seed=seed)
    pairs = _Pairs.between(original, model, window_s)
    chosen = ""
    if pairs.error_m > _SMALLEST_ERROR_M:
        for name in denoisers:
            tried = _Pairs.between(original, _recovered(name, model), window_s)
            if tried.error_m < _WORTH_IT * pairs.error_m:
                chosen, pairs = name, tried
    side = getattr(mechanism, "side", None) if getattr(mechanism, "name", "") == "Snap" else None
    if side is not None and not chosen:
        return pairs.noise("square", (((1.0, float(side)),),) * len(_LAGS), chosen)
    return pairs.noise("laplace", pairs.mixture(), chosen)


def _recovered(name: str, released: GpsTraces) -> GpsTraces:
    if not name:
        return released
    denoiser: Denoiser = catalogue.create(name, "gps-attack")
    return denoiser.recover(released)


@dataclass(frozen=True)
class _Pairs:
    """Original points and the released points nearest in time: how far apart, in which range of lags."""

    distance: Floats
    which: NDArray[np.int64]
    window_s: float

    @classmethod
    def between(cls, original: GpsTraces, released: GpsTraces, window_s: float) -> _Pairs:
        mine, theirs = matched_points(original, released)
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
            found.append(_mixed(own) if len(own) >= _ENOUGH or not found else found[-1])
        return tuple(found)

    def noise(
        self,
        shape: Literal["laplace", "square"],
        mixture: tuple[tuple[tuple[float, float], ...], ...],
        denoiser: str,
    ) -> ReleaseNoise:
        counts = np.bincount(self.which, minlength=len(_LAGS) + 1)
        miss = max(float(counts[-1] / len(self.which)), _LEAST_MISS)
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


def _mixed(distance: Floats) -> tuple[tuple[float, float], ...]:
    """Fit planar Laplace noise of several sizes to distances: pairs of share and mean distance."""
    if not len(distance):
        return ((1.0, _SMALLEST_ERROR_M),)
    distance = distance[:: -(-len(distance) // _MOST_FITTED)]
    mean = max(float(distance.mean()), _SMALLEST_ERROR_M)
    sizes = np.unique(np.maximum(mean * 3.0 ** np.arange(-6, 3), _SMALLEST_ERROR_M))
    rate = 2 / sizes
    # the density of distances, floored so that a distance of 0 belongs to the smallest
    r = np.maximum(distance, 0.1)[:, None]
    density = rate**2 * r * np.exp(-rate * r) + 1e-300
    weight = np.full(len(sizes), 1 / len(sizes))
    for _ in range(_ROUNDS):
        owned = density * weight
        weight = (owned / owned.sum(axis=1, keepdims=True)).mean(axis=0)
    weight = np.where(weight >= _LEAST_PART, weight, 0)
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
    spread = error_m * np.sqrt(
        3 / 8
    )  # Laplace noise along a line with the variance that planar noise has there

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
