"""A message that spreads among people who meet, from every source at once [geo-ind]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracearena.checks import require_number
from tracearena.dataframes import Result
from tracearena.traces import GpsTraces
from tracearena.traces._arrays import mark_readonly
from tracearena.traces.geodesy import earth_centred

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Gossip(Result):
    """How far and how fast messages spread.

    Attributes
    ----------
    arrival_s
        Sources × users: seconds from the first slot until the user has the source's message, -1
        if never, 0 for the source.
    """

    arrival_s: NDArray[np.int64]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Share of all users that each source's message reaches; the source counts too."""
        return np.asarray((self.arrival_s >= 0).mean(axis=1))

    @property
    def infection_rate(self) -> float | None:
        """Mean share over all sources; None without any."""
        return float(self.rates.mean()) if len(self.arrival_s) else None

    @property
    def others_reached(self) -> float | None:
        """Mean share of the users other than the source; None where there are no others.

        In a small population this tells more than `infection_rate`, to which every source
        contributes itself.
        """
        n, rate = len(self.arrival_s), self.infection_rate
        return None if rate is None or n < 2 else (rate * n - 1) / (n - 1)

    def latency_s(self) -> dict[str, float | None]:
        """Quantiles of the seconds until a user other than the source is reached."""
        others = ~np.eye(len(self.arrival_s), dtype=bool) & (self.arrival_s >= 0)
        reached = self.arrival_s[others]
        return {f"{q:g}": float(np.quantile(reached, q)) if reached.size else None for q in QUANTILES}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "infection_rate": self.infection_rate,
            "others_reached": self.others_reached,
            "latency_s": self.latency_s(),
            "users": len(self.arrival_s),
        }


def gossip(traces: GpsTraces, *, slot_s: float = 5.0, range_m: float = 50.0) -> Gossip:
    """Spread a message from each user; two users meet if they are within range in the same slot.

    All sources are followed together and exactly: each user carries the set of sources heard of
    so far as bits, and a meeting joins the sets.

    Parameters
    ----------
    slot_s
        Length of a slot of time, seconds.
    range_m
        Range of communication, metres.

    Notes
    -----
    [geo-ind] section 5.2 draws 1,000 random sources; here every user is a source once. Every
    message starts with the first slot of the traces. Within a slot a message passes along chains
    of people in range, so the order in which meetings are looked at does not matter.

    Examples
    --------
    >>> traces = GpsTraces.from_points([1, 2, 2, 3], [0, 0, 60_000, 60_000], [0] * 4, [0, 0.0003, 1, 1])
    >>> gossip(traces).arrival_s.tolist()
    [[0, 0, 60], [0, 0, 60], [-1, 60, 0]]
    """
    require_number("slot_s", slot_s, above=0)
    require_number("range_m", range_m, above=0)
    from tracearena.metrics.applications._kernels import spread_messages

    n = traces.n_users
    arrival = np.full((n, n), -1, np.int64)
    np.fill_diagonal(arrival, 0)
    if len(traces):
        slot = traces.time_ms // round(slot_s * 1000)
        slot = slot - slot.min()
        xyz = earth_centred(traces.latitude, traces.longitude)
        widest = int(np.argmax(np.ptp(xyz, axis=0)))
        order = np.lexsort((xyz[:, widest], slot))
        spread_messages(slot[order], traces.user_index[order], xyz[order], widest, float(range_m), arrival)
    arrival[arrival > 0] = np.rint(arrival[arrival > 0] * slot_s).astype(np.int64)
    return Gossip(mark_readonly(arrival))
