"""How few points single a person out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.engine import SeedLike, run_blocks, seed_sequence, stream
from tracearena.errors import DataError, ParameterError
from tracearena.traces import GpsTraces
from tracearena.traces.geodesy import metres_per_degree

MOST_POINTS = 5
_DEGREE_M = 111_132.0


@dataclass(frozen=True)
class Uniqueness:
    """Share of draws of 1 to 5 points that single a user out, averaged over users.

    Attributes
    ----------
    original
        Points drawn from a user's original trace, looked up in the original traces.
    released
        The same within the released traces.
    linked
        Points drawn from the original trace, looked up in the released traces: the share of draws
        that single out the right user there. What somebody who saw a person k times learns.
    users, draws, side_m, window_s
        How it was measured.
    """

    original: dict[int, float]
    released: dict[int, float]
    linked: dict[int, float]
    users: int
    draws: int
    side_m: float
    window_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        shares = {
            name: {str(k): value for k, value in getattr(self, name).items()}
            for name in ("original", "released", "linked")
        }
        return shares | {
            "users": self.users,
            "draws": self.draws,
            "side_m": self.side_m,
            "window_s": self.window_s,
        }


@dataclass(frozen=True)
class _Index:
    """Who was where and when: users of each code, codes of each user, both sorted."""

    code_offsets: NDArray[np.int64]
    visitors: NDArray[np.int64]
    user_offsets: NDArray[np.int64]
    codes: NDArray[np.int64]


def uniqueness(
    original: GpsTraces,
    released: GpsTraces,
    *,
    side_m: float = 250.0,
    window_s: float = 3600.0,
    draws: int = 1000,
    seed: SeedLike = None,
) -> Uniqueness:
    """Draw points of every user, and ask an index who else was at all of them.

    Parameters
    ----------
    side_m, window_s
        A point is known to this precision: the cell of a world-wide grid and the window of time.
    draws
        Draws a user and number of points, without replacement within a draw. A user with fewer
        points than are to be drawn shows all of them.

    References
    ----------
    Y.-A. de Montjoye et al., "Unique in the crowd", Scientific Reports 3, 1376 (2013).
    """
    for name, value in (("side_m", side_m), ("window_s", window_s), ("draws", draws)):
        if not value > 0:
            raise ParameterError.of(name, value, "more than 0")
    position = {user: at for at, user in enumerate(released.user_ids.tolist())}
    same_user = np.array([position.get(user, -1) for user in original.user_ids.tolist()], np.int64)
    codes = _codes(original, released, side_m, window_s)
    total = int(codes.max(initial=-1)) + 1
    before = _index(original.user_index, codes[: len(original)], original.n_users, total)
    after = _index(released.user_index, codes[len(original) :], released.n_users, total)
    root = seed_sequence(seed)
    everybody, others = np.arange(original.n_users), np.arange(released.n_users)
    return Uniqueness(
        original=_shares(before, before, everybody, draws, root, 0),
        released=_shares(after, after, others, draws, root, 1),
        linked=_shares(before, after, same_user, draws, root, 0),
        users=int((np.diff(original.offsets) > 0).sum()),
        draws=draws,
        side_m=side_m,
        window_s=window_s,
    )


def _codes(original: GpsTraces, released: GpsTraces, side_m: float, window_s: float) -> NDArray[np.int64]:
    """Number the (cell, window) pairs of both traces together."""
    latitude = np.concatenate([original.latitude, released.latitude])
    longitude = np.concatenate([original.longitude, released.longitude])
    time_ms = np.concatenate([original.time_ms, released.time_ms])
    if not len(time_ms):
        raise DataError("there are no points")
    row = np.floor(latitude * _DEGREE_M / side_m).astype(np.int64)
    width = np.maximum(metres_per_degree((row + 0.5) * side_m / _DEGREE_M)[1], 1.0)
    column = np.floor(longitude * width / side_m).astype(np.int64)
    columns = np.int64(360 * _DEGREE_M // side_m + 3)
    cells = np.unique(row * columns + column, return_inverse=True)[1]
    window = time_ms // round(window_s * 1000)
    window = window - window.min()
    return np.unique(cells * (window.max() + 1) + window, return_inverse=True)[1].astype(np.int64)


def _index(user: NDArray[np.int32], code: NDArray[np.int64], n_users: int, n_codes: int) -> _Index:
    pairs = np.unique(user.astype(np.int64) * max(n_codes, 1) + code)
    users, codes = np.divmod(pairs, max(n_codes, 1))
    by_code = np.lexsort((users, codes))
    return _Index(
        code_offsets=np.searchsorted(codes[by_code], np.arange(n_codes + 1)),
        visitors=users[by_code],
        user_offsets=np.searchsorted(users, np.arange(n_users + 1)),
        codes=codes,
    )


def _shares(
    drawn: _Index,
    looked_up: _Index,
    targets: NDArray[np.int64],
    draws: int,
    root: np.random.SeedSequence,
    part: int,
) -> dict[int, float]:
    """Return the mean share of singling draws for 1 to 5 points, over users with points."""
    from tracearena.metrics.applications._kernels import singled_out

    occupied = np.diff(looked_up.code_offsets) > 0
    translate = np.where(occupied, np.arange(len(occupied)), -1)
    users = np.flatnonzero(np.diff(drawn.user_offsets) > 0)

    def work(block: int, first: int, stop: int) -> list[float]:
        user = int(users[first])
        own = drawn.codes[drawn.user_offsets[user] : drawn.user_offsets[user + 1]]
        uniform = stream(root, part, user).random((MOST_POINTS, draws, MOST_POINTS))
        return [
            singled_out(
                own, uniform[k - 1], translate, looked_up.code_offsets, looked_up.visitors, targets[user], k
            )
            / draws
            for k in range(1, MOST_POINTS + 1)
        ]

    found = run_blocks(work, [(at, at + 1) for at in range(len(users))])
    return {k: float(np.mean([shares[k - 1] for shares in found])) for k in range(1, MOST_POINTS + 1)}
